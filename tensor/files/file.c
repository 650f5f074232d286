/* tensor/files/file.c - reading a file whole, and replacing one all or nothing.
 *
 * The new file is written beside the old one, synced, renamed over it, and then the folder is synced: a reader of the
 * path finds the old bytes or the new bytes at any time, also after a crash, never a mix. The new file has no name
 * until it is whole (O_TMPFILE), so that a process that ends early leaves nothing behind; if the file system cannot do
 * that, or there is no /proc to name the file by, it has a temporary name from the start. Only regular files are read
 * or replaced: a rename would destroy a device such as /dev/null.
 *
 * A symbolic link is replaced like a file; nothing is written through it. In a folder that several users share, another
 * user's link could otherwise choose which file is overwritten. */
#include "tensor/files/file.h"

#include "tensor/objects.h"
#include "tensor/platform.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *mo_file_label(const char *kind, const char *path, char *label) {
    char shown[320];
    snprintf(label, MO_LABEL, "%s: %s", kind, mo_quote(path, strlen(path), shown, sizeof shown));
    return label;
}

void mo_file_bytes_free(mo_context *ctx, mo_file_bytes *content) {
    mo_host_free(ctx, content->data, content->n);
    *content = (mo_file_bytes){0};
}

/* The kind of an existing path, for messages: "a directory", "a file", .. */
static const char *file_type(mode_t mode) {
    return S_ISDIR(mode) ? "a directory" : S_ISREG(mode) ? "a file" : "a device, pipe or socket";
}

/* Reads content->n bytes, the size that fstat reported, into content->data. */
static bool read_all(mo_context *ctx, const char *label, int fd, mo_file_bytes *content) {
    size_t done = 0;
    while (done < content->n) {
        size_t wanted = content->n - done;
        ssize_t got = read(fd, content->data + done, wanted < (1u << 30) ? wanted : 1u << 30);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            mo_fail(ctx, MO_IO, "%s: cannot read: %s", label, strerror(errno));
        else if (got == 0)
            mo_fail(
                ctx, MO_IO, "%s: changed while it was read: expected %zu bytes, found %zu", label, content->n, done);
        if (got <= 0)
            return false;
        done += (size_t)got;
    }
    return true;
}

/* Whether the first bytes of an open file of n bytes pass the check. */
static bool passes(mo_context *ctx, const char *label, int fd, size_t n, mo_file_check check) {
    size_t wanted = n < MO_FILE_HEAD ? n : MO_FILE_HEAD;
    unsigned char *head = mo_host_alloc(ctx, wanted);
    ssize_t got = head ? mo_read_at(fd, head, wanted, 0) : 0;
    if (got < 0)
        mo_fail(ctx, MO_IO, "%s: cannot read: %s", label, strerror(errno));
    bool fine = head && got >= 0 && ((size_t)got < wanted || check(ctx, label, head, wanted, n));
    mo_host_free(ctx, head, wanted);
    return fine; /* read_all reports a file that has become shorter */
}

bool mo_file_check_text(mo_context *ctx, const char *label, const unsigned char *head, size_t head_bytes, size_t n) {
    (void)n;
    return !memchr(head, 0, head_bytes) || mo_fail(ctx, MO_FORMAT, "%s: expected text, found a zero byte", label);
}

bool mo_file_read(mo_context *ctx, const char *label, const char *path, mo_file_bytes *content) {
    return mo_file_read_checked(ctx, label, path, NULL, content);
}

bool mo_file_read_checked(
    mo_context *ctx, const char *label, const char *path, mo_file_check check, mo_file_bytes *content) {
    *content = (mo_file_bytes){0};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY); /* O_NONBLOCK: do not wait for a pipe's writer */
    if (fd < 0) {
        mo_fail(ctx, MO_IO, "%s: cannot open: %s", label, strerror(errno));
        return false;
    }
    struct stat st;
    if (fstat(fd, &st) < 0)
        mo_fail(ctx, MO_IO, "%s: cannot stat: %s", label, strerror(errno));
    else if (!S_ISREG(st.st_mode))
        mo_fail(ctx, MO_IO, "%s: expected a file, found %s", label, file_type(st.st_mode));
    else if (st.st_size == 0)
        mo_fail(ctx, MO_FORMAT, "%s: the file is empty", label);
    else if ((!check || passes(ctx, label, fd, (size_t)st.st_size, check)) &&
             (content->data = mo_host_alloc(ctx, (size_t)st.st_size)))
        content->n = (size_t)st.st_size;
    bool ok = content->data && read_all(ctx, label, fd, content);
    close(fd);
    if (!ok)
        mo_file_bytes_free(ctx, content);
    return ok;
}

ssize_t mo_read_at(int fd, void *bytes, size_t n, int64_t offset) {
    for (size_t done = 0; done < n;) {
        ssize_t got = pread(fd, (char *)bytes + done, n - done, offset + (int64_t)done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got < 0 ? -1 : (ssize_t)done;
        done += (size_t)got;
    }
    return (ssize_t)n;
}

int mo_file_open_own(mo_context *ctx, const char *label, const char *path, int flags) {
    struct stat st;
    int fd;
    do
        fd = open(path, flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0666);
    while (fd < 0 && errno == EINTR);
    const char *found = NULL;
    if (fd < 0 && errno != ELOOP)
        mo_fail(ctx, MO_IO, "%s: cannot open: %s", label, strerror(errno));
    else if (fd < 0)
        found = "a symbolic link";
    else if (fstat(fd, &st) < 0)
        mo_fail(ctx, MO_IO, "%s: cannot stat: %s", label, strerror(errno));
    else if (!S_ISREG(st.st_mode))
        found = file_type(st.st_mode);
    else if (st.st_nlink > 1)
        found = "one that has another name too";
    if (found)
        mo_fail(ctx, MO_IO, "%s: expected a file of its own, found %s", label, found);
    if (mo_ok(ctx))
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

int mo_file_sync(int fd) {
    int code;
    do
        code = fsync(fd);
    while (code < 0 && errno == EINTR);
    return code;
}

/* Where a file is replaced: the open folder, the file's name in it, and the temporary name. */
typedef struct place {
    int folder;
    char name[NAME_MAX + 1];
    char temporary[64]; /* "" while the new file has no name */
    bool exists;        /* there is a file to replace, whose mode is `mode` */
    mode_t mode;
    uid_t user;
    gid_t group;
} place;

/* Splits a path and opens its folder. Returns false on failure. */
static bool open_place(mo_context *ctx, const char *label, const char *path, place *at) {
    char folder[PATH_MAX];
    struct stat st;
    at->exists = lstat(path, &st) == 0 && !S_ISLNK(st.st_mode);
    if (at->exists && !S_ISREG(st.st_mode))
        mo_fail(ctx, MO_IO, "%s: expected a file or nothing, found %s", label, file_type(st.st_mode));
    else if (at->exists && access(path, W_OK) < 0) /* rename does not check that the file is writable */
        mo_fail(ctx, MO_IO, "%s: cannot write: %s", label, strerror(errno));
    if (!mo_ok(ctx))
        return false;
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    if (!*name || strlen(name) > NAME_MAX || strlen(path) >= PATH_MAX) {
        mo_fail(ctx, MO_IO, "%s: expected the name of a file, found %s", label, *name ? "a name too long" : "a folder");
        return false;
    }
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path) + 1 : 1, slash ? path : ".");
    at->folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (at->folder < 0) {
        mo_fail(ctx, MO_IO, "%s: cannot open its folder: %s", label, strerror(errno));
        return false;
    }
    strcpy(at->name, name);
    at->mode = at->exists ? st.st_mode & 0777 : 0; /* set-user-ID was given to the old content */
    at->user = at->exists ? st.st_uid : 0;
    at->group = at->exists ? st.st_gid : 0;
    return true;
}

/* Tries temporary names in turn (a crash may have left one behind) until `make` succeeds with one. Returns false on
 * failure, with errno. */
static bool try_names(place *at, int (*make)(const place *at, int fd), int *fd) {
    for (int attempt = 0; attempt < 1000; attempt++) {
        snprintf(at->temporary, sizeof at->temporary, ".mochi-%ld-%d.tmp", (long)getpid(), attempt);
        int made = make(at, *fd);
        if (made >= 0)
            *fd = made;
        if (made >= 0 || errno != EEXIST)
            return made >= 0;
    }
    return false;
}

static int create_named(const place *at, int fd) {
    (void)fd;
    return openat(at->folder, at->temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
}

/* Gives the open file fd, which has none, a name. Returns false on failure. */
static bool link_open(const place *at, int fd, const char *name) {
    char open_file[64];
    snprintf(open_file, sizeof open_file, "/proc/self/fd/%d", fd);
    return linkat(AT_FDCWD, open_file, at->folder, name, AT_SYMLINK_FOLLOW) == 0;
}

static int name_unnamed(const place *at, int fd) {
    return link_open(at, fd, at->temporary) ? fd : -1;
}

/* Creates the new file, without a name if the file system can do that. Returns its descriptor, -1 on failure. */
static int create_temporary(mo_context *ctx, const char *label, place *at) {
    int fd = access("/proc/self/fd", X_OK) == 0 ? openat(at->folder, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0666) : -1;
    if (fd < 0 && !try_names(at, create_named, &fd)) {
        mo_fail(ctx, MO_IO, "%s: cannot create a temporary file in its folder: %s", label, strerror(errno));
        return -1;
    }
    if (!at->exists)
        return fd;
    /* Who may not give files away owns the new one, as after cp; the group is tried alone then. */
    if (fchown(fd, at->user, at->group) < 0)
        (void)!fchown(fd, (uid_t)-1, at->group);
    if (fchmod(fd, at->mode) == 0) /* so that a private file stays private */
        return fd;
    mo_fail(ctx, MO_IO, "%s: cannot keep its mode %04o: %s", label, (unsigned)at->mode, strerror(errno));
    close(fd);
    if (*at->temporary)
        unlinkat(at->folder, at->temporary, 0);
    return -1;
}

/* Puts the new file in place of the old one. Without an old one, a single link is enough. Returns false after
 * raising. */
static bool rename_over(mo_context *ctx, const char *label, place *at, int fd) {
    if (!*at->temporary && !at->exists && link_open(at, fd, at->name))
        return true;
    if (!*at->temporary && !try_names(at, name_unnamed, &fd)) {
        *at->temporary = '\0';
        mo_fail(ctx, MO_IO, "%s: cannot name the new file: %s", label, strerror(errno));
    } else if (renameat(at->folder, at->temporary, at->folder, at->name) < 0)
        mo_fail(ctx, MO_IO, "%s: cannot rename the temporary file: %s", label, strerror(errno));
    return mo_ok(ctx);
}

/* Gives the complete file fd its name, and syncs its folder. Returns whether the file has the name. */
static bool put_in_place(mo_context *ctx, const char *label, place *at, int fd) {
    bool there = rename_over(ctx, label, at, fd);
    /* Some file systems cannot sync a folder (EINVAL); the file is whole in either case. */
    if (there && mo_file_sync(at->folder) < 0 && errno != EINVAL)
        mo_fail(ctx, MO_IO, "%s: written, but its folder cannot be synced: %s", label, strerror(errno));
    return there;
}

bool mo_is_temporary(const char *name) {
    return strncmp(name, ".mochi-", 7) == 0 && mo_path_ends_with(name + 7, ".tmp");
}

bool mo_path_ends_with(const char *path, const char *ending) {
    size_t length = path ? strlen(path) : 0, n = ending ? strlen(ending) : length;
    return length > n && strcmp(path + length - n, ending) == 0;
}

/* A file that is being written. Once it is whole, it replaces the file of its name. */
struct mo_file_writer {
    mo_context *ctx;
    char label[MO_LABEL];
    place at;
    int fd;
    size_t done;
};

mo_file_writer *mo_file_start(mo_context *ctx, const char *path) {
    if (mo_ok(ctx) && !path)
        mo_fail(ctx, MO_INVALID, "file: no path given");
    mo_file_writer *w = mo_ok(ctx) ? mo_host_alloc(ctx, sizeof *w) : NULL;
    if (!w)
        return NULL;
    *w = (mo_file_writer){.ctx = ctx, .fd = -1, .at.folder = -1};
    mo_file_label("file", path, w->label);
    if (open_place(ctx, w->label, path, &w->at))
        w->fd = create_temporary(ctx, w->label, &w->at);
    if (w->fd >= 0)
        return w;
    mo_file_finish(w);
    return NULL;
}

size_t mo_write_all(int fd, const void *bytes, size_t n) {
    for (size_t done = 0; done < n;) {
        ssize_t put = write(fd, (const char *)bytes + done, n - done < (1u << 30) ? n - done : 1u << 30);
        if (put < 0 && errno == EINTR)
            continue;
        errno = put == 0 ? ENOSPC : errno;
        if (put <= 0)
            return done;
        done += (size_t)put;
    }
    return n;
}

bool mo_file_append(mo_file_writer *w, const void *bytes, size_t n) {
    if (!w || !mo_ok(w->ctx))
        return false;
    size_t done = mo_write_all(w->fd, bytes, n);
    w->done += done;
    return done == n ||
           mo_fail(w->ctx, MO_IO, "%s: cannot write: %s after %zu bytes", w->label, strerror(errno), w->done);
}

int mo_file_reserve(mo_file_writer *w, int64_t bytes) {
    int reason;
    do
        reason = posix_fallocate(w->fd, 0, bytes);
    while (reason == EINTR);
    if (reason)
        mo_fail(w->ctx, MO_IO, "%s: cannot reserve %" PRId64 " bytes: %s", w->label, bytes, strerror(reason));
    return reason ? -1 : w->fd;
}

mo_code mo_file_finish(mo_file_writer *w) {
    if (!w)
        return MO_INVALID;
    mo_context *ctx = w->ctx;
    if (mo_ok(ctx) && mo_file_sync(w->fd) < 0)
        mo_fail(ctx, MO_IO, "%s: cannot sync: %s", w->label, strerror(errno));
    bool there = mo_ok(ctx) && put_in_place(ctx, w->label, &w->at, w->fd);
    if (!there && w->fd >= 0 && *w->at.temporary)
        unlinkat(w->at.folder, w->at.temporary, 0);
    if (w->fd >= 0 && close(w->fd) < 0 && there && errno != EINTR)
        mo_fail(ctx, MO_IO, "%s: cannot close: %s", w->label, strerror(errno));
    if (w->at.folder >= 0)
        close(w->at.folder);
    mo_host_free(ctx, w, sizeof *w);
    return mo_context_status(ctx)->code;
}

mo_code mo_file_replace(mo_context *ctx, const char *path, const void *bytes, size_t n) {
    if (mo_ok(ctx) && n && !bytes)
        mo_fail(ctx, MO_INVALID, "file: no bytes given");
    mo_file_writer *w = mo_ok(ctx) ? mo_file_start(ctx, path) : NULL;
    if (!w)
        return mo_code_of(ctx);
    mo_file_append(w, bytes, n);
    return mo_file_finish(w);
}

#define ALWAYS ((int64_t)64 << 20)
#define MOST ((double)((int64_t)1 << 62))

int64_t mo_expansion_limit(const mo_context *ctx, int64_t file_bytes) {
    double beyond = ctx->max_expand * (double)file_bytes;
    return beyond < MOST ? ALWAYS + (int64_t)beyond : INT64_MAX;
}

bool mo_claim_fits(mo_context *ctx, const char *label, const char *what, int64_t n, int64_t each, int64_t bytes) {
    int64_t most = mo_expansion_limit(ctx, bytes) / each;
    return n <= most ||
           mo_fail(ctx, MO_FORMAT,
               "%s: expected at most %" PRId64 " %s, as %" PRId64 " bytes can claim, found %" PRId64 "%s", label, most,
               what, bytes, n, bytes > 0 ? ": a larger --max-expand (max_expand of the context) lets it" : "");
}

void mo_expansion_fail(mo_context *ctx, const char *label, int64_t file_bytes) {
    mo_fail(ctx, MO_FORMAT,
        "%s: expected to unfold to at most %" PRId64 " bytes (64 MiB and %g times the file), found more: a larger "
        "--max-expand (max_expand of the context) lets it",
        label, mo_expansion_limit(ctx, file_bytes), ctx->max_expand);
}
