/* train/example_rows.c - rows of the examples of one task: opened, and those of an episode on its tape. */
#include "train/example_rows.h"
#include "tensor/given.h"

#include "autograd/tape.h"
#include "ops/ops.h"
#include "train/basis.h"
#include "train/episode_rows.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *mo_feature_form_name(mo_feature_form form) {
    return form == MO_FEATURES_OF_EXAMPLES ? "examples" : "nodes";
}

static bool valid(const mo_graph *graph, mo_task task, const mo_links *links, const mo_feature_options *o) {
    mo_context *ctx = graph->ctx;
    if (!mo_ok(ctx))
        return false;
    if (o->dim < 1 || o->hops < 0 || o->hops >= MO_MAX_INPUTS)
        mo_fail(ctx, MO_INVALID, "features: dim %d and %d hops, expected 1 or more and 0 to %d", o->dim, o->hops,
            MO_MAX_INPUTS - 1);
    else if ((task == MO_TASK_LP) != (links != NULL))
        mo_fail(ctx, MO_INVALID, "features: %s:%s %s held-out links", graph->name, mo_task_name(task),
            links ? "has no use for" : "needs");
    for (int64_t e = 0; graph->features > 1 && e < graph->feature_nnz && mo_ok(ctx); e++)
        if (!isfinite(graph->feature_value[e]))
            mo_fail(ctx, MO_NUMERICAL, "features: '%s': value %" PRId64 " of the features is %g, expected it finite",
                graph->name, e, (double)graph->feature_value[e]);
    return mo_ok(ctx);
}

mo_features *mo_example_features_open(
    const mo_graph *graph, mo_task task, const mo_links *links, const mo_feature_options *options) {
    if (!graph || !mo_given(graph->ctx, "features", "options", options))
        return NULL;
    mo_context *ctx = graph->ctx;
    mo_features *f = valid(graph, task, links, options) ? calloc(1, sizeof *f) : NULL;
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

/* The rows `example` of a features tensor [.., E, w], in that order: [.., n, w]. */
static mo_tensor *gather(mo_tape *t, mo_tensor *X, const int64_t *example, int64_t n, const mo_fetched *fetched) {
    int64_t E = mo_dim(X, -2), w = mo_dim(X, -1), outer = 1, shape[MO_MAX_AXES];
    if (mo_ok(t->ctx) && !mo_rows_resident(t->ctx, X))
        return mo_fetch_episode_rows(t, X, example, n, fetched);
    for (int i = 0; i < mo_ndim(X); i++)
        shape[i] = mo_dim(X, i);
    shape[mo_ndim(X) - 2] = n;
    for (int i = 0; i < mo_ndim(X) - 2; i++)
        outer *= shape[i];
    int64_t *row = mo_tape_scratch(t, outer * n, sizeof *row);
    if (!row)
        return mo_null_tensor(t->ctx);
    for (int64_t o = 0; o < outer; o++)
        for (int64_t i = 0; i < n; i++)
            row[o * n + i] = o * E + example[i];
    mo_tensor *index = mo_from(t, MO_I64, 1, (int64_t[]){outer * n}, row);
    return mo_reshape(t, mo_gather_rows(t, mo_reshape(t, X, 2, (int64_t[]){outer * E, w}), index), mo_ndim(X), shape);
}

void mo_example_tensors(
    mo_tape *t, const mo_source *source, const int64_t *example, int64_t n, const mo_fetched *fetched, mo_episode *e) {
    const mo_arrays *arrays = source->features->arrays;
    mo_tensor *blocks = mo_arrays_find(arrays, "blocks"), *spectrum = mo_arrays_find(arrays, "spectrum"),
              *extras = mo_arrays_find(arrays, "extras");
    if (!blocks || !spectrum || !extras) {
        mo_fail(t->ctx, MO_INVALID, "episode: the features of %s have no \"blocks\"", source->graph->name);
        return;
    }
    mo_tensor *H = gather(t, blocks, example, n, fetched);
    if (source->task == MO_TASK_LP)
        H = mo_clamp(t, H, -MO_BLOCK_LIMIT, MO_BLOCK_LIMIT);
    mo_tensor *x = mo_clamp(t, gather(t, extras, example, n, fetched), -MO_EXTRAS_LIMIT, MO_EXTRAS_LIMIT);
    if (spectrum->ctx != t->ctx)
        spectrum = mo_fetch_range(t, spectrum, 0, 0, mo_dim(spectrum, 0));
    e->n_rows = 3;
    e->rows[0] = (mo_named){"blocks", H, NULL};
    e->rows[1] = (mo_named){"spectrum", spectrum, NULL};
    e->rows[2] = (mo_named){"extras", x, NULL};
}
