/* train/svd/svd.h - the truncated SVD, with the figures that features and tests need (library internal). */
#ifndef MO_SVD_H
#define MO_SVD_H

#include "train/inside.h"

typedef struct mo_svd_options {
    int rank;
    int power_iterations;  /* below 0: until converged */
    int exact_below;       /* exact SVD if the smaller side is at most this, or the size of the basis (svd.c) */
    uint64_t seed, stream; /* of the test matrix */
} mo_svd_options;

typedef struct mo_svd_factors {
    mo_tensor *U, *S; /* [n, r], [r] */
    mo_tensor *V;     /* [m, r]: A^T U / S, with errors of rounding times S[0] / S; 0 where that is more than a square
                       * root of rounding. NULL if A is declared symmetric: then V = U diag(sign) */
    mo_tensor *sign;  /* [r] signs of the eigenvalues, 1 or -1; NULL if A is not declared symmetric */
    mo_tensor *column_sign; /* [r] of 1 and -1: in U diag(column_sign) the entry of largest magnitude of each column, or
                             * the first of several that are equal to rounding, is positive */
    double residual;        /* |A V - U S|_F / |A|_F */
    double orthogonality;   /* the largest |U^T U - I| */
} mo_svd_factors;

enum {
    MO_SVD_EXACT_BELOW = 64,
    /* Columns of the subspace beyond the rank (Halko, Martinsson and Tropp 2011, section 4.2: 5 to 10 are enough). */
    MO_SVD_OVERSAMPLING = 16
};

/* Computes on tape t; only the result stays on the tape. Returns the status. */
mo_code mo_svd_compute(mo_tape *t, const mo_csr *A, const mo_svd_options *options, mo_svd_factors *svd);

#endif
