/* train/svd/orthonormal.h - orthonormal bases of tall matrices (library internal). */
#ifndef MO_ORTHONORMAL_H
#define MO_ORTHONORMAL_H

#include "train/inside.h"

/* Y [m, n], m >= n, contiguous, becomes Q with Q^T Q = I whose columns span those of Y. passes 1: orthonormal up to eps
 * cond(Y)^2, enough between the products of a power iteration; 2: to rounding. If Y is rank-deficient to rounding,
 * random columns complete it. Columns that are independent enough stay in order: Y = Q R with R upper triangular,
 * diagonal positive. No gradient flows. condition (may be NULL): receives a lower bound of cond(Y), infinite if that is
 * too large for Cholesky. */
void mo_orthonormalize(mo_tape *t, mo_tensor *Y, int passes, double *condition);
/* Scales columns to norm 1, in place; replaces those that are zero to rounding, relative to the largest, by random
 * ones, which differ from attempt to attempt. Returns the number of replaced columns. */
int64_t mo_fill_columns(mo_tape *t, mo_tensor *Y, int attempt);
/* L of M = L L^T in the lower triangle of M; returns max L_ii / min L_ii <= cond(L), infinite if M is not positive
 * definite. */
double mo_factor_gram(mo_tape *t, mo_tensor *M);
/* L^-T from that factor. */
mo_tensor *mo_inverse_factor(mo_tape *t, mo_tensor *L);

#endif
