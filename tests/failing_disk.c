/* tests/failing_disk.c - the C library's calls on files, counted and made to fail (failing_disk.h). */
#undef _FILE_OFFSET_BITS /* otherwise open would become open64, and here both are defined */
#include "tests/failing_disk.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SHOWN __attribute__((visibility("default")))
/* The same function under the name that programs with 64-bit file offsets call. */
#define SAME(name) __attribute__((visibility("default"), alias(#name)))

enum { LOG = 1 << 20 };

static disk_plan plan;
static char under[2][PATH_MAX]; /* the folder as given, and without symbolic links */
static bool counting;
static long count, met;
static char text[LOG];
static size_t used;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* What a call does, as bits: it can fail, be interrupted, move fewer bytes, fill the disk; it changes a file. */
enum { FAILS = 1, INTERRUPTED = 2, SHORTENED = 4, FILLS = 8, SAVES = 16 };

void disk_begin(const disk_plan *p) {
    plan = *p;
    snprintf(under[0], sizeof under[0], "%s", p->under);
    if (!realpath(p->under, under[1]))
        under[1][0] = '\0';
    count = met = 0;
    used = 0;
    text[0] = '\0';
    counting = true;
}

long disk_end(void) {
    counting = false;
    return count;
}

long disk_met(void) {
    return met;
}

const char *disk_calls(void) {
    return text;
}

/* ---- which calls count ---- */

static bool is_under(const char *path) {
    for (int i = 0; i < 2; i++) {
        size_t n = strlen(under[i]);
        if (n && !strncmp(path, under[i], n) && (path[n] == '\0' || path[n] == '/'))
            return true;
    }
    return false;
}

/* Returns the path of an open file; FOLDER/#1234 for a file without a name. */
static const char *path_of(int fd, char path[PATH_MAX]) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = syscall(SYS_readlinkat, AT_FDCWD, link, path, PATH_MAX - 1);
    path[n > 0 ? n : 0] = '\0';
    char *gone = strstr(path, " (deleted)");
    if (gone)
        *gone = '\0';
    return path;
}

/* Returns the path that a name has in an open folder or the current one. For /proc/self/fd/N returns the path of the
 * open file. */
static const char *path_at(int folder, const char *name, char path[PATH_MAX]) {
    if (!strncmp(name, "/proc/self/fd/", 14))
        return path_of(atoi(name + 14), path);
    if (name[0] == '/' || folder == AT_FDCWD)
        snprintf(path, PATH_MAX, "%s", name);
    else {
        path_of(folder, path);
        if (strcmp(name, ".") != 0)
            snprintf(path + strlen(path), PATH_MAX - strlen(path), "/%s", name);
    }
    return path;
}

static bool can_have(int kind, enum disk_fault fault) {
    switch (fault) {
    case DISK_EIO:
        return kind & FAILS;
    case DISK_ENOSPC:
        return kind & FILLS;
    case DISK_EINTR:
        return kind & INTERRUPTED;
    case DISK_SHORT:
        return kind & SHORTENED;
    default:
        return fault == DISK_KILL;
    }
}

/* Counts a call on a path. Returns the fault that meets it, and sets errno. */
static enum disk_fault meet(int kind, const char *line, const char *path) {
    static const int codes[DISK_FAULTS] = {[DISK_EIO] = EIO, [DISK_ENOSPC] = ENOSPC, [DISK_EINTR] = EINTR};
    if (!counting || !is_under(path) || (plan.saves_only && !(kind & SAVES)))
        return DISK_NONE;
    pthread_mutex_lock(&lock);
    size_t n = strlen(line);
    if (used + n + 2 < LOG) {
        memcpy(text + used, line, n);
        memcpy(text + used + n, "\n", 2);
        used += n + 1;
    }
    long k = ++count;
    bool passing = plan.fault == DISK_EINTR || plan.fault == DISK_SHORT; /* every other call succeeds, or a loop that
                                                                          * tries again would not end */
    bool here = plan.at && (plan.always ? k >= plan.at && !(passing && (k - plan.at) % 2) : k == plan.at);
    here = here && can_have(kind, plan.fault);
    met += here;
    pthread_mutex_unlock(&lock);
    if (here && plan.fault == DISK_KILL)
        syscall(SYS_kill, syscall(SYS_getpid), SIGKILL);
    if (here && codes[plan.fault])
        errno = codes[plan.fault];
    return here ? plan.fault : DISK_NONE;
}

static enum disk_fault meet_path(int kind, const char *what, int folder, const char *name) {
    char path[PATH_MAX], line[PATH_MAX + 64];
    if (!counting)
        return DISK_NONE;
    snprintf(line, sizeof line, "%s %s", what, path_at(folder, name, path));
    return meet(kind, line, path);
}

static enum disk_fault meet_two(const char *what, int from_folder, const char *from, int to_folder, const char *to) {
    char first[PATH_MAX], second[PATH_MAX], line[2 * PATH_MAX + 64];
    if (!counting)
        return DISK_NONE;
    snprintf(line, sizeof line, "%s %s %s", what, path_at(from_folder, from, first), path_at(to_folder, to, second));
    return meet(FAILS | FILLS | SAVES, line, second);
}

/* n: bytes to be moved; negative: the log line has no number. */
static enum disk_fault meet_fd(int kind, const char *what, int fd, long n) {
    char path[PATH_MAX], line[PATH_MAX + 64];
    int before = errno;
    if (!counting)
        return DISK_NONE;
    int length = snprintf(line, sizeof line, "%s %s", what, path_of(fd, path));
    if (n >= 0)
        snprintf(line + length, sizeof line - (size_t)length, " %ld", n);
    errno = before;
    return meet(n < 2 ? kind & ~SHORTENED : kind, line, path);
}

/* ---- the calls ---- */

static int open_as(int folder, const char *name, int flags, mode_t mode) {
    bool unnamed = (flags & O_TMPFILE) == O_TMPFILE, changes = (flags & O_ACCMODE) != O_RDONLY;
    if (counting && plan.named_only && unnamed) {
        errno = EOPNOTSUPP;
        return -1;
    }
    int kind = FAILS | INTERRUPTED | (changes ? FILLS | SAVES : 0);
    const char *what = unnamed ? "create" : flags & O_CREAT ? "create" : "open";
    if (meet_path(kind, what, folder, name))
        return -1;
    int fd = (int)syscall(SYS_openat, folder, name, flags, mode);
    char path[PATH_MAX];
    if (unnamed && fd >= 0 && counting && is_under(path_of(fd, path)) && used + strlen(path) + 10 < LOG)
        used += (size_t)snprintf(text + used, LOG - used, "made %s\n", path);
    return fd;
}

#define OPENED(last)                                                                                                   \
    va_list rest;                                                                                                      \
    va_start(rest, last);                                                                                              \
    mode_t mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(rest, mode_t) : 0;                                          \
    va_end(rest)

SHOWN int openat(int folder, const char *name, int flags, ...) {
    OPENED(flags);
    return open_as(folder, name, flags, mode);
}

SAME(openat) int openat64(int folder, const char *name, int flags, ...);

SHOWN int open(const char *name, int flags, ...) {
    OPENED(flags);
    return open_as(AT_FDCWD, name, flags, mode);
}

SAME(open) int open64(const char *name, int flags, ...);

SHOWN ssize_t read(int fd, void *bytes, size_t n) {
    enum disk_fault fault = meet_fd(FAILS | INTERRUPTED | SHORTENED, "read", fd, (long)n);
    return fault && fault != DISK_SHORT ? -1 : syscall(SYS_read, fd, bytes, fault ? (n + 1) / 2 : n);
}

SHOWN ssize_t pread(int fd, void *bytes, size_t n, off_t offset) {
    enum disk_fault fault = meet_fd(FAILS | INTERRUPTED | SHORTENED, "read", fd, (long)n);
    return fault && fault != DISK_SHORT ? -1 : syscall(SYS_pread64, fd, bytes, fault ? (n + 1) / 2 : n, offset);
}

SAME(pread) ssize_t pread64(int fd, void *bytes, size_t n, off_t offset);

enum { WRITES = FAILS | INTERRUPTED | SHORTENED | FILLS | SAVES };

SHOWN ssize_t write(int fd, const void *bytes, size_t n) {
    enum disk_fault fault = meet_fd(WRITES, "write", fd, (long)n);
    return fault && fault != DISK_SHORT ? -1 : syscall(SYS_write, fd, bytes, fault ? (n + 1) / 2 : n);
}

SHOWN ssize_t pwrite(int fd, const void *bytes, size_t n, off_t offset) {
    enum disk_fault fault = meet_fd(WRITES, "write", fd, (long)n);
    return fault && fault != DISK_SHORT ? -1 : syscall(SYS_pwrite64, fd, bytes, fault ? (n + 1) / 2 : n, offset);
}

SAME(pwrite) ssize_t pwrite64(int fd, const void *bytes, size_t n, off_t offset);

SHOWN int fsync(int fd) {
    return meet_fd(FAILS | INTERRUPTED | FILLS | SAVES, "sync", fd, -1) ? -1 : 0;
}

SAME(fsync) int fdatasync(int fd);

SHOWN int ftruncate(int fd, off_t length) {
    return meet_fd(FAILS | INTERRUPTED | FILLS | SAVES, "cut", fd, length) ? -1
                                                                           : (int)syscall(SYS_ftruncate, fd, length);
}

SAME(ftruncate) int ftruncate64(int fd, off_t length);

/* Unlike the others it returns its error. */
SHOWN int posix_fallocate(int fd, off_t offset, off_t length) {
    if (meet_fd(FAILS | INTERRUPTED | FILLS | SAVES, "reserve", fd, offset + length))
        return errno;
    return syscall(SYS_fallocate, fd, 0, offset, length) < 0 ? errno : 0;
}

SAME(posix_fallocate) int posix_fallocate64(int fd, off_t offset, off_t length);

/* As on Linux, a file is closed even if close fails. */
SHOWN int close(int fd) {
    enum disk_fault fault = meet_fd(FAILS | INTERRUPTED, "close", fd, -1);
    int failure = errno, code = (int)syscall(SYS_close, fd);
    if (!fault)
        return code;
    errno = failure;
    return -1;
}

SHOWN int renameat(int from_folder, const char *from, int to_folder, const char *to) {
    if (meet_two("name", from_folder, from, to_folder, to))
        return -1;
    return (int)syscall(SYS_renameat2, from_folder, from, to_folder, to, 0);
}

SHOWN int rename(const char *from, const char *to) {
    return renameat(AT_FDCWD, from, AT_FDCWD, to);
}

SHOWN int linkat(int from_folder, const char *from, int to_folder, const char *to, int flags) {
    if (meet_two("name", from_folder, from, to_folder, to))
        return -1;
    return (int)syscall(SYS_linkat, from_folder, from, to_folder, to, flags);
}

SHOWN int mkdir(const char *path, mode_t mode) {
    if (meet_path(FAILS | FILLS | SAVES, "folder", AT_FDCWD, path))
        return -1;
    return (int)syscall(SYS_mkdirat, AT_FDCWD, path, mode);
}

/* ---- streams: fopen's own reads and writes call the C library inside, so a fopencookie stream replaces them ---- */

static ssize_t stream_read(void *stream, char *bytes, size_t n) {
    return read(*(int *)stream, bytes, n);
}

static ssize_t stream_write(void *stream, const char *bytes, size_t n) {
    ssize_t put = write(*(int *)stream, bytes, n);
    return put < 0 ? 0 : put; /* a fopencookie writer reports an error by 0 */
}

static int stream_seek(void *stream, off64_t *offset, int from) {
    off_t at = lseek(*(int *)stream, *offset, from);
    *offset = at;
    return at < 0 ? -1 : 0;
}

static int stream_close(void *stream) {
    int code = close(*(int *)stream);
    free(stream);
    return code;
}

static FILE *stream_of(int fd, const char *mode) {
    static const cookie_io_functions_t calls = {stream_read, stream_write, stream_seek, stream_close};
    int *kept = malloc(sizeof *kept);
    if (!kept)
        return NULL;
    *kept = fd;
    return fopencookie(kept, mode, calls);
}

SHOWN FILE *fdopen(int fd, const char *mode) {
    static FILE *(*real)(int, const char *);
    void *symbol = dlsym(RTLD_NEXT, "fdopen");
    char path[PATH_MAX];
    memcpy(&real, &symbol, sizeof real);
    return counting && is_under(path_of(fd, path)) ? stream_of(fd, mode) : real(fd, mode);
}

static FILE *open_stream(const char *path, const char *mode) {
    int flags = mode[0] == 'r' ? O_RDONLY : O_CREAT | (mode[0] == 'w' ? O_TRUNC : O_APPEND);
    if (strchr(mode, '+'))
        flags |= O_RDWR;
    else if (mode[0] != 'r')
        flags |= O_WRONLY;
    int fd = open_as(AT_FDCWD, path, flags, 0666);
    return fd < 0 ? NULL : stream_of(fd, mode);
}

SHOWN FILE *fopen(const char *path, const char *mode) {
    static FILE *(*real)(const char *, const char *);
    void *symbol = dlsym(RTLD_NEXT, "fopen");
    memcpy(&real, &symbol, sizeof real);
    return counting && is_under(path) ? open_stream(path, mode) : real(path, mode);
}

SAME(fopen) FILE *fopen64(const char *path, const char *mode);

/* ---- the order of a save ---- */

/* Returns the last line before `end` that begins with `what` and `path`; NULL if there is none. */
static const char *last_line(const char *calls, const char *end, const char *what, const char *path) {
    char start[PATH_MAX + 64];
    const char *found = NULL;
    size_t n = (size_t)snprintf(start, sizeof start, "%s %s", what, path);
    for (const char *line = calls; line < end && *line; line = strchr(line, '\n') + 1)
        if (!strncmp(line, start, n) && (line[n] == ' ' || line[n] == '\n'))
            found = line;
    return found;
}

/* Returns the last line before `end` in which a file gets the name `path`; `former` receives its former path. */
static const char *last_naming(const char *calls, const char *end, const char *path, char former[PATH_MAX]) {
    const char *found = NULL;
    for (const char *line = calls; line < end && *line; line = strchr(line, '\n') + 1) {
        const char *from = line + 5, *to = strncmp(line, "name ", 5) ? NULL : strchr(from, ' ');
        size_t n = strlen(path);
        if (!to || strncmp(to + 1, path, n) != 0 || to[1 + n] != '\n')
            continue;
        found = line;
        snprintf(former, PATH_MAX, "%.*s", (int)(to - from), from);
    }
    return found;
}

bool disk_save_in_order(const char *calls, const char *path, long *bytes, char wrong[400]) {
    char from[PATH_MAX], first[PATH_MAX], folder[PATH_MAX];
    const char *end = calls + strlen(calls);
    const char *named = last_naming(calls, end, path, from), *before = named;
    for (const char *earlier; before && (earlier = last_naming(calls, before, from, first)); before = earlier)
        memcpy(from, first, sizeof from);
    snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(path, '/') - path), path);
    const char *why = NULL, *made = NULL, *synced = NULL, *folder_synced = NULL;
    *bytes = 0;
    if (!named)
        why = "no file is renamed to it";
    else if (strncmp(from, folder, strlen(folder)) || strchr(from + strlen(folder) + 1, '/'))
        why = "its temporary file is in another folder";
    else if (!(made = last_line(calls, before, "made", from)) && !(made = last_line(calls, before, "create", from)))
        why = "no temporary file is created";
    else if (!(synced = last_line(made, before, "sync", from)))
        why = "the temporary file is not synced before it has the name";
    else if (last_line(synced, end, "write", from))
        why = "something is written behind the sync";
    else if (!(folder_synced = last_line(named, end, "sync", folder)))
        why = "the folder is not synced";
    for (const char *line = made; !why && line < synced; line = strchr(line, '\n') + 1)
        if (last_line(line, line + 1, "write", from))
            *bytes += atol(line + strlen("write ") + strlen(from));
    if (why)
        snprintf(wrong, 400, "%.200s: %s", path, why);
    return !why;
}
