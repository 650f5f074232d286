/* ops/where.c - chooses entry by entry: where a condition holds, or the larger or smaller of two; compares two.
 *
 * where: C (uint8 or the real type; anything but 0 holds), A, B -> Y. greater_equal: A, B -> 1 where A >= B, else 0.
 * larger, smaller: A, B -> Y; a NaN in either gives NaN. Shapes broadcast; float32 or float64. Errors: shapes that do
 * not broadcast, other dtypes. Saved: nothing.
 *
 * where: dY = dA where C holds, dB elsewhere; Y is flat in C, which has no gradient:
 *     A_bar = where(C, Y_bar, 0),   B_bar = where(C, 0, Y_bar),
 * each summed over the axes along which its operand was broadcast. Zeros are chosen, not multiplied, so a NaN on the
 * side that was not taken does not spread. greater_equal is flat in both inputs. larger is where(A >= B, A, B), smaller
 * where(B >= A, A, B): ties go to A. The gradient goes to the operand whose value was taken, also if that is NaN: to A
 * where A is NaN, else to B where B is NaN. */
#include "ops/inside.h"
#include "ops/rules/maps.h"
#include "ops/rules/shapes.h"

static bool where_shape(mo_call *c) {
    int ndim;
    int64_t size[MO_MAX_AXES];
    if (!mo_call_real(c, 1, 2))
        return false;
    if (c->in[0]->dtype != MO_U8 && c->in[0]->dtype != c->in[1]->dtype)
        return mo_call_fail(c, MO_MISMATCH, "the condition is %s, expected uint8 or %s", mo_dtype_name(c->in[0]->dtype),
            mo_dtype_name(c->in[1]->dtype));
    if (!mo_broadcast_leading(c, 1, 2, 0, &ndim, size))
        return false;
    ndim = mo_broadcast_shape(c->in[0]->ndim, c->in[0]->shape, ndim, size, size);
    if (ndim < 0)
        return mo_call_fail(c, MO_INVALID, "input 0 does not broadcast with the others");
    return mo_call_output(c, 0, c->in[1]->dtype, ndim, size);
}

static void where_forward(mo_call *c) {
    mo_view y = mo_tensor_view(c->out[0]), x[3];
    for (int i = 0; i < 3; i++)
        x[i] = mo_broadcast_view(mo_tensor_view(c->in[i]), 0, y.ndim, y.shape);
    mo_kernels_of(c->ctx, y.dtype)->where(c->ctx, &x[0], &x[1], &x[2], &y);
}

/* Gives Y_bar to input i where the condition holds, and to input j elsewhere. */
static void choose(mo_vjp *v, mo_tensor *condition, int i, int j) {
    mo_tape *t = v->t;
    mo_tensor *Y_bar = v->out_bar[0], *zero = mo_scalar(t, Y_bar->dtype, 0);
    if (v->needs[i])
        v->in_bar[i] = mo_sum_to(t, mo_where(t, condition, Y_bar, zero), v->in[i]->ndim, v->in[i]->shape);
    if (v->needs[j])
        v->in_bar[j] = mo_sum_to(t, mo_where(t, condition, zero, Y_bar), v->in[j]->ndim, v->in[j]->shape);
}

static void where_vjp(mo_vjp *v) {
    choose(v, v->in[0], 1, 2);
}

static const mo_sample where_samples[] = {
    {"bytes", "mask[3, 4] [3, 4] [3, 4]"},
    {"mask of rows", "mask[3, 1] [2, 1, 4] [4]"},
    {"a real condition", "constant[2, 1, 4] [3, 1] []"},
    {"shapes", "mask[2] [4] [4]",
        .error = "where: input 0 does not broadcast with the others; got [2] uint8, [4] float64, [4] float64"},
    {"condition", "index<2>[4] [4] [4]", .error = "where: the condition is int64, expected uint8 or float64",
        .code = MO_MISMATCH},
};

const mo_op mo_op_where = {
    .name = "where",
    .n_in = 3,
    .reads_in = 1,
    .shape = where_shape,
    .forward = where_forward,
    .vjp = where_vjp,
    MO_SAMPLES(where_samples),
};

mo_tensor *mo_where(mo_tape *t, mo_tensor *condition, mo_tensor *A, mo_tensor *B) {
    return mo_apply(t, &mo_op_where, (mo_tensor *[]){condition, A, B}, 3, NULL);
}

/* ---- two operands ---- */

/* The grid of B lies half a gap beside the grid of A, so that no pair is near a tie. */
static const mo_sample pair_samples[] = {
    {"equal shapes", "distinct[3, 4] distinct<5>[3, 4]"},
    {"column, row", "distinct[3, 1] distinct<5>[4]"},
    {"scalar", "distinct[] distinct<5>[2, 3]"},
    {"shapes", "[2, 3] [4]",
        .error = "axis 1 from the end has sizes 3 and 4, expected equal or 1; got [2, 3] float64, [4] float64"},
};

static void greater_equal_vjp(mo_vjp *v) {
    (void)v; /* flat: no gradient */
}

const mo_op mo_op_greater_equal = {
    .name = "greater_equal",
    .state = &(const mo_map2){MO_MAP_GREATER_EQUAL},
    .n_in = 2,
    .shape = mo_map2_shape,
    .forward = mo_map2_forward,
    .vjp = greater_equal_vjp,
    MO_SAMPLES(pair_samples),
};

mo_tensor *mo_greater_equal(mo_tape *t, mo_tensor *A, mo_tensor *B) {
    return mo_apply(t, &mo_op_greater_equal, (mo_tensor *[]){A, B}, 2, NULL);
}

/* Returns 1 where A's value was taken: where first_holds (A >= B for larger), or where A is NaN (not A >= A). */
static mo_tensor *first_taken(mo_tape *t, mo_tensor *A, mo_tensor *first_holds) {
    return mo_where(t, mo_greater_equal(t, A, A), first_holds, mo_scalar(t, A->dtype, 1));
}

static void larger_vjp(mo_vjp *v) {
    choose(v, first_taken(v->t, v->in[0], mo_greater_equal(v->t, v->in[0], v->in[1])), 0, 1);
}

const mo_op mo_op_larger = {
    .name = "larger",
    .state = &(const mo_map2){MO_MAP_MAX},
    .n_in = 2,
    .reads_in = 3,
    .shape = mo_map2_shape,
    .forward = mo_map2_forward,
    .vjp = larger_vjp,
    MO_SAMPLES(pair_samples),
};

mo_tensor *mo_larger(mo_tape *t, mo_tensor *A, mo_tensor *B) {
    return mo_apply(t, &mo_op_larger, (mo_tensor *[]){A, B}, 2, NULL);
}

static void smaller_vjp(mo_vjp *v) {
    choose(v, first_taken(v->t, v->in[0], mo_greater_equal(v->t, v->in[1], v->in[0])), 0, 1);
}

const mo_op mo_op_smaller = {
    .name = "smaller",
    .state = &(const mo_map2){MO_MAP_MIN},
    .n_in = 2,
    .reads_in = 3,
    .shape = mo_map2_shape,
    .forward = mo_map2_forward,
    .vjp = smaller_vjp,
    MO_SAMPLES(pair_samples),
};

mo_tensor *mo_smaller(mo_tape *t, mo_tensor *A, mo_tensor *B) {
    return mo_apply(t, &mo_op_smaller, (mo_tensor *[]){A, B}, 2, NULL);
}
