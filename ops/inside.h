/* ops/inside.h - ops of the library's own models and fits. They promise nothing: any release may change them. */
#ifndef MO_OPS_INSIDE_H
#define MO_OPS_INSIDE_H

#include "autograd/inside.h"
#include "ops/ops.h"

/* ---- layers/, scale_unit.c, relu.c ---- */
/* relu(X W^T + b) in one pass; b [out] may be NULL */
MO_API mo_tensor *mo_linear_relu(mo_tape *t, mo_tensor *X, mo_tensor *W, mo_tensor *b);
/* act(X_k W_k^T + b_k) for K hops: X [K, n, in], W_k [out, in], b_k [out] -> [K, n, out]; act is relu or nothing */
MO_API mo_tensor *mo_hop_layers(mo_tape *t, mo_tensor *X, mo_tensor *const *W, mo_tensor *const *b, int K, bool relu);
/* sum_k a_k H_k with a = softmax_k(v . relu(W [H_0 | H_k] + b) + c), for H [K, n, d] and parameters W [m, 2 d], b [m],
 * v [1, m], c [1] -> [n, d]; `attention`, unless NULL, receives a [n, K] */
MO_API mo_tensor *mo_hop_attention(mo_tape *t, mo_tensor *H, mo_tensor *const parameters[4], mo_tensor **attention);
/* s x / max(|x|, epsilon) for each row x of X [.., d], s a scalar: mo_l2_normalize times s, in one pass */
MO_API mo_tensor *mo_scale_unit(mo_tape *t, mo_tensor *X, mo_tensor *s, double epsilon);
/* A where Y > 0, else 0, for equal shapes; Y has no gradient */
MO_API mo_tensor *mo_relu_mask(mo_tape *t, mo_tensor *A, mo_tensor *Y);

/* ---- fits/ ---- */
/* Folds of the rows of a support: fold f is rows stop[f - 1] .. stop[f] - 1; fold 0 starts at row 0, and no fold is
 * empty. Rows after the last fold take part in every fit. */
typedef struct mo_folds {
    int n;               /* 1 or more */
    const int64_t *stop; /* [n] */
} mo_folds;
/* Returns whether float32 has too few digits for a fit of few rows X [.., n, d]: if a row's squared norm is above 1e4
 * times the least lambda. Separable rows are then fitted so closely that what decides the weights, the difference of
 * labels and probabilities (or, of a support vector machine, of numbers near 1), is about lambda / |X_i|^2; and
 * multipliers of size 1 / lambda of equal rows with different labels cancel in the weights. Weights of 30 rows of norm
 * 230 were off by 8% at lambda = 0.1, of norm 2.3 by 1e-4 at 0.001. */
bool mo_fit_needs_float64(mo_tape *t, mo_tensor *X, mo_tensor *lambda);
/* A fit ends when its gradient is at most `tolerance` (for a fit without a fold, 10 `tolerance`) times the terms that
 * cancel in it; tolerance 0: at the level of rounding. */
typedef struct mo_fold_options {
    mo_intercept intercept;
    double tolerance;
    int64_t most_steps; /* of a support vector machine, as in mo_svm_dual_variables */
} mo_fold_options;
/* What a fit of a support vector machine may take if the caller sets no limit: passes over a kernel [n, n] for C
 * classes of MO_SVM_WORK / (n n C), but MO_SVM_STEPS at least. Standardised rows take some tens to hundreds of passes;
 * raw columns of unlike size can take millions. */
#define MO_SVM_WORK 2.5e9
enum { MO_SVM_STEPS = 5000 };
/* Softmax regression on a support, and on the support without each fold. in: X, Y, lambda > 0; out: W as in
 * mo_logistic, and the logits [.., stop[n - 1], C] of each fold by the fit without that fold. The results have no
 * gradient. Returns false, having done nothing, if lambda is 0, there are more than 16 folds or a fit does not
 * converge; call mo_logistic for each fold then. */
MO_API bool mo_logistic_folds(
    mo_tape *t, mo_tensor *const in[3], const mo_folds *folds, const mo_fold_options *options, mo_tensor *out[2]);
/* mo_logistic_folds for the Crammer-Singer machine: K = X X^T replaces X, and alpha (mo_svm_dual_variables) replaces W.
 * The machine has no intercept and is always solved to rounding. */
MO_API bool mo_svm_folds(
    mo_tape *t, mo_tensor *const in[3], const mo_folds *folds, int64_t most_steps, mo_tensor *out[2]);
/* alpha [.., n, C] of the Crammer-Singer machine with Gram matrix K [.., n, n], labels Y [.., n, C], lambda > 0 scalar
 * or [..], margin [.., n] (NULL: 1). The machine's weights are X^T (Y - alpha) / lambda. The result has no gradient
 * (models/heads/svm.c differentiates the machine). Raises MO_NUMERICAL if a fit has not converged after most_steps
 * passes over K (0: as MO_SVM_WORK says). */
MO_API mo_tensor *mo_svm_dual_variables(
    mo_tape *t, mo_tensor *K, mo_tensor *Y, mo_tensor *lambda, mo_tensor *margin, int64_t most_steps);

#endif
