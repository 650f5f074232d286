/* train/features/hop_store.c - a hop stack in a file, written a block of rows at a time, and mapped.
 *
 * The file is a .npy [sides, hops, nodes, columns] whose header fills a page; what the stack was made of stands there
 * as a comment. Behind the data lie the quality of the SVDs, a checksum (XXH3) of each hop, and one of all that. While
 * the file is written its name ends in .partial and one process holds the lock; then it is synced and renamed.
 * Checksums are compared whenever a file is opened: one that is damaged, and what a killed run has left, is made again.
 */
#include "train/features/hop_store.h"

#include "ops/rules/in_place.h"
#include "tensor/files/file.h"
#include "tensor/files/number_text.h"
#include "tensor/storage.h"
#include "train/features/nodes/diffuse.h"

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

enum { BLOCK_BYTES = 16 << 20, NOTICE_SECONDS = 5, PREFIX = 10 /* bytes before the text of a .npy header */ };
#define HEADER                                                                                                         \
    "{'descr': '<f4', 'fortran_order': False, 'shape': (%" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64               \
    "), } # mochi hop stack 3: "

/* What lies behind the data. */
typedef struct trailer {
    double quality[2];
    uint64_t own;      /* checksum of the trailer, for which it counts as the header's */
    uint64_t digest[]; /* [sides, hops] */
} trailer;

typedef struct hop_file {
    mo_context *ctx;
    char *path, *partial;
    int fd;
    bool writing; /* the open file is the partial one, and its lock is held */
    int64_t shape[4];
    int64_t row_bytes;
    char header[MO_HOP_PAGE];
    trailer *end;
    size_t end_bytes;
} hop_file;

/* ---- what lies where ---- */

static int64_t hop_offset(const hop_file *f, int64_t hop) {
    return MO_HOP_PAGE + hop * f->shape[2] * f->row_bytes;
}

static int64_t block_rows(const hop_file *f) {
    return BLOCK_BYTES / f->row_bytes + 1;
}

static int64_t all_hops(const hop_file *f) {
    return f->shape[0] * f->shape[1];
}

/* Sets header and sizes from a shape. */
static bool lay_out(hop_file *f, const int64_t shape[4], const char *key) {
    static const char prefix[PREFIX] = {
        (char)0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (char)(MO_HOP_PAGE - PREFIX), (char)((MO_HOP_PAGE - PREFIX) >> 8)};
    memcpy(f->shape, shape, sizeof f->shape);
    f->row_bytes = shape[3] * (int64_t)sizeof(float);
    memcpy(f->header, prefix, PREFIX);
    int n =
        snprintf(f->header + PREFIX, MO_HOP_PAGE - PREFIX, HEADER "%s", shape[0], shape[1], shape[2], shape[3], key);
    if (n < MO_HOP_PAGE - PREFIX) /* else a file found says so in other words: it has not this header */
        memset(f->header + PREFIX + n, ' ', (size_t)(MO_HOP_PAGE - PREFIX - n));
    f->header[MO_HOP_PAGE - 1] = '\n';
    f->end_bytes = sizeof *f->end + (size_t)all_hops(f) * sizeof *f->end->digest;
    f->end = mo_host_array(f->ctx, (int64_t)f->end_bytes, 1);
    return f->end;
}

static uint64_t digest_ends(const hop_file *f) {
    uint64_t kept = f->end->own;
    f->end->own = XXH3_64bits(f->header, MO_HOP_PAGE);
    uint64_t digest = XXH3_64bits(f->end, f->end_bytes);
    f->end->own = kept;
    return digest;
}

static bool read_exactly(const hop_file *f, void *bytes, size_t n, int64_t offset) {
    return mo_read_at(f->fd, bytes, n, offset) == (ssize_t)n;
}

/* Whether the file is whole but for its rows, and says of itself what f does. */
static bool read_ends(hop_file *f) {
    struct stat st;
    char found[MO_HOP_PAGE];
    return fstat(f->fd, &st) == 0 && st.st_size == hop_offset(f, all_hops(f)) + (int64_t)f->end_bytes &&
           read_exactly(f, found, MO_HOP_PAGE, 0) && memcmp(found, f->header, MO_HOP_PAGE) == 0 &&
           read_exactly(f, f->end, f->end_bytes, hop_offset(f, all_hops(f))) && f->end->own == digest_ends(f);
}

static bool verify_rows(hop_file *f) {
    XXH3_state_t *sum = XXH3_createState();
    char *block = mo_host_array(f->ctx, block_rows(f), (size_t)f->row_bytes);
    bool intact = sum && block;
    if (!sum && mo_ok(f->ctx))
        mo_fail(f->ctx, MO_MEMORY, "hop stack: out of memory");
    for (int64_t hop = 0; hop < all_hops(f) && intact; hop++) {
        XXH3_64bits_reset(sum);
        for (int64_t at = hop_offset(f, hop), stop = hop_offset(f, hop + 1); at < stop && intact;) {
            int64_t most = block_rows(f) * f->row_bytes, n = stop - at < most ? stop - at : most;
            intact = read_exactly(f, block, (size_t)n, at);
            XXH3_64bits_update(sum, block, intact ? (size_t)n : 0);
            at += n;
        }
        intact = intact && XXH3_64bits_digest(sum) == f->end->digest[hop];
    }
    XXH3_freeState(sum);
    free(block);
    return intact;
}

char *mo_hop_file_inspect(mo_context *ctx, const char *path, bool check, bool *intact) {
    hop_file f = {.ctx = ctx, .fd = open(path, O_RDONLY | O_CLOEXEC)};
    char page[MO_HOP_PAGE + 1] = "", *key = NULL;
    int64_t shape[4];
    int at = 0;
    struct stat st;
    *intact = false;
    if (f.fd >= 0 && read_exactly(&f, page, MO_HOP_PAGE, 0) &&
        sscanf(page + PREFIX, HEADER "%n", &shape[0], &shape[1], &shape[2], &shape[3], &at) == 4 && at > 0) {
        size_t n = strlen(page + PREFIX + at);
        while (n > 0 && strchr(" \n", page[PREFIX + (size_t)at + n - 1]))
            n--;
        key = strndup(page + PREFIX + at, n);
        bool sound = fstat(f.fd, &st) == 0;
        double bytes = sizeof(float);
        for (int i = 0; i < 4; i++) {
            sound = sound && shape[i] > 0;
            bytes *= (double)shape[i];
        }
        /* as long as the shape needs, before memory is asked for */
        *intact = key && sound && bytes < (double)st.st_size && lay_out(&f, shape, key) && read_ends(&f) &&
                  (!check || verify_rows(&f));
    }
    if (f.fd >= 0)
        close(f.fd);
    free(f.end);
    return key;
}

/* ---- opening ---- */

static bool hop_file_failed(hop_file *f, const char *what) {
    if (mo_ok(f->ctx))
        mo_fail(
            f->ctx, MO_IO, "hop stack '%s': cannot %s: %s", f->writing ? f->partial : f->path, what, strerror(errno));
    return false;
}

static void hop_file_tell(const hop_file *f, const mo_hop_store *s, const char *what) {
    char line[1200];
    if (!s->cache.notice)
        return;
    snprintf(line, sizeof line, "cache: hop stack '%s' %s", f->path, what);
    s->cache.notice(line, s->cache.state);
}

static void close_fd(hop_file *f) {
    if (f->fd >= 0)
        close(f->fd);
    f->fd = -1;
    f->writing = false;
}

/* open, again if a signal interrupts it: a stack that is there must not be computed again. */
static int open_uninterrupted(const char *path, int flags) {
    int fd;
    do
        fd = open(path, flags | O_NOFOLLOW | O_CLOEXEC);
    while (fd < 0 && errno == EINTR);
    return fd;
}

/* The file under its own name. One that is damaged stays there until another takes its place. */
static bool open_whole(hop_file *f, const mo_hop_store *s) {
    f->fd = open_uninterrupted(f->path, O_RDONLY);
    if (f->fd < 0)
        return false;
    if (read_ends(f) && verify_rows(f)) {
        futimens(f->fd, NULL);
        return true;
    }
    if (mo_ok(f->ctx))
        hop_file_tell(f, s, "is damaged; made again");
    close_fd(f);
    return false;
}

/* Waits for the lock on the partial file; false where the file has another name by then. */
static bool lock_partial(hop_file *f, const mo_hop_store *s) {
    struct stat held, named;
    if (flock(f->fd, LOCK_EX | LOCK_NB) < 0) {
        hop_file_tell(f, s, "is being written by another process; waiting");
        while (flock(f->fd, LOCK_EX) < 0 && errno == EINTR)
            ;
    }
    return fstat(f->fd, &held) == 0 && stat(f->partial, &named) == 0 && held.st_ino == named.st_ino;
}

/* Empties the file and gives it its full size, each again if a signal interrupts it. */
static bool reserve(hop_file *f) {
    int64_t bytes = hop_offset(f, all_hops(f)) + (int64_t)f->end_bytes;
    int reason;
    do
        reason = ftruncate(f->fd, 0) < 0 ? errno : 0;
    while (reason == EINTR);
    while (!reason && (reason = posix_fallocate(f->fd, 0, bytes)) == EINTR)
        reason = 0;
    if (reason)
        mo_fail(f->ctx, MO_IO, "hop stack '%s': cannot reserve %.1f GB: %s", f->partial, 1e-9 * (double)bytes,
            strerror(reason));
    return !reason;
}

/* Opens the whole file, or an empty one of full size under its lock. Close in any case. */
static bool open_hop_file(hop_file *f, const mo_hop_store *s) {
    char label[MO_LABEL];
    *f = (hop_file){.ctx = s->cache.ctx, .fd = -1, .path = mo_cache_path(&s->cache, s->key, MO_HOP_ENDING)};
    if (f->path && asprintf(&f->partial, "%s.partial", f->path) < 0) {
        f->partial = NULL;
        mo_fail(f->ctx, MO_MEMORY, "hop stack: out of memory");
    }
    if (!f->partial || !lay_out(f, (int64_t[]){s->sides, s->hops, s->nodes, s->columns}, s->key))
        return false;
    while (mo_ok(f->ctx)) {
        if (open_whole(f, s))
            return true;
        if (!mo_ok(f->ctx))
            return false;
        f->fd = mo_file_open_own(f->ctx, mo_file_label("hop stack", f->partial, label), f->partial, O_RDWR | O_CREAT);
        if (f->fd < 0)
            return false;
        if (lock_partial(f, s)) {
            f->writing = true;
            return reserve(f);
        }
        close_fd(f);
    }
    return false;
}

/* ---- writing ---- */

static bool write_exactly(hop_file *f, const void *bytes, size_t n, int64_t offset) {
    for (size_t done = 0; done < n;) {
        ssize_t put = pwrite(f->fd, (const char *)bytes + done, n - done, offset + (int64_t)done);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return hop_file_failed(f, "write");
        done += (size_t)put;
    }
    return true;
}

/* Syncs the folder of the file, so that its new name lasts; some file systems cannot (EINVAL). */
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

static bool complete_file(hop_file *f, const double quality[2]) {
    memcpy(f->end->quality, quality, sizeof f->end->quality);
    f->end->own = digest_ends(f);
    if (!write_exactly(f, f->header, MO_HOP_PAGE, 0) ||
        !write_exactly(f, f->end, f->end_bytes, hop_offset(f, all_hops(f))))
        return false;
    if (mo_file_sync(f->fd) != 0)
        return hop_file_failed(f, "sync");
    if (rename(f->partial, f->path) < 0)
        return hop_file_failed(f, "rename");
    f->writing = false;
    flock(f->fd, LOCK_UN); /* a mapping would hold it as long as the rows are in use, and those who wait with it */
    return sync_folder(f->path) || hop_file_failed(f, "sync the folder");
}

/* ---- computing ---- */

typedef struct work {
    mo_hop_store *s;
    hop_file file;
    mo_tensor *X; /* the hop before */
    float *block; /* [rows of a block, columns] */
    XXH3_state_t *sum;
    int64_t rows, before; /* written of all hops; of them before start */
    double start, told;
} work;

static void begin_telling(work *w) {
    w->start = w->told = mo_clock(CLOCK_MONOTONIC);
    w->before = w->rows;
}

static void tell_progress(work *w, int64_t hops) {
    const mo_hop_store *s = w->s;
    double now = mo_clock(CLOCK_MONOTONIC), passed = now - w->start;
    double all = (double)(hops * s->nodes), done = (double)w->rows, timed = (double)(w->rows - w->before);
    if (!s->cache.notice || now - w->told < NOTICE_SECONDS)
        return;
    char line[256];
    mo_format(line, sizeof line, "features: %s, %.0f%% of the hop stack written, %.0f s left", s->name,
        100 * done / all, passed * (all - done) / timed);
    s->cache.notice(line, s->cache.state);
    w->told = now;
}

/* Writes a hop: of the rows given, or (NULL) of A times w->X. */
static bool write_hop(work *w, int64_t side, int64_t hop, const float *rows) {
    const mo_hop_store *s = w->s;
    hop_file *f = &w->file;
    int64_t index = side * s->hops + hop, step = block_rows(f);
    XXH3_64bits_reset(w->sum);
    for (int64_t i = 0; i < s->nodes && mo_ok(f->ctx); i += step) {
        int64_t n = s->nodes - i < step ? s->nodes - i : step;
        const float *x = rows ? rows + i * s->columns : w->block;
        if (!rows) {
            mo_view from = mo_tensor_view(w->X), to = from;
            to.data = w->block;
            to.shape[0] = n;
            mo_spmm_into(s->A, i, &from, &to);
        }
        XXH3_64bits_update(w->sum, x, (size_t)(n * f->row_bytes));
        if (mo_ok(f->ctx))
            write_exactly(f, x, (size_t)(n * f->row_bytes), hop_offset(f, index) + i * f->row_bytes);
        w->rows += n;
        tell_progress(w, s->sides * s->hops);
    }
    f->end->digest[index] = XXH3_64bits_digest(w->sum);
    return mo_ok(f->ctx);
}

/* Reads a hop into w->X, from the file. */
static bool read_hop(work *w, int64_t side, int64_t hop) {
    hop_file *f = &w->file;
    size_t bytes = (size_t)(w->s->nodes * f->row_bytes);
    return read_exactly(f, mo_tensor_view(w->X).data, bytes, hop_offset(f, side * w->s->hops + hop)) ||
           hop_file_failed(f, "read");
}

static void write_diffused(work *w, mo_tape *t, int64_t side) {
    const mo_hop_store *s = w->s;
    mo_tensor *sum[MO_DIFFUSED] = {NULL, NULL};
    for (int i = 0; i < s->diffused; i++)
        sum[i] = mo_tensor_uninitialized(w->file.ctx, MO_F32, 2, (int64_t[]){s->nodes, s->columns});
    if (mo_ok(w->file.ctx) && read_hop(w, side, 0))
        mo_diffuse(t, s->A, w->X, sum);
    for (int i = 0; i < s->diffused && mo_ok(w->file.ctx); i++)
        write_hop(w, side, s->hops - s->diffused + i, mo_tensor_view(sum[i]).data);
    for (int i = 0; i < s->diffused; i++)
        mo_tensor_release(sum[i]);
}

/* First every hop 0, whose SVDs take the most memory and time, then the others. */
static void compute_hops(work *w, mo_tape *t) {
    mo_hop_store *s = w->s;
    mo_context *ctx = s->cache.ctx;
    for (int64_t side = 0; side < s->sides && mo_ok(ctx); side++) {
        mo_tensor *X = s->first(t, s, side);
        begin_telling(w); /* the time left is of writing: an SVD's is not like it */
        if (mo_ok(ctx))
            write_hop(w, side, 0, mo_tensor_view(X).data);
        mo_tape_reset(t);
    }
    if (mo_ok(ctx) && s->hops > 1) {
        w->X = mo_tensor_create(ctx, MO_F32, 2, (int64_t[]){s->nodes, s->columns});
        w->block = mo_host_array(ctx, block_rows(&w->file) < s->nodes ? block_rows(&w->file) : s->nodes,
            (size_t)s->columns * sizeof *w->block);
    }
    begin_telling(w);
    for (int64_t side = 0; side < s->sides && mo_ok(ctx); side++) {
        for (int64_t hop = 1; hop < s->hops - s->diffused && mo_ok(ctx); hop++)
            if (read_hop(w, side, hop - 1))
                write_hop(w, side, hop, NULL);
        if (s->diffused && mo_ok(ctx))
            write_diffused(w, t, side);
    }
}

static bool compute_stack(work *w) {
    mo_hop_store *s = w->s;
    mo_tape *t = mo_tape_create(s->cache.ctx, MO_EVAL);
    w->sum = XXH3_createState();
    if (!w->sum && mo_ok(s->cache.ctx))
        mo_fail(s->cache.ctx, MO_MEMORY, "hop stack: out of memory");
    if (t && mo_ok(s->cache.ctx))
        compute_hops(w, t);
    mo_tape_release(t);
    mo_tensor_release(w->X);
    free(w->block);
    XXH3_freeState(w->sum);
    return mo_ok(s->cache.ctx) && complete_file(&w->file, s->quality);
}

mo_tensor *mo_hop_store_open(mo_hop_store *s) {
    mo_context *ctx = s->cache.ctx;
    work w = {.s = s};
    mo_tensor *stack = mo_null_tensor(ctx);
    if (!mo_ok(ctx))
        return stack;
    bool fine = open_hop_file(&w.file, s);
    s->from_cache = fine && !w.file.writing;
    if (fine && (s->from_cache || compute_stack(&w))) {
        memcpy(s->quality, w.file.end->quality, sizeof s->quality);
        stack = mo_tensor_map(ctx, MO_F32, 4, w.file.shape, w.file.fd, MO_HOP_PAGE, w.file.path);
    }
    if (w.file.writing) /* a part of a stack helps no other run */
        unlink(w.file.partial);
    close_fd(&w.file);
    free(w.file.end);
    free(w.file.path);
    free(w.file.partial);
    return stack;
}
