/* tensor/cuda/condition.h - the condition of a factored matrix, estimated by one block: a lower bound of |M| |M^-1| for
 * M = A^T in the 1-norm, rarely off by more than a factor of 3 (Higham 2002, 15.3), as in cpu/lu.c. */
#ifndef MO_CUDA_CONDITION_H
#define MO_CUDA_CONDITION_H

#include "tensor/cuda/device.h"

#include <cfloat>

/* The largest row sum of magnitudes: the 1-norm of the library's A^T. */
template <typename real> static __global__ void norm_kernel(int64_t batch, int64_t n, const real *A, real *norm) {
    for (int64_t b = blockIdx.x; b < batch; b += gridDim.x) {
        __shared__ real largest[row_threads / 32];
        real found = 0;
        for (int64_t i = threadIdx.x / 32; i < n; i += row_threads / 32) {
            real sum = 0;
            for (int64_t j = lane_of(); j < n; j += 32)
                sum += fabs(A[(b * n + i) * n + j]);
            sum = warp_sum(sum);
            found = sum > found ? sum : found;
        }
        if (lane_of() == 0)
            largest[threadIdx.x / 32] = found;
        __syncthreads();
        for (unsigned w = 1; w < row_threads / 32 && threadIdx.x == 0; w++)
            largest[0] = largest[w] > largest[0] ? largest[w] : largest[0];
        if (threadIdx.x == 0)
            norm[b] = largest[0];
        __syncthreads();
    }
}

/* x := op(T)^-1 x for a triangle T of LU: the lower one (U^T), or the upper one with ones on its diagonal (L^T). */
template <typename real>
__device__ inline void solve_vector(const real *LU, int64_t n, bool lower, bool transposed, real *x) {
    bool down = lower != transposed;
    for (int64_t step = 0; step < n; step++) {
        int64_t k = down ? step : n - 1 - step, from = down ? k + 1 : 0, to = down ? n : k;
        __syncthreads();
        if (threadIdx.x == 0 && lower)
            x[k] /= LU[k * n + k];
        __syncthreads();
        for (int64_t i = from + threadIdx.x; i < to; i += blockDim.x)
            x[i] -= (transposed ? LU[k * n + i] : LU[i * n + k]) * x[k];
    }
    __syncthreads();
}

template <typename real> __device__ inline void solve_both(const real *LU, int64_t n, bool transposed, real *x) {
    solve_vector(LU, n, !transposed, transposed, x);
    solve_vector(LU, n, transposed, transposed, x);
}

/* The sum of magnitudes, in every thread: each warp computes all of it. */
template <typename real> __device__ inline real magnitude_sum(const real *x, int64_t n) {
    real sum = 0;
    for (int64_t i = lane_of(); i < n; i += 32)
        sum += fabs(x[i]);
    return warp_sum(sum);
}

/* The first position of the largest magnitude. */
template <typename real> __device__ inline int64_t largest_place(const real *x, int64_t n) {
    int64_t place = 0;
    for (int64_t i = 1; i < n; i++)
        place = fabs(x[i]) > fabs(x[place]) ? i : place;
    return place;
}

template <typename real> __device__ inline real estimate_condition(const real *LU, int64_t n, real norm, real *x) {
    for (int64_t i = threadIdx.x; i < n; i += blockDim.x)
        x[i] = norm * ((i & 1 ? (real)-1 : (real)1) * (1 + (real)i / (real)n));
    __syncthreads();
    real start = magnitude_sum(x, n);
    solve_both(LU, n, true, x);
    real condition = norm * (magnitude_sum(x, n) / start);
    __syncthreads();
    for (int64_t i = threadIdx.x; i < n; i += blockDim.x)
        x[i] = x[i] < 0 ? (real)-1 : (real)1;
    solve_both(LU, n, false, x);
    int64_t place = largest_place(x, n);
    __syncthreads();
    for (int64_t i = threadIdx.x; i < n; i += blockDim.x)
        x[i] = i == place ? norm : (real)0;
    solve_both(LU, n, true, x);
    real grown = magnitude_sum(x, n);
    __syncthreads();
    return condition > grown || condition != condition ? condition : grown; /* NaN is the largest */
}

/* info = -2 if the reciprocal condition is below the machine epsilon. x: [batch, n]. */
template <typename real>
static __global__ void condition_kernel(
    int64_t batch, int64_t n, const real *LU, const real *norm, real *x, int32_t *info) {
    const real epsilon = sizeof(real) == 4 ? (real)FLT_EPSILON : (real)DBL_EPSILON;
    for (int64_t b = blockIdx.x; b < batch; b += gridDim.x) {
        if (info[b] != 0)
            continue;
        real condition = estimate_condition(LU + b * n * n, n, norm[b], x + b * n);
        __syncthreads();
        if (threadIdx.x == 0 && !(condition <= 1 / epsilon))
            info[b] = -2;
    }
}

#endif
