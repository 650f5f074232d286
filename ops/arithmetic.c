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

static const mo_sample arithmetic_samples[] = {
    {.name = "equal shapes", .n_in = 2, .in = {{.ndim = 2, .shape = {3, 4}}, {.ndim = 2, .shape = {3, 4}}}},
    {.name = "row", .n_in = 2, .in = {{.ndim = 2, .shape = {3, 4}}, {.ndim = 1, .shape = {4}}}},
    {.name = "column, row", .n_in = 2, .in = {{.ndim = 2, .shape = {3, 1}}, {.ndim = 2, .shape = {1, 4}}}},
    {.name = "scalar", .n_in = 2, .in = {{.ndim = 2, .shape = {3, 4}}, {.ndim = 0}}},
    {.name = "axes", .n_in = 2, .in = {{.ndim = 5, .shape = {2, 1, 3, 1, 2}}, {.ndim = 4, .shape = {4, 3, 5, 1}}}},
    {.name = "empty", .n_in = 2, .in = {{.ndim = 2, .shape = {0, 4}}, {.ndim = 1, .shape = {4}}}},
};

static const mo_sample quotients[] = {
    {.name = "equal shapes", .n_in = 2, .in = {{.ndim = 2, .shape = {3, 4}}, {MO_DRAW_POSITIVE, 2, {3, 4}, 0}}},
    {.name = "column", .n_in = 2, .in = {{.ndim = 2, .shape = {3, 4}}, {MO_DRAW_POSITIVE, 2, {3, 1}, 0}}},
    {.name = "by a scalar", .n_in = 2, .in = {{.ndim = 2, .shape = {3, 4}}, {.draw = MO_DRAW_POSITIVE}}},
    {.name = "of a scalar", .n_in = 2, .in = {{.ndim = 0}, {MO_DRAW_POSITIVE, 3, {2, 3, 2}, 0}}},
};

static const mo_error_sample arithmetic_error_samples[] = {
    {{.name = "shapes", .n_in = 2, .in = {{.ndim = 2, .shape = {2, 3}}, {.ndim = 1, .shape = {4}}}}, MO_INVALID,
        "axis 1 from the end has sizes 3 and 4, expected equal or 1; got [2, 3] float64, [4] float64"},
    {{.name = "dtype", .n_in = 2, .in = {{.ndim = 1, .shape = {3}}, {MO_DRAW_INDEX, 1, {3}, 2}}}, MO_MISMATCH,
        "input 1 is int64, expected float32 or float64"},
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
    .min_in = 2,
    .max_in = 2,
    .n_out = 1,
    .shape = arithmetic_shape,
    .forward = add_forward,
    .vjp = add_vjp,
    .samples = arithmetic_samples,
    .n_samples = 6,
    .error_samples = arithmetic_error_samples,
    .n_error_samples = 2,
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
    .min_in = 2,
    .max_in = 2,
    .n_out = 1,
    .shape = arithmetic_shape,
    .forward = sub_forward,
    .vjp = sub_vjp,
    .samples = arithmetic_samples,
    .n_samples = 6,
    .error_samples = arithmetic_error_samples,
    .n_error_samples = 2,
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
    .min_in = 2,
    .max_in = 2,
    .n_out = 1,
    .reads_in = 3,
    .shape = arithmetic_shape,
    .forward = mul_forward,
    .vjp = mul_vjp,
    .samples = arithmetic_samples,
    .n_samples = 6,
    .error_samples = arithmetic_error_samples,
    .n_error_samples = 2,
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
    .min_in = 2,
    .max_in = 2,
    .n_out = 1,
    .reads_in = 2,
    .reads_out = 1,
    .shape = arithmetic_shape,
    .forward = div_forward,
    .vjp = div_vjp,
    .samples = quotients,
    .n_samples = 4,
    .error_samples = arithmetic_error_samples,
    .n_error_samples = 2,
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
    .min_in = 2,
    .max_in = 2,
    .n_out = 1,
    .reads_in = 2,
    .reads_out = 1,
    .shape = arithmetic_shape,
    .forward = div_or_zero_forward,
    .vjp = div_or_zero_vjp,
    .samples = quotients,
    .n_samples = 4,
    .error_samples = arithmetic_error_samples,
    .n_error_samples = 2,
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
    {.name = "both", .n_in = 1, .in = {{.ndim = 2, .shape = {3, 4}}}, .attributes = &(line){-1.5, 0.25}},
    {.name = "shift", .n_in = 1, .in = {{.ndim = 1, .shape = {5}}}, .attributes = &(line){1, 2}},
    {.name = "to zero", .n_in = 1, .in = {{.ndim = 0}}, .attributes = &(line){0, 2}},
};

static const mo_error_sample scale_error_samples[] = {
    {{.name = "dtype", .n_in = 1, .in = {{MO_DRAW_INDEX, 1, {3}, 2}}, .attributes = &(line){1, 0}}, MO_MISMATCH,
        "scale: input 0 is int64, expected float32 or float64; got [3] int64"},
};

const mo_op mo_op_scale = {
    .name = "scale",
    .min_in = 1,
    .max_in = 1,
    .n_out = 1,
    .attributes_size = sizeof(line),
    .shape = scale_shape,
    .forward = scale_forward,
    .vjp = scale_vjp,
    .samples = scale_samples,
    .n_samples = 3,
    .error_samples = scale_error_samples,
    .n_error_samples = 1,
};

mo_tensor *mo_scale(mo_tape *t, mo_tensor *X, double a, double b) {
    return mo_apply(t, &mo_op_scale, (mo_tensor *[]){X}, 1, &(line){a, b});
}
