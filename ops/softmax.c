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
 *     X_bar = Y_bar - exp(Y) * sum(Y_bar).
 *
 * softmax_adjoint: these two rules in one pass, as an op Z(Y, G) with its own adjoints. Z = Y * (G - <Y, G>) has dZ =
 * dY * (G - <Y, G>) + Y * (dG - <Y, dG> - <dY, G>), hence
 *     G_bar = Y * (Z_bar - <Y, Z_bar>),   Y_bar = Z_bar * (G - <Y, G>) - G <Y, Z_bar>;
 * for the logarithm, Z = G - exp(Y) sum(G):
 *     G_bar = Z_bar - <exp Y, Z_bar>,   Y_bar = -exp(Y) * Z_bar sum(G). */
#include "ops/inside.h"
#include "ops/rules/rows.h"
#include "ops/rules/shapes.h"

extern const mo_op mo_op_softmax_adjoint;

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

/* ---- the adjoints in one pass ---- */

typedef struct of_logarithm {
    bool log;
} of_logarithm;

static bool softmax_adjoint_shape(mo_call *c) {
    const mo_tensor *Y = c->in[0];
    if (!mo_call_real(c, 0, 1))
        return false;
    if (Y->ndim < 1 || !mo_same_shape(Y, c->in[1]))
        return mo_call_fail(c, MO_INVALID, "expected rows and their cotangents, of one shape");
    return mo_call_output(c, 0, Y->dtype, Y->ndim, Y->shape);
}

static void softmax_adjoint_forward(mo_call *c) {
    mo_view y = mo_call_dense(c, 0), g = mo_call_dense(c, 1), z = mo_tensor_view(c->out[0]);
    if (mo_ok(c->ctx))
        mo_kernels_of(c->ctx, z.dtype)->softmax_adjoint(c->ctx, ((const of_logarithm *)c->attributes)->log, &y, &g, &z);
}

static mo_tensor *adjoint(mo_tape *t, bool log, mo_tensor *Y, mo_tensor *G) {
    return mo_apply(t, &mo_op_softmax_adjoint, (mo_tensor *[]){Y, G}, 2, &(of_logarithm){log});
}

static void softmax_adjoint_vjp(mo_vjp *v) {
    mo_tape *t = v->t;
    mo_tensor *Y = v->in[0], *G = v->in[1], *Z_bar = v->out_bar[0];
    if (((const of_logarithm *)v->attributes)->log) {
        mo_tensor *weighted = mo_mul(t, mo_exp(t, Y), Z_bar);
        if (v->needs[0])
            v->in_bar[0] = mo_neg(t, mo_mul(t, weighted, row_sum(t, G)));
        if (v->needs[1])
            v->in_bar[1] = mo_sub(t, Z_bar, row_sum(t, weighted));
        return;
    }
    if (v->needs[0]) {
        mo_tensor *centred = mo_sub(t, G, row_sum(t, mo_mul(t, Y, G)));
        v->in_bar[0] = mo_sub(t, mo_mul(t, Z_bar, centred), mo_mul(t, G, row_sum(t, mo_mul(t, Y, Z_bar))));
    }
    if (v->needs[1])
        v->in_bar[1] = adjoint(t, false, Y, Z_bar);
}

static const mo_sample softmax_adjoint_samples[] = {
    {"rows", "[3, 4] [3, 4]"},
    {"of the logarithm", "[2, 3, 5] [2, 3, 5]", &(const of_logarithm){true}},
    {"shapes", "[3, 4] [4, 3]",
        .error = "softmax_adjoint: expected rows and their cotangents, of one shape; got [3, 4]"},
};

const mo_op mo_op_softmax_adjoint = {
    .name = "softmax_adjoint",
    .n_in = 2,
    .attributes_size = sizeof(of_logarithm),
    .reads_in = 3,
    .shape = softmax_adjoint_shape,
    .forward = softmax_adjoint_forward,
    .vjp = softmax_adjoint_vjp,
    .flops = softmax_flops,
    MO_SAMPLES(softmax_adjoint_samples),
};

/* ---- softmax and its logarithm ---- */

static void softmax_forward(mo_call *c) {
    run_rows(c, false);
}

static void softmax_vjp(mo_vjp *v) {
    v->in_bar[0] = adjoint(v->t, false, v->out[0], v->out_bar[0]);
}

const mo_op mo_op_softmax = {
    .name = "softmax",
    .reads_out = 1,
    .shape = mo_call_rows,
    .forward = softmax_forward,
    .vjp = softmax_vjp,
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
    v->in_bar[0] = adjoint(v->t, true, v->out[0], v->out_bar[0]);
}

const mo_op mo_op_log_softmax = {
    .name = "log_softmax",
    .reads_out = 1,
    .shape = mo_call_rows,
    .forward = log_softmax_forward,
    .vjp = log_softmax_vjp,
    .flops = softmax_flops,
    MO_SAMPLES(softmax_samples),
};

mo_tensor *mo_log_softmax(mo_tape *t, mo_tensor *X, mo_axes axis) {
    mo_tensor *Y = mo_apply(t, &mo_op_log_softmax, (mo_tensor *[]){mo_swap_last(t, "log_softmax", X, axis)}, 1, NULL);
    return mo_swap_last(t, "log_softmax", Y, axis);
}
