/* ops/normalize.c - rows brought to a common scale: layer_norm, l2_normalize and its adjoint.
 *
 * X [.., d] -> Y [.., d]; float32 or float64. With sums and means along the last axis,
 *     layer_norm: Y = (X - mean X) r, r = (var X + epsilon)^-1/2, var biased (over d), no affine part;
 *     l2_normalize: Y = X / M, M = max(|X|, epsilon).
 * Errors: other dtypes, no axis, epsilon not a finite number of 0 or more. Saved: nothing beyond input and output.
 *
 * layer_norm: dr = -r^2 mean(Y * dX), so dY = r (dX - mean dX - Y mean(Y * dX)), symmetric in dX and its dual:
 *     X_bar = r (Y_bar - mean Y_bar - Y * mean(Y * Y_bar))                                  (Ba et al. 2016).
 * l2_normalize: dM = <Y, dX> where |X| > epsilon, else 0; dY = (dX - Y dM) / M, hence
 *     X_bar = (Y_bar - Y * sum(Y * Y_bar) [|X| > epsilon]) / M.
 * l2_normalize_adjoint: this rule in one pass, as an op Z(X, Y, G). With V = Z_bar, a = [|X| > epsilon] and row sums,
 *     G_bar = (V - Y a sum(Y * V)) / M,   Y_bar = -a (V sum(Y * G) + G sum(Y * V)) / M,
 *     X_bar = -a X sum(V * Z) / M^2, for dM = a <X, dX> / M.
 * r and M are computed again, by ops, so that a gradient of the gradient passes through them. */
#include "ops/inside.h"
#include "ops/rules/shapes.h"

#include <math.h>
#include <string.h>

typedef struct guard {
    double epsilon;
} guard;

static bool normalize_shape(mo_call *c) {
    const mo_tensor *X = c->in[0];
    double epsilon = ((const guard *)c->attributes)->epsilon;
    if (!mo_call_real(c, 0, 0))
        return false;
    if (X->ndim < 1)
        return mo_call_fail(c, MO_INVALID, "expected rows, one axis or more");
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
    {.name = "rows", .in = "[3, 4]", .attributes = &(guard){1e-5}},
    {.name = "vector", .in = "[7]", .attributes = &(guard){1e-5}},
    {.name = "batch", .in = "[2, 3, 5]", .attributes = &(guard){1e-2}},
    {.name = "large epsilon", .in = "positive[3, 2]", .attributes = &(guard){9}},
    {.name = "no rows", .in = "[0, 3]", .attributes = &(guard){1e-5}},
    {.name = "scalar",
        .in = "[]",
        .attributes = &(guard){1e-5},
        .error = "expected rows, one axis or more; got [] float64"},
    {.name = "epsilon", .in = "[3, 4]", .attributes = &(guard){-1}, .error = "epsilon -1, expected 0 or more"},
    {.name = "dtype",
        .in = "index<2>[3]",
        .attributes = &(guard){1e-5},
        .error = "input 0 is int64",
        .code = MO_MISMATCH},
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
    .n_in = 1,
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

extern const mo_op mo_op_l2_normalize_adjoint;

static void l2_normalize_vjp(mo_vjp *v) {
    v->in_bar[0] = mo_apply(
        v->t, &mo_op_l2_normalize_adjoint, (mo_tensor *[]){v->in[0], v->out[0], v->out_bar[0]}, 3, v->attributes);
}

const mo_op mo_op_l2_normalize = {
    .name = "l2_normalize",
    .n_in = 1,
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

/* ---- the adjoint of l2_normalize ---- */

static bool l2_normalize_adjoint_shape(mo_call *c) {
    if (!mo_call_real(c, 0, 2))
        return false;
    if (c->in[0]->ndim < 1 || !mo_same_shape(c->in[0], c->in[1]) || !mo_same_shape(c->in[0], c->in[2]))
        return mo_call_fail(c, MO_INVALID, "expected rows, their values and cotangents, of one shape");
    return mo_call_output(c, 0, c->in[0]->dtype, c->in[0]->ndim, c->in[0]->shape);
}

/* One number per row, and its view along the row. */
static mo_view row_numbers(mo_call *c, mo_view *along) {
    int64_t size[MO_MAX_AXES];
    mo_view z = mo_tensor_view(c->out[0]);
    memcpy(size, z.shape, sizeof size);
    size[z.ndim - 1] = 1;
    mo_view one = mo_tensor_view(mo_call_temporary(c, z.dtype, z.ndim, size));
    *along = one;
    along->shape[z.ndim - 1] = z.shape[z.ndim - 1];
    along->stride[z.ndim - 1] = 0;
    return one;
}

/* Z = (G - Y * dot) / M by one kernel after the other. */
static void compose_adjoint(mo_call *c, double epsilon) {
    const mo_kernels *k = mo_kernels_of(c->ctx, c->out[0]->dtype);
    mo_view x = mo_tensor_view(c->in[0]), y = mo_tensor_view(c->in[1]), g = mo_tensor_view(c->in[2]);
    mo_view z = mo_tensor_view(c->out[0]), on_above, on_M, on_dot;
    mo_view above = row_numbers(c, &on_above), M = row_numbers(c, &on_M), dot = row_numbers(c, &on_dot);
    if (!mo_ok(c->ctx))
        return;
    k->reduce(c->ctx, MO_REDUCE_SUM_OF_SQUARES, &x, &on_M);
    k->map1(c->ctx, MO_MAP_SQRT, 0, 0, &M, &M);
    k->map1(c->ctx, MO_MAP_SCALE, 1, -epsilon, &M, &above); /* |X| - epsilon */
    k->map1(c->ctx, MO_MAP_RELU, 0, 0, &above, &M);
    k->map1(c->ctx, MO_MAP_SCALE, 1, epsilon, &M, &M);
    k->map2(c->ctx, MO_MAP_MUL, &y, &g, &z);
    k->reduce(c->ctx, MO_REDUCE_SUM, &z, &on_dot);
    k->map2(c->ctx, MO_MAP_RELU_MASK, &dot, &above, &dot);
    k->map2(c->ctx, MO_MAP_MUL, &y, &on_dot, &z);
    k->map2(c->ctx, MO_MAP_SUB, &g, &z, &z);
    k->map2(c->ctx, MO_MAP_DIV, &z, &on_M, &z);
}

static void l2_normalize_adjoint_forward(mo_call *c) {
    double epsilon = ((const guard *)c->attributes)->epsilon;
    const mo_kernels *k = mo_kernels_of(c->ctx, c->out[0]->dtype);
    if (!k->l2_normalize_adjoint) {
        compose_adjoint(c, epsilon);
        return;
    }
    mo_view x = mo_call_dense(c, 0), y = mo_call_dense(c, 1), g = mo_call_dense(c, 2), z = mo_tensor_view(c->out[0]);
    if (mo_ok(c->ctx))
        k->l2_normalize_adjoint(c->ctx, epsilon, &x, &y, &g, &z);
}

static void l2_normalize_adjoint_vjp(mo_vjp *v) {
    mo_tape *t = v->t;
    mo_tensor *X = v->in[0], *Y = v->in[1], *G = v->in[2], *Z = v->out[0], *V = v->out_bar[0];
    double epsilon = ((const guard *)v->attributes)->epsilon;
    mo_tensor *above = mo_scale(t, mo_norm(t, X), 1, -epsilon);
    mo_tensor *M = mo_scale(t, mo_relu(t, above), 1, epsilon);
    mo_tensor *along_V = mo_relu_mask(t, row_sum(t, mo_mul(t, Y, V)), above);
    if (v->needs[0]) {
        mo_tensor *along_Z = mo_relu_mask(t, row_sum(t, mo_mul(t, V, Z)), above);
        v->in_bar[0] = mo_neg(t, mo_mul(t, X, mo_div(t, along_Z, mo_square(t, M))));
    }
    if (v->needs[1]) {
        mo_tensor *along_G = mo_relu_mask(t, row_sum(t, mo_mul(t, Y, G)), above);
        v->in_bar[1] = mo_neg(t, mo_div(t, mo_add(t, mo_mul(t, V, along_G), mo_mul(t, G, along_V)), M));
    }
    if (v->needs[2])
        v->in_bar[2] = mo_div(t, mo_sub(t, V, mo_mul(t, Y, along_V)), M);
}

static const mo_sample l2_normalize_adjoint_samples[] = {
    {.name = "rows", .in = "[3, 4] [3, 4] [3, 4]", .attributes = &(guard){1e-5}},
    {.name = "large epsilon", .in = "[2, 3, 5] [2, 3, 5] [2, 3, 5]", .attributes = &(guard){9}},
    {.name = "no rows", .in = "[0, 3] [0, 3] [0, 3]", .attributes = &(guard){1e-5}},
    {.name = "shapes",
        .in = "[3, 4] [3, 4] [4, 3]",
        .attributes = &(guard){1e-5},
        .error = "l2_normalize_adjoint: expected rows, their values and cotangents, of one shape; got [3, 4]"},
};

const mo_op mo_op_l2_normalize_adjoint = {
    .name = "l2_normalize_adjoint",
    .n_in = 3,
    .attributes_size = sizeof(guard),
    .reads_in = 7,
    .reads_out = 1,
    .shape = l2_normalize_adjoint_shape,
    .forward = l2_normalize_adjoint_forward,
    .vjp = l2_normalize_adjoint_vjp,
    .flops = normalize_flops,
    MO_SAMPLES(l2_normalize_adjoint_samples),
};
