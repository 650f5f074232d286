/* train/svd/svd_parts.h - the state of a truncated SVD while it is computed, and its parts (library internal). */
#ifndef MO_SVD_PARTS_H
#define MO_SVD_PARTS_H

#include "train/svd/svd.h"

#define MO_SVD_FLAT                                                                                                    \
    8 /* up to this condition of A Q, the products A A^T Q stay well enough conditioned for Cholesky QR */
#define MO_SVD_MODEST 1e4 /* up to this norm of A, the products do not overflow when squared */
enum { MO_SVD_MOST_ITERATIONS = 300 };

typedef struct mo_svd_problem {
    mo_tape *t;
    const mo_csr *A, *At;
    const mo_svd_options *options;
    mo_dtype real;
    int64_t n, m, r, q;
    bool symmetric;
    bool exact;
    double epsilon;
    double rounding;  /* singular values below this share of the largest are zeros */
    double norm;      /* |A|_F */
    double condition; /* cond of the latest A Q */
    int64_t mark;     /* the tape's position at the start: later tensors are dropped */
} mo_svd_problem;

/* Fills Omega [.., q], contiguous, with uniform entries. Uniform columns span as well as normal ones (both are
 * sub-Gaussian) at a third of the cost. */
void mo_test_matrix(mo_svd_problem *p, mo_tensor *Omega);
/* Writes the singular values s [r], falling, from theta; values below the level of rounding become zero. */
void mo_singular_values(const mo_svd_problem *p, const double *theta, double *s);
/* x [r] as a tensor of A's dtype on the tape. */
mo_tensor *mo_svd_vector(const mo_svd_problem *p, const double *x);
/* |AV - U diag(s)|_F / |A|_F. */
double mo_svd_residual(mo_svd_problem *p, mo_tensor *AV, mo_tensor *U, mo_tensor *s);
/* Returns whether the residual is at the level of rounding, or near it and no longer falling. */
bool mo_svd_converged(const mo_svd_problem *p, double residual, double before);

/* The decompositions: they set U, S, V or sign, residual, orthogonality and iterations. theta [q] and s [r]:
 * scratch. */
void mo_svd_symmetric(mo_svd_problem *p, double *theta, double *s, mo_svd *svd);
void mo_svd_general(mo_svd_problem *p, double *theta, double *s, mo_svd *svd);

/* ---- tall.c: in-place operations on matrices with many rows and a few hundred columns ---- */

enum { MO_TALL_ROWS = 32768 /* rows of a block; in BLAS a row's rounding depends on the number of rows */ };

/* An uninitialised matrix on the tape; dropping it returns its memory to the system. */
mo_tensor *mo_tall_create(mo_tape *t, mo_dtype real, int64_t rows, int64_t columns);
/* X^T Y [columns of X, columns of Y] in float64, summed over blocks of rows; X may be Y. */
mo_tensor *mo_tall_gram(mo_tape *t, mo_tensor *X, mo_tensor *Y);
/* The sums of squares of the columns of X, in square [columns]. */
void mo_tall_squares(mo_tape *t, mo_tensor *X, double *square);
/* X := X R for an R of X's type; upper: R is upper triangular. */
void mo_tall_multiply(mo_tape *t, mo_tensor *X, mo_tensor *R, bool upper);
/* Z := alpha X B + beta Z, in blocks of rows: the last digits of a row can depend on the number of rows in a
 * product. */
void mo_tall_product_into(mo_tape *t, double alpha, mo_tensor *X, const mo_tensor *B, double beta, mo_tensor *Z);
/* Y := A X. */
void mo_tall_spmm(const mo_csr *A, mo_tensor *X, mo_tensor *Y);

/* ---- orthonormal.c: orthonormal bases of tall matrices ---- */

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
 * panels are [n, q]; the first `wanted` columns of panel[2] become Ritz vectors, orthonormal to rounding, and theta
 * [wanted] their values, in falling order of magnitude. Of a pair +-s, equal up to the share `rounding`, s comes first.
 * The other two panels are scratch. Returns the largest |U^T U - I|. */
double mo_ritz_pairs(mo_tape *t, const mo_csr *A, mo_tensor *const panel[3], bool images, int64_t wanted,
    double rounding, double *theta);
/* Eigenpairs by magnitude of a small symmetric matrix T, contiguous, which is overwritten: vectors [.., wanted] in T's
 * coordinates with arbitrary signs; values theta. */
mo_tensor *mo_leading_eigenvectors(mo_tape *t, mo_tensor *T, int64_t wanted, double rounding, double *theta);
/* Makes the nearly orthonormal columns of U orthonormal to rounding. Returns the largest |U^T U - I|. */
double mo_reorthonormalize(mo_tape *t, mo_tensor *U);

#endif
