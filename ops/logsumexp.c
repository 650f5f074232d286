/* ops/logsumexp.c - Y = log sum exp X over axes.
 *
 * The op: X [.., m] -> Y [..] along each row; float32 or float64. mo_logsumexp brings any set of axes to the end first.
 * The largest entry is subtracted before the exponentials, so that no X overflows: Y = a + log sum exp(X - a). Errors:
 * other dtypes, no axis, empty rows (m = 0). Saved: nothing beyond the input and the output.
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
    {"rows", "[3, 4]"},
    {"vector", "[7]"},
    {"batch", "[2, 3, 5]"},
    {"single entries", "[3, 1]"},
    {"of nothing", "[3, 0]", .error = "logsumexp: over no elements; got [3, 0] float64"},
    {"scalar", "[]", .error = "logsumexp: expected rows, one axis or more"},
};

const mo_op mo_op_logsumexp = {
    .name = "logsumexp",
    .reads_in = 1,
    .reads_out = 1,
    .shape = logsumexp_shape,
    .forward = logsumexp_forward,
    .vjp = logsumexp_vjp,
    .flops = logsumexp_flops,
    MO_SAMPLES(logsumexp_samples),
};

mo_tensor *mo_logsumexp(mo_tape *t, mo_tensor *X, mo_axes axes, mo_reduced reduced) {
    mo_tensor *Y = mo_apply(t, &mo_op_logsumexp, (mo_tensor *[]){mo_rows(t, "logsumexp", X, axes)}, 1, NULL);
    return mo_from_rows(t, Y, X, axes, reduced);
}
