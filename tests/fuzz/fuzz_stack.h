/* tests/fuzz/fuzz_stack.h - the hop stack of a path of three nodes, for fuzz_stack.c and make_seeds.c. */
#ifndef FUZZ_STACK_H
#define FUZZ_STACK_H

#include "fuzz.h"
#include "train/features/hop_file.h"
#include "train/features/hop_store.h"

static const char fuzz_stack_key[] = "format 1 graph 0123 dim 3";

static inline void fuzz_stack_name(char file[MO_CACHE_NAME + 16]) {
    mo_cache_name(fuzz_stack_key, file);
    strcat(file, ".stack");
}

static inline mo_tensor *fuzz_first_hop(mo_tape *t, mo_hop_store *s, int64_t side) {
    float rows[6] = {1, 2, 3, 4, 5, 6};
    s->quality[0] = 0.5 + (double)side;
    return mo_from(t, MO_F32, 2, (int64_t[]){3, 2}, rows);
}

/* A figure of all of its values; 0 on failure. */
static inline double fuzz_open_stack(mo_context *ctx, const char *folder) {
    mo_graph *graph = mo_graph_from_edges(ctx, "path", 3, 2, (int64_t[]){0, 1}, (int64_t[]){1, 2});
    mo_csr *A = mo_normalized_adjacency(graph, MO_F32);
    mo_hop_store store = {.cache = {.ctx = ctx, .folder = folder},
        .key = fuzz_stack_key,
        .name = "path",
        .A = A,
        .sides = 1,
        .hops = 2,
        .nodes = 3,
        .columns = 2,
        .dtype = MO_F32,
        .first = fuzz_first_hop};
    mo_tensor *stack = mo_hop_store_open(&store);
    double sum = 0;
    float x[12];
    if (mo_ok(ctx) && mo_tensor_read(stack, x, sizeof x) == MO_OK)
        for (int i = 0; i < 12; i++)
            sum += (i + 1) * x[i] + store.quality[0];
    mo_tensor_release(stack);
    mo_csr_release(A);
    mo_graph_release(graph);
    return sum;
}

#endif
