/* train/features/stack_file.c - a hop stack in a file of the cache: a .npy of format 1.0 whose header is one page, so
 * that the rows can be mapped.
 *
 * The page ends in a comment: the digest (XXH3) of the page itself, with zeros in the digest's place, and of the rows;
 * the quality of the SVDs; the key. The rows are written through a map of a file that gets its name once it is whole
 * (tensor/files/file.c), so that processes can share a folder: a later one replaces a file by equal content. A file
 * that does not match its page is made again. */
#include "train/features/stack_file.h"

#include "tensor/files/file.h"
#include "tensor/objects.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

enum { PAGE = MO_STACK_PAGE, PREFIX = 10 /* bytes before the text of a .npy header */, BLOCK_BYTES = 1 << 20 };
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

/* Opens the finished file, unless there is none or it is damaged: then it stays until a new one replaces it. */
static bool open_whole(mo_stack_file *s) {
    struct stat st;
    char found[PAGE], page[PAGE], line[1200];
    do /* again if a signal interrupts it: a failure would look like a missing stack */
        s->fd = open(s->path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY); /* a pipe is not waited for */
    while (s->fd < 0 && errno == EINTR);
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
    snprintf(line, sizeof line, "cache: hop stack '%s' is damaged; made again", s->path);
    if (mo_ok(s->cache.ctx) && s->cache.notice)
        s->cache.notice(line, s->cache.state);
    close(s->fd);
    s->fd = -1;
    return false;
}

static mo_tensor *map_rows(const mo_stack_file *s, bool writable) {
    mo_context *ctx = s->cache.ctx;
    if (!mo_ok(ctx) || s->fd < 0)
        return mo_null_tensor(ctx);
    return mo_tensor_map(ctx, MO_F32, s->ndim, s->shape, s->fd, PAGE, s->path, writable);
}

mo_tensor *mo_stack_open(mo_stack_file *s) {
    mo_context *ctx = s->cache.ctx;
    s->fd = -1;
    s->whole = false;
    s->writer = NULL;
    s->path = NULL;
    if (!s->on_disk)
        return s->rows = mo_tensor_reserve(ctx, MO_F32, s->ndim, s->shape);
    s->path = mo_cache_path(&s->cache, s->key, MO_STACK_ENDING);
    if (s->path && !open_whole(s) && mo_ok(ctx)) {
        s->writer = mo_file_start(ctx, s->path);
        s->fd = s->writer ? mo_file_reserve(s->writer, PAGE + row_bytes(s)) : -1;
    }
    return s->rows = map_rows(s, !s->whole);
}

mo_tensor *mo_stack_close(mo_stack_file *s) {
    mo_context *ctx = s->cache.ctx;
    mo_tensor *rows = s->rows;
    char page[PAGE];
    if (s->writer) {
        if (mo_ok(ctx) && find_page(s, page))
            mo_file_append(s->writer, page, PAGE);
        else if (mo_ok(ctx))
            mo_fail(ctx, MO_IO, "hop stack '%s': cannot read the rows that were written: %s", s->path, strerror(errno));
        mo_tensor_release(rows);
        rows = map_rows(s, false);
        s->whole = mo_file_finish(s->writer) == MO_OK; /* closes the file */
    } else if (s->fd >= 0) {
        close(s->fd);
    }
    free(s->path);
    if (mo_ok(ctx) && mo_tensor_count(rows))
        return rows;
    mo_tensor_release(rows);
    return mo_null_tensor(ctx);
}
