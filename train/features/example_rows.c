/* train/features/example_rows.c - rows of the examples of one task, made and kept. */
#include "train/features/example_rows.h"

#include "tensor/storage.h"
#include "train/svd/adjacency.h"
#include "train/svd/basis.h"

#include <stdlib.h>

const char *mo_feature_form_name(mo_feature_form form) {
    return form == MO_FEATURES_OF_EXAMPLES ? "examples" : "nodes";
}

static bool rows_are_valid(const mo_graph *graph, mo_task task, const mo_links *links, const mo_feature_options *o) {
    mo_context *ctx = graph->ctx;
    if (!mo_ok(ctx))
        return false;
    if (o->dim < 1 || o->hops < 0 || o->hops >= MO_MAX_INPUTS)
        mo_fail(ctx, MO_INVALID, "features: dim %d and %d hops, expected 1 or more and 0 to %d", o->dim, o->hops,
            MO_MAX_INPUTS - 1);
    else if ((task == MO_TASK_LP) != (links != NULL))
        mo_fail(ctx, MO_INVALID, "features: %s:%s %s held-out links", graph->name, mo_task_name(task),
            links ? "has no use for" : "needs");
    return mo_ok(ctx) && mo_features_fit_products(graph);
}

mo_features *mo_example_features_open(
    const mo_graph *graph, mo_task task, const mo_links *links, const mo_feature_options *options) {
    if (!graph || !mo_given(graph->ctx, "features", "options", options))
        return NULL;
    mo_context *ctx = graph->ctx;
    mo_features *f = rows_are_valid(graph, task, links, options) ? calloc(1, sizeof *f) : NULL;
    if (!f) {
        mo_fail(ctx, MO_MEMORY, "features: out of memory");
        return NULL;
    }
    *f = (mo_features){.arrays = mo_arrays_create(ctx),
        .nodes = graph->nodes,
        .dim = options->dim,
        .hops = options->hops,
        .power_iterations = options->power_iterations,
        .seed = options->seed};
    mo_math math = ctx->math;
    ctx->math = MO_MATH_FP32; /* a basis needs products without rounded factors */
    bool done = f->arrays && (task == MO_TASK_LP      ? mo_pair_rows(links, options, f)
                                 : task == MO_TASK_GC ? mo_graph_rows(graph, options, f)
                                                      : mo_node_rows(graph, options, f));
    ctx->math = math;
    if (done) {
        mo_tell_quality(options, graph, f);
        return f;
    }
    mo_features_release(f);
    return NULL;
}
