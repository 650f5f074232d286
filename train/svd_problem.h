/* train/svd_problem.h - one truncated SVD while it is computed, and what its two ways share (library internal). */
#ifndef MO_SVD_PROBLEM_H
#define MO_SVD_PROBLEM_H

#include "train/svd.h"

#define MO_SVD_FLAT                                                                                                    \
    8 /* up to this condition of A Q the products A A^T Q stay well enough conditioned for Cholesky QR */
#define MO_SVD_MODEST 1e4 /* up to this norm of A they do not overflow when squared */
enum { MO_SVD_MOST_ITERATIONS = 300 };

typedef struct mo_svd_problem {
    mo_tape *t;
    const mo_csr *A, *At;
    const mo_svd_options *options;
    mo_dtype real;
    int64_t n, m, r, q;
    bool exact;
    double epsilon;
    double rounding;  /* singular values below this share of the largest are zeros */
    double norm;      /* |A|_F */
    double condition; /* of the latest A Q */
    int64_t mark;     /* where the tape stood: everything later is ours to drop */
} mo_svd_problem;

/* Fills Omega [m, q], contiguous: uniform entries span as well as normal ones (both are sub-Gaussian) and cost a third.
 */
void mo_test_matrix(mo_svd_problem *p, mo_tensor *Omega);
/* Singular values s [r] from theta: below rounding they are zeros, and they never rise. */
void mo_singular_values(const mo_svd_problem *p, const double *theta, double *s);
/* x [r] in the type of A. */
mo_tensor *mo_svd_vector(const mo_svd_problem *p, const double *x);
/* |AV - U diag(s)|_F / |A|_F. */
double mo_svd_residual(mo_svd_problem *p, mo_tensor *AV, mo_tensor *U, mo_tensor *s);
/* Whether the residual is at rounding or no longer falls near it. */
bool mo_svd_converged(const mo_svd_problem *p, double residual, double before);

/* The decompositions: they leave U, S, V or sign, residual, orthogonality, iterations. theta [q] and s [r]: scratch. */
void mo_svd_symmetric(mo_svd_problem *p, double *theta, double *s, mo_svd *svd);
void mo_svd_general(mo_svd_problem *p, double *theta, double *s, mo_svd *svd);

#endif
