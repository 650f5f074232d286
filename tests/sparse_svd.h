/* tests/sparse_svd.h - the truncated SVD with the signs of its columns. */
#ifndef SPARSE_SVD_H
#define SPARSE_SVD_H

#include "train/svd/svd.h"

/* A = U diag(S) V^T, to the rank r: U [n, r], S [r] in falling order, V [m, r]. In each column of U, the first of its
 * largest entries (to rounding) is positive. residual (may be NULL): receives |A V - U S|_F / |A|_F. */
static inline mo_code sparse_svd(mo_tape *t, const mo_csr *A, int rank, int power_iterations, uint64_t seed,
    mo_tensor **U, mo_tensor **S, mo_tensor **V, double *residual) {
    mo_svd_options options = {
        .rank = rank, .power_iterations = power_iterations, .exact_below = MO_SVD_EXACT_BELOW, .seed = seed};
    mo_svd_factors svd;
    mo_code code = mo_svd_compute(t, A, &options, &svd);
    *U = mo_mul(t, svd.U, svd.column_sign);
    *S = svd.S;
    *V = svd.V ? mo_mul(t, svd.V, svd.column_sign) : mo_mul(t, *U, svd.sign ? svd.sign : svd.column_sign);
    if (residual)
        *residual = svd.residual;
    return code;
}

#endif
