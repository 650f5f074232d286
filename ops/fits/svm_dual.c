/* ops/fits/svm_dual.c - the dual variables of the multiclass support vector machine of Crammer and Singer (2001),
 * batched.
 *
 * K [.., n, n] symmetric positive semidefinite, Y [.., n, C] rows that sum to 1 (one-hot; 0: a row without part),
 * lambda > 0 [] or [..], margins m [.., n] (1 if left out), alpha's start [.., n, C] (Y if left out) -> alpha [.., n,
 * C], rows in the simplex, that minimises tr((Y - alpha)^T K (Y - alpha)) / (2 lambda) + <m Y, alpha>. With K = X X^T
 * the machine's weights, which minimise sum_i max_c (X_i W_c + m_i (1 - Y_ic)) - <Y_i, X_i W> + lambda / 2 |W|^2, are W
 * = X^T (Y - alpha) / lambda. The solution is exact: an alpha at its bound is exactly 0, and the other alpha solve
 * their linear system. float32 or float64. Errors: sizes; lambda not above 0; a value that is not finite; no
 * convergence within the given passes over K. The op has no derivative: models/heads/svm.c differentiates through the
 * optimality conditions instead. */
#include "ops/fits/fits.h"
#include "ops/rules/checks.h"
#include "ops/rules/shapes.h"

#include <math.h>
#include <string.h>

static bool svm_dual_shape(mo_call *c) {
    const mo_tensor *K = c->in[0];
    size_t rows = (size_t)(K->ndim > 1 ? K->ndim - 1 : 0) * sizeof *K->shape;
    if (K->ndim > 1 && mo_dim(K, -1) != mo_dim(K, -2))
        return mo_call_fail(c, MO_INVALID, "expected K [.., n, n]");
    if (c->n_in > 3 && (c->in[3]->ndim != K->ndim - 1 || memcmp(K->shape, c->in[3]->shape, rows) != 0))
        return mo_call_fail(c, MO_INVALID, "expected margins with the axes [.., n] of K");
    if (c->n_in == 5 && (c->in[4]->ndim != c->in[1]->ndim ||
                            memcmp(c->in[4]->shape, c->in[1]->shape, (size_t)c->in[1]->ndim * sizeof *K->shape) != 0))
        return mo_call_fail(c, MO_INVALID, "expected a start of the shape of the labels");
    return mo_fit_shape(c, "K [.., n, n]", K->ndim > 1 ? mo_dim(K, -2) : 0);
}

static void fail_lambda(mo_context *ctx, const mo_note *note, int64_t position, mo_found found, mo_found before) {
    (void)position;
    (void)before;
    mo_note_fail(ctx, note, MO_INVALID, "lambda %g, expected above 0", found.real);
}

static void fail_violation(mo_context *ctx, const mo_note *note, int64_t position, mo_found found, mo_found before) {
    (void)before;
    char which[80];
    mo_note_matrix(note, position, which, sizeof which);
    if (isfinite(found.real))
        mo_note_fail(ctx, note, MO_NUMERICAL,
            "not converged within max_iter passes over the kernel: %s misses the optimality conditions by %g; "
            "standardise "
            "the columns (subtract each column's mean, divide by its deviation), or take a larger lambda or max_iter",
            which, -found.real);
    else
        mo_note_fail(ctx, note, MO_NUMERICAL, "the rows or lambda hold a value that is not finite (%s)", which);
}

/* Checks that sign * x is above 0 everywhere. Returns false if an error is known already; a device can find one
 * later. */
static bool check_above_zero(mo_call *c, const mo_tensor *x, double sign,
    void (*raise)(mo_context *, const mo_note *, int64_t, mo_found, mo_found)) {
    mo_tensor *signed_x = mo_call_temporary(c, x->dtype, x->ndim, x->shape);
    mo_tensor *wide = mo_call_temporary(c, MO_F64, x->ndim, x->shape);
    mo_tensor *zero = mo_call_temporary(c, MO_F64, x->ndim, x->shape);
    if (!mo_ok(c->ctx))
        return false;
    mo_view from = mo_tensor_view(x), to = mo_tensor_view(signed_x);
    mo_check check = {
        .condition = MO_VALUES_ABOVE, .values = mo_tensor_view(wide), .bounds = mo_tensor_view(zero), .raise = raise};
    mo_kernels_of(c->ctx, x->dtype)->map1(c->ctx, MO_MAP_SCALE, sign, 0, &from, &to);
    c->ctx->backend->copy(c->ctx, &to, &check.values);
    c->ctx->backend->fill(c->ctx, 0, &check.bounds);
    return mo_call_check(c, check, c->in[0]);
}

static int64_t most_steps(const fit_options *o, const mo_tensor *Y) {
    double n = (double)mo_dim(Y, -2), C = (double)mo_dim(Y, -1);
    return o->most_steps > 0 ? o->most_steps : (int64_t)fmax(MO_SVM_STEPS, MO_SVM_WORK / (n * n * C));
}

static void svm_dual_forward(mo_call *c) {
    const fit_options *o = c->attributes;
    if (!check_above_zero(c, c->in[2], 1, fail_lambda))
        return;
    mo_svm_call g = {.most_steps = most_steps(o, c->in[1])};
    g.K = mo_batch_view(mo_call_dense(c, 0), 2);
    g.Y = mo_batch_view(mo_call_dense(c, 1), 2);
    mo_tensor *violation = mo_call_temporary(c, c->in[2]->dtype, 1, g.Y.shape);
    g.lambda = mo_batch_view(mo_call_dense(c, 2), 0);
    g.alpha = mo_batch_view(mo_tensor_view(c->out[0]), 2);
    g.violation = mo_tensor_view(violation);
    if (c->n_in > 3)
        g.margin = mo_batch_view(mo_call_dense(c, 3), 1);
    if (c->n_in == 5)
        g.start = mo_batch_view(mo_call_dense(c, 4), 2);
    if (!mo_ok(c->ctx))
        return;
    mo_fit_svm(c->ctx, &g);
    check_above_zero(c, violation, -1, fail_violation);
}

static const mo_sample svm_dual_samples[] = {
    {"three classes", "spd[6, 6] positive[6, 3] positive[]"},
    {"batch, lambda for each", "spd[3, 4, 4] positive[3, 4, 2] positive[3]"},
    {"one row, one class", "spd[1, 1] positive[1, 1] positive[]"},
    {"margins", "spd[2, 5, 5] positive[2, 5, 3] positive[] positive[2, 5]"},
    {"start", "spd[4, 4] positive[4, 3] positive[] positive[4] positive[4, 3]"},
    {"not square", "[6, 5] positive[6, 3] positive[]", .error = "svm_dual: expected K [.., n, n]"},
    {"lambda of another shape", "spd[6, 6] positive[6, 3] positive[2]",
        .error = "svm_dual: expected lambda as a scalar"},
};

const mo_op mo_op_svm_dual = {
    .name = "svm_dual",
    .n_in = 3,
    .max_in = 5,
    .attributes_size = sizeof(fit_options),
    .shape = svm_dual_shape,
    .forward = svm_dual_forward,
    MO_SAMPLES(svm_dual_samples),
};

mo_tensor *mo_svm_dual_variables(mo_tape *t, mo_tensor *K, mo_tensor *Y, mo_tensor *lambda, mo_tensor *margin,
    int64_t most_steps, mo_tensor *start) {
    const fit_options o = {.most_steps = most_steps};
    if (start && !margin)
        margin = mo_scale(t, mo_diagonal(t, K), 0, 1);
    mo_tensor *in[] = {K, Y, lambda, margin, start};
    int n = start ? 5 : margin ? 4 : 3;
    for (int i = 0; i < n; i++)
        in[i] = mo_stop_gradient(t, in[i]);
    return mo_apply(t, &mo_op_svm_dual, in, n, &o);
}
