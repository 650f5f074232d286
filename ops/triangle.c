/* ops/triangle.c - the lower or upper triangle of matrices, zeros elsewhere.
 *
 * tril, triu: X [.., m, n] -> Y of the same shape; the diagonal belongs to both. float32 or float64. Zeros are written,
 * not multiplied, so that a NaN outside the triangle does not spread. Errors: fewer than two axes. Saved: nothing.
 *
 * A projection P onto the entries of the triangle: dY = P dX and P^T = P, hence X_bar = P Y_bar. */
#include "ops/inside.h"
#include "ops/rules/shapes.h"

static bool triangle_shape(mo_call *c) {
    const mo_tensor *X = c->in[0];
    if (!mo_call_real(c, 0, 0))
        return false;
    if (X->ndim < 2)
        return mo_call_fail(c, MO_INVALID, "expected matrices, two axes or more");
    return mo_call_output(c, 0, X->dtype, X->ndim, X->shape);
}

/* Returns the numbers 1, 2, 3 .. n. */
static mo_view count_up(mo_call *c, mo_dtype dtype, int64_t n) {
    mo_tensor *ones = mo_call_temporary(c, dtype, 1, &n), *count = mo_call_temporary(c, dtype, 1, &n);
    mo_tensor_fill(ones, 1);
    mo_view x = mo_tensor_view(ones), y = mo_tensor_view(count);
    if (mo_ok(c->ctx))
        mo_kernels_of(c->ctx, dtype)->cumsum(c->ctx, false, &x, &y);
    return y;
}

/* Returns the numbers `count` along one axis of a matrix [m, n], repeated along the other. */
static mo_view spread_counts(mo_view count, int64_t m, int64_t n, int axis) {
    mo_view v = {.data = count.data, .dtype = count.dtype, .ndim = 2, .shape = {m, n}};
    v.stride[axis] = 1;
    return v;
}

static void keep_triangle(mo_call *c, bool lower) {
    mo_view x = mo_tensor_view(c->in[0]), y = mo_tensor_view(c->out[0]);
    int64_t m = x.shape[x.ndim - 2], n = x.shape[x.ndim - 1];
    mo_view i = spread_counts(count_up(c, x.dtype, m), m, n, 0), j = spread_counts(count_up(c, x.dtype, n), m, n, 1);
    mo_tensor *mask = mo_call_temporary(c, x.dtype, 2, (int64_t[]){m, n}),
              *zero = mo_call_temporary(c, x.dtype, 0, NULL);
    mo_tensor_fill(zero, 0);
    if (!mo_ok(c->ctx))
        return;
    mo_view keep = mo_tensor_view(mask);
    const mo_kernels *k = mo_kernels_of(c->ctx, x.dtype);
    k->map2(c->ctx, MO_MAP_GREATER_EQUAL, lower ? &i : &j, lower ? &j : &i, &keep); /* exact up to 2^24 rows */
    mo_view all = mo_broadcast_view(keep, 2, x.ndim - 2, x.shape);
    mo_view none = mo_broadcast_view(mo_tensor_view(zero), 0, x.ndim, x.shape);
    k->where(c->ctx, &all, &x, &none, &y);
}

static const mo_sample triangle_samples[] = {
    {"square", "[4, 4]"},
    {"wide batch", "[2, 3, 5]"},
    {"tall", "[4, 2]"},
    {"vector", "[4]", .error = "expected matrices, two axes"},
    {"integers", "index<3>[2, 2]", .error = "int64", .code = MO_MISMATCH},
};

static void tril_forward(mo_call *c) {
    keep_triangle(c, true);
}

static void tril_vjp(mo_vjp *v) {
    v->in_bar[0] = mo_tril(v->t, v->out_bar[0]);
}

const mo_op mo_op_tril = {
    .name = "tril",
    .shape = triangle_shape,
    .forward = tril_forward,
    .vjp = tril_vjp,
    MO_SAMPLES(triangle_samples),
};

mo_tensor *mo_tril(mo_tape *t, mo_tensor *X) {
    return mo_apply(t, &mo_op_tril, (mo_tensor *[]){X}, 1, NULL);
}

static void triu_forward(mo_call *c) {
    keep_triangle(c, false);
}

static void triu_vjp(mo_vjp *v) {
    v->in_bar[0] = mo_triu(v->t, v->out_bar[0]);
}

const mo_op mo_op_triu = {
    .name = "triu",
    .shape = triangle_shape,
    .forward = triu_forward,
    .vjp = triu_vjp,
    MO_SAMPLES(triangle_samples),
};

mo_tensor *mo_triu(mo_tape *t, mo_tensor *X) {
    return mo_apply(t, &mo_op_triu, (mo_tensor *[]){X}, 1, NULL);
}
