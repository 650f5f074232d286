/* ops/elementwise.c - Y = f(X), entry by entry: -x, e^x, log x, the square root, x^2.
 *
 * X of any shape -> Y of the same; float32 or float64. Errors: other dtypes. Saved: nothing. Domains are IEEE 754's:
 * log and sqrt of a negative number are NaN, log 0 is -inf, and the gradient of both at 0 is infinite.
 *
 * dY = f'(X) dX, hence X_bar = f'(X) Y_bar, with f' read off Y where that is cheaper:
 *     neg: -Y_bar      exp: Y_bar * Y      log: Y_bar / X      sqrt: Y_bar / (2 Y)      square: 2 Y_bar * X */
#include "ops/inside.h"
#include "tensor/storage.h"

static bool elementwise_shape(mo_call *c) {
    return mo_call_real(c, 0, 0) && mo_call_output(c, 0, c->in[0]->dtype, c->in[0]->ndim, c->in[0]->shape);
}

static void map(mo_call *c, mo_map1 f) {
    mo_view x = mo_tensor_view(c->in[0]), y = mo_tensor_view(c->out[0]);
    mo_kernels_of(c->ctx, y.dtype)->map1(c->ctx, f, 0, 0, &x, &y);
}

/* What all of them refuse. */
#define REFUSED                                                                                                        \
    {                                                                                                                  \
        .name = "dtype", .in = "index<2>[3]", .error = "input 0 is int64, expected float32 or float64; got [3] int64", \
        .code = MO_MISMATCH                                                                                            \
    }

static const mo_sample elementwise_samples[] = {
    {.name = "matrix", .in = "[3, 4]"},
    {.name = "scalar", .in = "[]"},
    {.name = "axes", .in = "[2, 1, 3, 1, 2, 2]"},
    {.name = "empty", .in = "[0, 4]"},
    REFUSED,
};

static const mo_sample positive[] = {
    {.name = "matrix", .in = "positive[3, 4]"},
    {.name = "scalar", .in = "positive[]"},
    {.name = "empty", .in = "positive[0, 4]"},
    REFUSED,
};

static void neg_forward(mo_call *c) {
    map(c, MO_MAP_NEG);
}

static void neg_vjp(mo_vjp *v) {
    v->in_bar[0] = mo_neg(v->t, v->out_bar[0]);
}

const mo_op mo_op_neg = {
    .name = "neg",
    .n_in = 1,
    .shape = elementwise_shape,
    .forward = neg_forward,
    .vjp = neg_vjp,
    MO_SAMPLES(elementwise_samples),
};

mo_tensor *mo_neg(mo_tape *t, mo_tensor *X) {
    return mo_apply(t, &mo_op_neg, (mo_tensor *[]){X}, 1, NULL);
}

static void exp_forward(mo_call *c) {
    map(c, MO_MAP_EXP);
}

static void exp_vjp(mo_vjp *v) {
    v->in_bar[0] = mo_mul(v->t, v->out_bar[0], v->out[0]);
}

const mo_op mo_op_exp = {
    .name = "exp",
    .n_in = 1,
    .reads_out = 1,
    .shape = elementwise_shape,
    .forward = exp_forward,
    .vjp = exp_vjp,
    MO_SAMPLES(elementwise_samples),
};

mo_tensor *mo_exp(mo_tape *t, mo_tensor *X) {
    return mo_apply(t, &mo_op_exp, (mo_tensor *[]){X}, 1, NULL);
}

static void log_forward(mo_call *c) {
    map(c, MO_MAP_LOG);
}

static void log_vjp(mo_vjp *v) {
    v->in_bar[0] = mo_div(v->t, v->out_bar[0], v->in[0]);
}

const mo_op mo_op_log = {
    .name = "log",
    .n_in = 1,
    .reads_in = 1,
    .shape = elementwise_shape,
    .forward = log_forward,
    .vjp = log_vjp,
    MO_SAMPLES(positive),
};

mo_tensor *mo_log(mo_tape *t, mo_tensor *X) {
    return mo_apply(t, &mo_op_log, (mo_tensor *[]){X}, 1, NULL);
}

static void sqrt_forward(mo_call *c) {
    map(c, MO_MAP_SQRT);
}

static void sqrt_vjp(mo_vjp *v) {
    v->in_bar[0] = mo_div(v->t, v->out_bar[0], mo_scale(v->t, v->out[0], 2, 0));
}

const mo_op mo_op_sqrt = {
    .name = "sqrt",
    .n_in = 1,
    .reads_out = 1,
    .shape = elementwise_shape,
    .forward = sqrt_forward,
    .vjp = sqrt_vjp,
    MO_SAMPLES(positive),
};

mo_tensor *mo_sqrt(mo_tape *t, mo_tensor *X) {
    return mo_apply(t, &mo_op_sqrt, (mo_tensor *[]){X}, 1, NULL);
}

static void square_forward(mo_call *c) {
    map(c, MO_MAP_SQUARE);
}

static void square_vjp(mo_vjp *v) {
    v->in_bar[0] = mo_mul(v->t, v->out_bar[0], mo_scale(v->t, v->in[0], 2, 0));
}

const mo_op mo_op_square = {
    .name = "square",
    .n_in = 1,
    .reads_in = 1,
    .shape = elementwise_shape,
    .forward = square_forward,
    .vjp = square_vjp,
    MO_SAMPLES(elementwise_samples),
};

mo_tensor *mo_square(mo_tape *t, mo_tensor *X) {
    return mo_apply(t, &mo_op_square, (mo_tensor *[]){X}, 1, NULL);
}
