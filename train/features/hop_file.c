/* train/features/hop_file.c - reading and writing the file behind a hop stack. */
#include "train/features/hop_file.h"

#include "tensor/files/file.h"
#include "tensor/host_array.h"
#include "tensor/storage.h"
#include "train/features/row_stack.h"

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

enum { PAGE = 4096, BLOCK_BYTES = 16 << 20 };
/* The first page, in front of the key: shape, and rows of a block. */
#define HEADER                                                                                                         \
    "mochi hop stack 2\n%s [%" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64 "], blocks of %" PRId64 " rows\n"

static bool hop_file_failed(mo_hop_file *f, const char *what) {
    if (mo_ok(f->ctx))
        mo_fail(
            f->ctx, MO_IO, "hop stack '%s': cannot %s: %s", f->locked ? f->partial : f->path, what, strerror(errno));
    return false;
}

static bool read_at(mo_hop_file *f, void *bytes, size_t n, int64_t offset) {
    return mo_read_at(f->fd, bytes, n, offset) == (ssize_t)n;
}

/* A full disk leaves no file behind: the space is better than the blocks. */
static bool write_at(mo_hop_file *f, const void *bytes, size_t n, int64_t offset) {
    for (size_t done = 0; done < n;) {
        ssize_t put = pwrite(f->fd, (const char *)bytes + done, n - done, offset + (int64_t)done);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0) {
            hop_file_failed(f, "write");
            unlink(f->partial);
            return false;
        }
        done += (size_t)put;
    }
    return true;
}

/* ---- where things are ---- */

static int64_t row_bytes(const mo_hop_file *f) {
    return f->columns * (int64_t)mo_dtype_size(f->dtype);
}

int64_t mo_hop_file_rows(const mo_hop_file *f, int64_t block) {
    int64_t left = f->nodes - block * f->block_rows;
    return left < f->block_rows ? left : f->block_rows;
}

static int64_t hop_offset(const mo_hop_file *f, int64_t side, int64_t hop) {
    return PAGE + (side * f->hops + hop) * f->nodes * row_bytes(f);
}

static int64_t table_offset(const mo_hop_file *f) {
    int64_t end = hop_offset(f, f->blocks / (f->hops * f->hop_blocks), 0);
    return (end + PAGE - 1) / PAGE * PAGE;
}

/* The table: quality, its digest, the digests of the blocks. */
static int64_t digests_offset(const mo_hop_file *f) {
    return table_offset(f) + (int64_t)(sizeof f->quality + sizeof f->quality_digest);
}

static int64_t file_bytes(const mo_hop_file *f) {
    return digests_offset(f) + f->blocks * (int64_t)sizeof *f->digest;
}

uint64_t *mo_hop_file_digest(const mo_hop_file *f, int64_t side, int64_t hop, int64_t block) {
    return &f->digest[(side * f->hops + hop) * f->hop_blocks + block];
}

int64_t mo_hop_file_finished(const mo_hop_file *f) {
    int64_t n = 0;
    for (int64_t i = 0; i < f->blocks; i++)
        n += f->digest[i] != 0;
    return n;
}

bool mo_hop_file_lacks(const mo_hop_file *f, int64_t side, int64_t hop) {
    for (int64_t b = 0; b < f->hop_blocks; b++)
        if (!*mo_hop_file_digest(f, side, hop, b))
            return true;
    return false;
}

static void lay_out(mo_hop_file *f, int64_t sides) {
    f->block_rows = BLOCK_BYTES / row_bytes(f) + 1;
    f->hop_blocks = (f->nodes + f->block_rows - 1) / f->block_rows;
    f->blocks = sides * f->hops * f->hop_blocks;
    f->digest = mo_host_array(f->ctx, f->blocks, sizeof *f->digest);
}

/* ---- opening ---- */

/* 0 stands for a block that is missing. */
static uint64_t digest_of(const void *bytes, size_t n) {
    uint64_t digest = XXH3_64bits(bytes, n);
    return digest ? digest : 1;
}

/* The first page: the file's nature in words. */
static void describe_hop_file(const mo_hop_file *f, int64_t sides, const char *key, char page[PAGE]) {
    memset(page, 0, PAGE);
    snprintf(
        page, PAGE, HEADER "%s\n", mo_dtype_name(f->dtype), sides, f->hops, f->nodes, f->columns, f->block_rows, key);
}

/* Whether the bytes that nothing is kept in, at most a page of them, are zeros. */
static bool hop_file_is_empty(mo_hop_file *f, int64_t from, int64_t to) {
    static const char zeros[PAGE];
    char found[PAGE];
    return read_at(f, found, (size_t)(to - from), from) && memcmp(found, zeros, (size_t)(to - from)) == 0;
}

/* False where the file is cut short or holds more than it should. */
static bool read_table(mo_hop_file *f) {
    struct stat st;
    int64_t end = hop_offset(f, f->blocks / (f->hops * f->hop_blocks), 0);
    return fstat(f->fd, &st) == 0 && st.st_size == file_bytes(f) && hop_file_is_empty(f, end, table_offset(f)) &&
           read_at(f, f->quality, sizeof f->quality, table_offset(f)) &&
           read_at(f, &f->quality_digest, sizeof f->quality_digest, table_offset(f) + (int64_t)sizeof f->quality) &&
           read_at(f, f->digest, (size_t)f->blocks * sizeof *f->digest, digests_offset(f));
}

/* The same, and whether it is the file that the store wants. */
static bool read_own_table(mo_hop_file *f, const mo_hop_store *s) {
    char page[PAGE], found[PAGE];
    describe_hop_file(f, s->sides, s->key, page);
    return read_at(f, found, PAGE, 0) && memcmp(page, found, PAGE) == 0 && read_table(f);
}

/* Forgets the blocks whose checksums do not hold; without the quality, which comes with hop 0, its blocks. Returns how
 * many. */
static int64_t hop_file_verify(mo_hop_file *f) {
    int64_t damaged = 0;
    bool quality = f->quality_digest == digest_of(f->quality, sizeof f->quality);
    for (int64_t i = 0; i < f->blocks && !quality; i += f->hops * f->hop_blocks) {
        damaged += f->digest[i] != 0;
        f->digest[i] = 0;
    }
    char *block = mo_host_array(f->ctx, f->block_rows, (size_t)row_bytes(f));
    for (int64_t i = 0; i < f->blocks && block; i++) {
        int64_t b = i % f->hop_blocks, at = hop_offset(f, 0, i / f->hop_blocks) + b * f->block_rows * row_bytes(f);
        size_t n = (size_t)(mo_hop_file_rows(f, b) * row_bytes(f));
        if (!f->digest[i] || (read_at(f, block, n, at) && digest_of(block, n) == f->digest[i]))
            continue;
        f->digest[i] = 0;
        damaged++;
    }
    free(block);
    return damaged;
}

static void hop_file_tell(const mo_hop_file *f, const mo_hop_store *s, const char *what, int64_t blocks) {
    char line[1200];
    if (!s->cache.notice)
        return;
    snprintf(line, sizeof line, "cache: hop stack '%s': %" PRId64 " blocks %s", f->path, blocks, what);
    s->cache.notice(line, s->cache.state);
}

static void close_fd(mo_hop_file *f) {
    if (f->fd >= 0)
        close(f->fd);
    f->fd = -1;
    f->locked = false;
}

/* The whole file. What is damaged in it makes it a partial one. */
static bool open_whole(mo_hop_file *f, const mo_hop_store *s) {
    f->fd = open(f->path, O_RDONLY | O_CLOEXEC);
    if (f->fd < 0)
        return false;
    int64_t damaged = read_own_table(f, s) ? hop_file_verify(f) : f->blocks;
    if (!damaged && mo_hop_file_finished(f) == f->blocks) {
        utimensat(AT_FDCWD, f->path, NULL, 0);
        return true;
    }
    hop_file_tell(f, s, "are damaged; made again", damaged);
    rename(f->path, f->partial);
    close_fd(f);
    return false;
}

/* Waits for the lock on the partial file; false where the file has another name by then. */
static bool lock_partial(mo_hop_file *f, const mo_hop_store *s) {
    struct stat held, named;
    if (flock(f->fd, LOCK_EX | LOCK_NB) < 0) {
        hop_file_tell(f, s, "are being written by another process; waiting", f->blocks);
        while (flock(f->fd, LOCK_EX) < 0 && errno == EINTR)
            ;
    }
    return fstat(f->fd, &held) == 0 && stat(f->partial, &named) == 0 && held.st_ino == named.st_ino;
}

/* An empty file of full size, or what an interrupted run has left. */
static bool prepare_partial(mo_hop_file *f, const mo_hop_store *s) {
    char page[PAGE];
    if (read_own_table(f, s)) {
        hop_file_verify(f);
        hop_file_tell(f, s, "are there from an interrupted run", mo_hop_file_finished(f));
        return mo_ok(f->ctx);
    }
    memset(f->digest, 0, (size_t)f->blocks * sizeof *f->digest);
    describe_hop_file(f, s->sides, s->key, page);
    if (ftruncate(f->fd, 0) < 0)
        return hop_file_failed(f, "empty");
    errno = posix_fallocate(f->fd, 0, file_bytes(f));
    if (errno) {
        mo_fail(f->ctx, MO_IO, "hop stack '%s': cannot reserve %.1f GB: %s", f->partial, 1e-9 * (double)file_bytes(f),
            strerror(errno));
        unlink(f->partial);
        return false;
    }
    return write_at(f, page, PAGE, 0);
}

bool mo_hop_file_open(mo_hop_file *f, const mo_hop_store *s) {
    *f = (mo_hop_file){
        .ctx = s->cache.ctx, .fd = -1, .dtype = s->dtype, .hops = s->hops, .nodes = s->nodes, .columns = s->columns};
    lay_out(f, s->sides);
    f->path = mo_cache_path(&s->cache, s->key, ".stack");
    if (f->path && asprintf(&f->partial, "%s.partial", f->path) < 0)
        f->partial = NULL;
    if (!f->partial && mo_ok(f->ctx))
        mo_fail(f->ctx, MO_MEMORY, "hop stack: out of memory");
    while (mo_ok(f->ctx)) {
        if (open_whole(f, s))
            return true;
        f->fd = open(f->partial, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
        f->locked = true;
        if (f->fd < 0)
            return hop_file_failed(f, "open");
        if (lock_partial(f, s))
            return prepare_partial(f, s);
        close_fd(f);
    }
    return false;
}

void mo_hop_file_close(mo_hop_file *f) {
    close_fd(f);
    free(f->digest);
    free(f->path);
    free(f->partial);
}

bool mo_hop_file_write(mo_hop_file *f, int64_t side, int64_t hop, int64_t block, const void *rows) {
    size_t n = (size_t)(mo_hop_file_rows(f, block) * row_bytes(f));
    uint64_t *digest = mo_hop_file_digest(f, side, hop, block);
    int64_t entry = digests_offset(f) + (digest - f->digest) * (int64_t)sizeof *digest;
    if (!write_at(f, rows, n, hop_offset(f, side, hop) + block * f->block_rows * row_bytes(f)))
        return false;
    *digest = digest_of(rows, n);
    return write_at(f, digest, sizeof *digest, entry);
}

bool mo_hop_file_put_quality(mo_hop_file *f, const double quality[2]) {
    memcpy(f->quality, quality, sizeof f->quality);
    f->quality_digest = digest_of(f->quality, sizeof f->quality);
    return write_at(f, f->quality, sizeof f->quality, table_offset(f)) &&
           write_at(f, &f->quality_digest, sizeof f->quality_digest, table_offset(f) + (int64_t)sizeof f->quality);
}

bool mo_hop_file_read_hop(mo_hop_file *f, int64_t side, int64_t hop, float *rows) {
    int64_t n = f->nodes * f->columns, bytes = f->nodes * row_bytes(f);
    if (!read_at(f, (char *)(rows + n) - bytes, (size_t)bytes, hop_offset(f, side, hop)))
        return hop_file_failed(f, "read");
    if (f->dtype == MO_F16)
        mo_widen_halves(rows, n);
    return true;
}

bool mo_hop_file_complete(mo_hop_file *f) {
    if (!f->locked)
        return true;
    if (mo_file_sync(f->fd) < 0)
        return hop_file_failed(f, "sync");
    return rename(f->partial, f->path) == 0 || hop_file_failed(f, "rename");
}

mo_tensor *mo_hop_file_map(mo_hop_file *f, const mo_hop_store *s) {
    int64_t shape[] = {s->sides, s->hops, s->nodes, s->columns};
    return mo_tensor_map(f->ctx, f->dtype, 4, shape, f->fd, PAGE, f->path);
}

/* What the first page says: the key (free() it) and, in f and *sides, the shape; NULL where it is no page of ours. */
static char *read_page(mo_hop_file *f, int64_t *sides) {
    char page[PAGE + 1] = "", type[PAGE + 1] = "";
    int at = 0;
    if (f->fd < 0 || !read_at(f, page, PAGE, 0) ||
        sscanf(page, HEADER "%n", type, sides, &f->hops, &f->nodes, &f->columns, &f->block_rows, &at) != 6 || at <= 0)
        return NULL;
    f->dtype = strcmp(type, mo_dtype_name(MO_F16)) ? MO_F32 : MO_F16;
    return strndup(page + at, strcspn(page + at, "\n"));
}

/* Whether the file is as long as the shape needs, before memory is asked for, and the page as it is written for it. */
static bool is_described(mo_hop_file *f, int64_t sides, const char *key) {
    char page[PAGE], found[PAGE];
    struct stat st;
    if (sides < 1 || sides > 64 || f->hops < 1 || f->hops > 64 || f->nodes < 1 || f->nodes > INT32_MAX ||
        f->columns < 1 || f->columns > 65536 || fstat(f->fd, &st) < 0 || st.st_size < hop_offset(f, sides, 0))
        return false;
    lay_out(f, sides);
    describe_hop_file(f, sides, key, page);
    return mo_ok(f->ctx) && read_at(f, found, PAGE, 0) && memcmp(page, found, PAGE) == 0;
}

char *mo_hop_file_inspect(mo_context *ctx, const char *path, bool check, bool *intact) {
    mo_hop_file f = {.ctx = ctx, .fd = open(path, O_RDONLY | O_CLOEXEC)};
    int64_t sides = 0;
    char *key = read_page(&f, &sides);
    *intact = key && is_described(&f, sides, key);
    if (*intact && check)
        *intact = read_table(&f) && mo_hop_file_finished(&f) == f.blocks && hop_file_verify(&f) == 0;
    mo_hop_file_close(&f);
    return key;
}
