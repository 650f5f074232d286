/* train/set_hops.c - the hops of a set of graphs on the host, each graph by itself.
 *
 * Of X0 a small graph has few columns that are not zero: one for each positive eigenvalue, and those of the attributes.
 * LayerNorm makes the zeros of a row equal, not zero, and A~ keeps equal columns equal. So of all columns that are
 * equal one is propagated for all, with those that differ; the products give the bits of the whole. */
#include "train/set_hops.h"
#include "autograd/tape.h"
#include "train/adjacency.h"
#include "train/each_graph.h"
#include "train/first_hop.h"
#include "train/host_array.h"

#include <stdlib.h>
#include <string.h>

enum { LANES = 16 }; /* the narrow matrices have a multiple of it: kernels take no other path at their end */

typedef struct set_hops {
    const mo_graph *graph;
    const mo_tensor *hops;
} set_hops;

/* Which columns of a matrix [n, d] are propagated: those that differ from the leader of the equal ones, and it. */
typedef struct choice {
    int64_t width;     /* columns of the narrow matrix; the leader fills what is behind those that differ */
    int64_t differing; /* so many */
    int32_t *column;   /* of the narrow matrix [d] */
} choice;

static const uint32_t *row_of(const mo_view *X, int64_t i) {
    return (const uint32_t *)X->data + i * X->stride[0];
}

static int by_value(const void *a, const void *b) {
    const uint64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* A column of which many are equal copies, by hashes of their bits. */
static int64_t find_leader(const mo_view *X, uint32_t *hash, uint64_t *order) {
    int64_t d = X->shape[1], longest = 0, leader = 0;
    for (int64_t i = 0; i < X->shape[0]; i++) {
        const uint32_t *row = row_of(X, i);
        for (int64_t j = 0; j < d; j++)
            hash[j] = (hash[j] ^ row[j]) * 0x9e3779b1u;
    }
    for (int64_t j = 0; j < d; j++)
        order[j] = (uint64_t)hash[j] << 32 | (uint64_t)j;
    qsort(order, (size_t)d, sizeof *order, by_value);
    for (int64_t i = 0, end; i < d; i = end) {
        for (end = i + 1; end < d && order[end] >> 32 == order[i] >> 32;)
            end++;
        if (end - i > longest) {
            longest = end - i;
            leader = (int64_t)(order[i] & UINT32_MAX);
        }
    }
    return leader;
}

/* The hashes only propose: the bits decide. */
static bool choose(mo_context *ctx, const mo_view *X, choice *c) {
    int64_t d = X->shape[1];
    uint32_t *bits = mo_host_array(ctx, d, sizeof *bits);
    uint64_t *order = mo_host_array(ctx, d, sizeof *order);
    c->column = mo_host_array(ctx, d, sizeof *c->column);
    if (mo_ok(ctx)) {
        int64_t leader = find_leader(X, bits, order);
        memset(bits, 0, (size_t)d * sizeof *bits);
        for (int64_t i = 0; i < X->shape[0]; i++) {
            const uint32_t *row = row_of(X, i), lead = row[leader];
            for (int64_t j = 0; j < d; j++)
                bits[j] |= row[j] ^ lead;
        }
        for (int64_t j = 0; j < d; j++)
            if (bits[j])
                c->column[c->differing++] = (int32_t)j;
        c->width = (c->differing + LANES) / LANES * LANES;
        for (int64_t j = c->differing; j < c->width && j < d; j++)
            c->column[j] = (int32_t)leader;
    }
    free(bits);
    free(order);
    return mo_ok(ctx);
}

static void gather(const mo_view *X, const choice *c, const mo_view *narrow) {
    for (int64_t i = 0; i < X->shape[0]; i++) {
        const float *x = (const float *)X->data + i * X->stride[0];
        float *p = (float *)narrow->data + i * c->width;
        for (int64_t k = 0; k < c->width; k++)
            p[k] = x[c->column[k]];
    }
}

static void scatter(const mo_view *narrow, const choice *c, const mo_view *Y) {
    for (int64_t i = 0; i < Y->shape[0]; i++) {
        const float *p = (const float *)narrow->data + i * c->width, lead = p[c->differing];
        float *y = (float *)Y->data + i * Y->stride[0];
        for (int64_t j = 0; j < Y->shape[1]; j++)
            y[j] = lead;
        for (int64_t k = 0; k < c->differing; k++)
            y[c->column[k]] = p[k];
    }
}

static void propagate_graph(void *state, mo_tape *t, int64_t g) {
    const set_hops *s = state;
    mo_context *ctx = t->ctx;
    int64_t first = s->graph->graph_offset[g], n = s->graph->graph_offset[g + 1] - first;
    mo_csr *A = mo_normalize_block(ctx, first, n, s->graph->row_pointer, s->graph->column, MO_F32);
    mo_view x = mo_rows_of_hop(s->hops, 0, first, n), y, panel[2];
    choice c = {0};
    if (A && choose(ctx, &x, &c)) {
        mo_csr_view a = mo_view_csr(A);
        bool narrow = 4 * c.width <= 3 * x.shape[1];
        for (int k = 0; narrow && k < 2; k++)
            panel[k] = mo_tensor_view(mo_tape_tensor(t, MO_F32, 2, (int64_t[]){n, c.width}));
        if (narrow && mo_ok(ctx))
            gather(&x, &c, &panel[0]);
        for (int64_t k = 1; k < mo_dim(s->hops, 0) && mo_ok(ctx); k++, x = y) {
            y = mo_rows_of_hop(s->hops, k, first, n);
            mo_kernels_of(ctx, MO_F32)->spmm(ctx, &a, narrow ? &panel[(k + 1) % 2] : &x, narrow ? &panel[k % 2] : &y);
            if (narrow)
                scatter(&panel[k % 2], &c, &y);
        }
    }
    free(c.column);
    mo_csr_release(A);
}

bool mo_propagate_set(const mo_graph *graph, const mo_tensor *hops) {
    set_hops s = {graph, hops};
    return mo_each_graph(graph, propagate_graph, &s);
}
