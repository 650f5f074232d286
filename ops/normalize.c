/* ops/normalize.c - brings rows to a common scale: layer_norm and l2_normalize.
 *
 * X [.., d] -> Y [.., d]; float32 or float64. With sums and means along the last axis,
 *     layer_norm: Y = (X - mean X) r, r = (var X + epsilon)^-1/2, var biased (over d), no affine part;
 *     l2_normalize: Y = X / M, M = max(|X|, epsilon).
 * Errors: other dtypes, no axis, epsilon not a finite number of 0 or more. Saved: nothing beyond input and output.
 *
 * layer_norm: dr = -r^2 mean(Y * dX), so dY = r (dX - mean dX - Y mean(Y * dX)). This map of dX is symmetric, hence
 *     X_bar = r (Y_bar - mean Y_bar - Y * mean(Y * Y_bar))                                  (Ba et al. 2016).
 * l2_normalize: dM = <Y, dX> where |X| > epsilon, else 0; dY = (dX - Y dM) / M, hence
 *     X_bar = (Y_bar - Y * sum(Y * Y_bar) [|X| > epsilon]) / M.
 * The rules compute r and M again, by ops, so that gradients of gradients include them. */
#include "ops/inside.h"
#include "ops/rules/rows.h"
#include "tensor/backend.h"
#include "tensor/objects.h"

#include <math.h>

typedef struct guard {
    double epsilon;
} guard;

static bool normalize_shape(mo_call *c) {
    double epsilon = ((const guard *)c->attributes)->epsilon;
    if (!(epsilon >= 0) || isinf(epsilon))
        return mo_call_fail(c, MO_INVALID, "epsilon %g, expected 0 or more", epsilon);
    return mo_call_rows(c);
}

static mo_tensor *row_sum(mo_tape *t, mo_tensor *X) {
    return mo_sum(t, X, MO_AXIS(X->ndim - 1), MO_KEEP_AXES);
}

static mo_tensor *row_mean(mo_tape *t, mo_tensor *X) {
    return mo_mean(t, X, MO_AXIS(X->ndim - 1), MO_KEEP_AXES);
}

static double normalize_flops(const mo_call *c) {
    return 5 * (double)mo_numel(c->in[0]); /* at most mean, difference, square, sum, scale */
}

static const mo_sample normalize_samples[] = {
    {"rows", "[3, 4]", &(guard){1e-5}},
    {"vector", "[7]", &(guard){1e-5}},
    {"batch", "[2, 3, 5]", &(guard){1e-2}},
    {"large epsilon", "positive[3, 2]", &(guard){9}},
    {"scalar", "[]", &(guard){1e-5}, .error = "expected rows, one axis or more; got [] float64"},
    {"epsilon", "[3, 4]", &(guard){-1}, .error = "epsilon -1, expected 0 or more"},
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
    .attributes_size = sizeof(guard),
    .reads_in = 1,
    .reads_out = 1,
    .shape = normalize_shape,
    .forward = layer_norm_forward,
    .vjp = layer_norm_vjp,
    .flops = normalize_flops,
    MO_SAMPLES(normalize_samples),
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

mo_tensor *mo_l2_normalize_gradient(mo_tape *t, mo_tensor *X, mo_tensor *Y, mo_tensor *Y_bar, double epsilon) {
    mo_tensor *above = mo_scale(t, mo_row_norm(t, X), 1, -epsilon), *M = mo_scale(t, mo_relu(t, above), 1, epsilon);
    mo_tensor *along = mo_relu_mask(t, row_sum(t, mo_mul(t, Y, Y_bar)), above);
    return mo_div(t, mo_sub(t, Y_bar, mo_mul(t, Y, along)), M);
}

static void l2_normalize_vjp(mo_vjp *v) {
    double epsilon = ((const guard *)v->attributes)->epsilon;
    v->in_bar[0] = mo_l2_normalize_gradient(v->t, v->in[0], v->out[0], v->out_bar[0], epsilon);
}

const mo_op mo_op_l2_normalize = {
    .name = "l2_normalize",
    .attributes_size = sizeof(guard),
    .reads_in = 1,
    .reads_out = 1,
    .shape = normalize_shape,
    .forward = l2_normalize_forward,
    .vjp = l2_normalize_vjp,
    .flops = normalize_flops,
    MO_SAMPLES(normalize_samples),
};

mo_tensor *mo_l2_normalize(mo_tape *t, mo_tensor *X, double epsilon) {
    return mo_apply(t, &mo_op_l2_normalize, (mo_tensor *[]){X}, 1, &(guard){epsilon});
}
