/* ops/softmax.c - softmax and its logarithm along an axis.
 *
 * The ops: X [.., m] -> Y [.., m], softmax Y = exp(X) / sum exp(X) and log_softmax Y = X - log sum exp(X) along each
 * row; float32 or float64. mo_softmax and mo_log_softmax bring another axis to the end first. The largest entry of a
 * row is subtracted before the exponentials, so that entries of +-1e4 are exact. Errors: other dtypes, no axis. Saved:
 * nothing beyond the output.
 *
 * softmax: dY = Y * (dX - <Y, dX>), hence with sums along the row
 *     X_bar = Y * (Y_bar - sum(Y * Y_bar)).
 * log_softmax: dY = dX - <exp Y, dX>, hence
 *     X_bar = Y_bar - exp(Y) * sum(Y_bar). */
#include "ops/inside.h"
#include "ops/rules/rows.h"
#include "tensor/backend.h"
#include "tensor/objects.h"

static void run_rows(mo_call *c, bool log) {
    mo_view x = mo_call_dense(c, 0), y = mo_tensor_view(c->out[0]);
    if (mo_ok(c->ctx))
        mo_kernels_of(c->ctx, y.dtype)->softmax(c->ctx, log, &x, &y);
}

/* Sums along the last axis, which stays with size 1. */
static mo_tensor *row_sum(mo_tape *t, mo_tensor *X) {
    return mo_sum(t, X, MO_AXIS(-1), MO_KEEP_AXES);
}

static double softmax_flops(const mo_call *c) {
    return 5 * (double)mo_numel(c->in[0]); /* compare, subtract, exp, add, divide or subtract */
}

static const mo_sample softmax_samples[] = {
    {"rows", "[3, 4]"},
    {"vector", "[7]"},
    {"batch", "[2, 3, 5]"},
    {"single entries", "[3, 1]"},
    {"scalar", "[]", .error = "softmax: expected rows, one axis or more"},
};

/* Both rules in one pass. */
static bool rows_adjoint(mo_vjp *v, bool log) {
    mo_tensor *Y = v->out[0], *X_bar = mo_tape_tensor(v->t, Y->dtype, Y->ndim, Y->shape);
    mo_view y = mo_tensor_view(Y), y_bar = mo_tensor_view(mo_contiguous(v->t, v->out_bar[0])),
            x_bar = mo_tensor_view(X_bar);
    if (mo_ok(Y->ctx))
        mo_kernels_of(Y->ctx, Y->dtype)->softmax_adjoint(Y->ctx, log, &y, &y_bar, &x_bar);
    v->in_bar[0] = X_bar;
    return true;
}

/* ---- softmax and its logarithm ---- */

static void softmax_forward(mo_call *c) {
    run_rows(c, false);
}

static void softmax_vjp(mo_vjp *v) {
    mo_tensor *Y = v->out[0], *Y_bar = v->out_bar[0];
    v->in_bar[0] = mo_mul(v->t, Y, mo_sub(v->t, Y_bar, row_sum(v->t, mo_mul(v->t, Y, Y_bar))));
}

static bool softmax_adjoint(mo_vjp *v) {
    return rows_adjoint(v, false);
}

const mo_op mo_op_softmax = {
    .name = "softmax",
    .reads_out = 1,
    .shape = mo_call_rows,
    .forward = softmax_forward,
    .vjp = softmax_vjp,
    .adjoint = softmax_adjoint,
    .flops = softmax_flops,
    MO_SAMPLES(softmax_samples),
};

mo_tensor *mo_softmax(mo_tape *t, mo_tensor *X, mo_axes axis) {
    mo_tensor *Y = mo_apply(t, &mo_op_softmax, (mo_tensor *[]){mo_swap_last(t, "softmax", X, axis)}, 1, NULL);
    return mo_swap_last(t, "softmax", Y, axis);
}

static void log_softmax_forward(mo_call *c) {
    run_rows(c, true);
}

static void log_softmax_vjp(mo_vjp *v) {
    mo_tensor *Y = v->out[0], *Y_bar = v->out_bar[0];
    v->in_bar[0] = mo_sub(v->t, Y_bar, mo_mul(v->t, mo_exp(v->t, Y), row_sum(v->t, Y_bar)));
}

static bool log_softmax_adjoint(mo_vjp *v) {
    return rows_adjoint(v, true);
}

const mo_op mo_op_log_softmax = {
    .name = "log_softmax",
    .reads_out = 1,
    .shape = mo_call_rows,
    .forward = log_softmax_forward,
    .vjp = log_softmax_vjp,
    .adjoint = log_softmax_adjoint,
    .flops = softmax_flops,
    MO_SAMPLES(softmax_samples),
};

mo_tensor *mo_log_softmax(mo_tape *t, mo_tensor *X, mo_axes axis) {
    mo_tensor *Y = mo_apply(t, &mo_op_log_softmax, (mo_tensor *[]){mo_swap_last(t, "log_softmax", X, axis)}, 1, NULL);
    return mo_swap_last(t, "log_softmax", Y, axis);
}
