/* train/svd/svd_problem.h - one truncated SVD while it is computed, and what its two ways share (library internal). */
#ifndef MO_SVD_PROBLEM_H
#define MO_SVD_PROBLEM_H

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
    double condition; /* of the latest A Q */
    int64_t mark;     /* the tape's position at the start: later tensors are dropped */
} mo_svd_problem;

/* Fills Omega [.., q], contiguous: uniform entries span as well as normal ones
 * (both are sub-Gaussian) at a third of the cost.
 */
void mo_test_matrix(mo_svd_problem *p, mo_tensor *Omega);
/* Singular values s [r] from theta: zero below the level of rounding, and never rising. */
void mo_singular_values(const mo_svd_problem *p, const double *theta, double *s);
/* x [r] in the type of A. */
mo_tensor *mo_svd_vector(const mo_svd_problem *p, const double *x);
/* |AV - U diag(s)|_F / |A|_F. */
double mo_svd_residual(mo_svd_problem *p, mo_tensor *AV, mo_tensor *U, mo_tensor *s);
/* Returns whether the residual is at the level of rounding, or near it and no longer falling. */
bool mo_svd_converged(const mo_svd_problem *p, double residual, double before);

/* The decompositions: they set U, S, V or sign, residual, orthogonality and iterations. theta [q] and s [r]: scratch.
 */
void mo_svd_symmetric(mo_svd_problem *p, double *theta, double *s, mo_svd *svd);
void mo_svd_general(mo_svd_problem *p, double *theta, double *s, mo_svd *svd);

#endif
