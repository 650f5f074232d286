/* ops/append_ones.c - Y = [X | 1]: the column that carries the bias of a linear readout.
 *
 * X [.., m, d] -> Y [.., m, d + 1], any number of leading axes, float32 or float64. Errors: a scalar. Saved: nothing.
 *
 * dY = [dX | 0], hence X_bar = the first d columns of Y_bar. */
#include "ops/inside.h"
#include "ops/rules/shapes.h"

#include <string.h>

static bool append_ones_shape(mo_call *c) {
    const mo_tensor *X = c->in[0];
    int64_t size[MO_MAX_AXES];
    if (!mo_call_real(c, 0, 0))
        return false;
    if (X->ndim < 1)
        return mo_call_fail(c, MO_INVALID, "expected rows [.., d]");
    memcpy(size, X->shape, sizeof size);
    size[X->ndim - 1]++;
    return mo_call_output(c, 0, X->dtype, X->ndim, size);
}

static void append_ones_forward(mo_call *c) {
    mo_view x = mo_tensor_view(c->in[0]), y = mo_tensor_view(c->out[0]);
    int last = x.ndim - 1;
    mo_view left = mo_window(y, last, 0, x.shape[last]), ones = mo_window(y, last, x.shape[last], 1);
    c->ctx->backend->copy(c->ctx, &x, &left);
    c->ctx->backend->fill(c->ctx, 1, &ones);
}

static void append_ones_vjp(mo_vjp *v) {
    v->in_bar[0] = mo_slice(v->t, v->out_bar[0], MO_AXIS(-1), 0, mo_dim(v->in[0], -1));
}

static const mo_sample append_ones_samples[] = {
    {"matrix", "[3, 4]"},
    {"batch", "[2, 3, 1]"},
    {"scalar", "[]", .error = "append_ones: expected rows [.., d]"},
};

const mo_op mo_op_append_ones = {
    .name = "append_ones",
    .shape = append_ones_shape,
    .forward = append_ones_forward,
    .vjp = append_ones_vjp,
    MO_SAMPLES(append_ones_samples),
};

mo_tensor *mo_append_ones(mo_tape *t, mo_tensor *X) {
    return mo_apply(t, &mo_op_append_ones, (mo_tensor *[]){X}, 1, NULL);
}
