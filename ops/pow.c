/* ops/pow.c - powers: Y = X^p with a plain number p, and Y = A^B entry by entry.
 *
 * pow: X of any shape -> Y of the same. power: A and B of any shapes that broadcast -> Y of the common shape. float32
 * or float64. Errors: other dtypes, shapes that do not broadcast. Domains are IEEE 754's: a negative number to a power
 * that is no integer is NaN, 0 to a negative power is infinite, x^0 is 1 for every x. Saved: nothing.
 *
 * pow: dY = p X^(p-1) dX, so X_bar = p Y_bar * X^(p-1), and 0 for p = 0 even at X = 0.
 * power: dY = B A^(B-1) dA + A^B log A dB, so
 *     A_bar = Y_bar * B * A^(B-1),   B_bar = Y_bar * Y * log A,
 * each summed over the axes along which it was broadcast. At A = 0 the adjoint of B is 0 (its limit for B > 0), and
 * that of A is 0 if B is 0 too; for A < 0 the gradient in B is NaN. */
#include "ops/inside.h"
#include "ops/rules/shapes.h"

static bool pow_shape(mo_call *c) {
    return mo_call_real(c, 0, 0) && mo_call_output(c, 0, c->in[0]->dtype, c->in[0]->ndim, c->in[0]->shape);
}

static void pow_forward(mo_call *c) {
    mo_view x = mo_tensor_view(c->in[0]), y = mo_tensor_view(c->out[0]);
    mo_kernels_of(c->ctx, y.dtype)->map1(c->ctx, MO_MAP_POW, *(const double *)c->attributes, 0, &x, &y);
}

static void pow_vjp(mo_vjp *v) {
    mo_tape *t = v->t;
    double p = *(const double *)v->attributes;
    if (p == 0)
        return;
    mo_tensor *slope = p == 1 ? NULL : p == 2 ? v->in[0] : mo_pow(t, v->in[0], p - 1), *Y_bar = v->out_bar[0];
    v->in_bar[0] = p == 1 ? Y_bar : mo_mul(t, mo_scale(t, Y_bar, p, 0), slope);
}

static const mo_sample pow_samples[] = {
    {.name = "cube", .in = "[3, 4]", .attributes = &(const double){3}},
    {.name = "square", .in = "[3, 4]", .attributes = &(const double){2}},
    {.name = "itself", .in = "[4]", .attributes = &(const double){1}},
    {.name = "ones", .in = "[4]", .attributes = &(const double){0}},
    {.name = "root", .in = "positive[3, 4]", .attributes = &(const double){0.5}},
    {.name = "inverse", .in = "positive[]", .attributes = &(const double){-1.5}},
    {.name = "dtype",
        .in = "index<2>[3]",
        .attributes = &(const double){2},
        .error = "input 0 is int64, expected float32 or float64; got [3] int64",
        .code = MO_MISMATCH},
};

const mo_op mo_op_pow = {
    .name = "pow",
    .n_in = 1,
    .attributes_size = sizeof(double),
    .reads_in = 1,
    .shape = pow_shape,
    .forward = pow_forward,
    .vjp = pow_vjp,
    MO_SAMPLES(pow_samples),
};

mo_tensor *mo_pow(mo_tape *t, mo_tensor *X, double p) {
    return mo_apply(t, &mo_op_pow, (mo_tensor *[]){X}, 1, &p);
}

/* ---- power ---- */

static bool power_shape(mo_call *c) {
    int ndim;
    int64_t size[MO_MAX_AXES];
    return mo_call_real(c, 0, 1) && mo_broadcast_leading(c, 0, 1, 0, &ndim, size) &&
           mo_call_output(c, 0, c->in[0]->dtype, ndim, size);
}

static void power_forward(mo_call *c) {
    mo_view y = mo_tensor_view(c->out[0]);
    mo_view a = mo_broadcast_view(mo_tensor_view(c->in[0]), 0, y.ndim, y.shape);
    mo_view b = mo_broadcast_view(mo_tensor_view(c->in[1]), 0, y.ndim, y.shape);
    mo_kernels_of(c->ctx, y.dtype)->map2(c->ctx, MO_MAP_POWER, &a, &b, &y);
}

/* X where the condition is not 0, else value. */
static mo_tensor *where_or(mo_tape *t, mo_tensor *condition, mo_tensor *X, double value) {
    return mo_where(t, condition, X, mo_scalar(t, X->dtype, value));
}

static void power_vjp(mo_vjp *v) {
    mo_tape *t = v->t;
    mo_tensor *A = v->in[0], *B = v->in[1], *Y = v->out[0], *Y_bar = v->out_bar[0];
    if (v->needs[0]) {
        mo_tensor *regular = mo_add(t, mo_abs(t, A), mo_abs(t, B)); /* 0 at 0^0 */
        mo_tensor *slope = mo_mul(t, B, mo_power(t, A, where_or(t, regular, mo_scale(t, B, 1, -1), 0)));
        v->in_bar[0] = mo_sum_to(t, mo_mul(t, Y_bar, slope), A->ndim, A->shape);
    }
    if (v->needs[1]) {
        mo_tensor *slope = mo_mul(t, Y, mo_log(t, where_or(t, A, A, 1)));
        v->in_bar[1] = mo_sum_to(t, mo_mul(t, Y_bar, slope), B->ndim, B->shape);
    }
}

static const mo_sample power_samples[] = {
    {.name = "equal shapes", .in = "positive[3, 4] [3, 4]"},
    {.name = "column, row", .in = "positive[3, 1] [4]"},
    {.name = "of a scalar", .in = "positive[] [3]"},
    {.name = "shapes",
        .in = "positive[2, 3] [4]",
        .error = "power: axis 1 from the end has sizes 3 and 4, expected equal or 1"},
    {.name = "dtype", .in = "[3] index<2>[3]", .error = "power: input 1 is int64", .code = MO_MISMATCH},
};

const mo_op mo_op_power = {
    .name = "power",
    .n_in = 2,
    .reads_in = 3,
    .reads_out = 1,
    .shape = power_shape,
    .forward = power_forward,
    .vjp = power_vjp,
    MO_SAMPLES(power_samples),
};

mo_tensor *mo_power(mo_tape *t, mo_tensor *A, mo_tensor *B) {
    return mo_apply(t, &mo_op_power, (mo_tensor *[]){A, B}, 2, NULL);
}
