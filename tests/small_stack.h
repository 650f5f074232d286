/* tests/small_stack.h - the hop stack of a path of three nodes: small enough to damage everywhere. */
#ifndef SMALL_STACK_H
#define SMALL_STACK_H

#include "train/features/hop_store.h"

enum { SMALL_STACK_HOPS = 3 /* at most */ };

/* Hop 0 counts from 1 on. */
static inline mo_tensor *small_first_hop(mo_tape *t, mo_hop_store *s, int64_t side) {
    float rows[6] = {1, 2, 3, 4, 5, 6};
    s->quality[0] = 0.5 + (double)side;
    return mo_from(t, MO_F32, 2, (int64_t[]){3, 2}, rows);
}

/* Makes the stack in the folder, or reads it there. Returns a figure of all of its values; 0 on failure. */
static inline double open_small_stack(mo_context *ctx, const char *folder, const char *key, int hops) {
    mo_graph *graph = mo_graph_from_edges(ctx, "path", 3, 2, (int64_t[]){0, 1}, (int64_t[]){1, 2});
    mo_csr *A = mo_normalized_adjacency(graph, MO_F32);
    mo_hop_store store = {.cache = {.ctx = ctx, .folder = folder},
        .key = key,
        .name = "path",
        .A = A,
        .sides = 1,
        .hops = hops,
        .nodes = 3,
        .columns = 2,
        .first = small_first_hop};
    mo_tensor *stack = mo_hop_store_open(&store);
    double sum = 0;
    float x[6 * SMALL_STACK_HOPS];
    if (mo_ok(ctx) && mo_tensor_read(stack, x, 6 * (size_t)hops * sizeof *x) == MO_OK)
        for (int i = 0; i < 6 * hops; i++)
            sum += (i + 1) * x[i] + store.quality[0];
    mo_tensor_release(stack);
    mo_csr_release(A);
    mo_graph_release(graph);
    return sum;
}

#endif
