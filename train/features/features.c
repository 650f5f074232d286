/* train/features/features.c - makes a task's features or reads them from the cache: rows of examples, or the hop stack
 * of a graph or of a set of graphs.
 *
 * hops[0] = LayerNorm(X0), or X0 if the options say so, hops[k] = A~ hops[k-1], all in one tensor. The cache holds
 * hops[0]; the other hops are faster to compute than to read. A stack for which memory is too small is a file of the
 * cache, whose rows are mapped (stack_file.c).
 *
 * Every graph of a set has its own SVD, so threads share the graphs, each thread with a context of one thread. Kernels
 * give the same bits at any thread count, so each graph's features do too. For a device these threads also compute hop
 * 0 of a set, which is then copied in one piece: on the device the SVD of even a small graph would queue a hundred
 * kernels and wait twenty times. */
#include "autograd/tape.h"
#include "ops/inside.h"
#include "ops/rules/in_place.h"
#include "tensor/cpu/tasks.h"
#include "tensor/objects.h"
#include "train/features/example_rows.h"
#include "train/features/feature_memory.h"
#include "train/features/sets/set_blocks.h"
#include "train/features/stack_file.h"
#include "train/inside.h"
#include "train/svd/adjacency.h"
#include "train/svd/basis.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define AT(member) offsetof(mo_feature_options, member)
const mo_field mo_feature_fields[] = {
    {MO_FIELD_INT, "dim", "D", AT(dim), "width of features and embeddings", 1, 65536},
    {MO_FIELD_CHOICE, "combine", "HOW", AT(combine),
        "the SVDs of adjacency and node features: concat, half of the width each, or their sum",
        .choices = "sum|concat"},
    {MO_FIELD_CHOICE, "feature_norm", "WHICH", AT(norm),
        "normalisation of the rows before the hops: none, or layer, LayerNorm without affine", .choices = "layer|none",
        .optional = true},
    {MO_FIELD_CHOICE, "attributes", "HOW", AT(attributes),
        "attributes of a single graph's nodes: scaled, with columns of another scale brought to that of the others "
        "and constant columns left out, or raw",
        .low = MO_ATTRIBUTES_SCALED, .choices = "scaled|raw", .optional = true},
    {MO_FIELD_INT, "hops", "L", AT(hops), "hops read in addition to the node's own row", 0, 12},
    {MO_FIELD_INT, "power_iterations", "N", AT(power_iterations),
        "power iterations of the randomized SVD; -1: until converged", -1, 10000},
    {MO_FIELD_SEED, "feature_seed", NULL, AT(seed)},
    {MO_FIELDS_END},
};
#undef AT

#define NORM_EPSILON 1e-5 /* of LayerNorm */

enum { FORMAT = 9 }; /* increase FORMAT when equal settings give other values */

/* Rows first .. first + n - 1 of hop k of [.., nodes, dim]. */
static mo_view rows_of_hop(const mo_tensor *hops, int64_t k, int64_t first, int64_t n) {
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

/* ---- hop 0: X0, normalised as the options ask, for each graph ---- */

/* One computation of features. */
typedef struct first_hop {
    const mo_graph *graph;
    const mo_feature_options *options;
    mo_tensor *hops;          /* [1, nodes, dim]: hop 0, to be filled */
    mo_basis_quality quality; /* the largest errors over all graphs */
} first_hop;

static void worsen_quality(mo_basis_quality *all, mo_basis_quality quality) {
    all->residual = fmax(all->residual, quality.residual);
    all->orthogonality = fmax(all->orthogonality, quality.orthogonality);
}

static int64_t nodes_of(const mo_graph *graph, int64_t g) {
    return graph->graph_offset[g + 1] - graph->graph_offset[g];
}

/* Computes hop 0 of graph g, which can have no nodes, on a tape of any context on the device of `hops`. */
static mo_basis_quality compute_graph(const first_hop *j, mo_tape *t, int64_t g, const mo_tensor *hops) {
    mo_context *ctx = mo_tape_context(t);
    mo_basis_quality quality = {0};
    if (nodes_of(j->graph, g) == 0)
        return quality;
    mo_tensor *X0 = mo_node_basis(t, j->graph, g, j->options, &quality);
    if (mo_ok(ctx)) {
        mo_view x = mo_tensor_view(X0), y = rows_of_hop(hops, 0, j->graph->graph_offset[g], nodes_of(j->graph, g));
        if (j->options->norm == MO_FEATURE_NORM_LAYER)
            mo_layer_norm_into(ctx, NORM_EPSILON, &x, &y);
        else
            mo_copy_into(ctx, &x, &y);
    }
    return quality;
}

/* One of the threads that share the graphs of a set. */
typedef struct worker {
    mo_context *ctx;
    mo_tape *t;
    mo_basis_quality quality; /* the largest errors over its graphs */
    mo_status failure;        /* error of its first failed graph in the set's order */
    int64_t failed;           /* that graph's number; the number of graphs if none failed */
} worker;

typedef struct set_of_graphs {
    const first_hop *j;
    const mo_tensor *hops;
    worker *thread; /* [threads] */
} set_of_graphs;

static bool open_workers(mo_context *ctx, worker *w, int n, int64_t graphs) {
    for (int i = 0; i < n; i++) {
        w[i].failed = graphs;
        w[i].ctx = mo_context_create(&(mo_context_options){.threads = 1});
        w[i].t = mo_ok(w[i].ctx) ? mo_tape_create(w[i].ctx, MO_EVAL) : NULL;
        if (!w[i].t)
            mo_fail(ctx, MO_MEMORY, "features: out of memory for a thread's context");
    }
    return mo_ok(ctx);
}

static void compute_some(const void *of, task_range some) {
    const set_of_graphs *set = of;
    worker *w = &set->thread[some.thread];
    for (int64_t g = some.first; g < some.end && mo_goes_on(set->j->graph->ctx); g++) {
        worsen_quality(&w->quality, compute_graph(set->j, w->t, g, set->hops));
        if (!mo_ok(w->ctx) && g < w->failed) {
            w->failed = g;
            w->failure = *mo_context_status(w->ctx);
        }
        mo_clear_error(w->ctx);
        mo_tape_reset(w->t);
    }
}

/* Raises the failure of the first failed graph in the set's order, whatever the order in which threads finish. */
static void close_workers(first_hop *j, worker *w, int n) {
    const worker *first = w;
    for (int i = 0; i < n; i++) {
        worsen_quality(&j->quality, w[i].quality);
        first = w[i].failed < first->failed ? &w[i] : first;
        mo_tape_release(w[i].t);
        mo_context_release(w[i].ctx);
    }
    if (first->failed < j->graph->graphs)
        mo_fail(j->graph->ctx, first->failure.code, "features: graph %" PRId64 " of '%s': %s", first->failed,
            j->graph->name, first->failure.message);
}

/* Computes the graphs of a set on the threads of the CPU context that owns `hops`. */
static bool compute_set(first_hop *j, const mo_context *host, const mo_tensor *hops) {
    mo_context *ctx = j->graph->ctx;
    int threads = mo_context_blas_is_safe(host) ? mo_context_threads(host) : 1;
    const set_of_graphs set = {.j = j, .hops = hops, .thread = mo_host_array(ctx, threads, sizeof *set.thread)};
    if (!set.thread)
        return false;
    if (open_workers(ctx, set.thread, threads, j->graph->graphs))
        run_tasks(threads, j->graph->graphs, 1, compute_some, &set);
    close_workers(j, set.thread, threads);
    free(set.thread);
    return mo_ok(ctx);
}

/* Computes hop 0 on CPU threads, for a device. */
static void compute_staged(first_hop *j, mo_tape *t) {
    mo_context *ctx = j->graph->ctx;
    mo_context *host = mo_context_create(&(mo_context_options){.threads = mo_context_threads(ctx)});
    mo_tensor *hop = mo_tensor_uninitialized(host, MO_F32, 3, (int64_t[]){1, j->graph->nodes, j->options->dim});
    if (!mo_ok(host))
        mo_fail(ctx, mo_context_status(host)->code, "features: %s", mo_context_status(host)->message);
    else if (compute_set(j, host, hop)) {
        mo_tensor *first = mo_slice(t, j->hops, MO_AXIS(0), 0, 1);
        mo_tensor_write(first, mo_tensor_view(hop).data, (size_t)mo_numel(hop) * sizeof(float));
    }
    mo_tensor_release(hop);
    mo_context_release(host);
}

/* Fills hop 0; returns false on failure. A single graph is computed in its own context. */
static bool compute_first_hop(first_hop *j) {
    mo_context *ctx = j->graph->ctx;
    mo_tape *t = mo_tape_create(ctx, MO_EVAL);
    if (t && j->graph->graphs == 1)
        worsen_quality(&j->quality, compute_graph(j, t, 0, j->hops));
    else if (t && mo_context_device(ctx) == MO_CPU)
        compute_set(j, ctx, j->hops);
    else if (t)
        compute_staged(j, t);
    mo_tape_release(t);
    return mo_ok(ctx);
}

/* ---- all hops ---- */

static bool propagate_hops(const mo_graph *graph, mo_tensor *hops) {
    mo_csr *A = mo_normalized_adjacency(graph, MO_F32);
    if (!A)
        return false;
    for (int64_t k = 1; k < mo_dim(hops, 0); k++) {
        mo_view x = rows_of_hop(hops, k - 1, 0, graph->nodes), y = rows_of_hop(hops, k, 0, graph->nodes);
        mo_spmm_into(A, 0, &x, &y);
        mo_tensor_unload(hops);
    }
    mo_csr_release(A);
    return mo_ok(graph->ctx);
}

/* Writes the key: everything that hop 0 depends on. */
static void write_hop_key(const mo_graph *graph, const mo_feature_options *o, char *key, size_t bytes) {
    snprintf(key, bytes, "format %d graph %016" PRIx64 "%016" PRIx64 " dim %d power %d combine %d seed %" PRIu64 "%s%s",
        FORMAT, graph->hash[0], graph->hash[1], o->dim, o->power_iterations, (int)o->combine, o->seed,
        o->norm == MO_FEATURE_NORM_NONE ? " norm none" : "", mo_scale_key(graph));
}

/* The content of a cache entry: hop 0 [1, nodes, d] and the quality of its SVDs, [residual, orthogonality]. */
static mo_arrays *kept_arrays(mo_tensor *X0) {
    mo_arrays *kept = mo_ok(X0->ctx) ? mo_arrays_create(X0->ctx) : NULL;
    if (kept && mo_arrays_take(kept, "x0", mo_tensor_first(X0)) == MO_OK)
        mo_arrays_take(kept, "svd", mo_tensor_create(X0->ctx, MO_F64, 1, (int64_t[]){2}));
    return kept;
}

/* Fills the stack: hop 0 from the cache or computed, then the other hops. A stack in memory is opened once the memory
 * of the SVD is free. Returns whether the cache had hop 0. */
static bool fill_hops(first_hop *j, const char *key, mo_stack_file *s) {
    mo_context *ctx = j->graph->ctx;
    mo_tensor *X0 = mo_tensor_uninitialized(ctx, MO_F32, 3, (int64_t[]){1, j->graph->nodes, j->options->dim});
    mo_arrays *kept = kept_arrays(X0);
    mo_tensor *svd = mo_ok(ctx) ? mo_arrays_find(kept, "svd") : NULL;
    j->hops = X0;
    bool found = svd && mo_cache_load(&s->cache, key, kept);
    if (svd && !found && compute_first_hop(j)) {
        mo_tensor_write(svd, &j->quality, sizeof s->quality);
        if (!s->on_disk) /* else the file itself keeps all hops */
            mo_cache_store(&s->cache, key, kept);
    }
    mo_tensor *hops = s->on_disk ? s->rows : mo_stack_open(s);
    if (mo_ok(ctx) && mo_tensor_read(svd, s->quality, sizeof s->quality) == MO_OK) {
        mo_view x = rows_of_hop(X0, 0, 0, j->graph->nodes), y = rows_of_hop(hops, 0, 0, j->graph->nodes);
        mo_copy_into(ctx, &x, &y);
    }
    mo_arrays_release(kept);
    mo_tensor_release(X0);
    if (mo_ok(ctx) && mo_tensor_count(hops))
        propagate_hops(j->graph, hops);
    return found;
}

/* Computes rows of nodes: hop 0 and the other hops, in memory or in a file. */
static bool make_hops(const mo_graph *graph, const mo_feature_options *o, mo_features *f) {
    mo_context *ctx = graph->ctx;
    mo_graph scaled = *graph;
    float *own = NULL;
    char key[256], hops[300];
    first_hop j = {.graph = &scaled, .options = o};
    bool on_disk = mo_hops_go_to_disk(graph, o, o->hops + 1);
    if (mo_ok(ctx) && mo_set_scale(&scaled, &own)) {
        write_hop_key(&scaled, o, key, sizeof key);
        snprintf(hops, sizeof hops, "%s hops %d float32", key, o->hops);
        mo_stack_file s = {.on_disk = on_disk,
            .cache = mo_cache_of(ctx, o),
            .key = hops,
            .ndim = 3,
            .shape = {o->hops + 1, graph->nodes, o->dim}};
        if (on_disk)
            mo_stack_open(&s);
        f->from_cache = s.whole || fill_hops(&j, key, &s);
        mo_arrays_take(f->arrays, "hops", mo_stack_close(&s));
        f->svd_residual = s.quality[0];
        f->svd_orthogonality = s.quality[1];
    }
    free(own);
    return mo_ok(ctx);
}

/* ---- features of a task ---- */

const char *mo_feature_form_name(mo_feature_form form) {
    return form == MO_ROWS_PER_EXAMPLE ? "examples" : "nodes";
}

static bool features_valid(
    const mo_graph *graph, mo_task task, const mo_links *links, const mo_feature_options *o, bool of_examples) {
    mo_context *ctx = graph->ctx;
    if (!mo_ok(ctx))
        return false;
    if (of_examples && (o->dim < 1 || o->hops < 0 || o->hops >= MO_MAX_INPUTS))
        mo_fail(ctx, MO_INVALID, "features: dim %d and %d hops, expected 1 or more and 0 to %d", o->dim, o->hops,
            MO_MAX_INPUTS - 1);
    else if (o->dim < 1 || o->hops < 0)
        mo_fail(ctx, MO_INVALID, "features: dim %d and %d hops, expected 1 or more and 0 or more", o->dim, o->hops);
    else if (of_examples && (task == MO_TASK_LP) != (links != NULL))
        mo_fail(ctx, MO_INVALID, "features: %s:%s %s held-out links", graph->name, mo_task_name(task),
            links ? "has no use for" : "needs");
    return mo_ok(ctx) && mo_features_fit_products(graph);
}

mo_features *mo_task_features_open(
    const mo_graph *graph, mo_task task, const mo_links *links, const mo_feature_options *o) {
    if (!graph || !mo_given(graph->ctx, "features", "options", o))
        return NULL;
    mo_context *ctx = graph->ctx;
    bool of_examples = o->form == MO_ROWS_PER_EXAMPLE;
    mo_features *f = features_valid(graph, task, links, o, of_examples) ? mo_host_array(ctx, 1, sizeof *f) : NULL;
    if (!f)
        return NULL;
    *f = (mo_features){.arrays = mo_arrays_create(ctx),
        .nodes = graph->nodes,
        .dim = o->dim,
        .hops = o->hops,
        .power_iterations = o->power_iterations,
        .seed = o->seed};
    mo_math math = ctx->math;
    ctx->math = MO_MATH_FP32; /* TF32 would round the factors of products */
    bool done = f->arrays && (!of_examples            ? make_hops(graph, o, f)
                                 : task == MO_TASK_LP ? mo_pair_rows(links, o, f)
                                 : task == MO_TASK_GC ? mo_graph_rows(graph, o, f)
                                                      : mo_node_rows(graph, o, f));
    ctx->math = math;
    if (done) {
        mo_tell_quality(o, graph, f);
        return f;
    }
    mo_features_release(f);
    return NULL;
}

void mo_features_release(mo_features *features) {
    if (!features)
        return;
    mo_arrays_release(features->arrays);
    free(features);
}
