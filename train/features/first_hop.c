/* train/features/first_hop.c - hop 0 of a graph or of a set of graphs.
 *
 * Every graph of a set has its own SVD, so that the graphs of a set can be handed out to threads. */
#include "train/features/first_hop.h"

#include "autograd/tape.h"
#include "ops/rules/in_place.h"
#include "train/features/each_graph.h"

#include <math.h>

mo_view mo_rows_of_hop(const mo_tensor *hops, int64_t k, int64_t first, int64_t n) {
    mo_view v = mo_tensor_view(hops);
    int64_t offset = k * v.stride[0] + first * v.stride[1];
    v.data = (char *)v.data + offset * (int64_t)mo_dtype_size(v.dtype);
    v.ndim = 2;
    v.shape[0] = n;
    v.shape[1] = v.shape[2];
    v.stride[0] = v.stride[1];
    v.stride[1] = 1;
    return v;
}

void mo_first_hop_worsen(mo_first_hop *j, mo_basis_quality quality) {
#pragma omp critical(mo_first_hop_quality)
    {
        j->quality.residual = fmax(j->quality.residual, quality.residual);
        j->quality.orthogonality = fmax(j->quality.orthogonality, quality.orthogonality);
    }
}

/* Hop 0 of graph g, on the tape of any context on the same device. */
static void compute_graph(void *state, mo_tape *t, int64_t g) {
    mo_first_hop *j = state;
    mo_context *ctx = mo_tape_context(t);
    int64_t first = j->graph->graph_offset[g], n = j->graph->graph_offset[g + 1] - first;
    mo_basis_quality quality = {0};
    mo_tensor *X0 = mo_node_basis(t, j->graph, g, j->options, NULL, &quality);
    if (mo_ok(ctx)) {
        mo_view x = mo_tensor_view(X0), y = mo_rows_of_hop(j->hops, 0, first, n);
        if (j->options->norm == MO_FEATURE_NORM_LAYER)
            mo_layer_norm_into(ctx, MO_NORM_EPSILON, &x, &y);
        else
            mo_copy_into(ctx, &x, &y);
    }
    mo_first_hop_worsen(j, quality);
}

bool mo_first_hop_compute(mo_first_hop *j) {
    return mo_each_graph(j->graph, compute_graph, j);
}
