/* train/features.c - the hop stack of a graph or of a set of graphs, computed once and kept in a cache.
 *
 * hops[0] = LayerNorm(X0), hops[k] = A~ hops[k-1], all in one tensor. Every graph of a set has an SVD of its own: the
 * graphs are handed out to threads, the largest first, each thread with a context of one thread. Kernels give the same
 * bits at any thread count, so the features do too. The cache holds hops[0]; the other hops take less time to compute
 * than to read. */
#include "autograd/tape.h"
#include "ops/ops.h"
#include "tensor/storage.h"
#include "train/adjacency.h"
#include "train/basis.h"
#include "train/cache.h"
#include "train/host_array.h"
#include "train/train.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FORMAT = 3 }; /* rises when the values of the same settings change */
#define EPSILON 1e-5 /* of LayerNorm */

mo_tensor *mo_hop_stack(mo_tape *t, const mo_csr *A, mo_tensor *X0, int hops) {
    mo_context *ctx = mo_tape_context(t);
    mo_tensor *H[MO_MAX_INPUTS];
    if (!mo_ok(ctx))
        return mo_null_tensor(ctx);
    if (hops < 0 || hops >= MO_MAX_INPUTS) {
        mo_fail(ctx, MO_INVALID, "hop_stack: %d hops, expected 0 to %d", hops, MO_MAX_INPUTS - 1);
        return mo_null_tensor(ctx);
    }
    H[0] = mo_layer_norm(t, X0, EPSILON);
    for (int k = 1; k <= hops; k++)
        H[k] = mo_spmm(t, A, H[k - 1]);
    return mo_stack(t, H, hops + 1, 0);
}

/* Rows first .. first + n - 1 of hop k. */
static mo_view rows_of(const mo_tensor *hops, int64_t k, int64_t first, int64_t n) {
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

/* One computation of features, shared by the threads that serve it. */
typedef struct job {
    const mo_graph *graph;
    const mo_feature_options *options;
    mo_tensor *hops;
    double residual, orthogonality;
    int64_t failed; /* the first graph that failed, or -1 */
    mo_status status;
} job;

/* Hop 0 of graph g, on the tape of any context of the same device. */
static mo_basis_quality compute_graph(const job *j, mo_tape *t, int64_t g) {
    mo_context *ctx = mo_tape_context(t);
    int64_t first = j->graph->graph_offset[g], n = j->graph->graph_offset[g + 1] - first;
    mo_basis_quality quality = {0};
    if (n == 0)
        return quality;
    mo_tensor *X0 = mo_node_basis(t, j->graph, g, j->options, &quality);
    if (mo_ok(ctx)) {
        mo_view x = mo_tensor_view(X0), y = rows_of(j->hops, 0, first, n);
        mo_kernels_of(ctx, MO_F32)->layer_norm(ctx, EPSILON, &x, &y);
    }
    mo_tape_reset(t);
    return quality;
}

static void worsen(job *j, mo_basis_quality quality) {
    j->residual = fmax(j->residual, quality.residual);
    j->orthogonality = fmax(j->orthogonality, quality.orthogonality);
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
static void settle(job *j, mo_context *ctx, int64_t g, mo_basis_quality quality) {
#pragma omp critical(mo_features_settle)
    {
        worsen(j, quality);
        if (!mo_ok(ctx) && (j->failed < 0 || g < j->failed)) {
            j->failed = g;
            j->status = *mo_context_status(ctx);
        }
    }
    mo_clear_error(ctx);
}

/* One after the other: a device works on each by itself. */
static bool compute_in_turn(job *j) {
    mo_context *ctx = j->graph->ctx;
    mo_tape *t = mo_tape_create(ctx, MO_EVAL);
    for (int64_t g = 0; g < j->graph->graphs && t && mo_ok(ctx); g++)
        worsen(j, compute_graph(j, t, g));
    mo_tape_release(t);
    return mo_ok(ctx);
}

static bool compute_set(job *j) {
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

static bool propagate(const mo_graph *graph, mo_tensor *hops) {
    mo_csr *A = mo_normalized_adjacency(graph, MO_F32);
    if (!A)
        return false;
    mo_csr_view a = mo_view_csr(A);
    for (int64_t k = 1; k < mo_dim(hops, 0); k++) {
        mo_view x = rows_of(hops, k - 1, 0, graph->nodes), y = rows_of(hops, k, 0, graph->nodes);
        mo_kernels_of(graph->ctx, MO_F32)->spmm(graph->ctx, &a, &x, &y);
    }
    mo_csr_release(A);
    return mo_ok(graph->ctx);
}

/* Hop 0 under a header of its own, on the same storage. */
static mo_tensor *first_hop(const mo_tensor *hops) {
    mo_tensor *X0 = mo_ok(hops->ctx) ? mo_host_alloc(hops->ctx, sizeof *X0) : NULL;
    if (!X0)
        return mo_null_tensor(hops->ctx);
    *X0 = *hops;
    X0->ndim = 2;
    memmove(X0->shape, X0->shape + 1, 2 * sizeof *X0->shape);
    memmove(X0->stride, X0->stride + 1, 2 * sizeof *X0->stride);
    mo_storage_retain(X0->storage);
    return X0;
}

/* Everything that hop 0 depends on. */
static void write_key(const mo_graph *graph, const mo_feature_options *o, char *key, size_t bytes) {
    snprintf(key, bytes, "format %d graph %016" PRIx64 "%016" PRIx64 " dim %d power %d combine %d seed %" PRIu64,
        FORMAT, graph->hash[0], graph->hash[1], o->dim, o->power_iterations, (int)o->combine, o->seed);
}

/* What the cache holds: hop 0 and how good its SVDs are, [residual, orthogonality]. */
static mo_arrays *kept_arrays(mo_tensor *hops) {
    mo_arrays *kept = mo_arrays_create(hops->ctx);
    if (kept && mo_arrays_take(kept, "x0", first_hop(hops)) == MO_OK)
        mo_arrays_take(kept, "svd", mo_tensor_create(hops->ctx, MO_F64, 1, (int64_t[]){2}));
    return kept;
}

static bool fill(job *j, mo_features *f) {
    char key[256];
    mo_context *ctx = j->graph->ctx;
    mo_cache cache = mo_cache_of(ctx, j->options);
    mo_arrays *kept = kept_arrays(j->hops);
    if (!mo_ok(ctx)) {
        mo_arrays_release(kept);
        return false;
    }
    double quality[2];
    mo_tensor *svd = mo_arrays_find(kept, "svd");
    write_key(j->graph, j->options, key, sizeof key);
    f->from_cache = mo_cache_load(&cache, key, kept);
    bool alone = j->graph->graphs == 1 || mo_context_device(ctx) != MO_CPU;
    if (!f->from_cache && (alone ? compute_in_turn(j) : compute_set(j))) {
        mo_tensor_write(svd, (double[]){j->residual, j->orthogonality}, sizeof quality);
        mo_cache_store(&cache, key, kept);
    }
    if (mo_ok(ctx) && mo_tensor_read(svd, quality, sizeof quality) == MO_OK) {
        f->svd_residual = quality[0];
        f->svd_orthogonality = quality[1];
    }
    mo_arrays_release(kept);
    return mo_ok(ctx) && propagate(j->graph, j->hops);
}

static bool valid(const mo_graph *graph, const mo_feature_options *o) {
    mo_context *ctx = graph->ctx;
    if (!mo_ok(ctx))
        return false;
    if (o->dim < 1 || o->hops < 0)
        mo_fail(ctx, MO_INVALID, "features: dim %d and %d hops, expected 1 or more and 0 or more", o->dim, o->hops);
    for (int64_t i = 0; graph->features > 1 && i < graph->nodes; i++)
        for (int64_t e = graph->feature_pointer[i]; e < graph->feature_pointer[i + 1]; e++)
            if (!isfinite(graph->feature_value[e])) {
                mo_fail(ctx, MO_NUMERICAL,
                    "features: '%s': feature %d of node %" PRId64 " is %g, expected a finite value", graph->name,
                    graph->feature_column[e], i, (double)graph->feature_value[e]);
                return false;
            }
    return mo_ok(ctx);
}

mo_features *mo_features_open(const mo_graph *graph, const mo_feature_options *options) {
    mo_context *ctx = graph->ctx;
    if (!valid(graph, options))
        return NULL;
    mo_features *f = calloc(1, sizeof *f);
    if (!f) {
        mo_fail(ctx, MO_MEMORY, "features: out of memory");
        return NULL;
    }
    f->nodes = graph->nodes;
    f->dim = options->dim;
    f->hops = options->hops;
    f->power_iterations = options->power_iterations;
    f->seed = options->seed;
    f->arrays = mo_arrays_create(ctx);
    job j = {.graph = graph, .options = options, .failed = -1};
    j.hops = mo_tensor_create(ctx, MO_F32, 3, (int64_t[]){options->hops + 1, graph->nodes, options->dim});
    if (!f->arrays || mo_arrays_take(f->arrays, "hops", j.hops) != MO_OK || !fill(&j, f)) {
        mo_features_release(f);
        return NULL;
    }
    return f;
}

void mo_features_release(mo_features *features) {
    if (!features)
        return;
    mo_arrays_release(features->arrays);
    free(features);
}
