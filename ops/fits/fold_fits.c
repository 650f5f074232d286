/* ops/fits/fold_fits.c - fits a readout on all rows of a support, and once without each fold, for the logits of that
 * fold; batched: softmax regression (logistic_folds) and the Crammer-Singer support vector machine (svm_folds).
 *
 * X [.., n, d] (machine: K = X X^T [.., n, n]), Y [.., n, C], lambda > 0 [] or [..] -> W [.., d, C], with a free
 * intercept [.., d + 1, C], as in logistic.c (machine: alpha [.., n, C] as in svm_dual.c), and held [..,
 * stop[folds - 1], C]. Fold f is the rows stop[f - 1] .. stop[f] - 1; their logits, in `held`, come from the fit of all
 * other rows.
 *
 * All fits share one Gram matrix (tensor/cpu/fits/logistic.c, svm.c). A softmax regression ends when its gradient is
 * small relative to its terms (tolerance), or at rounding. Errors: sizes; stop[] not rising; lambda not above 0; no
 * convergence, for example if a class has no support and its intercept no penalty. These ops have no derivative: they
 * serve to inspect a fit; use logistic.c and models/heads/svm.c to train through one. */
#include "ops/inside.h"
#include "ops/rules/shapes.h"
#include "tensor/fits.h"
#include "tensor/hidden.h"

#include <string.h>

typedef struct fold_fits_options {
    bool hinge; /* the Crammer-Singer machine */
    bool free_intercept;
    int folds;
    int64_t stop[MO_FOLDS_AT_ONCE];
    double tolerance;
} fold_fits_options;

static bool fold_fits_shape(mo_call *c) {
    const mo_tensor *X = c->in[0], *Y = c->in[1], *lambda = c->in[2];
    const fold_fits_options *o = c->attributes;
    int leading = X->ndim - 2;
    size_t batch = (size_t)(leading > 0 ? leading : 0) * sizeof *X->shape;
    int64_t size[MO_MAX_AXES];
    if (!mo_call_real(c, 0, 2))
        return false;
    if (leading < 0 || Y->ndim != X->ndim || memcmp(X->shape, Y->shape, batch + sizeof *X->shape) != 0 ||
        mo_numel(Y) == 0)
        return mo_call_fail(c, MO_INVALID, "expected rows [.., n, d] and labels [.., n, C]");
    if (lambda->ndim && (lambda->ndim != leading || memcmp(X->shape, lambda->shape, batch) != 0))
        return mo_call_fail(c, MO_INVALID, "expected lambda as a scalar or with the leading axes of the rows");
    for (int f = 0; f < o->folds; f++)
        if (o->stop[f] <= (f ? o->stop[f - 1] : 0) || o->stop[f] > mo_dim(X, -2))
            return mo_call_fail(c, MO_INVALID, "fold %d ends at row %lld", f, (long long)o->stop[f]);
    memcpy(size, X->shape, sizeof size);
    size[leading] = X->shape[leading + 1] + o->free_intercept;
    size[leading + 1] = mo_dim(Y, -1);
    mo_call_output(c, 0, X->dtype, X->ndim, size);
    size[leading] = o->stop[o->folds - 1];
    return mo_call_output(c, 1, X->dtype, X->ndim, size);
}

static double least(mo_tape *t, mo_tensor *lambda) {
    return -mo_item(mo_max(t, mo_neg(t, lambda), MO_ALL, MO_DROP_AXES));
}

static void fold_fits_forward(mo_call *c) {
    const fold_fits_options *o = c->attributes;
    double lambda = least(c->t, c->in[2]);
    mo_view in[3], W = mo_batch_view(mo_tensor_view(c->out[0]), 2), held = mo_batch_view(mo_tensor_view(c->out[1]), 2);
    if (!mo_ok(c->ctx))
        return;
    if (!(lambda > 0)) {
        mo_call_fail(c, MO_INVALID, "lambda %g, expected above 0", lambda);
        return;
    }
    for (int i = 0; i < 3; i++)
        in[i] = mo_batch_view(mo_call_dense(c, i), i < 2 ? 2 : 0);
    mo_tensor *code = mo_call_temporary(c, c->in[0]->dtype, 1, in[0].shape);
    mo_logistic_call logistic = {.dual = 4 * in[0].shape[1] <= 5 * in[0].shape[2],
        .free_intercept = o->free_intercept,
        .folds = o->folds,
        .stop = o->stop,
        .tolerance = o->tolerance,
        .X = in[0],
        .Y = in[1],
        .lambda = in[2],
        .W = W,
        .held = held,
        .code = mo_tensor_view(code)};
    const mo_svm_call svm = {.folds = o->folds,
        .stop = o->stop,
        .K = in[0],
        .Y = in[1],
        .lambda = in[2],
        .alpha = W,
        .held = held,
        .violation = logistic.code};
    if (!mo_ok(c->ctx))
        return;
    if (o->hinge)
        mo_fit_svm(c->ctx, &svm);
    else
        mo_fit_logistic(c->ctx, &logistic);
    double worst = mo_item(mo_max(c->t, code, MO_ALL, MO_DROP_AXES));
    if (mo_ok(c->ctx) && (o->hinge ? !(worst < 0) : worst > 0))
        mo_call_fail(c, MO_NUMERICAL,
            o->hinge ? "a fit has not converged, or the rows hold a value that is not finite"
                     : "a fit has not converged, or a class has no support in it");
}

static const fold_fits_options two_folds = {false, true, 2, {2, 4}, 0}, one_fold = {false, false, 1, {3}, 0};
static const fold_fits_options hinge_folds = {true, false, 2, {2, 4}, 0};

static const mo_sample logistic_folds_samples[] = {
    {"intercept, rows behind the last fold", "[5, 7] positive[5, 3] positive[]", &two_folds},
    {"batch, lambda for each", "[3, 4, 4] positive[3, 4, 2] positive[3]", &one_fold},
    {"more rows than columns", "[7, 3] positive[7, 3] positive[]", &two_folds},
    {"labels of more rows", "[5, 3] positive[7, 3] positive[]", &two_folds,
        .error = "logistic_folds: expected rows [.., n, d]"},
    {"lambda of another shape", "[5, 7] positive[5, 3] positive[3]", &two_folds,
        .error = "logistic_folds: expected lambda as a scalar"},
    {"a fold behind the last row", "[3, 7] positive[3, 3] positive[]", &two_folds,
        .error = "logistic_folds: fold 1 ends at row 4"},
};

const mo_op mo_op_logistic_folds = {
    .name = "logistic_folds",
    .n_in = 3,
    .n_out = 2,
    .attributes_size = sizeof(fold_fits_options),
    .shape = fold_fits_shape,
    .forward = fold_fits_forward,
    MO_SAMPLES(logistic_folds_samples),
};

static const mo_sample svm_folds_samples[] = {
    {"rows behind the last fold", "spd[5, 5] positive[5, 3] positive[]", &hinge_folds},
    {"batch, lambda for each", "spd[3, 6, 6] positive[3, 6, 2] positive[3]", &hinge_folds},
    {"labels of more rows", "spd[5, 5] positive[7, 3] positive[]", &hinge_folds,
        .error = "svm_folds: expected rows [.., n, d]"},
};

const mo_op mo_op_svm_folds = {
    .name = "svm_folds",
    .n_in = 3,
    .n_out = 2,
    .attributes_size = sizeof(fold_fits_options),
    .shape = fold_fits_shape,
    .forward = fold_fits_forward,
    MO_SAMPLES(svm_folds_samples),
};

static bool fold_fits_apply(mo_tape *t, bool hinge, mo_tensor *const in[3], const mo_folds *folds,
    const mo_fold_options *options, mo_tensor *out[2]) {
    mo_context *ctx = mo_tape_context(t);
    const char *what = hinge ? "svm_folds" : "logistic_folds";
    if (out)
        out[0] = out[1] = mo_null_tensor(ctx);
    if (!mo_given(ctx, what, "in", in) || !mo_given(ctx, what, "folds", folds) || !mo_given(ctx, what, "out", out) ||
        !mo_given(ctx, what, "the stop of its folds", folds->stop) || !mo_given(ctx, what, "options", options) ||
        folds->n < 1 || folds->n > MO_FOLDS_AT_ONCE || !(least(t, in[2]) > 0))
        return false;
    fold_fits_options o = {hinge, options->intercept == MO_INTERCEPT_FREE, folds->n, {0}, options->tolerance};
    memcpy(o.stop, folds->stop, (size_t)o.folds * sizeof *o.stop);
    mo_tensor *fixed[] = {mo_stop_gradient(t, in[0]), mo_stop_gradient(t, in[1]), mo_stop_gradient(t, in[2])};
    mo_apply_all(t, hinge ? &mo_op_svm_folds : &mo_op_logistic_folds, fixed, 3, &o, out);
    return true;
}

bool mo_logistic_folds(
    mo_tape *t, mo_tensor *const in[3], const mo_folds *folds, const mo_fold_options *options, mo_tensor *out[2]) {
    mo_context *ctx = mo_tape_context(t);
    bool ready = ctx && mo_ok(ctx);
    mo_try(ctx);
    bool applied = fold_fits_apply(t, false, in, folds, options, out);
    if (applied && ready && mo_context_status(ctx)->code == MO_NUMERICAL) {
        mo_clear_error(ctx); /* a fit did not converge: mo_logistic will say which and why */
        applied = false;
    }
    mo_tried(ctx);
    return applied;
}

bool mo_svm_folds(mo_tape *t, mo_tensor *const in[3], const mo_folds *folds, mo_tensor *out[2]) {
    return fold_fits_apply(t, true, in, folds, &(mo_fold_options){0}, out);
}
