/* ops/top_k.c - the largest entries of rows in falling order; with k = m, the sorted row.
 *
 * The op: X [.., m] -> Y [.., k], the k largest entries of each row, largest first; the first of equal entries counts
 * as the larger, and NaN as larger than any number; float32 or float64. mo_top_k and mo_sort swap any axis with the
 * last one first. Errors: other dtypes, no axis, k outside 0 .. m. Saved: the positions, int64 [.., k].
 *
 * Y_j = X[.., i_j] with positions i that do not move under small changes of X away from ties: dY_j = dX[.., i_j], so
 * X_bar is Y_bar_j at i_j and 0 elsewhere. */
#include "ops/inside.h"
#include "ops/rules/rows.h"
#include "ops/rules/shapes.h"

#include <inttypes.h>
#include <string.h>

static const int64_t all = -1;

static int64_t wanted(const void *attributes, const mo_tensor *X) {
    int64_t k = *(const int64_t *)attributes;
    return k == all ? mo_dim(X, -1) : k;
}

static bool top_k_shape(mo_call *c) {
    const mo_tensor *X = c->in[0];
    int64_t size[MO_MAX_AXES];
    if (!mo_call_real(c, 0, 0))
        return false;
    if (X->ndim < 1)
        return mo_call_fail(c, MO_INVALID, "expected rows, one axis or more");
    int64_t k = wanted(c->attributes, X), m = mo_dim(X, -1);
    if (k < 0 || k > m)
        return mo_call_fail(c, MO_INVALID, "the %" PRId64 " largest, expected 0 to %" PRId64, k, m);
    memcpy(size, X->shape, sizeof size);
    size[X->ndim - 1] = k;
    return mo_call_output(c, 0, X->dtype, X->ndim, size);
}

static void top_k_forward(mo_call *c) {
    const mo_tensor *X = c->in[0], *Y = c->out[0];
    mo_tensor *position = mo_tape_tensor(c->t, MO_I64, Y->ndim, Y->shape);
    mo_tensor *order = mo_call_temporary(c, MO_I64, X->ndim, X->shape);
    mo_view x = mo_call_dense(c, 0), y = mo_tensor_view(Y), i = mo_tensor_view(position),
            sorted = mo_tensor_view(order);
    if (!mo_ok(c->ctx))
        return;
    const mo_kernels *k = mo_kernels_of(c->ctx, y.dtype);
    k->argsort(c->ctx, &x, &sorted);
    if (!mo_ok(c->ctx)) /* argsort ran out of memory: `sorted` is not filled */
        return;
    mo_view first = mo_window(sorted, Y->ndim - 1, 0, mo_dim(Y, -1));
    c->ctx->backend->copy(c->ctx, &first, &i);
    k->take_along(c->ctx, &x, &i, &y);
    mo_call_save(c, position);
}

static void top_k_vjp(mo_vjp *v) {
    v->in_bar[0] = mo_put_along(v->t, v->out_bar[0], v->saved[0], mo_dim(v->in[0], -1));
}

static double top_k_flops(const mo_call *c) {
    double m = (double)mo_dim(c->in[0], -1), levels = 0;
    while (m > 1) {
        m /= 2;
        levels++;
    }
    return levels * (double)mo_numel(c->in[0]);
}

static const mo_sample top_k_samples[] = {
    {"sorted", "distinct[3, 5]", &all},
    {"two", "distinct[2, 3, 4]", &(const int64_t){2}},
    {"none", "distinct[3, 4]"},
    {"too many", "[3, 4]", &(const int64_t){5}, .error = "top_k: the 5 largest, expected 0 to 4; got [3, 4] float64"},
    {"scalar", "[]", &all, .error = "top_k: expected rows, one axis or more"},
};

const mo_op mo_op_top_k = {
    .name = "top_k",
    .attributes_size = sizeof(int64_t),
    .shape = top_k_shape,
    .forward = top_k_forward,
    .vjp = top_k_vjp,
    .flops = top_k_flops,
    MO_SAMPLES(top_k_samples),
};

static mo_tensor *largest(mo_tape *t, const char *what, mo_tensor *X, int64_t k, mo_axes axis) {
    mo_tensor *rows = mo_swap_last(t, what, X, axis);
    return mo_swap_last(t, what, mo_apply(t, &mo_op_top_k, &rows, 1, &k), axis);
}

mo_tensor *mo_top_k(mo_tape *t, mo_tensor *X, int64_t k, mo_axes axis) {
    mo_context *ctx = mo_tape_context(t);
    if (k < 0 && mo_ok(ctx)) /* -1 is the internal option `all` */
        mo_fail(ctx, MO_INVALID, "top_k: the %" PRId64 " largest, expected 0 or more", k);
    return largest(t, "top_k", X, k, axis);
}

mo_tensor *mo_sort(mo_tape *t, mo_tensor *X, mo_axes axis) {
    return largest(t, "sort", X, all, axis);
}
