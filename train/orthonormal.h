/* train/orthonormal.h - orthonormal bases of tall matrices (library internal). */
#ifndef MO_ORTHONORMAL_H
#define MO_ORTHONORMAL_H

#include "autograd/autograd.h"

/* Q [m, n] with Q^T Q = I whose columns span those of Y [m, n], m >= n. passes 1: orthonormal up to eps cond(Y)^2,
 * enough between the products of a power iteration; 2: to rounding. Dimensions that Y lacks, to rounding, are filled
 * up. Columns that are independent enough stay in order: Y = Q R with R upper triangular, diagonal positive. No
 * gradient flows. condition (may be NULL): an estimate from below of cond(Y), infinite where that is too large for
 * Cholesky. */
mo_tensor *mo_orthonormalize(mo_tape *t, mo_tensor *Y, int passes, double *condition);
/* Columns scaled to norm 1; those that are zero to rounding, beside the largest, replaced by random ones, which are
 * others for another attempt. */
mo_tensor *mo_fill_columns(mo_tape *t, mo_tensor *Y, int attempt);
/* The n x n identity. */
mo_tensor *mo_identity(mo_tape *t, mo_dtype real, int64_t n);

#endif
