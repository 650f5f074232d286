/* tests/cuda_host/lu.h - LU factors with other pivots than LAPACK's but as valid: a vendor's can differ. */
#ifndef CUDA_HOST_LU_H
#define CUDA_HOST_LU_H

#include <cmath>
#include <cstdint>
#include <utility>

namespace cuda_host {

/* Returns the last row whose magnitude is at least 0.9 of the largest: growth stays bounded, and ties are resolved
 * otherwise than in LAPACK. */
template <typename real> int pivot_row(const real *column, int from, int n) {
    real largest = 0;
    int row = from;
    for (int i = from; i < n; i++)
        largest = std::fabs(column[i]) > largest ? std::fabs(column[i]) : largest;
    for (int i = from; i < n; i++)
        row = std::fabs(column[i]) >= (real)0.9 * largest ? i : row;
    return row;
}

/* Factors P A = L U in place, column-major; pivots count from 1; info is the number of the first pivot that is 0. */
template <typename real> void factor_lu(int n, real *A, int lda, std::int32_t *pivot, std::int32_t *info) {
    *info = 0;
    for (int k = 0; k < n; k++) {
        real *own = A + (std::int64_t)k * lda;
        int row = pivot_row(own, k, n);
        pivot[k] = row + 1;
        if (!(std::fabs(own[row]) > 0)) /* cuSOLVER counts NaN as 0; LAPACK does not */
            *info = *info ? *info : k + 1;
        if (own[row] == 0)
            continue;
        for (int j = 0; j < n && row != k; j++)
            std::swap(A[(std::int64_t)j * lda + row], A[(std::int64_t)j * lda + k]);
        for (int i = k + 1; i < n; i++)
            own[i] /= own[k];
        for (int j = k + 1; j < n; j++) {
            real *column = A + (std::int64_t)j * lda, factor = column[k];
            for (int i = k + 1; i < n; i++)
                column[i] -= own[i] * factor;
        }
    }
}

} // namespace cuda_host

#endif
