/* models/heads/ridge_mixture.c - ridges of several experts and penalties, mixed by how well each predicts support rows
 * that its fit has not seen.
 *
 * Expert m embeds the same rows in its own way; with penalty r it gives a readout W_mr and leave-one-out predictions
 * Yloo_mr (ridge_loo.c). The evidence of a pair is their cross-entropy, and a softmax over all pairs weighs them
 * (stacking, Wolpert 1992, with the weights of a Gibbs posterior):
 *     pi = softmax_mr(prior_mr - sharpness n_s^power CE(temperature Yloo_mr, Y)),
 *     logits = sum_m [Zq_m | 1] sum_r pi_mr W_mr
 * gamma adds every expert once more, with k(x, y) = 1 + exp(-gamma |x - y|^2) instead of the inner product 1 + <x, y>:
 * its readout is alpha_mr over the support rows, in the place of W. Rotations of the rows change neither product. The
 * kernel's system is n_s wide, so above MOST_KERNEL_ROWS rows only the inner product is used.
 *
 * Where rows have weights (ridge_loo.c), the cross-entropy is the weighted mean, and n_s in its scale is the number of
 * different examples.
 *
 * Links are read by it; nodes and graphs by mixture.c. */
#include "models/heads/heads.h"
#include "tensor/inside.h"

#include <math.h>

enum { MOST_KERNEL_ROWS = 2048 };

/* [.., M, R]: cross-entropy of the leave-one-out predictions [.., M, R, n_s, C] with labels [.., n_s, C]. */
static mo_tensor *cross_entropy(mo_tape *t, mo_tensor *Yloo, mo_tensor *Ys, const mo_mixture *mix) {
    int last = mo_ndim(Yloo) - 1;
    int64_t n_s = mo_dim(Yloo, -2);
    mo_tensor *log_p = mo_log_softmax(t, mo_mul(t, Yloo, mix->temperature), MO_AXIS(-1));
    if (mix->weight) {
        mo_tensor *mean = mo_mean(t, mix->weight, MO_AXIS(mo_ndim(mix->weight) - 1), MO_KEEP_AXES);
        Ys = mo_mul(t, Ys, mo_with_axis(t, mo_div(t, mix->weight, mean), MO_AXIS(-1), 1));
    }
    mo_tensor *of_label = mo_mul(t, log_p, mo_with_axis(t, mo_with_axis(t, Ys, MO_AXIS(-3), 1), MO_AXIS(-3), 1));
    return mo_scale(t, mo_sum(t, of_label, MO_AXES(last, last - 1), MO_DROP_AXES), -1.0 / (double)n_s, 0);
}

/* power log n_s: a scalar, or [.., 1, 1] where rows have weights. */
static mo_tensor *log_of_examples(mo_tape *t, int64_t n_s, const mo_mixture *mix) {
    if (!mix->weight)
        return mo_scale(t, mix->power, log((double)n_s), 0);
    mo_tensor *n = mo_sum(t, mo_clamp(t, mix->weight, 0, 1), MO_AXIS(mo_ndim(mix->weight) - 1), MO_KEEP_AXES);
    return mo_mul(t, mo_log(t, mo_with_axis(t, n, MO_AXIS(-1), 1)), mix->power);
}

/* [M, R] repeated for every problem of the batch. */
static mo_tensor *for_batch(mo_tape *t, mo_tensor *X, const mo_tensor *Zs) {
    int64_t shape[MO_MAX_AXES];
    int ndim = mo_ndim(Zs) - 1;
    for (int i = 0; i < ndim - 2; i++)
        shape[i] = mo_dim(Zs, i);
    shape[ndim - 2] = mo_dim(X, 0);
    shape[ndim - 1] = mo_dim(X, 1);
    return ndim == 2 ? X : mo_broadcast_to(t, X, ndim, shape);
}

/* 1 + exp(-gamma |x - y|^2) of the rows x of A [.., n, d] and y of B [.., m, d]: [.., n, m]. */
static mo_tensor *gaussian(mo_tape *t, mo_tensor *A, mo_tensor *B, mo_tensor *gamma) {
    mo_axes last = MO_AXIS(-1);
    mo_tensor *a = mo_sum(t, mo_square(t, A), last, MO_KEEP_AXES), *b = mo_sum(t, mo_square(t, B), last, MO_KEEP_AXES);
    mo_tensor *inner = mo_scale(t, mo_matmul(t, A, mo_transpose(t, B)), -2, 0);
    mo_tensor *distance = mo_add(t, mo_add(t, inner, a), mo_transpose(t, b));
    return mo_scale(t, mo_exp(t, mo_neg(t, mo_mul(t, distance, gamma))), 1, 1);
}

static bool ridge_mixture_check(mo_context *ctx, const mo_tensor *Zs, const mo_tensor *Ys, const mo_mixture *mix) {
    if (!mo_given(ctx, "ridge_mixture", "mix", mix))
        return false;
    int ndim = mo_ndim(Zs), kernels = mix->gamma ? 2 : 1;
    if (ndim < 3 || mo_ndim(Ys) != ndim - 1 || mo_ndim(mix->lambda) != 2 ||
        kernels * mo_dim(Zs, -3) != mo_dim(mix->lambda, 0)) {
        char z[160], y[160], l[160];
        mo_fail(ctx, MO_INVALID,
            "ridge_mixture: expected Zs [.., M, n_s, d], Ys [.., n_s, C], lambda [M, R] ([2 M, R] with gamma); got %s, "
            "%s, %s",
            mo_shape_string(Zs, z, sizeof z), mo_shape_string(Ys, y, sizeof y),
            mo_shape_string(mix->lambda, l, sizeof l));
    }
    return mo_ok(ctx);
}

/* Rows first .. stop - 1 of the experts' [M, R], repeated for every problem of the batch. */
static mo_tensor *ridge_mixture_of_experts(mo_tape *t, mo_tensor *X, int64_t first, int64_t stop, const mo_tensor *Zs) {
    return for_batch(t, mo_slice(t, X, MO_AXIS(0), first, stop), Zs);
}

/* sum_r share_mr X_mr of X [.., M, R, n, C]. */
static mo_tensor *mixed(mo_tape *t, mo_tensor *X, mo_tensor *share) {
    mo_tensor *pi = mo_with_axis(t, mo_with_axis(t, share, MO_AXIS(-1), 1), MO_AXIS(-1), 1);
    return mo_is_null(X) ? X : mo_sum(t, mo_mul(t, X, pi), MO_AXIS(mo_ndim(X) - 3), MO_DROP_AXES);
}

mo_mixed mo_ridge_mixture_fit(mo_tape *t, mo_tensor *Zs, mo_tensor *Ys, const mo_mixture *mix) {
    mo_context *ctx = mo_tape_context(t);
    mo_mixed none = {mo_null_tensor(ctx), mo_null_tensor(ctx), mo_null_tensor(ctx)}, fit = none;
    if (!ridge_mixture_check(ctx, Zs, Ys, mix))
        return none;
    int64_t M = mo_dim(Zs, -3), n_s = mo_dim(Zs, -2);
    bool kernel = mix->gamma && n_s <= MOST_KERNEL_ROWS;
    mo_tensor *Y = mo_with_axis(t, Ys, MO_AXIS(-3), M),
              *weight = mix->weight ? mo_with_axis(t, mix->weight, MO_AXIS(-2), M) : NULL;
    mo_tensor *W, *Yloo, *alpha = NULL, *more;
    mo_ridge_loo_fit(t, Zs, Y, weight, ridge_mixture_of_experts(t, mix->lambda, 0, M, Zs), MO_RIDGE_AUTO, &W, &Yloo);
    if (kernel) {
        mo_tensor *K = gaussian(t, Zs, Zs, mix->gamma);
        mo_kernel_loo_fit(t, K, Y, weight, ridge_mixture_of_experts(t, mix->lambda, M, 2 * M, Zs), &alpha, &more);
        Yloo = mo_concat(t, (mo_tensor *[]){Yloo, more}, 2, MO_AXIS(mo_ndim(Zs) - 3));
    }
    if (!mo_ok(ctx))
        return none;
    int experts = mo_ndim(Zs) - 3; /* the axis of the experts */
    mo_tensor *scale = mo_mul(t, mix->sharpness, mo_exp(t, log_of_examples(t, n_s, mix)));
    mo_tensor *evidence = mo_mul(t, cross_entropy(t, Yloo, Ys, mix), scale);
    mo_tensor *prior = mo_slice(t, mix->prior, MO_AXIS(0), 0, kernel ? 2 * M : M);
    fit.share = mo_softmax_of_pairs(t, mo_sub(t, prior, evidence));
    fit.W = mixed(t, W, mo_slice(t, fit.share, MO_AXIS(experts), 0, M));
    if (kernel)
        fit.alpha = mixed(t, alpha, mo_slice(t, fit.share, MO_AXIS(experts), M, 2 * M));
    return mo_ok(ctx) ? fit : none;
}

mo_tensor *mo_ridge_mixture_apply(
    mo_tape *t, mo_tensor *Zs, mo_tensor *Zq, const mo_mixture *mix, const mo_mixed *fit) {
    mo_context *ctx = mo_tape_context(t);
    if (!mo_ok(ctx))
        return mo_null_tensor(ctx);
    if (mo_ndim(Zq) != mo_ndim(Zs) || mo_dim(Zq, -3) != mo_dim(Zs, -3)) {
        char z[160], q[160];
        mo_fail(ctx, MO_INVALID, "ridge_mixture: expected Zq [.., M, n_q, d] beside Zs %s; got %s",
            mo_shape_string(Zs, z, sizeof z), mo_shape_string(Zq, q, sizeof q));
        return mo_null_tensor(ctx);
    }
    mo_tensor *each = mo_matmul(t, mo_append_ones(t, Zq), fit->W);
    if (!mo_is_null(fit->alpha))
        each = mo_add(t, each, mo_matmul(t, gaussian(t, Zq, Zs, mix->gamma), fit->alpha));
    return mo_sum(t, each, MO_AXIS(mo_ndim(Zs) - 3), MO_DROP_AXES);
}

mo_tensor *mo_ridge_mixture(
    mo_tape *t, mo_tensor *Zs, mo_tensor *Ys, mo_tensor *Zq, const mo_mixture *mix, mo_tensor **share) {
    mo_mixed fit = mo_ridge_mixture_fit(t, Zs, Ys, mix);
    if (share)
        *share = fit.share;
    return mo_ridge_mixture_apply(t, Zs, Zq, mix, &fit);
}
