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

constexpr int64_t panel = 32; /* unknowns that a warp finds in its registers before the block subtracts them */

/* The entry of op(T), T a triangle of LU, that multiplies unknown k in row i. */
template <typename real>
__device__ inline real triangle_entry(const real *LU, int64_t n, bool transposed, int64_t i, int64_t k) {
    return transposed ? LU[k * n + i] : LU[i * n + k];
}

/* Finds `width` unknowns, by one warp: lane l has the one in row first + l step. All entries are read before the first
 * unknown is divided, so that they are in flight together. */
template <typename real>
__device__ inline void solve_panel(const real *LU, int64_t n, bool lower, bool transposed, int64_t first, int64_t step,
    int width, real *x, real *solved) {
    int lane = lane_of();
    int64_t row = first + (lane < width ? lane : 0) * step;
    real own = x[row], diagonal = lower ? LU[row * n + row] : (real)1, entry[panel];
    for (int s = 0; s < panel; s++)
        entry[s] = s < lane && lane < width ? triangle_entry(LU, n, transposed, row, first + s * step) : (real)0;
    for (int s = 0; s < panel; s++) {
        own = lane == s ? own / diagonal : own;
        real found = __shfl_sync(whole_warp, own, s);
        own = lane > s ? own - entry[s] * found : own; /* of a lane below, 0 times an infinity would be NaN */
    }
    if (lane < width)
        x[row] = solved[lane] = own;
}

/* x := op(T)^-1 x for a triangle T of LU: the lower one (U^T), or the upper one with ones on its diagonal (L^T). The
 * terms of a row are subtracted in the order in which the unknowns are found. */
template <typename real>
__device__ inline void solve_vector(const real *LU, int64_t n, bool lower, bool transposed, real *x) {
    __shared__ real solved[panel];
    bool down = lower != transposed;
    int64_t step = down ? 1 : -1;
    for (int64_t done = 0; done < n; done += panel) {
        int64_t first = down ? done : n - 1 - done, after = done + panel;
        int width = (int)(after < n ? panel : n - done);
        __syncthreads();
        if (threadIdx.x < 32)
            solve_panel(LU, n, lower, transposed, first, step, width, x, solved);
        __syncthreads();
        for (int64_t place = after + threadIdx.x; place < n; place += blockDim.x) {
            int64_t i = down ? place : n - 1 - place;
            real rest = x[i];
            for (int s = 0; s < panel; s++) /* only the last panel is narrower, and leaves no rows */
                rest -= triangle_entry(LU, n, transposed, i, first + s * step) * solved[s];
            x[i] = rest;
        }
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

/* The first position of the largest magnitude, in every thread: each warp looks for all of it. NaN is never larger. */
template <typename real> __device__ inline int64_t largest_place(const real *x, int64_t n) {
    real largest = -1;
    int32_t place = 0;
    for (int64_t i = lane_of(); i < n; i += 32)
        if (fabs(x[i]) > largest) {
            largest = fabs(x[i]);
            place = (int32_t)i;
        }
    for (int d = 16; d > 0; d /= 2) {
        real other = __shfl_xor_sync(whole_warp, largest, d);
        int32_t there = __shfl_xor_sync(whole_warp, place, d);
        bool better = other > largest || (other == largest && there < place);
        largest = better ? other : largest;
        place = better ? there : place;
    }
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
