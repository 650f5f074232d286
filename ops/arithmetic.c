/* ops/arithmetic.c - Y = A + B, A - B, A * B, A / B elementwise with broadcasting, and Y = a X + b.
 *
 * A and B of any shapes that broadcast -> Y of the common shape; both float32 or both float64. Errors: shapes that do
 * not broadcast, other dtypes. Division by 0 follows IEEE 754; div_or_zero gives 0. Saved: nothing.
 *
 * Each adjoint is the derivative entry by entry, summed over the axes along which its operand was broadcast:
 *     add: A_bar = Y_bar,      B_bar = Y_bar          sub: A_bar = Y_bar, B_bar = -Y_bar
 *     mul: A_bar = Y_bar * B,  B_bar = Y_bar * A
 *     div: A_bar = Y_bar / B,  B_bar = -(Y_bar / B) * Y   as d(A/B) = dA / B - (A/B) dB / B.
 * div_or_zero is constant where B is 0, so in its rules div_or_zero replaces the divisions. scale is a X + b with plain
 * numbers a and b: X_bar = a Y_bar. */
#include "ops/inside.h"
#include "ops/rules/maps.h"
#include "tensor/objects.h"

/* Sets the gradient of input i: bar, summed over the axes along which the input was broadcast. */
static void give(mo_vjp *v, int i, mo_tensor *bar) {
    v->in_bar[i] = mo_sum_to(v->t, bar, v->in[i]->ndim, v->in[i]->shape);
}

static const mo_sample arithmetic_samples[] = {
    {"equal shapes", "[3, 4] [3, 4]"},
    {"row", "[3, 4] [4]"},
    {"column, row", "[3, 1] [1, 4]"},
    {"scalar", "[3, 4] []"},
    {"axes", "[2, 1, 3, 1, 2] [4, 3, 5, 1]"},
    {"shapes", "[2, 3] [4]",
        .error = "axis 1 from the end has sizes 3 and 4, expected equal or 1; got [2, 3] float64, [4] float64"},
};

static const mo_sample quotients[] = {
    {"equal shapes", "[3, 4] positive[3, 4]"},
    {"column", "[3, 4] positive[3, 1]"},
    {"by a scalar", "[3, 4] positive[]"},
    {"of a scalar", "[] positive[2, 3, 2]"},
};

static void add_vjp(mo_vjp *v) {
    for (int i = 0; i < 2; i++)
        if (v->needs[i])
            give(v, i, v->out_bar[0]);
}

const mo_op mo_op_add = {
    .name = "add",
    .state = &(const mo_map2){MO_MAP_ADD},
    .n_in = 2,
    .shape = mo_map2_shape,
    .forward = mo_map2_forward,
    .vjp = add_vjp,
    MO_SAMPLES(arithmetic_samples),
};

mo_tensor *mo_add(mo_tape *t, mo_tensor *A, mo_tensor *B) {
    return mo_apply(t, &mo_op_add, (mo_tensor *[]){A, B}, 2, NULL);
}

static void sub_vjp(mo_vjp *v) {
    if (v->needs[0])
        give(v, 0, v->out_bar[0]);
    if (v->needs[1])
        give(v, 1, mo_neg(v->t, v->out_bar[0]));
}

const mo_op mo_op_sub = {
    .name = "sub",
    .state = &(const mo_map2){MO_MAP_SUB},
    .n_in = 2,
    .shape = mo_map2_shape,
    .forward = mo_map2_forward,
    .vjp = sub_vjp,
    MO_SAMPLES(arithmetic_samples),
};

mo_tensor *mo_sub(mo_tape *t, mo_tensor *A, mo_tensor *B) {
    return mo_apply(t, &mo_op_sub, (mo_tensor *[]){A, B}, 2, NULL);
}

static void mul_vjp(mo_vjp *v) {
    if (v->needs[0])
        give(v, 0, mo_mul(v->t, v->out_bar[0], v->in[1]));
    if (v->needs[1])
        give(v, 1, mo_mul(v->t, v->out_bar[0], v->in[0]));
}

const mo_op mo_op_mul = {
    .name = "mul",
    .state = &(const mo_map2){MO_MAP_MUL},
    .n_in = 2,
    .reads_in = 3,
    .shape = mo_map2_shape,
    .forward = mo_map2_forward,
    .vjp = mul_vjp,
    MO_SAMPLES(arithmetic_samples),
};

mo_tensor *mo_mul(mo_tape *t, mo_tensor *A, mo_tensor *B) {
    return mo_apply(t, &mo_op_mul, (mo_tensor *[]){A, B}, 2, NULL);
}

static void div_vjp(mo_vjp *v) {
    mo_tensor *Q = mo_div(v->t, v->out_bar[0], v->in[1]); /* Y_bar / B */
    if (v->needs[0])
        give(v, 0, Q);
    if (v->needs[1])
        give(v, 1, mo_neg(v->t, mo_mul(v->t, Q, v->out[0])));
}

const mo_op mo_op_div = {
    .name = "div",
    .state = &(const mo_map2){MO_MAP_DIV},
    .n_in = 2,
    .reads_in = 2,
    .reads_out = 1,
    .shape = mo_map2_shape,
    .forward = mo_map2_forward,
    .vjp = div_vjp,
    MO_SAMPLES(quotients),
};

mo_tensor *mo_div(mo_tape *t, mo_tensor *A, mo_tensor *B) {
    return mo_apply(t, &mo_op_div, (mo_tensor *[]){A, B}, 2, NULL);
}

static void div_or_zero_vjp(mo_vjp *v) {
    mo_tensor *Q = mo_div_or_zero(v->t, v->out_bar[0], v->in[1]);
    if (v->needs[0])
        give(v, 0, Q);
    if (v->needs[1])
        give(v, 1, mo_neg(v->t, mo_mul(v->t, Q, v->out[0])));
}

const mo_op mo_op_div_or_zero = {
    .name = "div_or_zero",
    .state = &(const mo_map2){MO_MAP_DIV_OR_0},
    .n_in = 2,
    .reads_in = 2,
    .reads_out = 1,
    .shape = mo_map2_shape,
    .forward = mo_map2_forward,
    .vjp = div_or_zero_vjp,
    MO_SAMPLES(quotients),
};

mo_tensor *mo_div_or_zero(mo_tape *t, mo_tensor *A, mo_tensor *B) {
    return mo_apply(t, &mo_op_div_or_zero, (mo_tensor *[]){A, B}, 2, NULL);
}

typedef struct line {
    double a, b;
} line;

static void scale_vjp(mo_vjp *v) {
    const line *l = v->attributes;
    v->in_bar[0] = l->a == 1 ? v->out_bar[0] : mo_scale(v->t, v->out_bar[0], l->a, 0);
}

static const mo_sample scale_samples[] = {
    {"both", "[3, 4]", &(line){-1.5, 0.25}},
    {"shift", "[5]", &(line){1, 2}},
    {"to zero", "[]", &(line){0, 2}},
};

const mo_op mo_op_scale = {
    .name = "scale",
    .state = &(const mo_map1){MO_MAP_SCALE},
    .attributes_size = sizeof(line),
    .forward = mo_map1_forward,
    .vjp = scale_vjp,
    MO_SAMPLES(scale_samples),
};

mo_tensor *mo_scale(mo_tape *t, mo_tensor *X, double a, double b) {
    return mo_apply(t, &mo_op_scale, (mo_tensor *[]){X}, 1, &(line){a, b});
}
