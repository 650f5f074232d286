/* models/heads/heads.h - parts of heads that other files use (library internal). */
#ifndef MO_HEADS_H
#define MO_HEADS_H

#include "models/inside.h"

/* Divides Wb [.., d + 1, C] into W [.., d, C] and b [.., 1, C]. */
void mo_divide_weights(mo_tape *t, mo_tensor *Wb, mo_tensor **W, mo_tensor **b);
/* Returns W [.., d, C] with b [.., 1, C] as its last row. */
mo_tensor *mo_join_weights(mo_tape *t, mo_tensor *W, mo_tensor *b);
/* Returns the square roots of row weights [.., n], as columns [.., n, 1]. Their gradient is 0 where a weight is 0. */
mo_tensor *mo_root_columns(mo_tape *t, mo_tensor *weight);
/* Row weights [.., n_s] divided by their mean, as columns [.., n_s, 1]; NULL, for 1 each, stays NULL. */
mo_tensor *mo_mean_weights(mo_tape *t, mo_tensor *weight);
/* The mean of X [.., n_s, d] over the rows, as such columns count them: [.., 1, d]. */
mo_tensor *mo_mean_of_rows(mo_tape *t, mo_tensor *X, mo_tensor *weights);
/* Returns labels times row weights [.., n_s], or the labels if weight is NULL. */
mo_tensor *mo_weighted_labels(mo_tape *t, mo_tensor *Ys, mo_tensor *weight);
/* Rows row[groups, h] of X [n, c]: [groups, h, c]. */
mo_tensor *mo_rows_of_groups(mo_tape *t, mo_tensor *X, const int64_t *row, int64_t groups, int64_t h);
/* 1, and 0 at each group's rows, for labels [n, C]: [groups, n, 1]. */
mo_tensor *mo_rows_outside(mo_tape *t, const mo_tensor *Y, const int64_t *row, int64_t groups, int64_t h);
/* Rows row[groups, h] of each group's own X [groups, n, C]: [groups, h, C]. */
mo_tensor *mo_rows_of_each(mo_tape *t, mo_tensor *X, const int64_t *row, int64_t groups, int64_t h);
/* The least value of X, read on the host; NaN after an error. */
double mo_least(mo_tape *t, mo_tensor *X);
/* Returns the rank of a symmetric A [.., n, n], for error messages about singular systems: the number of eigenvalues
 * above n times the rounding error of the largest; of a batch, the smallest rank. -1 on failure. */
int64_t mo_rank(mo_tape *t, mo_tensor *A);

/* ---- residual.c: a head that gives only a residual ---- */

/* Returns W [.., d + 1, C] with head->residual(W, Zs, Ys, parameters) = 0, differentiable in Zs, Ys and parameters. */
mo_tensor *mo_head_weights(mo_tape *t, const mo_head *head, mo_tensor *Zs, mo_tensor *Ys, mo_tensor *const *parameters);

/* ---- ridge_loo.c: ridges of a given kernel over a grid of penalties ---- */

/* Scales *K [.., n, n] and *Ys [.., n, C] as if each row were multiplied by its root [.., n, 1]. */
void mo_scale_rows(mo_tape *t, mo_tensor *root, mo_tensor **K, mo_tensor **Ys);
/* G = (K + lambda I)^-1 [.., R, n_s, n_s] and alpha = G Ys [.., R, n_s, C]. */
void mo_kernel_inverse(mo_tape *t, mo_tensor *K, mo_tensor *Ys, mo_tensor *lambda, mo_tensor **G, mo_tensor **alpha);
/* Kernel ridge for kernels K [.., n_s, n_s] of the support: alpha [.., R, n_s, C], such that queries get the logits
 * K(query, support) alpha, and leave-one-out predictions Yloo [.., R, n_s, C]. weight: as in mo_ridge_loo_fit. */
void mo_kernel_loo_fit(
    mo_tape *t, mo_tensor *K, mo_tensor *Ys, mo_tensor *weight, mo_tensor *lambda, mo_tensor **alpha, mo_tensor **Yloo);

/* The second half of mo_kernel_loo_fit, from G and *alpha of rows and labels Ys that were multiplied by `root` (NULL:
 * by nothing). */
void mo_leave_one_out_of(mo_tape *t, mo_tensor *G, mo_tensor *Ys, mo_tensor *root, mo_tensor **alpha, mo_tensor **Yloo);

/* Returns the shares of experts and penalties: a softmax over the last two axes of X [.., E, R] together. */
mo_tensor *mo_softmax_of_pairs(mo_tape *t, mo_tensor *X);

/* ---- mixture.c: experts mixed by how well each predicts support rows that were left out of its fit ---- */

typedef struct mo_expert_mixture {
    mo_tensor *lambda;       /* [R], above 0 */
    mo_tensor *prior;        /* [E] */
    mo_tensor *doublings;    /* [E]: log2 of the temperatures expected before any label is seen */
    mo_tensor *sharpness;    /* scalar */
    mo_tensor *weight;       /* [.., n_s]: support_weight of mo_episode, as reals; NULL: 1 each */
    mo_tensor *class_weight; /* [.., n_s]: class_weight of mo_episode; NULL: 1 each */
} mo_expert_mixture;
/* The result of a mixture; null tensors after a failure. pi and T: mixture.c. */
typedef struct mo_mixed_experts {
    mo_tensor *learned; /* sum_r pi_er T_er X_er, where X_er are the weights of fit (e, r); so logits from it are
                         * already times T */
    mo_tensor *share;   /* pi [.., E, R], which sums to 1 */
    mo_tensor *factor;  /* pi T [.., E, R] */
} mo_mixed_experts;
/* Mixes ridges with kernels K [.., E, n_s, n_s] of the support. `learned` is alpha [.., E, n_s, C]; a query's logits
 * are sum_e k_e(query, support) alpha_e. Raises MO_INVALID with the shapes if these do not fit together. */
/* all (may be NULL): receives the results from which mo_kernel_mixture_without starts, if no row is repeated. */
typedef struct mo_inverted_mixture {
    mo_tensor *G;     /* [E, R, n_s, n_s] */
    mo_tensor *alpha; /* [E, R, n_s, C] */
} mo_inverted_mixture;
mo_mixed_experts mo_kernel_mixture(
    mo_tape *t, mo_tensor *K, mo_tensor *Ys, const mo_expert_mixture *mix, mo_inverted_mixture *all);

/* mo_kernel_mixture for a large support that m of its rows, the centres, represent. Shares and temperatures come from
 * the centres alone: kernels Km [.., E, m, m], labels Ym [.., m, C], and mix, whose weights are [.., m]. The ridges are
 * then fitted on all rows by K [.., E, n_s, m] between support and centres, with class_weight [.., n_s]. `learned` is
 * alpha [.., E, m, C], one row per centre. */
mo_mixed_experts mo_centred_mixture(mo_tape *t, mo_tensor *K, mo_tensor *Km, mo_tensor *Ys, mo_tensor *Ym,
    mo_tensor *class_weight, const mo_expert_mixture *mix);

/* Logits [h, C] of the rows row[0 .. h - 1] by a mixture that was fitted without these rows; no gradient flows. mix
 * must have no repeated rows, and its lambda is not read. */
mo_tensor *mo_kernel_mixture_without(mo_tape *t, const mo_inverted_mixture *all, mo_tensor *Ys,
    const mo_expert_mixture *mix, const int64_t *row, int64_t h);

/* ---- mixture_targets.c: real targets in place of classes ---- */

/* The mixture of standardised targets [n_s, C]; formulas in the file. s^2(q) = noise + sum_e (unit_e k_e(q, q) -
 * k_e(q, S) known_e k_e(S, q)). */
typedef struct mo_target_mixture {
    mo_tensor *learned;     /* alpha [E, n_s, C]: predictions are sum_e k_e(q, S) alpha_e */
    mo_tensor *share;       /* pi [E, R] */
    mo_tensor *known;       /* [E, n_s, n_s] */
    mo_tensor *unit;        /* [E] */
    mo_tensor *noise;       /* scalar */
    mo_tensor *left_out;    /* [n_s, C]: each row's prediction without it */
    mo_tensor *left_spread; /* [n_s]: its variance; 0 for a row of weight 0 */
} mo_target_mixture;
/* K [E, n_s, n_s]; reads lambda, prior, sharpness and weight of mix. Writes nothing after an error. */
void mo_mix_targets(mo_tape *t, mo_tensor *K, mo_tensor *Y, const mo_expert_mixture *mix, mo_target_mixture *m);
/* Returns the standard deviations [1, C] of targets [n_s, C], and writes their means; weight [n_s] or NULL. */
mo_tensor *mo_target_moments(mo_tape *t, mo_tensor *Y, mo_tensor *weight, mo_tensor **mean);
/* K [E, n, m] with the mean of the experts' kernels as one more; K itself if E is 1. */
mo_tensor *mo_with_mean_kernel(mo_tape *t, mo_tensor *K);

#endif
