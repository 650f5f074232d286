/* train/orthonormal.h - orthonormal bases of tall matrices (library internal). */
#ifndef MO_ORTHONORMAL_H
#define MO_ORTHONORMAL_H

#include "autograd/autograd.h"

/* Y [m, n], m >= n, contiguous, becomes Q with Q^T Q = I whose columns span those of Y. passes 1: orthonormal up to eps
 * cond(Y)^2, enough between the products of a power iteration; 2: to rounding. Dimensions that Y lacks, to rounding,
 * are filled up. Columns that are independent enough stay in order: Y = Q R with R upper triangular, diagonal positive.
 * No gradient flows. condition (may be NULL): an estimate from below of cond(Y), infinite where that is too large for
 * Cholesky. */
void mo_orthonormalize(mo_tape *t, mo_tensor *Y, int passes, double *condition);
/* Columns scaled to norm 1; those that are zero to rounding, beside the largest, replaced by random ones, which are
 * others for another attempt. In place; returns how many were replaced. */
int64_t mo_fill_columns(mo_tape *t, mo_tensor *Y, int attempt);
/* L of M = L L^T in the lower triangle of M, and max L_ii / min L_ii <= cond(L); infinite where M is not positive
 * definite. */
double mo_factor_gram(mo_tape *t, mo_tensor *M);
/* L^-T of that factor. */
mo_tensor *mo_inverse_factor(mo_tape *t, mo_tensor *L);

#endif
