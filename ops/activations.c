/* ops/activations.c - smooth functions entry by entry: sin, cos, log1p, erf, tanh, sigmoid, softplus, GELU.
 *
 * X of any shape -> Y of the same shape; float32 or float64. sigmoid: 1 / (1 + e^-x); softplus: log(1 + e^x);
 * neither overflows for any x. gelu: x Phi(x) with the normal distribution Phi, in its exact form by erfc, not the tanh
 * approximation. Errors: other dtypes. Saved: nothing.
 *
 * dY = f'(X) dX, hence X_bar = f'(X) Y_bar, with f' computed from Y where that is cheaper:
 *     sin: cos(X)     cos: -sin(X)     log1p: 1 / (1 + X)     erf: 2 / sqrt(pi) exp(-X^2)
 *     tanh: 1 - Y^2      sigmoid: Y (1 - Y)      softplus: sigmoid(X)      gelu: Phi(X) + X phi(X).
 * The op gelu takes derivatives as an option: with phi' = -x phi, gelu'' = (2 - x^2) phi and gelu''' = (x^3 - 4 x) phi;
 * the third is composed of other ops, so that derivatives of every order exist. */
#include "ops/inside.h"
#include "ops/rules/maps.h"
#include "tensor/objects.h"

static void map(mo_call *c, mo_map1 f) {
    mo_view x = mo_tensor_view(c->in[0]), y = mo_tensor_view(c->out[0]);
    mo_kernels_of(c->ctx, y.dtype)->map1(c->ctx, f, 0, 0, &x, &y);
}

static const mo_sample activations_samples[] = {
    {"matrix", "[3, 4]"},
    {"scalar", "[]"},
};

static void sin_vjp(mo_vjp *v) {
    v->in_bar[0] = mo_mul(v->t, v->out_bar[0], mo_cos(v->t, v->in[0]));
}

const mo_op mo_op_sin = {
    .name = "sin",
    .state = &(const mo_map1){MO_MAP_SIN},
    .reads_in = 1,
    .forward = mo_map1_forward,
    .vjp = sin_vjp,
    MO_SAMPLES(activations_samples),
};

mo_tensor *mo_sin(mo_tape *t, mo_tensor *X) {
    return mo_apply(t, &mo_op_sin, (mo_tensor *[]){X}, 1, NULL);
}

static void cos_vjp(mo_vjp *v) {
    v->in_bar[0] = mo_neg(v->t, mo_mul(v->t, v->out_bar[0], mo_sin(v->t, v->in[0])));
}

const mo_op mo_op_cos = {
    .name = "cos",
    .state = &(const mo_map1){MO_MAP_COS},
    .reads_in = 1,
    .forward = mo_map1_forward,
    .vjp = cos_vjp,
    MO_SAMPLES(activations_samples),
};

mo_tensor *mo_cos(mo_tape *t, mo_tensor *X) {
    return mo_apply(t, &mo_op_cos, (mo_tensor *[]){X}, 1, NULL);
}

static const mo_sample log1p_samples[] = {
    {"matrix", "positive[3, 4]"},
    {"scalar", "positive[]"},
};

static void log1p_vjp(mo_vjp *v) {
    v->in_bar[0] = mo_div(v->t, v->out_bar[0], mo_scale(v->t, v->in[0], 1, 1));
}

const mo_op mo_op_log1p = {
    .name = "log1p",
    .state = &(const mo_map1){MO_MAP_LOG1P},
    .reads_in = 1,
    .forward = mo_map1_forward,
    .vjp = log1p_vjp,
    MO_SAMPLES(log1p_samples),
};

mo_tensor *mo_log1p(mo_tape *t, mo_tensor *X) {
    return mo_apply(t, &mo_op_log1p, (mo_tensor *[]){X}, 1, NULL);
}

static void erf_vjp(mo_vjp *v) {
    mo_tensor *slope = mo_exp(v->t, mo_neg(v->t, mo_square(v->t, v->in[0])));
    v->in_bar[0] = mo_mul(v->t, v->out_bar[0], mo_scale(v->t, slope, 1.1283791670955126, 0));
}

const mo_op mo_op_erf = {
    .name = "erf",
    .state = &(const mo_map1){MO_MAP_ERF},
    .reads_in = 1,
    .forward = mo_map1_forward,
    .vjp = erf_vjp,
    MO_SAMPLES(activations_samples),
};

mo_tensor *mo_erf(mo_tape *t, mo_tensor *X) {
    return mo_apply(t, &mo_op_erf, (mo_tensor *[]){X}, 1, NULL);
}

static void tanh_vjp(mo_vjp *v) {
    mo_tensor *slope = mo_scale(v->t, mo_square(v->t, v->out[0]), -1, 1);
    v->in_bar[0] = mo_mul(v->t, v->out_bar[0], slope);
}

const mo_op mo_op_tanh = {
    .name = "tanh",
    .state = &(const mo_map1){MO_MAP_TANH},
    .reads_out = 1,
    .forward = mo_map1_forward,
    .vjp = tanh_vjp,
    MO_SAMPLES(activations_samples),
};

mo_tensor *mo_tanh(mo_tape *t, mo_tensor *X) {
    return mo_apply(t, &mo_op_tanh, (mo_tensor *[]){X}, 1, NULL);
}

static void sigmoid_vjp(mo_vjp *v) {
    mo_tensor *Y = v->out[0], *slope = mo_mul(v->t, Y, mo_scale(v->t, Y, -1, 1));
    v->in_bar[0] = mo_mul(v->t, v->out_bar[0], slope);
}

const mo_op mo_op_sigmoid = {
    .name = "sigmoid",
    .state = &(const mo_map1){MO_MAP_SIGMOID},
    .reads_out = 1,
    .forward = mo_map1_forward,
    .vjp = sigmoid_vjp,
    MO_SAMPLES(activations_samples),
};

mo_tensor *mo_sigmoid(mo_tape *t, mo_tensor *X) {
    return mo_apply(t, &mo_op_sigmoid, (mo_tensor *[]){X}, 1, NULL);
}

static void softplus_vjp(mo_vjp *v) {
    v->in_bar[0] = mo_mul(v->t, v->out_bar[0], mo_sigmoid(v->t, v->in[0]));
}

const mo_op mo_op_softplus = {
    .name = "softplus",
    .state = &(const mo_map1){MO_MAP_SOFTPLUS},
    .reads_in = 1,
    .forward = mo_map1_forward,
    .vjp = softplus_vjp,
    MO_SAMPLES(activations_samples),
};

mo_tensor *mo_softplus(mo_tape *t, mo_tensor *X) {
    return mo_apply(t, &mo_op_softplus, (mo_tensor *[]){X}, 1, NULL);
}

/* ---- gelu: the op's option is the order of the derivative that it computes, 0 to 2 ---- */

static void gelu_forward(mo_call *c) {
    static const mo_map1 derivatives[] = {MO_MAP_GELU, MO_MAP_GELU_SLOPE, MO_MAP_GELU_CURVE};
    map(c, derivatives[*(const int *)c->attributes]);
}

extern const mo_op mo_op_gelu;

/* Returns (x^3 - 4 x) phi(x). */
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
    {"matrix", "[3, 4]"},
    {"slope", "[5]", &(const int){1}},
    {"curve", "[5]", &(const int){2}},
};

const mo_op mo_op_gelu = {
    .name = "gelu",
    .attributes_size = sizeof(int),
    .reads_in = 1,
    .forward = gelu_forward,
    .vjp = gelu_vjp,
    MO_SAMPLES(gelu_samples),
};

mo_tensor *mo_gelu(mo_tape *t, mo_tensor *X) {
    return mo_apply(t, &mo_op_gelu, (mo_tensor *[]){X}, 1, &(int){0});
}
