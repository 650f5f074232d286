/* train/svd/tall.h - matrices with many rows and a few hundred columns: products in place, orthonormal bases, and
 * eigenpairs of a symmetric matrix from a subspace (library internal). */
#ifndef MO_TALL_H
#define MO_TALL_H

#include "train/inside.h"

enum { MO_TALL_ROWS = 32768 /* rows of a block; in BLAS a row's rounding depends on the number of rows */ };

/* An uninitialised matrix on the tape; dropping it returns its memory to the system. */
mo_tensor *mo_tall_create(mo_tape *t, mo_dtype real, int64_t rows, int64_t columns);
/* X^T Y [columns of X, columns of Y] in float64, summed over blocks of rows; X may be Y. */
mo_tensor *mo_tall_gram(mo_tape *t, mo_tensor *X, mo_tensor *Y);
/* Rows first .. end - 1 of A Y. */
mo_tensor *mo_tall_image(mo_tape *t, const mo_csr *A, mo_tensor *Y, int64_t first, int64_t end);
/* X^T A Y in float64, in the same blocks, whose rows of A Y are all that is held of A Y. */
mo_tensor *mo_tall_image_gram(mo_tape *t, const mo_csr *A, mo_tensor *X, mo_tensor *Y);
/* X := X R for an R of X's type; upper: R is upper triangular. */
void mo_tall_multiply(mo_tape *t, mo_tensor *X, mo_tensor *R, bool upper);
/* The first columns of Q := Q X + W Y, where [Q, W] = panel, [n, q] each, and B = [X; Y] (W is not read if B has q
 * rows), in blocks of rows. Returns these columns. */
mo_tensor *mo_tall_combine(mo_tape *t, mo_tensor *const panel[2], mo_tensor *B);
/* Z := alpha X B + beta Z, in blocks of rows: the last digits of a row can depend on the number of rows in a
 * product. */
void mo_tall_product_into(mo_tape *t, double alpha, mo_tensor *X, const mo_tensor *B, double beta, mo_tensor *Z);
/* Y := A X. */
void mo_tall_spmm(const mo_csr *A, mo_tensor *X, mo_tensor *Y);

/* ---- orthonormal bases of tall matrices ---- */

/* Y [m, n], m >= n, contiguous, becomes Q with Q^T Q = I, whose columns span the columns of Y. passes 1: orthonormal up
 * to eps cond(Y)^2, enough between the products of a power iteration; 2: to rounding. If Y is rank-deficient to
 * rounding, random columns complete it. If the columns are independent enough, their order is kept: Y = Q R with R
 * upper triangular, diagonal positive. No gradient flows. condition (may be NULL): receives a lower bound of cond(Y),
 * infinite if that is too large for Cholesky. */
void mo_orthonormalize(mo_tape *t, mo_tensor *Y, int passes, double *condition);
/* L of M = L L^T in the lower triangle of M; returns max L_ii / min L_ii <= cond(L), infinite if M is not positive
 * definite. */
double mo_factor_gram(mo_tape *t, mo_tensor *M);
/* Returns L^-T for the factor L that mo_factor_gram has written. */
mo_tensor *mo_inverse_factor(mo_tape *t, mo_tensor *L);

/* ---- ritz.c: eigenpairs of a symmetric matrix from a subspace and its image ---- */

/* Rayleigh-Ritz on the columns of Q = panel[0], nearly orthonormal, or, if images, on the columns of [Q, A Q]. The
 * panels are [n, q]; the first `wanted` columns of panel[0] become Ritz vectors, orthonormal to rounding, and theta
 * [wanted] their values, in falling order of magnitude. Of a pair +-s, equal up to the share `rounding`, s comes first.
 * panel[1] is scratch. Returns the largest |U^T U - I|. */
double mo_ritz_pairs(mo_tape *t, const mo_csr *A, mo_tensor *const panel[2], bool images, int64_t wanted,
    double rounding, double *theta);
/* Eigenpairs by magnitude of a small symmetric matrix T, contiguous, which is overwritten: vectors [.., wanted] in T's
 * coordinates with arbitrary signs; values theta. */
mo_tensor *mo_leading_eigenvectors(mo_tape *t, mo_tensor *T, int64_t wanted, double rounding, double *theta);
/* Makes the nearly orthonormal columns of U orthonormal to rounding. Returns the largest |U^T U - I|. */
double mo_reorthonormalize(mo_tape *t, mo_tensor *U);

#endif
