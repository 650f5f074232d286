/* ops/normalize.c - rows brought to a common scale: layer_norm, l2_normalize, and the norm itself.
 *
 * X [.., d] -> Y [.., d], and norm -> [.., 1]; float32 or float64. With sums and means along the last axis,
 *     layer_norm: Y = (X - mean X) r, r = (var X + epsilon)^-1/2, var biased (over d), no affine part;
 *     l2_normalize: Y = X / M, M = max(|X|, epsilon);            norm: Y = |X| = (sum X^2)^1/2.
 * Errors: other dtypes, no axis, epsilon not a finite number of 0 or more. Saved: nothing beyond input and output.
 *
 * layer_norm: dr = -r^2 mean(Y * dX), so dY = r (dX - mean dX - Y mean(Y * dX)), symmetric in dX and its dual:
 *     X_bar = r (Y_bar - mean Y_bar - Y * mean(Y * Y_bar))                                  (Ba et al. 2016).
 * norm: dY = <X, dX> / Y, hence X_bar = X * Y_bar / Y, and 0 at X = 0.
 * l2_normalize: dM = <Y, dX> where |X| > epsilon, else 0; dY = (dX - Y dM) / M, hence
 *     X_bar = (Y_bar - Y * sum(Y * Y_bar) [|X| > epsilon]) / M.
 * r and M are computed again, by ops, so that a gradient of the gradient passes through them. */
#include "ops/inside.h"
#include "ops/rules/shapes.h"

#include <math.h>
#include <string.h>

typedef struct guard {
    double epsilon;
} guard;

static bool check_rows(mo_call *c) {
    if (!mo_call_real(c, 0, 0))
        return false;
    if (c->in[0]->ndim < 1)
        return mo_call_fail(c, MO_INVALID, "expected rows, one axis or more");
    return true;
}

static bool normalize_shape(mo_call *c) {
    const mo_tensor *X = c->in[0];
    double epsilon = ((const guard *)c->attributes)->epsilon;
    if (!check_rows(c))
        return false;
    if (!(epsilon >= 0) || isinf(epsilon))
        return mo_call_fail(c, MO_INVALID, "epsilon %g, expected 0 or more", epsilon);
    return mo_call_output(c, 0, X->dtype, X->ndim, X->shape);
}

static mo_tensor *row_sum(mo_tape *t, mo_tensor *X) {
    return mo_sum(t, X, MO_AXIS(X->ndim - 1), MO_KEEP_AXES);
}

static mo_tensor *row_mean(mo_tape *t, mo_tensor *X) {
    return mo_mean(t, X, MO_AXIS(X->ndim - 1), MO_KEEP_AXES);
}

static double normalize_flops(const mo_call *c) {
    return 5 * (double)mo_numel(c->in[0]); /* at most: mean, difference, square, sum, scale */
}

static const mo_sample normalize_samples[] = {
    {.name = "rows", .n_in = 1, .in = {{.ndim = 2, .shape = {3, 4}}}, .attributes = &(guard){1e-5}},
    {.name = "vector", .n_in = 1, .in = {{.ndim = 1, .shape = {7}}}, .attributes = &(guard){1e-5}},
    {.name = "batch", .n_in = 1, .in = {{.ndim = 3, .shape = {2, 3, 5}}}, .attributes = &(guard){1e-2}},
    {.name = "large epsilon", .n_in = 1, .in = {{MO_DRAW_POSITIVE, 2, {3, 2}, 0}}, .attributes = &(guard){9}},
    {.name = "no rows", .n_in = 1, .in = {{.ndim = 2, .shape = {0, 3}}}, .attributes = &(guard){1e-5}},
};

static const mo_error_sample normalize_error_samples[] = {
    {{.name = "scalar", .n_in = 1, .in = {{.ndim = 0}}, .attributes = &(guard){1e-5}}, MO_INVALID,
        "expected rows, one axis or more; got [] float64"},
    {{.name = "epsilon", .n_in = 1, .in = {{.ndim = 2, .shape = {3, 4}}}, .attributes = &(guard){-1}}, MO_INVALID,
        "epsilon -1, expected 0 or more"},
    {{.name = "dtype", .n_in = 1, .in = {{MO_DRAW_INDEX, 1, {3}, 2}}, .attributes = &(guard){1e-5}}, MO_MISMATCH,
        "input 0 is int64"},
};

/* ---- layer_norm ---- */

static void layer_norm_forward(mo_call *c) {
    mo_view x = mo_call_dense(c, 0), y = mo_tensor_view(c->out[0]);
    double epsilon = ((const guard *)c->attributes)->epsilon;
    if (mo_ok(c->ctx))
        mo_kernels_of(c->ctx, y.dtype)->layer_norm(c->ctx, epsilon, &x, &y);
}

static void layer_norm_vjp(mo_vjp *v) {
    mo_tape *t = v->t;
    mo_tensor *X = v->in[0], *Y = v->out[0], *Y_bar = v->out_bar[0];
    if (mo_numel(X) == 0)
        return;
    mo_tensor *variance = row_mean(t, mo_square(t, mo_sub(t, X, row_mean(t, X))));
    mo_tensor *sd = mo_sqrt(t, mo_scale(t, variance, 1, ((const guard *)v->attributes)->epsilon)); /* 1 / r */
    mo_tensor *along = mo_mul(t, Y, row_mean(t, mo_mul(t, Y, Y_bar)));
    v->in_bar[0] = mo_div(t, mo_sub(t, mo_sub(t, Y_bar, row_mean(t, Y_bar)), along), sd);
}

const mo_op mo_op_layer_norm = {
    .name = "layer_norm",
    .min_in = 1,
    .max_in = 1,
    .n_out = 1,
    .attributes_size = sizeof(guard),
    .reads_in = 1,
    .reads_out = 1,
    .shape = normalize_shape,
    .forward = layer_norm_forward,
    .vjp = layer_norm_vjp,
    .flops = normalize_flops,
    .samples = normalize_samples,
    .n_samples = 5,
    .error_samples = normalize_error_samples,
    .n_error_samples = 3,
};

mo_tensor *mo_layer_norm(mo_tape *t, mo_tensor *X, double epsilon) {
    return mo_apply(t, &mo_op_layer_norm, (mo_tensor *[]){X}, 1, &(guard){epsilon});
}

/* ---- l2_normalize ---- */

static void l2_normalize_forward(mo_call *c) {
    mo_view x = mo_call_dense(c, 0), y = mo_tensor_view(c->out[0]);
    double epsilon = ((const guard *)c->attributes)->epsilon;
    if (mo_ok(c->ctx))
        mo_kernels_of(c->ctx, y.dtype)->l2_normalize(c->ctx, epsilon, &x, &y);
}

static void l2_normalize_vjp(mo_vjp *v) {
    mo_tape *t = v->t;
    mo_tensor *Y = v->out[0], *Y_bar = v->out_bar[0];
    double epsilon = ((const guard *)v->attributes)->epsilon;
    mo_tensor *above = mo_scale(t, mo_norm(t, v->in[0]), 1, -epsilon); /* |X| - epsilon */
    mo_tensor *M = mo_scale(t, mo_relu(t, above), 1, epsilon);
    mo_tensor *dot = mo_relu_mask(t, row_sum(t, mo_mul(t, Y, Y_bar)), above);
    v->in_bar[0] = mo_div(t, mo_sub(t, Y_bar, mo_mul(t, Y, dot)), M);
}

const mo_op mo_op_l2_normalize = {
    .name = "l2_normalize",
    .min_in = 1,
    .max_in = 1,
    .n_out = 1,
    .attributes_size = sizeof(guard),
    .reads_in = 1,
    .reads_out = 1,
    .shape = normalize_shape,
    .forward = l2_normalize_forward,
    .vjp = l2_normalize_vjp,
    .flops = normalize_flops,
    .samples = normalize_samples,
    .n_samples = 5,
    .error_samples = normalize_error_samples,
    .n_error_samples = 3,
};

mo_tensor *mo_l2_normalize(mo_tape *t, mo_tensor *X, double epsilon) {
    return mo_apply(t, &mo_op_l2_normalize, (mo_tensor *[]){X}, 1, &(guard){epsilon});
}

/* ---- norm ---- */

static bool norm_shape(mo_call *c) {
    const mo_tensor *X = c->in[0];
    int64_t size[MO_MAX_AXES];
    if (!check_rows(c))
        return false;
    memcpy(size, X->shape, sizeof size);
    size[X->ndim - 1] = 1;
    return mo_call_output(c, 0, X->dtype, X->ndim, size);
}

static void norm_forward(mo_call *c) {
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

static void norm_vjp(mo_vjp *v) {
    v->in_bar[0] = mo_mul(v->t, v->in[0], mo_div_or_zero(v->t, v->out_bar[0], v->out[0]));
}

static const mo_sample norm_samples[] = {
    {.name = "rows", .n_in = 1, .in = {{.ndim = 2, .shape = {3, 4}}}},
    {.name = "vector", .n_in = 1, .in = {{.ndim = 1, .shape = {7}}}},
    {.name = "batch", .n_in = 1, .in = {{.ndim = 3, .shape = {2, 3, 5}}}},
    {.name = "of nothing", .n_in = 1, .in = {{.ndim = 2, .shape = {3, 0}}}},
};

static const mo_error_sample norm_error_samples[] = {
    {{.name = "scalar", .n_in = 1, .in = {{.ndim = 0}}}, MO_INVALID, "norm: expected rows, one axis or more"},
    {{.name = "dtype", .n_in = 1, .in = {{MO_DRAW_INDEX, 1, {3}, 2}}}, MO_MISMATCH, "norm: input 0 is int64"},
};

const mo_op mo_op_norm = {
    .name = "norm",
    .min_in = 1,
    .max_in = 1,
    .n_out = 1,
    .reads_in = 1,
    .reads_out = 1,
    .shape = norm_shape,
    .forward = norm_forward,
    .vjp = norm_vjp,
    .flops = normalize_flops,
    .samples = norm_samples,
    .n_samples = 4,
    .error_samples = norm_error_samples,
    .n_error_samples = 2,
};

mo_tensor *mo_norm(mo_tape *t, mo_tensor *X) {
    return mo_apply(t, &mo_op_norm, (mo_tensor *[]){X}, 1, NULL);
}
