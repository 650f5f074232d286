/* ops/cumsum.c - running sums along an axis.
 *
 * The op: X [.., m] -> Y [.., m], Y_j = X_0 + ... + X_j; reversed: X_j + ... + X_(m-1). float32 or float64,
 * summed in double. For another axis mo_cumsum swaps it with the last one, and swaps back at the end. Errors: other
 * dtypes, no axis. Saved: nothing.
 *
 * X_j is a term of Y_j and of every later sum: <Y_bar, dY> = sum_j (Y_bar_j + ... + Y_bar_(m-1)) dX_j, so X_bar is the
 * sum of Y_bar in the other direction. */
#include "ops/inside.h"
#include "ops/rules/rows.h"
#include "tensor/objects.h"

static void cumsum_forward(mo_call *c) {
    mo_view x = mo_call_dense(c, 0), y = mo_tensor_view(c->out[0]);
    if (mo_ok(c->ctx))
        mo_kernels_of(c->ctx, y.dtype)->cumsum(c->ctx, *(const bool *)c->attributes, &x, &y);
}

extern const mo_op mo_op_cumsum;
static const bool onward = false, reversed = true;

static void cumsum_vjp(mo_vjp *v) {
    bool back = !*(const bool *)v->attributes;
    v->in_bar[0] = mo_apply(v->t, &mo_op_cumsum, v->out_bar, 1, &back);
}

static const mo_sample cumsum_samples[] = {
    {"rows", "[3, 4]", &onward},
    {"reversed", "[2, 2, 5]", &reversed},
    {"scalar", "[]", &onward, .error = "cumsum: expected rows, one axis or more"},
};

const mo_op mo_op_cumsum = {
    .name = "cumsum",
    .attributes_size = sizeof(bool),
    .shape = mo_call_rows,
    .forward = cumsum_forward,
    .vjp = cumsum_vjp,
    MO_SAMPLES(cumsum_samples),
};

mo_tensor *mo_cumsum(mo_tape *t, mo_tensor *X, mo_axes axis) {
    mo_tensor *rows = mo_swap_last(t, "cumsum", X, axis);
    return mo_swap_last(t, "cumsum", mo_apply(t, &mo_op_cumsum, &rows, 1, &onward), axis);
}
