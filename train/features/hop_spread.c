/* train/features/hop_spread.c - the hop stack of a large graph, whose rows the ranks of a run compute together.
 *
 * Each rank has the rows of its nodes: hop 0 from an SVD whose rows are spread (train/svd), every other hop as a
 * product with the hop before, whose rows of other ranks it receives (halo.c). All write into one file, which rank 0
 * makes and renames: a rank writes the blocks that begin among its rows, and receives what belongs to the last of them.
 * The file has the bytes of one process; with attributes, whose SVD sums over nodes in another order, those of one
 * process up to rounding. */
#include "ops/rules/in_place.h"
#include "tensor/clock.h"
#include "tensor/files/conversion.h"
#include "tensor/host_array.h"
#include "tensor/storage.h"
#include "train/features/hop_work.h"
#include "train/svd/svd.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct spread_work {
    mo_hop_work w;
    mo_spread spread;
    mo_tensor *next;    /* beside w.X: the hop that is computed, and the one before; rows of this rank */
    int64_t side, held; /* the hop in w.X; -1: none */
} spread_work;

/* An SVD is exact, and small, up to twice as many rows as columns. */
bool mo_hop_store_is_spread(const mo_graph *graph, int64_t columns, const mo_ranks *ranks) {
    return ranks && ranks->size > 1 && graph->graphs == 1 && graph->nodes > MO_SPREAD_ROWS &&
           graph->nodes > 2 * (columns + MO_SVD_OVERSAMPLING);
}

/* Spreads the nodes. For each node an SVD does products of small matrices as long as its columns, for each edge it adds
 * a row: at a tenth of the products' rate. */
static bool spread_nodes(spread_work *p, const mo_graph *graph, const mo_ranks *ranks) {
    double *weight = mo_host_array(graph->ctx, graph->nodes + 1, sizeof *weight);
    double node = (double)p->w.s->columns / 10;
    for (int64_t i = 0; weight && i <= graph->nodes; i++)
        weight[i] = (double)graph->row_pointer[i] + node * (double)i;
    bool begun = mo_spread_begin(&p->spread, graph->ctx, ranks, graph->nodes, weight);
    free(weight);
    return begun;
}

/* Opens the file: rank 0 makes it, or finds what an interrupted run has left; the others follow. False where no block
 * is missing, and on failure. */
static bool open_together(spread_work *p) {
    mo_hop_file *f = &p->w.file;
    bool first = p->spread.ranks.rank == 0;
    if (first)
        mo_hop_file_open(f, p->w.s);
    else
        mo_hop_file_name(f, p->w.s);
    if (!mo_spread_agree(&p->spread))
        return false;
    mo_ranks_broadcast(&p->spread.ranks, f->digest, (size_t)f->blocks * sizeof *f->digest);
    p->w.s->from_cache = mo_hop_file_finished(f) == f->blocks;
    if (p->w.s->from_cache)
        return false;
    if (!first)
        mo_hop_file_join(f);
    return mo_spread_agree(&p->spread);
}

/* ---- writing ---- */

static void send_rows(spread_work *p, int to, const float *rows, int64_t n) {
    const mo_ranks *ranks = &p->spread.ranks;
    ranks->send(ranks->state, to, rows, (size_t)(n * p->w.s->columns) * sizeof *rows);
}

/* Fills rows first .. end - 1 of the block from the ranks that hold them. */
static void receive_rows(spread_work *p, int64_t first, int64_t end, float *rows) {
    const mo_ranks *ranks = &p->spread.ranks;
    const int64_t *start = p->spread.start, columns = p->w.s->columns;
    for (int r = ranks->rank + 1; first < end; r++) {
        int64_t n = (start[r + 1] < end ? start[r + 1] : end) - first;
        ranks->receive(ranks->state, r, rows, (size_t)(n * columns) * sizeof *rows);
        rows += n * columns;
        first += n;
    }
}

/* Writes the rows of a hop: those before the first block that begins here go to the rank where their block begins. */
static void write_rows(spread_work *p, int64_t side, int64_t hop, const float *x) {
    mo_hop_file *f = &p->w.file;
    const int64_t *start = p->spread.start, columns = p->w.s->columns;
    int rank = p->spread.ranks.rank, owner = rank;
    if (!mo_spread_agree(&p->spread))
        return;
    int64_t first = start[rank], end = start[rank + 1], b = (first + f->block_rows - 1) / f->block_rows;
    int64_t head = (b * f->block_rows < end ? b * f->block_rows : end) - first;
    while (start[owner] > (b - 1) * f->block_rows && owner > 0)
        owner--;
    if (head > 0)
        send_rows(p, owner, x, head);
    for (; b < f->hop_blocks && b * f->block_rows < end; b++) {
        const float *rows = x + (b * f->block_rows - first) * columns;
        int64_t last = b * f->block_rows + mo_hop_file_rows(f, b);
        if (last > end) {
            memcpy(p->w.block, rows, (size_t)((end - b * f->block_rows) * columns) * sizeof *rows);
            receive_rows(p, end, last, p->w.block + (end - b * f->block_rows) * columns);
            rows = p->w.block;
        }
        if (mo_ok(f->ctx) && !*mo_hop_file_digest(f, side, hop, b))
            mo_hop_finish_block(&p->w, side, hop, b, rows);
    }
}

/* ---- hops ---- */

/* What the file keeps of a row: each hop is computed from the rounded one before it. */
static void round_rows(const spread_work *p, mo_tensor *X) {
    float *x = mo_tensor_view(X).data;
    for (int64_t i = 0; p->w.halves && i < mo_numel(X); i++)
        x[i] = half_to_float(double_to_half(x[i]));
}

/* Once hop 0 is there: an SVD needs the memory. */
static void allocate_work(spread_work *p) {
    mo_hop_work *w = &p->w;
    mo_context *ctx = w->file.ctx;
    int64_t shape[] = {mo_spread_own(&p->spread, 0), w->s->columns};
    w->X = mo_tensor_uninitialized(ctx, MO_F32, 2, shape);
    p->next = mo_tensor_uninitialized(ctx, MO_F32, 2, shape);
    w->block = mo_host_array(ctx, mo_hop_file_rows(&w->file, 0) * w->s->columns, sizeof *w->block);
    mo_hop_work_begin(w);
    w->blocks = w->file.blocks / p->spread.ranks.size;
}

static void compute_first(spread_work *p, mo_tape *t, int64_t side) {
    mo_hop_work *w = &p->w;
    mo_tensor *X = w->s->first(t, w->s, side);
    if (mo_ok(w->file.ctx) && p->spread.ranks.rank == 0)
        mo_hop_file_put_quality(&w->file, w->s->quality);
    if (!w->X)
        allocate_work(p);
    if (mo_ok(w->file.ctx))
        mo_tensor_copy(w->X, X);
    mo_tape_reset(t);
    w->start = w->told = mo_clock(CLOCK_MONOTONIC);
    w->begun = w->finished;
    write_rows(p, side, 0, mo_tensor_view(w->X).data);
    round_rows(p, w->X);
    p->side = side;
    p->held = 0;
}

/* Hop k >= 1, if a block of it is missing. */
static void compute_next(spread_work *p, int64_t side, int64_t hop) {
    mo_hop_work *w = &p->w;
    int64_t first = mo_spread_first(&p->spread);
    if (!mo_hop_file_lacks(&w->file, side, hop))
        return;
    if (p->side != side || p->held != hop - 1)
        mo_hop_file_read_rows(&w->file, side, hop - 1, first, mo_spread_own(&p->spread, 0), mo_tensor_view(w->X).data);
    mo_halo_multiply(w->s->halo, w->X, p->next);
    write_rows(p, side, hop, mo_tensor_view(p->next).data);
    mo_tensor *X = w->X;
    w->X = p->next;
    p->next = X;
    round_rows(p, w->X);
    p->side = side;
    p->held = hop;
}

/* A rank whose memory runs out goes through the same calls as the others, up to the next exchange. */
static void compute_together(spread_work *p, const mo_graph *graph) {
    mo_hop_store *s = p->w.s;
    mo_tape *t = mo_tape_create(graph->ctx, MO_EVAL);
    s->halo = mo_halo_create(&p->spread, graph);
    p->held = -1;
    for (int64_t side = 0; side < s->sides && s->halo && t && !p->spread.parted; side++) {
        bool lacks = mo_hop_file_lacks(&p->w.file, side, 0);
        if (lacks)
            compute_first(p, t, side);
        else if (!p->w.X)
            allocate_work(p);
        for (int64_t hop = 1; hop < s->hops && !p->spread.parted; hop++)
            compute_next(p, side, hop);
    }
    mo_tape_release(t);
}

/* Every rank syncs what it has written, then rank 0 gives the file its name. */
static void complete_together(spread_work *p) {
    if (mo_ok(p->w.file.ctx))
        mo_hop_file_sync(&p->w.file);
    if (mo_spread_agree(&p->spread) && p->spread.ranks.rank == 0)
        mo_hop_file_complete(&p->w.file);
}

static void store_together(mo_hop_store *s, const mo_graph *graph, const mo_ranks *ranks) {
    spread_work p = {.w = {.s = s}};
    spread_nodes(&p, graph, ranks);
    if (mo_ranks_agree(graph->ctx, ranks, true) && ranks->rank < p.spread.ranks.size) {
        if (open_together(&p)) {
            compute_together(&p, graph);
            complete_together(&p);
        }
        mo_hop_file_close(&p.w.file);
    }
    mo_halo_release(s->halo);
    s->halo = NULL;
    mo_tensor_release(p.w.X);
    mo_tensor_release(p.next);
    free(p.w.block);
    free(p.w.halves);
    mo_spread_end(&p.spread);
}

mo_tensor *mo_hop_store_share(mo_hop_store *s, const mo_graph *graph, const mo_ranks *ranks) {
    mo_context *ctx = s->cache.ctx;
    char mine[1024];
    snprintf(mine, sizeof mine, "{\"features\": \"%.900s\"}", s->key);
    if (!mo_ranks_compare(ctx, ranks, "features", mine))
        return mo_null_tensor(ctx);
    if (mo_hop_store_is_spread(graph, s->columns, ranks))
        store_together(s, graph, ranks);
    else if (ranks->rank == 0)
        mo_tensor_release(mo_hop_store_open(s));
    bool from_cache = s->from_cache;
    if (!mo_ranks_agree(ctx, ranks, true))
        return mo_null_tensor(ctx);
    mo_tensor *stack = mo_hop_store_open(s);
    s->from_cache = from_cache;
    if (mo_ranks_agree(ctx, ranks, true))
        return stack;
    mo_tensor_release(stack);
    return mo_null_tensor(ctx);
}
