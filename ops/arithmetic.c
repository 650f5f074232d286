/* ops/arithmetic.c - Y = A + B, A - B, A * B, A / B elementwise with broadcasting, and Y = a X + b.
 *
 * A and B of any shapes that broadcast -> Y of the common shape; float32 or float64, both alike. Errors: shapes that do
 * not broadcast, other dtypes. Dividing by 0 gives what IEEE 754 says; div_or_zero gives 0 there. Saved: nothing.
 *
 * Each rule is the product rule entry by entry, summed over the axes along which its operand was broadcast:
 *     add: A_bar = Y_bar,      B_bar = Y_bar          sub: A_bar = Y_bar, B_bar = -Y_bar
 *     mul: A_bar = Y_bar * B,  B_bar = Y_bar * A
 *     div: A_bar = Y_bar / B,  B_bar = -(Y_bar / B) * Y   as d(A/B) = dA / B - (A/B) dB / B.
 * div_or_zero is constant where B is 0, so its rules are those of the division, with div_or_zero for /. scale is a X +
 * b with plain numbers a and b: X_bar = a Y_bar. */
#include "ops/inside.h"
#include "ops/rules/shapes.h"

static bool arithmetic_shape(mo_call *c) {
    int ndim;
    int64_t size[MO_MAX_AXES];
    return mo_call_real(c, 0, 1) && mo_broadcast_leading(c, 0, 1, 0, &ndim, size) &&
           mo_call_output(c, 0, c->in[0]->dtype, ndim, size);
}

static void map(mo_call *c, mo_map2 f) {
    mo_view y = mo_tensor_view(c->out[0]);
    mo_view a = mo_broadcast_view(mo_tensor_view(c->in[0]), 0, y.ndim, y.shape);
    mo_view b = mo_broadcast_view(mo_tensor_view(c->in[1]), 0, y.ndim, y.shape);
    mo_kernels_of(c->ctx, y.dtype)->map2(c->ctx, f, &a, &b, &y);
}

/* Sets the adjoint of input i: bar summed over the axes along which the input was broadcast. */
static void give(mo_vjp *v, int i, mo_tensor *bar) {
    v->in_bar[i] = mo_sum_to(v->t, bar, v->in[i]->ndim, v->in[i]->shape);
}

/* What every op of two tensors refuses. */
#define REFUSED                                                                                                        \
    {.name = "shapes",                                                                                                 \
        .in = "[2, 3] [4]",                                                                                            \
        .error = "axis 1 from the end has sizes 3 and 4, expected equal or 1; got [2, 3] float64, [4] float64"},       \
    {                                                                                                                  \
        .name = "dtype", .in = "[3] index<2>[3]", .error = "input 1 is int64, expected float32 or float64",            \
        .code = MO_MISMATCH                                                                                            \
    }

static const mo_sample arithmetic_samples[] = {
    {.name = "equal shapes", .in = "[3, 4] [3, 4]"},
    {.name = "row", .in = "[3, 4] [4]"},
    {.name = "column, row", .in = "[3, 1] [1, 4]"},
    {.name = "scalar", .in = "[3, 4] []"},
    {.name = "axes", .in = "[2, 1, 3, 1, 2] [4, 3, 5, 1]"},
    {.name = "empty", .in = "[0, 4] [4]"},
    REFUSED,
};

static const mo_sample quotients[] = {
    {.name = "equal shapes", .in = "[3, 4] positive[3, 4]"},
    {.name = "column", .in = "[3, 4] positive[3, 1]"},
    {.name = "by a scalar", .in = "[3, 4] positive[]"},
    {.name = "of a scalar", .in = "[] positive[2, 3, 2]"},
    REFUSED,
};

static void add_forward(mo_call *c) {
    map(c, MO_MAP_ADD);
}

static void add_vjp(mo_vjp *v) {
    for (int i = 0; i < 2; i++)
        if (v->needs[i])
            give(v, i, v->out_bar[0]);
}

const mo_op mo_op_add = {
    .name = "add",
    .n_in = 2,
    .shape = arithmetic_shape,
    .forward = add_forward,
    .vjp = add_vjp,
    MO_SAMPLES(arithmetic_samples),
};

mo_tensor *mo_add(mo_tape *t, mo_tensor *A, mo_tensor *B) {
    return mo_apply(t, &mo_op_add, (mo_tensor *[]){A, B}, 2, NULL);
}

static void sub_forward(mo_call *c) {
    map(c, MO_MAP_SUB);
}

static void sub_vjp(mo_vjp *v) {
    if (v->needs[0])
        give(v, 0, v->out_bar[0]);
    if (v->needs[1])
        give(v, 1, mo_neg(v->t, v->out_bar[0]));
}

const mo_op mo_op_sub = {
    .name = "sub",
    .n_in = 2,
    .shape = arithmetic_shape,
    .forward = sub_forward,
    .vjp = sub_vjp,
    MO_SAMPLES(arithmetic_samples),
};

mo_tensor *mo_sub(mo_tape *t, mo_tensor *A, mo_tensor *B) {
    return mo_apply(t, &mo_op_sub, (mo_tensor *[]){A, B}, 2, NULL);
}

static void mul_forward(mo_call *c) {
    map(c, MO_MAP_MUL);
}

static void mul_vjp(mo_vjp *v) {
    if (v->needs[0])
        give(v, 0, mo_mul(v->t, v->out_bar[0], v->in[1]));
    if (v->needs[1])
        give(v, 1, mo_mul(v->t, v->out_bar[0], v->in[0]));
}

const mo_op mo_op_mul = {
    .name = "mul",
    .n_in = 2,
    .reads_in = 3,
    .shape = arithmetic_shape,
    .forward = mul_forward,
    .vjp = mul_vjp,
    MO_SAMPLES(arithmetic_samples),
};

mo_tensor *mo_mul(mo_tape *t, mo_tensor *A, mo_tensor *B) {
    return mo_apply(t, &mo_op_mul, (mo_tensor *[]){A, B}, 2, NULL);
}

static void div_forward(mo_call *c) {
    map(c, MO_MAP_DIV);
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
    .n_in = 2,
    .reads_in = 2,
    .reads_out = 1,
    .shape = arithmetic_shape,
    .forward = div_forward,
    .vjp = div_vjp,
    MO_SAMPLES(quotients),
};

mo_tensor *mo_div(mo_tape *t, mo_tensor *A, mo_tensor *B) {
    return mo_apply(t, &mo_op_div, (mo_tensor *[]){A, B}, 2, NULL);
}

static void div_or_zero_forward(mo_call *c) {
    map(c, MO_MAP_DIV_OR_0);
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
    .n_in = 2,
    .reads_in = 2,
    .reads_out = 1,
    .shape = arithmetic_shape,
    .forward = div_or_zero_forward,
    .vjp = div_or_zero_vjp,
    MO_SAMPLES(quotients),
};

mo_tensor *mo_div_or_zero(mo_tape *t, mo_tensor *A, mo_tensor *B) {
    return mo_apply(t, &mo_op_div_or_zero, (mo_tensor *[]){A, B}, 2, NULL);
}

typedef struct line {
    double a, b;
} line;

static bool scale_shape(mo_call *c) {
    return mo_call_real(c, 0, 0) && mo_call_output(c, 0, c->in[0]->dtype, c->in[0]->ndim, c->in[0]->shape);
}

static void scale_forward(mo_call *c) {
    const line *l = c->attributes;
    mo_view x = mo_tensor_view(c->in[0]), y = mo_tensor_view(c->out[0]);
    mo_kernels_of(c->ctx, y.dtype)->map1(c->ctx, MO_MAP_SCALE, l->a, l->b, &x, &y);
}

static void scale_vjp(mo_vjp *v) {
    const line *l = v->attributes;
    v->in_bar[0] = l->a == 1 ? v->out_bar[0] : mo_scale(v->t, v->out_bar[0], l->a, 0);
}

static const mo_sample scale_samples[] = {
    {.name = "both", .in = "[3, 4]", .attributes = &(line){-1.5, 0.25}},
    {.name = "shift", .in = "[5]", .attributes = &(line){1, 2}},
    {.name = "to zero", .in = "[]", .attributes = &(line){0, 2}},
    {.name = "dtype",
        .in = "index<2>[3]",
        .attributes = &(line){1, 0},
        .error = "scale: input 0 is int64, expected float32 or float64; got [3] int64",
        .code = MO_MISMATCH},
};

const mo_op mo_op_scale = {
    .name = "scale",
    .n_in = 1,
    .attributes_size = sizeof(line),
    .shape = scale_shape,
    .forward = scale_forward,
    .vjp = scale_vjp,
    MO_SAMPLES(scale_samples),
};

mo_tensor *mo_scale(mo_tape *t, mo_tensor *X, double a, double b) {
    return mo_apply(t, &mo_op_scale, (mo_tensor *[]){X}, 1, &(line){a, b});
}
