/* train/features/feature_memory.c - what features take, against what they may take.
 *
 * The SVD of the adjacency takes three matrices of n rows and d + 16 columns (svd_symmetric.c). With node features, its
 * result is held while the SVD of the features takes three more. To that add some fifty small matrices of float64
 * (ritz.c), as measured, and the memory of the libraries. The hop stack is made when these are freed. With the stack on
 * disk one hop stays in memory. Of rows that are spread over ranks each holds its share, and panels of others' rows
 * (halo.c); that a rank has a tenth more rows than another is not counted. Blocks that are kept apart also need the
 * basis of both. */
#include "train/features/feature_memory.h"

#include "tensor/storage.h"
#include "train/features/hop_store.h"
#include "train/features/nodes/diffuse.h"
#include "train/svd/svd.h"

enum { REAL = 4, SMALL = 400, HALO = MO_HALO_PANEL * REAL * 3 / 2, LIBRARIES = 24 << 20 };
static const double FOR_STEPS = 0.25; /* the share of a device's memory left for episodes and their gradients */

static double larger_need(double a, double b) {
    return a > b ? a : b;
}

typedef struct needs {
    double inside, outside, stack; /* bytes with all in memory; with the hop stack on disk; of that stack */
} needs;

static needs count_needs(const mo_graph *graph, const mo_feature_options *o, int sides) {
    bool spread = sides == 1 && mo_hop_store_is_spread(graph, o->dim, o->ranks);
    double n = (double)graph->nodes, hop = n * o->dim * REAL, panels = graph->features > 0 ? 4 : 3;
    double matrices = 24 * n + 12 * (double)graph->nnz + 8 * (double)graph->feature_nnz;
    double share = spread ? 1.0 / o->ranks->size : 1;
    double q = o->dim + MO_SVD_OVERSAMPLING,
           svd = share * panels * n * q * REAL + SMALL * q * q + (spread ? HALO * n : 0);
    double base = matrices + (sides > 1 ? sides * hop : 0) + LIBRARIES;
    bool blocks = sides > 1;
    double stack = sides * (o->hops + 1 + (blocks ? MO_DIFFUSED : 0)) * hop;
    double rows = blocks ? (MO_DIFFUSED + 3) * hop : 2 * hop; /* a hop or what diffuses, and what is made of it */
    return (needs){base + larger_need(svd, stack + (blocks ? 2 * hop : 0)), base + larger_need(svd, share * rows),
        o->stack == MO_F16 ? stack / 2 : stack};
}

/* Raises: the features fit neither in memory nor with the stack on disk. */
static void fail_memory(const mo_graph *graph, const mo_feature_options *o, const needs *n) {
    mo_context *ctx = graph->ctx;
    double limit = (double)o->memory;
    if (limit > 0 && n->outside > limit)
        mo_fail(ctx, MO_MEMORY,
            "features: '%s' needs %.0f bytes, %.0f with its hop stack on disk; the limit of memory is %.0f",
            graph->name, n->inside, n->outside, limit);
    else if (mo_context_device(ctx) != MO_CPU)
        mo_fail(ctx, MO_UNSUPPORTED,
            "features: '%s' needs %.0f bytes, above the limit of memory; on a device they cannot stay on disk "
            "(--features "
            "disk keeps them off it)",
            graph->name, n->inside);
    else if ((!o->cache || !*o->cache) && limit > 0)
        mo_fail(ctx, MO_INVALID,
            "features: '%s' needs %.0f bytes, the limit of memory is %.0f: name a cache folder, where its hop stack "
            "takes %.0f",
            graph->name, n->inside, limit, n->stack);
    else if (!o->cache || !*o->cache)
        mo_fail(ctx, MO_INVALID, "features: '%s': name a cache folder, where its hop stack takes %.0f bytes",
            graph->name, n->stack);
}

bool mo_hops_go_to_disk(const mo_graph *graph, const mo_feature_options *o, int sides) {
    needs n = count_needs(graph, o, sides);
    bool wanted = o->place == MO_FEATURES_ON_DISK || (o->memory > 0 && n.inside > (double)o->memory);
    if (!mo_ok(graph->ctx) || !wanted)
        return false;
    fail_memory(graph, o, &n);
    return mo_ok(graph->ctx);
}

bool mo_features_fit(
    mo_context *ctx, const mo_graph *graph, mo_task task, const mo_feature_options *o, double *needed, double *left) {
    size_t held = 0, unused = 0;
    bool of_examples = o->form == MO_FEATURES_OF_EXAMPLES;
    needs n = count_needs(graph, o, of_examples && task != MO_TASK_GC ? 2 : 1);
    *needed = of_examples && task != MO_TASK_NC ? n.outside : n.inside; /* rows of links and of graphs are small */
    bool bounded = mo_device_memory(ctx, &held, &unused);
    *left = (double)unused - FOR_STEPS * (double)(held + unused);
    return !bounded || *needed <= *left;
}
