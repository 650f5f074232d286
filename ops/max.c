/* ops/max.c - Y = max over axes of X; the gradient goes to the first of equal entries.
 *
 * The op: X [.., m] -> Y [..], the largest of each row; float32 or float64. mo_max brings any set of axes to the end
 * first. Errors: other dtypes, no axis, empty rows (m = 0). Saved: the positions, int64 [.., 1].
 *
 * Y = X[.., i] with i the first position of the maximum, which does not move under small changes of X away from ties:
 * dY = dX[.., i], so X_bar is Y_bar at i and 0 elsewhere. */
#include "ops/inside.h"
#include "ops/rules/rows.h"
#include "ops/rules/shapes.h"

#include <string.h>

static bool max_shape(mo_call *c) {
    return mo_call_per_row(c, c->in[0]->dtype);
}

static void max_forward(mo_call *c) {
    const mo_tensor *X = c->in[0];
    int64_t size[MO_MAX_AXES];
    memcpy(size, X->shape, sizeof size);
    size[X->ndim - 1] = 1;
    mo_tensor *position = mo_tape_tensor(c->t, MO_I64, X->ndim, size);
    mo_view x = mo_call_dense(c, 0), y = mo_tensor_view(c->out[0]), i = mo_tensor_view(position), rows = i;
    if (!mo_ok(c->ctx))
        return;
    rows.ndim--; /* the last axis, of size 1, is dropped */
    y.shape[y.ndim] = y.stride[y.ndim] = 1;
    y.ndim++; /* y gets such an axis, as take_along needs it */
    const mo_kernels *k = mo_kernels_of(c->ctx, y.dtype);
    k->argmax(c->ctx, &x, &rows);
    k->take_along(c->ctx, &x, &i, &y);
    mo_call_save(c, position);
}

static void max_vjp(mo_vjp *v) {
    const mo_tensor *X = v->in[0], *position = v->saved[0];
    mo_tensor *Y_bar = mo_reshape(v->t, v->out_bar[0], position->ndim, position->shape);
    v->in_bar[0] = mo_put_along(v->t, Y_bar, v->saved[0], mo_dim(X, -1));
}

static double max_flops(const mo_call *c) {
    return (double)mo_numel(c->in[0]);
}

static const mo_sample max_samples[] = {
    {"rows", "distinct[3, 4]"},
    {"vector", "distinct[7]"},
    {"batch", "distinct[2, 3, 5]"},
    {"single entries", "distinct[3, 1]"},
    {"of nothing", "[3, 0]", .error = "max: over no elements; got [3, 0] float64"},
    {"scalar", "[]", .error = "max: expected rows, one axis or more"},
};

const mo_op mo_op_max = {
    .name = "max",
    .shape = max_shape,
    .forward = max_forward,
    .vjp = max_vjp,
    .flops = max_flops,
    MO_SAMPLES(max_samples),
};

mo_tensor *mo_max(mo_tape *t, mo_tensor *X, mo_axes axes, mo_reduced reduced) {
    mo_tensor *Y = mo_apply(t, &mo_op_max, (mo_tensor *[]){mo_rows(t, "max", X, axes)}, 1, NULL);
    return mo_from_rows(t, Y, X, axes, reduced);
}
