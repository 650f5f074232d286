/* train/feature_memory.c - what features take, against what they may take.
 *
 * The SVD of the adjacency takes three matrices of n rows and d + 16 columns (svd_symmetric.c); with node features the
 * result waits while theirs takes three more. The hop stack is made when these are gone. With the stack on disk one hop
 * stays in memory. Blocks that are kept apart need the basis of both beside it. */
#include "train/feature_memory.h"

#include "tensor/storage.h"

enum { OVERSAMPLING = 16, REAL = 4 };

static double larger(double a, double b) {
    return a > b ? a : b;
}

bool mo_hops_go_to_disk(const mo_graph *graph, const mo_feature_options *o, int sides) {
    mo_context *ctx = graph->ctx;
    if (!mo_ok(ctx) || o->memory <= 0)
        return false;
    double n = (double)graph->nodes, hop = n * o->dim * REAL, panels = graph->features > 1 ? 4 : 3;
    double matrices = 24 * n + 12 * (double)graph->nnz + 8 * (double)graph->feature_nnz;
    double base = matrices + (sides > 1 ? sides * hop : 0), svd = panels * n * (o->dim + OVERSAMPLING) * REAL;
    double stack = sides * (o->hops + 1) * hop, inside = base + larger(svd, stack);
    double outside = base + larger(svd, 2 * hop), limit = (double)o->memory;
    if (inside <= limit)
        return false;
    if (outside > limit)
        mo_fail(ctx, MO_MEMORY,
            "features: '%s' needs %.2f GB, %.2f GB with its hop stack on disk; the limit of memory is %.2f GB",
            graph->name, 1e-9 * inside, 1e-9 * outside, 1e-9 * limit);
    else if (mo_context_device(ctx) != MO_CPU)
        mo_fail(ctx, MO_UNSUPPORTED,
            "features: '%s' needs %.2f GB, above the limit of memory; on a device they "
            "cannot stay on disk",
            graph->name, 1e-9 * inside);
    else if (!o->cache || !*o->cache)
        mo_fail(ctx, MO_INVALID,
            "features: '%s' needs %.2f GB, the limit of memory is %.2f GB: name a cache folder, "
            "where its hop stack takes %.2f GB",
            graph->name, 1e-9 * inside, 1e-9 * limit, 1e-9 * stack);
    return mo_ok(ctx);
}
