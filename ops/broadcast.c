/* ops/broadcast.c - X repeated to a larger shape without copies.
 *
 * broadcast_to: X -> Y of the given shape, aligned at the last axis; an axis of X has size 1 or the size of Y's axis;
 * missing axes count as size 1. A view with strides of 0, any dtype. Errors: fewer axes than X, sizes that do not fit.
 * Saved: nothing.
 *
 * Every element of Y is a copy of one X_j, so <Y_bar, dY> = sum_j dX_j times the sum of Y_bar over the copies of X_j:
 * X_bar is Y_bar summed over the repeated axes. */
#include "ops/inside.h"
#include "ops/rules/shapes.h"
#include "tensor/library.h"

#include <inttypes.h>
#include <string.h>

static bool broadcast_to_shape(mo_call *c) {
    const mo_shape_option *to = c->attributes;
    const mo_tensor *X = c->in[0];
    char text[160];
    if (to->ndim < X->ndim || to->ndim > MO_MAX_AXES)
        return mo_call_fail(c, MO_INVALID, "%d axes, expected %d to %d", to->ndim, X->ndim, MO_MAX_AXES);
    if (mo_shape_numel(c->ctx, "broadcast_to", to->ndim, to->size) < 0)
        return false;
    for (int i = 0; i < X->ndim; i++) {
        int j = to->ndim - X->ndim + i;
        if (X->shape[i] != to->size[j] && X->shape[i] != 1)
            return mo_call_fail(c, MO_INVALID, "axis %d of shape %s, expected size %" PRId64, j,
                mo_format_shape(to->ndim, to->size, text, sizeof text), X->shape[i]);
    }
    return true;
}

static void broadcast_to_forward(mo_call *c) {
    const mo_shape_option *to = c->attributes;
    mo_view y = mo_broadcast_view(mo_tensor_view(c->in[0]), 0, to->ndim, to->size);
    mo_call_view(c, y.ndim, y.shape, y.stride, 0);
}

static void broadcast_to_vjp(mo_vjp *v) {
    const mo_tensor *X = v->in[0];
    v->in_bar[0] = mo_sum_to(v->t, v->out_bar[0], X->ndim, X->shape);
}

static const mo_sample broadcast_to_samples[] = {
    {"row to matrix", "[4]", &(const mo_shape_option){2, {3, 4}}},
    {"column to batch", "[3, 1]", &(const mo_shape_option){3, {2, 3, 4}}},
    {"scalar to matrix", "[]", &(const mo_shape_option){2, {2, 3}}},
    {"same shape", "[2, 3]", &(const mo_shape_option){2, {2, 3}}},
    {"size", "[3, 4]", &(const mo_shape_option){2, {6, 4}},
        .error = "broadcast_to: axis 0 of shape [6, 4], expected size 3; got [3, 4]"},
    {"fewer axes", "[1, 4]", &(const mo_shape_option){1, {4}}, .error = "1 axes, expected 2 to 6"},
};

const mo_op mo_op_broadcast_to = {
    .name = "broadcast_to",
    .attributes_size = sizeof(mo_shape_option),
    .is_view = true,
    .shape = broadcast_to_shape,
    .forward = broadcast_to_forward,
    .vjp = broadcast_to_vjp,
    MO_SAMPLES(broadcast_to_samples),
};

mo_tensor *mo_broadcast_to(mo_tape *t, mo_tensor *X, int ndim, const int64_t *shape) {
    mo_context *ctx = mo_tape_context(t);
    if (ndim > 0 && !mo_given(ctx, "broadcast_to", "the shape", shape))
        return mo_null_tensor(ctx);
    mo_shape_option to = mo_shape_option_of(ndim, shape);
    return mo_apply(t, &mo_op_broadcast_to, (mo_tensor *[]){X}, 1, &to);
}

mo_tensor *mo_with_axis(mo_tape *t, mo_tensor *X, mo_axes set, int64_t n) {
    if (mo_is_null(X))
        return mo_reshape(t, X, 0, NULL);
    int64_t size[MO_MAX_AXES + 1];
    int ndim = X->ndim + 1, axis = mo_one_axis(X->ctx, "with_axis", set), at = mo_resolve_axis(axis, ndim);
    if (at < 0) {
        char text[160];
        mo_fail(X->ctx, MO_INVALID, "with_axis: axis %d, expected -%d to %d; got %s", axis, ndim, ndim - 1,
            mo_shape_string(X, text, sizeof text));
        return mo_null_tensor(X->ctx);
    }
    memcpy(size, X->shape, (size_t)at * sizeof *size);
    size[at] = 1;
    memcpy(size + at + 1, X->shape + at, (size_t)(X->ndim - at) * sizeof *size);
    mo_tensor *Y = mo_reshape(t, X, ndim, size);
    size[at] = n;
    return n == 1 ? Y : mo_broadcast_to(t, Y, ndim, size);
}
