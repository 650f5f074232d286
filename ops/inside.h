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
/* mo_logistic without a derivative. *start [B, ..]: what mo_logistic_without may start from, of each of B fits. */
mo_tensor *mo_logistic_start(
    mo_tape *t, mo_tensor *X, mo_tensor *Y, mo_tensor *lambda, mo_intercept intercept, mo_tensor **start);
/* The logits [.., n, C] of all rows by fits that leave out the rows whose labels are 0 here, to about 1e-6 of their
 * size. start [B or 1, ..]: of fits with these rows, of the same X, lambda and intercept. */
mo_tensor *mo_logistic_without(
    mo_tape *t, mo_tensor *X, mo_tensor *Y, mo_tensor *lambda, mo_intercept intercept, mo_tensor *start);
/* Returns whether float32 has too few digits for a fit of few rows X [.., n, d]: if a row's squared norm is above 1e3
 * times the least lambda. Separable rows are then fitted so closely that what decides the weights, the difference of
 * labels and probabilities (or, of a support vector machine, of numbers near 1), is about lambda / |X_i|^2; and
 * multipliers of size 1 / lambda of equal rows with different labels cancel in the weights. Weights of 30 rows of norm
 * 230 were off by 8% at lambda = 0.1, of norm 2.3 by 1e-4 at 0.001. */
bool mo_fit_needs_float64(mo_tape *t, mo_tensor *X, mo_tensor *lambda);
/* What a fit of a support vector machine may take if the caller sets no limit: passes over a kernel [n, n] for C
 * classes of MO_SVM_WORK / (n n C), but MO_SVM_STEPS at least. Standardised rows take some tens to hundreds of passes;
 * raw columns of unlike size can take millions. */
#define MO_SVM_WORK 2.5e9
enum { MO_SVM_STEPS = 5000 };
/* alpha [.., n, C] of the Crammer-Singer machine with Gram matrix K [.., n, n], labels Y [.., n, C], lambda > 0 scalar
 * or [..], margin [.., n] (NULL: 1). The machine's weights are X^T (Y - alpha) / lambda. The result has no gradient
 * (models/heads/svm.c differentiates the machine). Raises MO_NUMERICAL if a fit has not converged after most_steps
 * passes over K (0: as MO_SVM_WORK says). start [.., n, C] (NULL: Y): the alpha of a fit nearby. */
MO_API mo_tensor *mo_svm_dual_variables(
    mo_tape *t, mo_tensor *K, mo_tensor *Y, mo_tensor *lambda, mo_tensor *margin, int64_t most_steps, mo_tensor *start);

#endif
