/* train/features/stack_file.c - a hop stack in a file of the cache: a .npy of format 1.0 whose header is one page, so
 * that the rows can be mapped.
 *
 * The page ends in a comment: the digest (XXH3) of the page itself, with zeros in the digest's place, and of the rows;
 * the quality of the SVDs; the key. The page is written last. While rows are written through a map, the file has
 * another name and is locked. A file that does not match its page is made again. */
#include "train/features/stack_file.h"

#include "tensor/files/file.h"
#include "tensor/objects.h"
#include "tensor/platform.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

enum { PAGE = MO_STACK_PAGE, PREFIX = 10 /* bytes before the text of a .npy header */, BLOCK_BYTES = 16 << 20 };
#define MARK "# mochi hop stack 4: "

/* ---- the page ---- */

static void write_page(const mo_stack_file *s, uint64_t digest, char page[PAGE]) {
    static const char prefix[PREFIX] = {
        (char)0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (char)(PAGE - PREFIX), (char)((PAGE - PREFIX) >> 8)};
    char shape[160] = "";
    uint64_t quality[2];
    memcpy(quality, s->quality, sizeof quality);
    for (int i = 0; i < s->ndim; i++)
        snprintf(shape + strlen(shape), sizeof shape - strlen(shape), "%" PRId64 ", ", s->shape[i]);
    memset(page, ' ', PAGE);
    memcpy(page, prefix, PREFIX);
    int n = snprintf(page + PREFIX, PAGE - PREFIX,
        "{'descr': '<f4', 'fortran_order': False, 'shape': (%s), } " MARK "%016" PRIx64 " %016" PRIx64 " %016" PRIx64
        " %s",
        shape, digest, quality[0], quality[1], s->key);
    if (n < PAGE - PREFIX)
        page[PREFIX + n] = ' ';
    page[PAGE - 1] = '\n';
}

/* Reads the quality from a page; leaves it unchanged if the page is not ours. */
static void read_quality(mo_stack_file *s, const char page[PAGE]) {
    uint64_t quality[2];
    const char *mark = memmem(page, PAGE, MARK, strlen(MARK));
    if (mark && sscanf(mark, MARK "%*16x %16" SCNx64 " %16" SCNx64, &quality[0], &quality[1]) == 2)
        memcpy(s->quality, quality, sizeof quality);
}

static bool read_exactly(const mo_stack_file *s, void *bytes, size_t n, int64_t offset) {
    return mo_read_at(s->fd, bytes, n, offset) == (ssize_t)n;
}

static int64_t row_bytes(const mo_stack_file *s) {
    int64_t bytes = sizeof(float);
    for (int i = 0; i < s->ndim; i++)
        bytes *= s->shape[i];
    return bytes;
}

/* Computes the page for the rows in the file; false if they cannot be read. */
static bool find_page(const mo_stack_file *s, char page[PAGE]) {
    mo_context *ctx = s->cache.ctx;
    XXH3_state_t *sum = XXH3_createState();
    char *block = mo_host_array(ctx, BLOCK_BYTES, 1);
    bool fine = sum && block;
    if (!sum && mo_ok(ctx))
        mo_fail(ctx, MO_MEMORY, "hop stack: out of memory");
    write_page(s, 0, page);
    if (fine) {
        XXH3_64bits_reset(sum);
        XXH3_64bits_update(sum, page, PAGE);
    }
    for (int64_t at = PAGE, end = PAGE + row_bytes(s); at < end && fine; at += BLOCK_BYTES) {
        size_t n = (size_t)(end - at < BLOCK_BYTES ? end - at : BLOCK_BYTES);
        fine = read_exactly(s, block, n, at);
        XXH3_64bits_update(sum, block, fine ? n : 0);
    }
    if (fine)
        write_page(s, XXH3_64bits_digest(sum), page);
    XXH3_freeState(sum);
    free(block);
    return fine;
}

/* ---- opening ---- */

static bool stack_failed(const mo_stack_file *s, const char *what) {
    int reason = errno;
    return mo_fail(s->cache.ctx, MO_IO, "hop stack '%s': cannot %s: %s", s->partial, what, strerror(reason));
}

static void stack_tell(const mo_stack_file *s, const char *what) {
    char line[1200];
    if (!s->cache.notice)
        return;
    snprintf(line, sizeof line, "cache: hop stack '%s' %s", s->path, what);
    s->cache.notice(line, s->cache.state);
}

static void close_fd(mo_stack_file *s) {
    if (s->fd >= 0)
        close(s->fd);
    s->fd = -1;
}

/* open, repeated if a signal interrupts it: a failure would look like a missing stack, which is then computed again. */
static int open_uninterrupted(const char *path, int flags) {
    int fd;
    do
        fd = open(path, flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY); /* does not wait for a pipe's writer */
    while (fd < 0 && errno == EINTR);
    return fd;
}

/* Opens the finished file. A damaged file stays until a new one replaces it. */
static bool open_whole(mo_stack_file *s) {
    struct stat st;
    char found[PAGE], page[PAGE];
    s->fd = open_uninterrupted(s->path, O_RDONLY);
    if (s->fd < 0)
        return false;
    if (fstat(s->fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size == PAGE + row_bytes(s) &&
        read_exactly(s, found, PAGE, 0)) {
        read_quality(s, found);
        s->whole = find_page(s, page) && memcmp(found, page, PAGE) == 0;
    }
    if (s->whole) {
        futimens(s->fd, NULL);
        return true;
    }
    if (mo_ok(s->cache.ctx))
        stack_tell(s, "is damaged; made again");
    close_fd(s);
    return false;
}

/* Waits for the lock on the partial file; false if the file has been renamed meanwhile. */
static bool lock_partial(const mo_stack_file *s) {
    struct stat held, named;
    if (flock(s->fd, LOCK_EX | LOCK_NB) < 0) {
        stack_tell(s, "is being written by another process; waiting");
        while (flock(s->fd, LOCK_EX) < 0 && errno == EINTR)
            ;
    }
    return fstat(s->fd, &held) == 0 && stat(s->partial, &named) == 0 && held.st_ino == named.st_ino;
}

/* Empties the file and allocates its full size, so that a write to a mapped page cannot run out of disk. Repeats calls
 * that a signal interrupts. */
static bool reserve(const mo_stack_file *s) {
    int64_t bytes = PAGE + row_bytes(s);
    int reason;
    do
        reason = ftruncate(s->fd, 0) < 0 ? errno : 0;
    while (reason == EINTR);
    while (!reason && (reason = posix_fallocate(s->fd, 0, bytes)) == EINTR)
        reason = 0;
    if (reason)
        mo_fail(s->cache.ctx, MO_IO, "hop stack '%s': cannot reserve %" PRId64 " bytes: %s", s->partial, bytes,
            strerror(reason));
    return !reason;
}

/* Opens the finished file, or an empty one of full size, locked. */
static bool open_either(mo_stack_file *s) {
    mo_context *ctx = s->cache.ctx;
    char label[MO_LABEL];
    while (mo_ok(ctx)) {
        if (open_whole(s))
            return true;
        if (mo_ok(ctx))
            s->fd = mo_file_open_own(ctx, mo_file_label("hop stack", s->partial, label), s->partial, O_RDWR | O_CREAT);
        if (s->fd < 0)
            return false;
        if (lock_partial(s)) {
            if (reserve(s))
                return true;
            unlink(s->partial);
        }
        close_fd(s);
    }
    return false;
}

mo_tensor *mo_stack_open(mo_stack_file *s) {
    mo_context *ctx = s->cache.ctx;
    s->fd = -1;
    s->whole = false;
    s->rows = mo_null_tensor(ctx);
    s->path = mo_cache_path(&s->cache, s->key, MO_STACK_ENDING);
    if (s->path && asprintf(&s->partial, "%s.partial", s->path) < 0) {
        s->partial = NULL;
        mo_fail(ctx, MO_MEMORY, "hop stack: out of memory");
    }
    if (s->partial && open_either(s))
        s->rows = mo_tensor_map(ctx, MO_F32, s->ndim, s->shape, s->fd, PAGE, s->path, !s->whole);
    return s->rows;
}

/* ---- completing ---- */

static bool write_exactly(const mo_stack_file *s, const char *bytes, size_t n, int64_t offset) {
    for (size_t done = 0; done < n;) {
        ssize_t put = pwrite(s->fd, bytes + done, n - done, offset + (int64_t)done);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return stack_failed(s, "write");
        done += (size_t)put;
    }
    return true;
}

/* Syncs the file's folder, so that the new name survives a crash; some file systems cannot (EINVAL). */
static bool sync_folder(const char *path) {
    char *folder = strdup(path), *slash = folder ? strrchr(folder, '/') : NULL;
    if (slash)
        slash[1] = '\0';
    int fd = folder ? open_uninterrupted(slash ? folder : ".", O_RDONLY | O_DIRECTORY) : -1;
    bool synced = fd >= 0 && (mo_file_sync(fd) == 0 || errno == EINVAL);
    int reason = errno;
    if (fd >= 0)
        close(fd);
    free(folder);
    errno = reason;
    return synced;
}

static bool complete(mo_stack_file *s) {
    char page[PAGE];
    if (!find_page(s, page))
        return mo_ok(s->cache.ctx) && stack_failed(s, "read");
    if (!write_exactly(s, page, PAGE, 0))
        return false;
    if (mo_file_sync(s->fd) != 0)
        return stack_failed(s, "sync");
    if (rename(s->partial, s->path) < 0)
        return stack_failed(s, "rename");
    s->whole = true;
    flock(s->fd, LOCK_UN); /* else the map keeps the lock, and other processes wait while the rows are used */
    return sync_folder(s->path) || stack_failed(s, "sync the folder");
}

mo_tensor *mo_stack_close(mo_stack_file *s) {
    mo_context *ctx = s->cache.ctx;
    mo_tensor *rows = s->rows;
    if (!s->whole && s->fd >= 0) {
        bool filled = mo_ok(ctx) && complete(s);
        mo_tensor_release(rows);
        rows =
            filled ? mo_tensor_map(ctx, MO_F32, s->ndim, s->shape, s->fd, PAGE, s->path, false) : mo_null_tensor(ctx);
        if (!s->whole) /* a partial stack is useless to other runs */
            unlink(s->partial);
    }
    close_fd(s);
    free(s->path);
    free(s->partial);
    return rows;
}
