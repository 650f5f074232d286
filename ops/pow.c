/* ops/pow.c - powers: Y = X^p with a plain number p, and Y = A^B entry by entry.
 *
 * pow: X of any shape -> Y of the same shape. pow_entries: A and B of any shapes that broadcast -> Y of the common
 * shape. float32 or float64. Errors: other dtypes, shapes that do not broadcast. Domains are IEEE 754's: a negative
 * number to a power that is no integer is NaN, 0 to a negative power is infinite, x^0 is 1 for every x. Saved: nothing.
 *
 * pow: dY = p X^(p-1) dX, so X_bar = p Y_bar * X^(p-1), and 0 for p = 0 even at X = 0.
 * pow_entries: dY = B A^(B-1) dA + A^B log A dB, so
 *     A_bar = Y_bar * B * A^(B-1),   B_bar = Y_bar * Y * log A,
 * each summed over the axes along which its operand was broadcast. At A = 0 the adjoint of B is 0 for B >= 0 (its limit
 * for B > 0) and NaN for B < 0, and the adjoint of A is 0 if B is 0 too; for A < 0 the adjoint of B is NaN. */
#include "ops/inside.h"
#include "ops/rules/maps.h"
#include "tensor/objects.h"

static void pow_vjp(mo_vjp *v) {
    mo_tape *t = v->t;
    double p = *(const double *)v->attributes;
    if (p == 0)
        return;
    mo_tensor *slope = p == 1 ? NULL : p == 2 ? v->in[0] : mo_pow(t, v->in[0], p - 1), *Y_bar = v->out_bar[0];
    v->in_bar[0] = p == 1 ? Y_bar : mo_mul(t, mo_scale(t, Y_bar, p, 0), slope);
}

static const mo_sample pow_samples[] = {
    {"cube", "[3, 4]", &(const double){3}},
    {"square", "[3, 4]", &(const double){2}},
    {"itself", "[4]", &(const double){1}},
    {"ones", "[4]"},
    {"root", "positive[3, 4]", &(const double){0.5}},
    {"inverse", "positive[]", &(const double){-1.5}},
};

const mo_op mo_op_pow = {
    .name = "pow",
    .state = &(const mo_map1){MO_MAP_POW},
    .attributes_size = sizeof(double),
    .reads_in = 1,
    .forward = mo_map1_forward,
    .vjp = pow_vjp,
    MO_SAMPLES(pow_samples),
};

mo_tensor *mo_pow(mo_tape *t, mo_tensor *X, double p) {
    return mo_apply(t, &mo_op_pow, (mo_tensor *[]){X}, 1, &p);
}

/* ---- pow_entries ---- */

/* Returns X where the condition is not 0, else `value`. */
static mo_tensor *where_or(mo_tape *t, mo_tensor *condition, mo_tensor *X, double value) {
    return mo_where(t, condition, X, mo_scalar(t, X->dtype, value));
}

static void pow_entries_vjp(mo_vjp *v) {
    mo_tape *t = v->t;
    mo_tensor *A = v->in[0], *B = v->in[1], *Y = v->out[0], *Y_bar = v->out_bar[0];
    if (v->needs[0]) {
        mo_tensor *regular = mo_add(t, mo_abs(t, A), mo_abs(t, B)); /* 0 at 0^0 */
        mo_tensor *slope = mo_mul(t, B, mo_pow_entries(t, A, where_or(t, regular, mo_scale(t, B, 1, -1), 0)));
        v->in_bar[0] = mo_sum_to(t, mo_mul(t, Y_bar, slope), A->ndim, A->shape);
    }
    if (v->needs[1]) {
        mo_tensor *slope = mo_mul(t, Y, mo_log(t, where_or(t, A, A, 1)));
        v->in_bar[1] = mo_sum_to(t, mo_mul(t, Y_bar, slope), B->ndim, B->shape);
    }
}

static const mo_sample pow_entries_samples[] = {
    {"equal shapes", "positive[3, 4] [3, 4]"},
    {"column, row", "positive[3, 1] [4]"},
    {"of a scalar", "positive[] [3]"},
    {"shapes", "positive[2, 3] [4]",
        .error = "pow_entries: axis 1 from the end has sizes 3 and 4, expected equal or 1"},
};

const mo_op mo_op_pow_entries = {
    .name = "pow_entries",
    .state = &(const mo_map2){MO_MAP_POWER},
    .n_in = 2,
    .reads_in = 3,
    .reads_out = 1,
    .shape = mo_map2_shape,
    .forward = mo_map2_forward,
    .vjp = pow_entries_vjp,
    MO_SAMPLES(pow_entries_samples),
};

mo_tensor *mo_pow_entries(mo_tape *t, mo_tensor *A, mo_tensor *B) {
    return mo_apply(t, &mo_op_pow_entries, (mo_tensor *[]){A, B}, 2, NULL);
}
