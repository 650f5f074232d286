/* train/few_shot/few_shot_given.c - embeddings given by the caller: a head reads them unchanged; no model and no
 * features are made. */
#include "train/few_shot/few_shot.h"

#include "models/inside.h"
#include "tensor/hidden.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

static bool given_rows_check(mo_context *ctx, const mo_graph *graph, const mo_few_shot_options *o) {
    char shape[64];
    mo_dtype real = mo_tensor_dtype(o->rows);
    if (o->weights || o->transductive || o->cache || o->memory || o->n_experts)
        mo_fail(ctx, MO_INVALID,
            "few-shot: rows are embeddings already, expected no weights, cache, memory, experts or transductive "
            "readout beside them");
    else if (mo_tensor_context(o->rows) != ctx)
        mo_fail(ctx, MO_INVALID, "few-shot: expected rows of the graph's context, found those of another one");
    else if (mo_ndim(o->rows) != 2 || mo_dim(o->rows, 0) < 1 || mo_dim(o->rows, 1) < 1 ||
             (graph && mo_dim(o->rows, 0) != mo_graph_examples(graph)) || (real != MO_F32 && real != MO_F64))
        mo_fail(ctx, MO_INVALID, "few-shot: expected rows [%s, d] of float32 or float64, found %s %s",
            graph ? "examples" : "n", mo_dtype_name(real), mo_shape_string(o->rows, shape, sizeof shape));
    return mo_ok(ctx);
}

static bool given_rows_finite(mo_context *ctx, const mo_tensor *Z) {
    int64_t n = mo_numel(Z), d = mo_dim(Z, 1);
    bool wide = mo_tensor_dtype(Z) == MO_F64;
    void *x = mo_host_array(ctx, n, mo_dtype_size(mo_tensor_dtype(Z)));
    bool read = x && mo_tensor_read(Z, x, (size_t)n * mo_dtype_size(mo_tensor_dtype(Z))) == MO_OK;
    for (int64_t i = 0; read && i < n && mo_ok(ctx); i++) {
        double value = wide ? ((double *)x)[i] : (double)((float *)x)[i];
        if (!isfinite(value))
            mo_fail(ctx, MO_NUMERICAL, "few-shot: expected finite rows, found %g in row %" PRId64 ", column %" PRId64,
                value, i / d, i % d);
    }
    free(x);
    return mo_ok(ctx);
}

void mo_few_shot_take_rows(mo_few_shot *f, const mo_few_shot_options *o) {
    const mo_head *head = o->head ? o->head : &mo_head_ridge;
    if (!given_rows_check(f->ctx, f->source.graph, o) || !mo_few_shot_check_lambda(f->ctx, o->lambda, head))
        return;
    int64_t shape[] = {mo_dim(o->rows, 0), mo_dim(o->rows, 1)};
    if (!f->source.graph)
        f->source.graph = f->own = mo_graph_from_edges(f->ctx, "rows", shape[0], 0, NULL, NULL);
    f->candidate = (mo_candidate){.features = "rows", .head = head, .lambda = o->lambda};
    f->rows = mo_tensor_create(f->ctx, mo_tensor_dtype(o->rows), 2, shape);
    if (mo_ok(f->ctx) && mo_tensor_copy(f->rows, o->rows) == MO_OK)
        given_rows_finite(f->ctx, f->rows);
}
