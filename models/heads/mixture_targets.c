/* models/heads/mixture_targets.c - the mixture of kernels (mixture.c) with real targets in place of classes.
 *
 * Targets Y [n, C] are standardised on the support. Expert e with penalty r is the Gaussian process of the kernel k_e
 * and the noise r, in units of s_er^2. With G = (K_e + r I)^-1, alpha = G Y and h_i = r G_ii, the left-out prediction
 * of row i is Yloo_i = Y_i - alpha_i / G_ii, and its variance s_er^2 / h_i (Rasmussen and Williams 2006, 5.4.2):
 *     u_i    = (Y_i - Yloo_i)^2 h_i                  s_er^2 = mean of u over rows and columns
 *     E_er   = C / 2 (n log s_er^2 - sum_i log h_i)  the negative logarithm of the predictive density, but a constant
 *     pi     = softmax_er(prior_e - sharpness E_er)
 *     f      = sum_er pi_er f_er
 *     s^2(q) = sum_er pi_er s_er^2 (1 + (k_e(q, q) - k_e(q, S) G k_e(S, q)) / r)
 * s^2 is the mean variance of the experts, r and s_er^2 its noise and scale; 1 + (..) / r is the leverage of a query as
 * 1 / h_i is that of a support row. Row i left out of the whole mixture has the shares of E_er without u_i and h_i:
 *     Y_i^out = sum_er pi_er^(i) Yloo_er,i,    s_i^2 = sum_er pi_er^(i) s_er^2 / h_er,i,
 * which leaves the other rows' residuals as the fit with row i has them. Intervals are f(q) +- s(q) times a quantile of
 * |Y_i - Y_i^out| / s_i (train/few_shot/few_shot_targets.c).
 *
 * A row of weight w has the noise r / w: rows and targets are multiplied by sqrt(w) (ridge_loo.c), a variance s^2 /
 * (w h), and u counts w times. One expert is added to those given: the mean of all kernels, a sum of functions of
 * each. */
#include "models/heads/heads.h"
#include "tensor/library.h"

mo_tensor *mo_with_mean_kernel(mo_tape *t, mo_tensor *K) {
    if (mo_is_null(K) || mo_dim(K, 0) < 2)
        return K;
    return mo_concat(t, (mo_tensor *[]){K, mo_mean(t, K, MO_AXIS(0), MO_KEEP_AXES)}, 2, MO_AXIS(0));
}

/* The sum over experts and penalties of X [E, R, ..]. */
static mo_tensor *over_pairs(mo_tape *t, mo_tensor *X) {
    return mo_sum(t, X, MO_AXES(0, 1), MO_DROP_AXES);
}

/* sum_r x_er X_er of matrices X [E, R, n, c] with numbers x [E, R], without a second array of the size of X. */
static mo_tensor *weighted_sum(mo_tape *t, mo_tensor *x, mo_tensor *X) {
    int64_t E = mo_dim(X, 0), R = mo_dim(X, 1), n = mo_dim(X, 2), c = mo_dim(X, 3);
    X = mo_reshape(t, mo_contiguous(t, X), 3, (int64_t[]){E, R, n * c});
    X = mo_matmul(t, mo_reshape(t, mo_contiguous(t, x), 3, (int64_t[]){E, 1, R}), X);
    return mo_reshape(t, X, 3, (int64_t[]){E, n, c});
}

/* pi^(i) [E, R, n] from the logarithms of the shares that each row, left out, gives every expert and penalty. */
static mo_tensor *shares_of_rows(mo_tape *t, mo_tensor *X) {
    static const int rows_first[] = {2, 0, 1}, rows_last[] = {1, 2, 0};
    X = mo_softmax_of_pairs(t, mo_contiguous(t, mo_permute(t, X, rows_first)));
    return mo_permute(t, X, rows_last);
}

/* The negative logarithm of the predictive density of n rows, from the sums of u and of log h. */
static mo_tensor *density(mo_tape *t, mo_tensor *u, mo_tensor *log_h, mo_tensor *n, double C) {
    static const double least = 1e-12; /* of s^2: targets that are predicted exactly */
    mo_tensor *scale = mo_scale(t, mo_div(t, u, n), 1 / C, least);
    return mo_scale(t, mo_sub(t, mo_mul(t, n, mo_log(t, scale)), log_h), C / 2, 0);
}

void mo_mix_targets(mo_tape *t, mo_tensor *K, mo_tensor *Y, const mo_expert_mixture *mix, mo_target_mixture *m) {
    mo_context *ctx = mo_tape_context(t);
    if (!mo_ok(ctx))
        return;
    int64_t E = mo_dim(K, 0), n_s = mo_dim(K, 1), R = mo_dim(mix->lambda, 0);
    double C = (double)mo_dim(Y, 1);
    mo_dtype real = mo_tensor_dtype(Y);
    mo_axes row = MO_AXIS(2);
    mo_tensor *root = mix->weight ? mo_root_columns(t, mo_with_axis(t, mix->weight, MO_AXIS(0), E)) : NULL;
    mo_tensor *lambda = mo_broadcast_to(t, mix->lambda, 2, (int64_t[]){E, R}), *G, *alpha, *Yloo;
    mo_tensor *one = mo_scalar(t, real, 1), *zero = mo_scalar(t, real, 0), *n = mo_scalar(t, real, (double)n_s);
    mo_tensor *own = mo_with_axis(t, Y, MO_AXIS(0), E);
    if (mix->weight)
        n = mo_sum(t, mo_where(t, mo_stop_gradient(t, mix->weight), one, zero), MO_ALL, MO_DROP_AXES);
    if (root)
        mo_scale_rows(t, root, &K, &own);
    mo_kernel_inverse(t, K, own, lambda, &G, &alpha);
    mo_leave_one_out_of(t, G, own, root, &alpha, &Yloo);
    mo_tensor *h = mo_mul(t, mo_diagonal(t, G), mo_with_axis(t, lambda, MO_AXIS(-1), 1)); /* [E, R, n_s] */
    mo_tensor *u = mo_mul(t, mo_sum(t, mo_square(t, mo_sub(t, Y, Yloo)), MO_AXIS(-1), MO_DROP_AXES), h);
    u = mix->weight ? mo_mul(t, u, mix->weight) : u;
    mo_tensor *log_h = mo_log(t, h), *u_all = mo_sum(t, u, row, MO_KEEP_AXES),
              *log_h_all = mo_sum(t, log_h, row, MO_KEEP_AXES);
    mo_tensor *prior = mo_with_axis(t, mo_with_axis(t, mix->prior, MO_AXIS(-1), 1), MO_AXIS(-1), 1); /* [E, 1, 1] */
    mo_tensor *all = density(t, u_all, log_h_all, n, C);
    all = mo_sub(t, prior, mo_mul(t, all, mix->sharpness));
    m->share = mo_softmax_of_pairs(t, mo_sum(t, all, row, MO_DROP_AXES));
    mo_tensor *others =
        density(t, mo_sub(t, u_all, u), mo_sub(t, log_h_all, log_h), mo_scale(t, n, 1, -1), C); /* [E, R, n_s] */
    mo_tensor *of_row = shares_of_rows(t, mo_sub(t, prior, mo_mul(t, others, mix->sharpness)));
    mo_tensor *scale = mo_scale(t, mo_div(t, u_all, n), 1 / C, 0); /* s^2 [E, R, 1] */
    m->left_out = over_pairs(t, mo_mul(t, mo_with_axis(t, of_row, MO_AXIS(-1), 1), Yloo));
    m->left_spread = over_pairs(t, mo_mul(t, of_row, mo_div(t, scale, h)));
    if (mix->weight)
        m->left_spread = mo_div_or_zero(t, m->left_spread, mix->weight);
    scale = mo_mul(t, m->share, mo_sum(t, scale, row, MO_DROP_AXES));
    m->learned = weighted_sum(t, m->share, alpha);
    m->noise = mo_sum(t, scale, MO_ALL, MO_DROP_AXES);
    scale = mo_div(t, scale, lambda);
    m->unit = mo_sum(t, scale, MO_AXIS(1), MO_DROP_AXES);
    m->known = weighted_sum(t, scale, G);
    if (root)
        m->known = mo_mul(t, mo_mul(t, m->known, root), mo_transpose(t, root));
}

mo_tensor *mo_target_moments(mo_tape *t, mo_tensor *Y, mo_tensor *weight, mo_tensor **mean) {
    mo_axes rows = MO_AXIS(0);
    mo_tensor *w = weight ? mo_div(t, mo_with_axis(t, weight, MO_AXIS(-1), 1), mo_mean(t, weight, MO_ALL, MO_DROP_AXES))
                          : mo_scalar(t, mo_tensor_dtype(Y), 1);
    *mean = mo_mean(t, mo_mul(t, Y, w), rows, MO_KEEP_AXES);
    return mo_sqrt(t, mo_mean(t, mo_mul(t, mo_square(t, mo_sub(t, Y, *mean)), w), rows, MO_KEEP_AXES));
}
