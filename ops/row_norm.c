/* ops/row_norm.c - the length of rows.
 *
 * X [.., d] -> Y [.., 1], Y = |X| = (sum X^2)^1/2 along the last axis; float32 or float64. Errors: other dtypes, no
 * axis. Saved: nothing beyond input and output.
 *
 * dY = <X, dX> / Y, hence X_bar = X * Y_bar / Y, and 0 at X = 0. */
#include "ops/inside.h"
#include "tensor/backend.h"
#include "tensor/objects.h"

#include <string.h>

static bool row_norm_shape(mo_call *c) {
    const mo_tensor *X = c->in[0];
    int64_t size[MO_MAX_AXES];
    if (!mo_call_real(c, 0, 0))
        return false;
    if (X->ndim < 1)
        return mo_call_fail(c, MO_INVALID, "expected rows, one axis or more");
    memcpy(size, X->shape, sizeof size);
    size[X->ndim - 1] = 1;
    return mo_call_output(c, 0, X->dtype, X->ndim, size);
}

static void row_norm_forward(mo_call *c) {
    const mo_tensor *Y = c->out[0];
    mo_tensor *squares = mo_call_temporary(c, Y->dtype, Y->ndim, Y->shape);
    mo_view x = mo_tensor_view(c->in[0]), y = mo_tensor_view(Y), sum = mo_tensor_view(squares), onto = sum;
    if (!mo_ok(c->ctx))
        return;
    onto.shape[onto.ndim - 1] = x.shape[x.ndim - 1];
    onto.stride[onto.ndim - 1] = 0;
    const mo_kernels *k = mo_kernels_of(c->ctx, y.dtype);
    k->reduce(c->ctx, MO_REDUCE_SUM_OF_SQUARES, &x, &onto);
    k->map1(c->ctx, MO_MAP_SQRT, 0, 0, &sum, &y);
}

static void row_norm_vjp(mo_vjp *v) {
    v->in_bar[0] = mo_mul(v->t, v->in[0], mo_div_or_zero(v->t, v->out_bar[0], v->out[0]));
}

static double row_norm_flops(const mo_call *c) {
    return 5 * (double)mo_numel(c->in[0]); /* at most, as for rows in normalize.c */
}

static const mo_sample row_norm_samples[] = {
    {"rows", "[3, 4]"},
    {"vector", "[7]"},
    {"batch", "[2, 3, 5]"},
    {"scalar", "[]", .error = "row_norm: expected rows, one axis or more"},
};

const mo_op mo_op_row_norm = {
    .name = "row_norm",
    .reads_in = 1,
    .reads_out = 1,
    .shape = row_norm_shape,
    .forward = row_norm_forward,
    .vjp = row_norm_vjp,
    .flops = row_norm_flops,
    MO_SAMPLES(row_norm_samples),
};

mo_tensor *mo_row_norm(mo_tape *t, mo_tensor *X) {
    return mo_apply(t, &mo_op_row_norm, (mo_tensor *[]){X}, 1, NULL);
}
