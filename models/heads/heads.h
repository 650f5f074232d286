/* models/heads/heads.h - parts of heads that other files use (library internal). */
#ifndef MO_HEADS_H
#define MO_HEADS_H

#include "models/inside.h"

/* Wb [.., d + 1, C] as W [.., d, C] and b [.., 1, C] */
void mo_divide_weights(mo_tape *t, mo_tensor *Wb, mo_tensor **W, mo_tensor **b);
/* The square roots of weights of rows [.., n], as columns [.., n, 1]. */
mo_tensor *mo_root_columns(mo_tape *t, mo_tensor *weight);
/* The rank of a Gram matrix, for a line that says why a system is singular: the eigenvalues of symmetric A [.., n, n]
 * above n times the rounding of the largest; the fewest in a batch. -1 on failure. */
int64_t mo_rank(mo_tape *t, mo_tensor *A);

/* ---- residual.c: a head that gives only a residual ---- */

/* W [.., d + 1, C] with head->residual(W, Zs, Ys, parameters) = 0, differentiable in all three. */
mo_tensor *mo_head_weights(mo_tape *t, const mo_head *head, mo_tensor *Zs, mo_tensor *Ys, mo_tensor *const *parameters);

/* ---- ridge_loo.c: ridges of a given kernel over a grid of penalties ---- */

/* The kernel K [.., n, n] and the labels Ys [.., n, C] of rows times root [.., n, 1]. */
void mo_scale_rows(mo_tape *t, mo_tensor *root, mo_tensor **K, mo_tensor **Ys);
/* G = (K + lambda I)^-1 [.., R, n_s, n_s] and alpha = G Ys [.., R, n_s, C]. */
void mo_kernel_inverse(mo_tape *t, mo_tensor *K, mo_tensor *Ys, mo_tensor *lambda, mo_tensor **G, mo_tensor **alpha);
/* The dual form for kernels K [.., n_s, n_s] of the support: alpha [.., R, n_s, C], with which K(query, support) alpha
 * predicts, and leave-one-out predictions [.., R, n_s, C]. weight: as of mo_ridge_loo_fit. */
void mo_kernel_loo_fit(
    mo_tape *t, mo_tensor *K, mo_tensor *Ys, mo_tensor *weight, mo_tensor *lambda, mo_tensor **alpha, mo_tensor **Yloo);

/* The shares of experts and penalties: a softmax over the last two axes of X [.., E, R] together. */
mo_tensor *mo_softmax_of_pairs(mo_tape *t, mo_tensor *X);

/* ---- mixture.c: experts mixed by how well each predicts support rows that its fit has not seen ---- */

typedef struct mo_expert_mixture {
    mo_tensor *lambda;    /* [R], above 0 */
    mo_tensor *prior;     /* [E] */
    mo_tensor *doublings; /* [E]: log2 of the temperatures that are expected before the labels are seen */
    mo_tensor *sharpness; /* scalar */
    mo_tensor *weight;    /* [.., n_s]: how often the support has a row, as mo_episode has it, but real; NULL: once */
    mo_tensor *class_weight; /* [.., n_s]: as mo_episode has it; NULL: 1 each */
} mo_expert_mixture;
/* Null tensors after a failure. */
typedef struct mo_mixed_experts {
    mo_tensor *learned; /* sum_r pi_er T_er X_er: logits made of it need no further temperature */
    mo_tensor *share;   /* pi [.., E, R], which sums to 1 */
    mo_tensor *factor;  /* pi T [.., E, R] */
} mo_mixed_experts;
/* Ridges with kernels K [.., E, n_s, n_s] of the support: learned is alpha [.., E, n_s, C], with which a
 * query's logits are sum_e k_e(query, support) alpha_e. Raises MO_INVALID with the shapes that do not fit. */
mo_mixed_experts mo_kernel_mixture(mo_tape *t, mo_tensor *K, mo_tensor *Ys, const mo_expert_mixture *mix);

/* The same of a large support by m of its rows, the centres: shares and temperatures are those of the centres alone,
 * with kernels Km [.., E, m, m], labels Ym [.., m, C] and weights; with them, ridges of all rows in the span of the
 * centres, by kernels K [.., E, n_s, m] of the support with the centres. learned: alpha [.., E, m, C] of the centres.
 * class_weight [.., n_s] is of all rows, those of mix of the centres.
 */
mo_mixed_experts mo_centred_mixture(mo_tape *t, mo_tensor *K, mo_tensor *Km, mo_tensor *Ys, mo_tensor *Ym,
    mo_tensor *class_weight, const mo_expert_mixture *mix);

/* A mixture of kernels [E, n_s, n_s] with every inverse, from which fits without some rows are read (mixture.c). */
typedef struct mo_inverted_mixture {
    mo_tensor *G;     /* [E, R, n_s, n_s] */
    mo_tensor *alpha; /* [E, R, n_s, C] */
} mo_inverted_mixture;
mo_inverted_mixture mo_kernel_mixture_invert(mo_tape *t, mo_tensor *K, mo_tensor *Ys, const mo_expert_mixture *mix);
/* Logits [h, C] of the rows row[0 .. h - 1] by the mixture of all other rows, with shares and temperatures of theirs;
 * no gradient flows. mix: without repeated rows. each (may be NULL): receives those of every expert and penalty alone,
 * [E, R, h, C]. */
mo_tensor *mo_kernel_mixture_without(mo_tape *t, const mo_inverted_mixture *all, mo_tensor *Ys,
    const mo_expert_mixture *mix, const int64_t *row, int64_t h, mo_tensor **each);

#endif
