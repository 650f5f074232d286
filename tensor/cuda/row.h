/* tensor/cuda/row.h - the scalar functions of tensor/scalar.h as device templates; maximum and sum of a row for softmax
 * and cross entropy, by one warp. */
#ifndef MO_CUDA_ROW_H
#define MO_CUDA_ROW_H

#include "tensor/cuda/device.h"

#define MO_SCALAR template <typename real> __device__ inline
extern "C++" {
#include "tensor/elementwise.h"
}

/* Returns the largest entry, which is subtracted before e^x; it skips NaN, which the sum then shows. A row that is -Inf
 * everywhere gets the shift 0, which gives log 0 and 0/0. */
template <typename real> __device__ inline real row_shift(const real *x, int64_t n) {
    real m = -INFINITY;
    for (int64_t j = lane_of(); j < n; j += 32)
        m = x[j] > m ? x[j] : m;
    m = warp_max(m);
    return m == -INFINITY ? (real)0 : m;
}

template <typename real> __device__ inline double row_exponential_sum(const real *x, int64_t n, real shift) {
    double sum = 0;
    for (int64_t j = lane_of(); j < n; j += 32)
        sum += exp_of(x[j] - shift);
    return warp_sum(sum);
}

#endif
