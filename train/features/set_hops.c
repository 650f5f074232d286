/* train/features/set_hops.c - the hops of a set of graphs on the host, each graph by itself. */
#include "train/features/set_hops.h"

#include "ops/rules/in_place.h"
#include "train/features/each_graph.h"
#include "train/features/first_hop.h"
#include "train/svd/adjacency.h"

typedef struct set_hops {
    const mo_graph *graph;
    const mo_tensor *hops;
} set_hops;

static void propagate_graph(void *state, mo_tape *t, int64_t g) {
    const set_hops *s = state;
    mo_context *ctx = mo_tape_context(t);
    int64_t first = s->graph->graph_offset[g], n = s->graph->graph_offset[g + 1] - first;
    mo_csr *A = mo_normalize_block(ctx, first, n, s->graph->row_pointer, s->graph->column, MO_F32);
    for (int64_t k = 1; A && k < mo_dim(s->hops, 0); k++) {
        mo_view x = mo_rows_of_hop(s->hops, k - 1, first, n), y = mo_rows_of_hop(s->hops, k, first, n);
        mo_spmm_into(A, 0, &x, &y);
    }
    mo_csr_release(A);
}

bool mo_propagate_set(const mo_graph *graph, const mo_tensor *hops) {
    set_hops s = {graph, hops};
    return mo_each_graph(graph, propagate_graph, &s);
}
