/* train/first_hop.c - hop 0 of a graph or of a set of graphs.
 *
 * Every graph of a set has an SVD of its own: the graphs are handed out to threads, the largest first, each thread with
 * a context of one thread. Kernels give the same bits at any thread count, so hop 0 does too. */
#include "train/first_hop.h"

#include "autograd/tape.h"
#include "train/host_array.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

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

/* Hop 0 of graph g, on the tape of any context of the same device. */
static mo_basis_quality compute_graph(const mo_first_hop *j, mo_tape *t, int64_t g) {
    mo_context *ctx = mo_tape_context(t);
    int64_t first = j->graph->graph_offset[g], n = j->graph->graph_offset[g + 1] - first;
    mo_basis_quality quality = {0};
    if (n == 0)
        return quality;
    mo_tensor *X0 = mo_node_basis(t, j->graph, g, j->options, &quality);
    if (mo_ok(ctx)) {
        mo_view x = mo_tensor_view(X0), y = mo_rows_of_hop(j->hops, 0, first, n);
        mo_kernels_of(ctx, MO_F32)->layer_norm(ctx, MO_NORM_EPSILON, &x, &y);
    }
    mo_tape_reset(t);
    return quality;
}

void mo_first_hop_worsen(mo_first_hop *j, mo_basis_quality quality) {
    j->quality.residual = fmax(j->quality.residual, quality.residual);
    j->quality.orthogonality = fmax(j->quality.orthogonality, quality.orthogonality);
}

typedef struct sized {
    int64_t nodes, g;
} sized;

static int larger_first(const void *a, const void *b) {
    const sized *x = a, *y = b;
    return x->nodes != y->nodes ? (x->nodes < y->nodes ? 1 : -1) : (x->g > y->g) - (x->g < y->g);
}

static sized *by_size(const mo_graph *graph) {
    sized *order = mo_host_array(graph->ctx, graph->graphs, sizeof *order);
    for (int64_t g = 0; order && g < graph->graphs; g++)
        order[g] = (sized){graph->graph_offset[g + 1] - graph->graph_offset[g], g};
    if (order)
        qsort(order, (size_t)graph->graphs, sizeof *order, larger_first);
    return order;
}

/* Notes how graph g went; of several failures the first graph's counts, whatever the threads did. */
static void settle(mo_first_hop *j, mo_context *ctx, int64_t g, mo_basis_quality quality) {
#pragma omp critical(mo_features_settle)
    {
        mo_first_hop_worsen(j, quality);
        if (!mo_ok(ctx) && (j->failed < 0 || g < j->failed)) {
            j->failed = g;
            j->status = *mo_context_status(ctx);
        }
    }
    mo_clear_error(ctx);
}

/* One after the other: a device works on each by itself. */
static bool compute_in_turn(mo_first_hop *j) {
    mo_context *ctx = j->graph->ctx;
    mo_tape *t = mo_tape_create(ctx, MO_EVAL);
    for (int64_t g = 0; g < j->graph->graphs && t && mo_ok(ctx); g++)
        mo_first_hop_worsen(j, compute_graph(j, t, g));
    mo_tape_release(t);
    return mo_ok(ctx);
}

static bool compute_set(mo_first_hop *j) {
    mo_context *ctx = j->graph->ctx;
    sized *order = by_size(j->graph);
    if (!order)
        return false;
    bool started = true;
#pragma omp parallel num_threads(mo_context_threads(ctx))
    {
        mo_context *own = mo_context_create(&(mo_context_options){.device = mo_context_device(ctx), .threads = 1});
        mo_tape *t = own ? mo_tape_create(own, MO_EVAL) : NULL;
#pragma omp for schedule(dynamic)
        for (int64_t i = 0; i < j->graph->graphs; i++)
            if (t)
                settle(j, own, order[i].g, compute_graph(j, t, order[i].g));
            else
#pragma omp atomic write
                started = false;
        mo_tape_release(t);
        mo_context_release(own);
    }
    free(order);
    if (!started)
        mo_fail(ctx, MO_MEMORY, "features: out of memory for a thread's context");
    else if (j->failed >= 0)
        mo_fail(ctx, j->status.code, "features: graph %" PRId64 " of '%s': %s", j->failed, j->graph->name,
            j->status.message);
    return mo_ok(ctx);
}

bool mo_first_hop_compute(mo_first_hop *j) {
    bool alone = j->graph->graphs == 1 || mo_context_device(j->graph->ctx) != MO_CPU;
    return alone ? compute_in_turn(j) : compute_set(j);
}
