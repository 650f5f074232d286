/* ops/elementwise.c - Y = f(X), entry by entry: -x, e^x, log x, the square root, x^2.
 *
 * X of any shape -> Y of the same shape; float32 or float64. Errors: other dtypes. Saved: nothing. Domains are IEEE
 * 754's: log and sqrt of a negative number are NaN, log 0 is -inf, and the derivatives of log and sqrt at 0 are
 * infinite.
 *
 * dY = f'(X) dX, hence X_bar = f'(X) Y_bar, with f' computed from Y where that is cheaper:
 *     neg: -Y_bar      exp: Y_bar * Y      log: Y_bar / X      sqrt: Y_bar / (2 Y)      square: 2 Y_bar * X */
#include "ops/inside.h"
#include "ops/rules/maps.h"
#include "tensor/objects.h"

static const mo_sample elementwise_samples[] = {
    {"matrix", "[3, 4]"},
    {"scalar", "[]"},
    {"axes", "[2, 1, 3, 1, 2, 2]"},
};

static const mo_sample positive[] = {
    {"matrix", "positive[3, 4]"},
    {"scalar", "positive[]"},
};

static void neg_vjp(mo_vjp *v) {
    v->in_bar[0] = mo_neg(v->t, v->out_bar[0]);
}

const mo_op mo_op_neg = {
    .name = "neg",
    .state = &(const mo_map1){MO_MAP_NEG},
    .forward = mo_map1_forward,
    .vjp = neg_vjp,
    MO_SAMPLES(elementwise_samples),
};

mo_tensor *mo_neg(mo_tape *t, mo_tensor *X) {
    return mo_apply(t, &mo_op_neg, (mo_tensor *[]){X}, 1, NULL);
}

static void exp_vjp(mo_vjp *v) {
    v->in_bar[0] = mo_mul(v->t, v->out_bar[0], v->out[0]);
}

const mo_op mo_op_exp = {
    .name = "exp",
    .state = &(const mo_map1){MO_MAP_EXP},
    .reads_out = 1,
    .forward = mo_map1_forward,
    .vjp = exp_vjp,
    MO_SAMPLES(elementwise_samples),
};

mo_tensor *mo_exp(mo_tape *t, mo_tensor *X) {
    return mo_apply(t, &mo_op_exp, (mo_tensor *[]){X}, 1, NULL);
}

static void log_vjp(mo_vjp *v) {
    v->in_bar[0] = mo_div(v->t, v->out_bar[0], v->in[0]);
}

const mo_op mo_op_log = {
    .name = "log",
    .state = &(const mo_map1){MO_MAP_LOG},
    .reads_in = 1,
    .forward = mo_map1_forward,
    .vjp = log_vjp,
    MO_SAMPLES(positive),
};

mo_tensor *mo_log(mo_tape *t, mo_tensor *X) {
    return mo_apply(t, &mo_op_log, (mo_tensor *[]){X}, 1, NULL);
}

static void sqrt_vjp(mo_vjp *v) {
    v->in_bar[0] = mo_div(v->t, v->out_bar[0], mo_scale(v->t, v->out[0], 2, 0));
}

const mo_op mo_op_sqrt = {
    .name = "sqrt",
    .state = &(const mo_map1){MO_MAP_SQRT},
    .reads_out = 1,
    .forward = mo_map1_forward,
    .vjp = sqrt_vjp,
    MO_SAMPLES(positive),
};

mo_tensor *mo_sqrt(mo_tape *t, mo_tensor *X) {
    return mo_apply(t, &mo_op_sqrt, (mo_tensor *[]){X}, 1, NULL);
}

static void square_vjp(mo_vjp *v) {
    v->in_bar[0] = mo_mul(v->t, v->out_bar[0], mo_scale(v->t, v->in[0], 2, 0));
}

const mo_op mo_op_square = {
    .name = "square",
    .state = &(const mo_map1){MO_MAP_SQUARE},
    .reads_in = 1,
    .forward = mo_map1_forward,
    .vjp = square_vjp,
    MO_SAMPLES(elementwise_samples),
};

mo_tensor *mo_square(mo_tape *t, mo_tensor *X) {
    return mo_apply(t, &mo_op_square, (mo_tensor *[]){X}, 1, NULL);
}
