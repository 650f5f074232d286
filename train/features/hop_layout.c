/* train/features/hop_layout.c - what lies where in the file of a hop stack, and whether its bytes are those that were
 * written.
 *
 * A page of text (what the file is), the stack [sides, hops, nodes, columns] of float32 or float16, from the next page
 * on the quality of the SVDs with its checksum and the checksum of every block, 0 where it is not written yet. */
#include "train/features/hop_layout.h"

#include "tensor/files/file.h"
#include "tensor/host_array.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <xxhash.h>

enum { BLOCK_BYTES = 16 << 20 };
/* The first page, in front of the key: shape, and rows of a block. */
#define HEADER                                                                                                         \
    "mochi hop stack 2\n%s [%" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64 "], blocks of %" PRId64 " rows\n"

bool mo_hop_read_at(mo_hop_file *f, void *bytes, size_t n, int64_t offset) {
    return mo_read_at(f->fd, bytes, n, offset) == (ssize_t)n;
}

int64_t mo_hop_row_bytes(const mo_hop_file *f) {
    return f->columns * (int64_t)mo_dtype_size(f->dtype);
}

int64_t mo_hop_file_rows(const mo_hop_file *f, int64_t block) {
    int64_t left = f->nodes - block * f->block_rows;
    return left < f->block_rows ? left : f->block_rows;
}

int64_t mo_hop_offset(const mo_hop_file *f, int64_t side, int64_t hop) {
    return MO_HOP_PAGE + (side * f->hops + hop) * f->nodes * mo_hop_row_bytes(f);
}

int64_t mo_hop_table_offset(const mo_hop_file *f) {
    int64_t end = mo_hop_offset(f, f->blocks / (f->hops * f->hop_blocks), 0);
    return (end + MO_HOP_PAGE - 1) / MO_HOP_PAGE * MO_HOP_PAGE;
}

/* The table: quality, its digest, the digests of the blocks. */
int64_t mo_hop_digests_offset(const mo_hop_file *f) {
    return mo_hop_table_offset(f) + (int64_t)(sizeof f->quality + sizeof f->quality_digest);
}

int64_t mo_hop_file_bytes(const mo_hop_file *f) {
    return mo_hop_digests_offset(f) + f->blocks * (int64_t)sizeof *f->digest;
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

void mo_hop_lay_out(mo_hop_file *f, int64_t sides) {
    f->block_rows = BLOCK_BYTES / mo_hop_row_bytes(f) + 1;
    f->hop_blocks = (f->nodes + f->block_rows - 1) / f->block_rows;
    f->blocks = sides * f->hops * f->hop_blocks;
    f->digest = mo_host_array(f->ctx, f->blocks, sizeof *f->digest);
}

/* 0 stands for a block that is missing. */
uint64_t mo_hop_digest_of(const void *bytes, size_t n) {
    uint64_t digest = XXH3_64bits(bytes, n);
    return digest ? digest : 1;
}

void mo_hop_describe(const mo_hop_file *f, int64_t sides, const char *key, char page[MO_HOP_PAGE]) {
    memset(page, 0, MO_HOP_PAGE);
    snprintf(page, MO_HOP_PAGE, HEADER "%s\n", mo_dtype_name(f->dtype), sides, f->hops, f->nodes, f->columns,
        f->block_rows, key);
}

/* Whether the bytes that nothing is kept in, at most a page of them, are zeros. */
static bool hop_file_is_empty(mo_hop_file *f, int64_t from, int64_t to) {
    static const char zeros[MO_HOP_PAGE];
    char found[MO_HOP_PAGE];
    return mo_hop_read_at(f, found, (size_t)(to - from), from) && memcmp(found, zeros, (size_t)(to - from)) == 0;
}

/* False where the file is cut short or holds more than it should. */
static bool read_table(mo_hop_file *f) {
    struct stat st;
    int64_t end = mo_hop_offset(f, f->blocks / (f->hops * f->hop_blocks), 0);
    return fstat(f->fd, &st) == 0 && st.st_size == mo_hop_file_bytes(f) &&
           hop_file_is_empty(f, end, mo_hop_table_offset(f)) &&
           mo_hop_read_at(f, f->quality, sizeof f->quality, mo_hop_table_offset(f)) &&
           mo_hop_read_at(
               f, &f->quality_digest, sizeof f->quality_digest, mo_hop_table_offset(f) + (int64_t)sizeof f->quality) &&
           mo_hop_read_at(f, f->digest, (size_t)f->blocks * sizeof *f->digest, mo_hop_digests_offset(f));
}

/* The same, and whether it is the file that the store wants. */
bool mo_hop_read_own_table(mo_hop_file *f, const mo_hop_store *s) {
    char page[MO_HOP_PAGE], found[MO_HOP_PAGE];
    mo_hop_describe(f, s->sides, s->key, page);
    return mo_hop_read_at(f, found, MO_HOP_PAGE, 0) && memcmp(page, found, MO_HOP_PAGE) == 0 && read_table(f);
}

/* Forgets the blocks whose checksums do not hold; without the quality, which comes with hop 0, its blocks. Returns how
 * many. */
int64_t mo_hop_verify(mo_hop_file *f) {
    int64_t damaged = 0;
    bool quality = f->quality_digest == mo_hop_digest_of(f->quality, sizeof f->quality);
    for (int64_t i = 0; i < f->blocks && !quality; i += f->hops * f->hop_blocks) {
        damaged += f->digest[i] != 0;
        f->digest[i] = 0;
    }
    char *block = mo_host_array(f->ctx, mo_hop_file_rows(f, 0), (size_t)mo_hop_row_bytes(f)); /* the largest */
    for (int64_t i = 0; i < f->blocks && block; i++) {
        int64_t b = i % f->hop_blocks,
                at = mo_hop_offset(f, 0, i / f->hop_blocks) + b * f->block_rows * mo_hop_row_bytes(f);
        size_t n = (size_t)(mo_hop_file_rows(f, b) * mo_hop_row_bytes(f));
        if (!f->digest[i] || (mo_hop_read_at(f, block, n, at) && mo_hop_digest_of(block, n) == f->digest[i]))
            continue;
        f->digest[i] = 0;
        damaged++;
    }
    free(block);
    return damaged;
}

/* What the first page says: the key (free() it) and, in f and *sides, the shape; NULL where it is no page of ours. */
static char *read_page(mo_hop_file *f, int64_t *sides) {
    char page[MO_HOP_PAGE + 1] = "", type[MO_HOP_PAGE + 1] = "";
    int at = 0;
    if (f->fd < 0 || !mo_hop_read_at(f, page, MO_HOP_PAGE, 0) ||
        sscanf(page, HEADER "%n", type, sides, &f->hops, &f->nodes, &f->columns, &f->block_rows, &at) != 6 || at <= 0)
        return NULL;
    f->dtype = strcmp(type, mo_dtype_name(MO_F16)) ? MO_F32 : MO_F16;
    return strndup(page + at, strcspn(page + at, "\n"));
}

/* Whether the file is as long as the shape needs, before memory is asked for, and the page as it is written for it. */
static bool is_described(mo_hop_file *f, int64_t sides, const char *key) {
    char page[MO_HOP_PAGE], found[MO_HOP_PAGE];
    struct stat st;
    if (sides < 1 || sides > 64 || f->hops < 1 || f->hops > 64 || f->nodes < 1 || f->nodes > INT32_MAX ||
        f->columns < 1 || f->columns > 65536 || fstat(f->fd, &st) < 0 || st.st_size < mo_hop_offset(f, sides, 0))
        return false;
    mo_hop_lay_out(f, sides);
    mo_hop_describe(f, sides, key, page);
    return mo_ok(f->ctx) && mo_hop_read_at(f, found, MO_HOP_PAGE, 0) && memcmp(page, found, MO_HOP_PAGE) == 0;
}

char *mo_hop_file_inspect(mo_context *ctx, const char *path, bool check, bool *intact) {
    mo_hop_file f = {.ctx = ctx, .fd = open(path, O_RDONLY | O_CLOEXEC)};
    int64_t sides = 0;
    char *key = read_page(&f, &sides);
    *intact = key && is_described(&f, sides, key);
    if (*intact && check)
        *intact = read_table(&f) && mo_hop_file_finished(&f) == f.blocks && mo_hop_verify(&f) == 0;
    mo_hop_file_close(&f);
    return key;
}
