/* train/features/hop_store.c - a hop stack in a file, written block by block of rows, and mapped.
 *
 * While blocks are missing the name ends in .partial and one process holds the lock; then the file is synced and
 * renamed. Checksums (hop_layout.c) are compared whenever a file is opened, so the order in which a crash lets bytes
 * reach the disk does not matter. */
#include "train/features/hop_store.h"

#include "ops/rules/in_place.h"
#include "tensor/clock.h"
#include "tensor/host_array.h"
#include "tensor/storage.h"
#include "train/features/hop_work.h"
#include "train/features/nodes/diffuse.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

typedef mo_hop_work work;

/* Rows of hop k >= 1 from all rows of the hop before. */
static void multiply_rows(work *w, int64_t first, int64_t rows) {
    const mo_hop_store *s = w->s;
    mo_view x = mo_tensor_view(w->X), y = x;
    y.data = w->block;
    y.shape[0] = rows;
    mo_spmm_into(s->A, first, &x, &y);
}

/* Every block of hop k >= 1 that is missing. */
static bool compute_hop(work *w, int64_t side, int64_t hop) {
    mo_hop_file *f = &w->file;
    if (!mo_hop_file_lacks(f, side, hop))
        return true;
    if (!mo_hop_file_read_hop(f, side, hop - 1, mo_tensor_view(w->X).data))
        return false;
    for (int64_t b = 0; b < f->hop_blocks; b++) {
        if (*mo_hop_file_digest(f, side, hop, b))
            continue;
        multiply_rows(w, b * f->block_rows, mo_hop_file_rows(f, b));
        if (!mo_ok(f->ctx) || !mo_hop_finish_block(w, side, hop, b, w->block))
            return false;
    }
    return true;
}

/* The diffused rows of a side, if a block of them is missing. */
static bool compute_diffused(work *w, mo_tape *t, int64_t side) {
    mo_hop_store *s = w->s;
    mo_tensor *sum[MO_DIFFUSED] = {NULL, NULL};
    int64_t first = s->hops - s->diffused;
    bool lacks = false, fine = true;
    for (int i = 0; i < s->diffused; i++)
        lacks |= mo_hop_file_lacks(&w->file, side, first + i);
    if (!lacks)
        return true;
    for (int i = 0; i < s->diffused; i++)
        sum[i] = mo_tensor_uninitialized(w->file.ctx, MO_F32, 2, (int64_t[]){s->nodes, s->columns});
    if (mo_ok(w->file.ctx) && mo_hop_file_read_hop(&w->file, side, 0, mo_tensor_view(w->X).data))
        mo_diffuse(t, s->A, w->X, sum);
    for (int i = 0; i < s->diffused && fine; i++) {
        const float *rows = mo_ok(w->file.ctx) ? mo_tensor_view(sum[i]).data : NULL;
        for (int64_t b = 0; b < w->file.hop_blocks && fine; b++)
            fine = rows && mo_hop_finish_block(w, side, first + i, b, rows + b * w->file.block_rows * s->columns);
    }
    for (int i = 0; i < s->diffused; i++)
        mo_tensor_release(sum[i]);
    return fine;
}

static bool compute_first(work *w, mo_tape *t, int64_t side) {
    mo_hop_file *f = &w->file;
    if (!mo_hop_file_lacks(f, side, 0))
        return true;
    mo_tensor *X = w->s->first(t, w->s, side);
    if (!mo_ok(f->ctx))
        return false;
    w->start = w->told = mo_clock(CLOCK_MONOTONIC); /* the time left is of writing: an SVD's is not like it */
    w->begun = w->finished;
    const float *rows = mo_tensor_view(X).data;
    bool fine = mo_hop_file_put_quality(f, w->s->quality); /* first: without it hop 0 is computed again */
    for (int64_t b = 0; b < f->hop_blocks && fine; b++)
        fine = mo_hop_finish_block(w, side, 0, b, rows + b * f->block_rows * f->columns);
    mo_tape_reset(t);
    return fine;
}

/* First every hop 0, whose SVDs take the most memory and time, then the others. */
static bool compute_hop_store(work *w) {
    mo_hop_store *s = w->s;
    mo_context *ctx = s->cache.ctx;
    mo_tape *t = mo_tape_create(ctx, MO_EVAL);
    bool fine = t != NULL;
    w->begun = w->finished = mo_hop_file_finished(&w->file);
    w->blocks = w->file.blocks;
    w->start = w->told = mo_clock(CLOCK_MONOTONIC);
    mo_hop_work_begin(w);
    for (int64_t side = 0; side < s->sides && fine && mo_ok(ctx); side++)
        fine = compute_first(w, t, side);
    w->start = w->told = mo_clock(CLOCK_MONOTONIC);
    w->begun = w->finished;
    if (fine && w->finished < w->file.blocks) {
        w->X = mo_tensor_create(ctx, MO_F32, 2, (int64_t[]){s->nodes, s->columns});
        w->block = mo_host_array(ctx, mo_hop_file_rows(&w->file, 0) * s->columns, sizeof *w->block);
    }
    for (int64_t side = 0; side < s->sides && fine && mo_ok(ctx); side++)
        for (int64_t hop = 1; hop < s->hops - s->diffused && fine; hop++)
            fine = compute_hop(w, side, hop);
    for (int64_t side = 0; side < s->sides && fine && mo_ok(ctx); side++)
        fine = compute_diffused(w, t, side);
    mo_tape_release(t);
    mo_tensor_release(w->X);
    free(w->block);
    free(w->halves);
    return fine && mo_ok(ctx);
}

/* Without the matrix the file is one that ranks have made together, of which this one had no rows. */
static bool is_alone(work *w) {
    if (w->s->A)
        return true;
    mo_fail(w->file.ctx, MO_IO,
        "hop stack '%s': the file that the other processes made is not here, expected one folder", w->file.path);
    unlink(w->file.partial);
    return false;
}

mo_tensor *mo_hop_store_open(mo_hop_store *s) {
    mo_context *ctx = s->cache.ctx;
    work w = {.s = s};
    mo_tensor *stack = mo_null_tensor(ctx);
    bool fine = mo_ok(ctx) && mo_hop_file_open(&w.file, s);
    if (fine) {
        s->from_cache = mo_hop_file_finished(&w.file) == w.file.blocks;
        fine = s->from_cache || (is_alone(&w) && compute_hop_store(&w));
    }
    if (fine && mo_hop_file_complete(&w.file)) {
        memcpy(s->quality, w.file.quality, sizeof s->quality);
        stack = mo_hop_file_map(&w.file, s);
    }
    mo_hop_file_close(&w.file);
    return stack;
}
