/* train/orthonormal.h - orthonormal bases of tall matrices (library internal). */
#ifndef MO_ORTHONORMAL_H
#define MO_ORTHONORMAL_H

#include "autograd/autograd.h"

/* Q [m, n] with Q^T Q = I whose columns span those of Y [m, n], m >= n. passes 1: orthonormal up to eps cond(Y)^2,
 * enough between the products of a power iteration; 2: to rounding. Where Y is rank-deficient to rounding, the columns
 * that it lacks are filled up with orthonormal ones. No gradient flows. condition (may be NULL): an estimate from below
 * of cond(Y), infinite where it is too large for Cholesky QR. */
mo_tensor *mo_orthonormalize(mo_tape *t, mo_tensor *Y, int passes, double *condition);
/* The n x n identity. */
mo_tensor *mo_identity(mo_tape *t, mo_dtype real, int64_t n);

#endif
