/* train/features/first_hop.c - hop 0 of a graph or of a set of graphs.
 *
 * Every graph of a set has its own SVD, so that the graphs of a set can be handed out to threads. For a device too: an
 * SVD there queues a hundred pieces of work and waits twenty times for one, whatever the size of the graph. The rows of
 * the set are computed in host memory and copied over at once. */
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
    mo_tensor *X0 = mo_node_basis(t, j->graph, g, j->options, &quality);
    if (mo_ok(ctx)) {
        mo_view x = mo_tensor_view(X0), y = mo_rows_of_hop(j->hops, 0, first, n);
        if (j->options->norm == MO_FEATURE_NORM_LAYER)
            mo_layer_norm_into(ctx, MO_NORM_EPSILON, &x, &y);
        else
            mo_copy_into(ctx, &x, &y);
    }
    mo_first_hop_worsen(j, quality);
}

/* By threads of the CPU, for a device. */
static bool compute_staged(mo_first_hop *j) {
    mo_context *ctx = j->graph->ctx;
    mo_context *host = mo_context_create(&(mo_context_options){.threads = mo_context_threads(ctx)});
    mo_tape *t = mo_tape_create(ctx, MO_EVAL);
    mo_first_hop staged = {.graph = j->graph, .options = j->options};
    staged.hops = mo_tensor_uninitialized(host, MO_F32, 3, (int64_t[]){1, j->graph->nodes, j->options->dim});
    if (!mo_ok(host))
        mo_fail(ctx, mo_context_status(host)->code, "features: %s", mo_context_status(host)->message);
    else if (t && mo_each_graph(j->graph, host, compute_graph, &staged)) {
        mo_tensor *first = mo_slice(t, j->hops, MO_AXIS(0), 0, 1);
        mo_tensor_write(first, mo_tensor_view(staged.hops).data, (size_t)mo_numel(staged.hops) * sizeof(float));
        j->quality = staged.quality;
    }
    mo_tape_release(t);
    mo_tensor_release(staged.hops);
    mo_context_release(host);
    return mo_ok(ctx);
}

bool mo_first_hop_compute(mo_first_hop *j) {
    bool on_device = j->graph->graphs > 1 && mo_context_device(j->graph->ctx) != MO_CPU;
    return on_device ? compute_staged(j) : mo_each_graph(j->graph, j->graph->ctx, compute_graph, j);
}
