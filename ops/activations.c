/* ops/activations.c - smooth functions entry by entry: tanh, sigmoid, softplus, GELU.
 *
 * X of any shape -> Y of the same; float32 or float64. sigmoid: 1 / (1 + e^-x); softplus: log(1 + e^x); both without
 * overflow for any x. gelu: x Phi(x) with the normal distribution Phi, by erfc (the exact form, not the one by tanh).
 * Errors: other dtypes. Saved: nothing.
 *
 * dY = f'(X) dX, hence X_bar = f'(X) Y_bar, with f' read off Y where that is cheaper:
 *     tanh: 1 - Y^2      sigmoid: Y (1 - Y)      softplus: sigmoid(X)      gelu: Phi(X) + X phi(X).
 * The op gelu takes derivatives as an option: with phi' = -x phi, gelu'' = (2 - x^2) phi and gelu''' = (x^3 - 4 x) phi;
 * the third is composed of other ops, so that there is no last order. */
#include "ops/inside.h"
#include "tensor/storage.h"

static bool activations_shape(mo_call *c) {
    return mo_call_real(c, 0, 0) && mo_call_output(c, 0, c->in[0]->dtype, c->in[0]->ndim, c->in[0]->shape);
}

static void map(mo_call *c, mo_map1 f) {
    mo_view x = mo_tensor_view(c->in[0]), y = mo_tensor_view(c->out[0]);
    mo_kernels_of(c->ctx, y.dtype)->map1(c->ctx, f, 0, 0, &x, &y);
}

static const mo_sample activations_samples[] = {
    {.name = "matrix", .in = "[3, 4]"},
    {.name = "scalar", .in = "[]"},
    {.name = "empty", .in = "[0, 4]"},
    {.name = "dtype",
        .in = "index<2>[3]",
        .error = "input 0 is int64, expected float32 or float64; got [3] int64",
        .code = MO_MISMATCH},
};

static void tanh_forward(mo_call *c) {
    map(c, MO_MAP_TANH);
}

static void tanh_vjp(mo_vjp *v) {
    mo_tensor *slope = mo_scale(v->t, mo_square(v->t, v->out[0]), -1, 1);
    v->in_bar[0] = mo_mul(v->t, v->out_bar[0], slope);
}

const mo_op mo_op_tanh = {
    .name = "tanh",
    .n_in = 1,
    .reads_out = 1,
    .shape = activations_shape,
    .forward = tanh_forward,
    .vjp = tanh_vjp,
    MO_SAMPLES(activations_samples),
};

mo_tensor *mo_tanh(mo_tape *t, mo_tensor *X) {
    return mo_apply(t, &mo_op_tanh, (mo_tensor *[]){X}, 1, NULL);
}

static void sigmoid_forward(mo_call *c) {
    map(c, MO_MAP_SIGMOID);
}

static void sigmoid_vjp(mo_vjp *v) {
    mo_tensor *Y = v->out[0], *slope = mo_mul(v->t, Y, mo_scale(v->t, Y, -1, 1));
    v->in_bar[0] = mo_mul(v->t, v->out_bar[0], slope);
}

const mo_op mo_op_sigmoid = {
    .name = "sigmoid",
    .n_in = 1,
    .reads_out = 1,
    .shape = activations_shape,
    .forward = sigmoid_forward,
    .vjp = sigmoid_vjp,
    MO_SAMPLES(activations_samples),
};

mo_tensor *mo_sigmoid(mo_tape *t, mo_tensor *X) {
    return mo_apply(t, &mo_op_sigmoid, (mo_tensor *[]){X}, 1, NULL);
}

static void softplus_forward(mo_call *c) {
    map(c, MO_MAP_SOFTPLUS);
}

static void softplus_vjp(mo_vjp *v) {
    v->in_bar[0] = mo_mul(v->t, v->out_bar[0], mo_sigmoid(v->t, v->in[0]));
}

const mo_op mo_op_softplus = {
    .name = "softplus",
    .n_in = 1,
    .reads_in = 1,
    .shape = activations_shape,
    .forward = softplus_forward,
    .vjp = softplus_vjp,
    MO_SAMPLES(activations_samples),
};

mo_tensor *mo_softplus(mo_tape *t, mo_tensor *X) {
    return mo_apply(t, &mo_op_softplus, (mo_tensor *[]){X}, 1, NULL);
}

/* ---- gelu: the option is the order of the derivative, 0 to 2 ---- */

static void gelu_forward(mo_call *c) {
    static const mo_map1 derivatives[] = {MO_MAP_GELU, MO_MAP_GELU_SLOPE, MO_MAP_GELU_CURVE};
    map(c, derivatives[*(const int *)c->attributes]);
}

extern const mo_op mo_op_gelu;

/* (x^3 - 4 x) phi(x) */
static mo_tensor *third_derivative(mo_tape *t, mo_tensor *X) {
    mo_tensor *square = mo_square(t, X), *cubic = mo_mul(t, X, mo_scale(t, square, 1, -4));
    return mo_mul(t, cubic, mo_scale(t, mo_exp(t, mo_scale(t, square, -0.5, 0)), 0.39894228040143268, 0));
}

static void gelu_vjp(mo_vjp *v) {
    int next = *(const int *)v->attributes + 1;
    mo_tensor *slope = next == 3 ? third_derivative(v->t, v->in[0]) : mo_apply(v->t, &mo_op_gelu, v->in, 1, &next);
    v->in_bar[0] = mo_mul(v->t, v->out_bar[0], slope);
}

static const mo_sample gelu_samples[] = {
    {.name = "matrix", .in = "[3, 4]", .attributes = &(const int){0}},
    {.name = "empty", .in = "[0, 4]", .attributes = &(const int){0}},
    {.name = "slope", .in = "[5]", .attributes = &(const int){1}},
    {.name = "curve", .in = "[5]", .attributes = &(const int){2}},
    {.name = "dtype",
        .in = "index<2>[3]",
        .attributes = &(const int){0},
        .error = "gelu: input 0 is int64, expected float32 or float64; got [3] int64",
        .code = MO_MISMATCH},
};

const mo_op mo_op_gelu = {
    .name = "gelu",
    .n_in = 1,
    .attributes_size = sizeof(int),
    .reads_in = 1,
    .shape = activations_shape,
    .forward = gelu_forward,
    .vjp = gelu_vjp,
    MO_SAMPLES(gelu_samples),
};

mo_tensor *mo_gelu(mo_tape *t, mo_tensor *X) {
    return mo_apply(t, &mo_op_gelu, (mo_tensor *[]){X}, 1, &(int){0});
}
