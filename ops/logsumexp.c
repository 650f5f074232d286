/* ops/logsumexp.c - Y = log sum exp X over axes.
 *
 * The op: X [.., m] -> Y [..] along each row; float32 or float64. mo_logsumexp brings any set of axes to the end first.
 * The largest entry is subtracted before the exponentials, so that no X overflows: Y = a + log sum exp(X - a). Errors:
 * other dtypes, no axis, rows of nothing (m = 0). Saved: nothing beyond the input and the output.
 *
 * dY = sum exp(X) dX / sum exp(X), hence X_bar = Y_bar * exp(X - Y): the softmax of the row times Y_bar. */
#include "ops/inside.h"
#include "ops/rules/rows.h"
#include "ops/rules/shapes.h"

#include <string.h>

static bool logsumexp_shape(mo_call *c) {
    return mo_call_per_row(c, c->in[0]->dtype);
}

static void logsumexp_forward(mo_call *c) {
    mo_view x = mo_call_dense(c, 0), y = mo_tensor_view(c->out[0]);
    if (mo_ok(c->ctx))
        mo_kernels_of(c->ctx, y.dtype)->logsumexp(c->ctx, &x, &y);
}

static void logsumexp_vjp(mo_vjp *v) {
    mo_tape *t = v->t;
    mo_tensor *X = v->in[0];
    int64_t size[MO_MAX_AXES];
    memcpy(size, X->shape, sizeof size);
    size[X->ndim - 1] = 1;
    mo_tensor *Y = mo_reshape(t, v->out[0], X->ndim, size), *Y_bar = mo_reshape(t, v->out_bar[0], X->ndim, size);
    v->in_bar[0] = mo_mul(t, Y_bar, mo_exp(t, mo_sub(t, X, Y)));
}

static double logsumexp_flops(const mo_call *c) {
    return 4 * (double)mo_numel(c->in[0]); /* compare, subtract, exp, add */
}

static const mo_sample logsumexp_samples[] = {
    {.name = "rows", .n_in = 1, .in = {{.ndim = 2, .shape = {3, 4}}}},
    {.name = "vector", .n_in = 1, .in = {{.ndim = 1, .shape = {7}}}},
    {.name = "batch", .n_in = 1, .in = {{.ndim = 3, .shape = {2, 3, 5}}}},
    {.name = "single entries", .n_in = 1, .in = {{.ndim = 2, .shape = {3, 1}}}},
    {.name = "no rows", .n_in = 1, .in = {{.ndim = 2, .shape = {0, 3}}}},
};

static const mo_error_sample logsumexp_error_samples[] = {
    {{.name = "of nothing", .n_in = 1, .in = {{.ndim = 2, .shape = {3, 0}}}}, MO_INVALID,
        "logsumexp: over no elements; got [3, 0] float64"},
    {{.name = "scalar", .n_in = 1, .in = {{.ndim = 0}}}, MO_INVALID, "logsumexp: expected rows, one axis or more"},
    {{.name = "dtype", .n_in = 1, .in = {{MO_DRAW_INDEX, 1, {3}, 2}}}, MO_MISMATCH, "logsumexp: input 0 is int64"},
};

const mo_op mo_op_logsumexp = {
    .name = "logsumexp",
    .min_in = 1,
    .max_in = 1,
    .n_out = 1,
    .reads_in = 1,
    .reads_out = 1,
    .shape = logsumexp_shape,
    .forward = logsumexp_forward,
    .vjp = logsumexp_vjp,
    .flops = logsumexp_flops,
    .samples = logsumexp_samples,
    .n_samples = 5,
    .error_samples = logsumexp_error_samples,
    .n_error_samples = 3,
};

mo_tensor *mo_logsumexp(mo_tape *t, mo_tensor *X, unsigned axes, mo_reduced reduced) {
    mo_tensor *Y = mo_apply(t, &mo_op_logsumexp, (mo_tensor *[]){mo_rows(t, "logsumexp", X, axes)}, 1, NULL);
    return mo_from_rows(t, Y, X, axes, reduced);
}
