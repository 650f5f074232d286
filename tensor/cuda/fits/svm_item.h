/* tensor/cuda/fits/svm_item.h - one problem of svm_dual.cu, and its block's operations on rows and sums. */
#ifndef MO_CUDA_SVM_ITEM_H
#define MO_CUDA_SVM_ITEM_H

#include "tensor/cuda/device.h"
#include "tensor/fits.h"

constexpr unsigned svm_threads = 128, svm_warps = svm_threads / 32;

template <typename real> struct svm_item {
    int64_t n, classes, N;
    const real *K, *Y;
    real lambda, *alpha;
    real *F, *v, *Kv, *r, *p, *Kp; /* [n, classes]; v: a direction; Kv = K v / lambda; Kp = K p / lambda */
};

/* ---- reductions by the block ---- */

/* The sum, or the maximum, of x over the threads, in every thread. All threads have synchronised when it returns. */
__device__ inline double svm_join(double x, bool largest) {
    __shared__ double parts[svm_warps];
    x = largest ? warp_max(x) : warp_sum(x);
    if (lane_of() == 0)
        parts[threadIdx.x / 32] = x;
    __syncthreads();
    double joined = parts[0];
    for (unsigned w = 1; w < svm_warps; w++)
        joined = largest ? (parts[w] > joined ? parts[w] : joined) : joined + parts[w];
    __syncthreads();
    return joined;
}

template <typename real> __device__ inline double svm_dot(const real *x, const real *y, int64_t n) {
    double sum = 0;
    for (int64_t i = threadIdx.x; i < n; i += svm_threads)
        sum += (double)x[i] * (double)y[i];
    return svm_join(sum, false);
}

/* ---- rows, one warp per row ---- */

/* The threshold s with sum_c max(x_c - s, 0) = 1 (Michelot 1986); lane c % 32 reads x[c]. */
template <typename real> __device__ inline real svm_threshold(const real *x, int64_t n) {
    double threshold = -INFINITY;
    for (int64_t above = n, before = n + 1; above > 0 && above < before;) {
        double sum = 0;
        int64_t count = 0;
        for (int64_t c = lane_of(); c < n; c += 32)
            if ((double)x[c] > threshold) {
                sum += (double)x[c];
                count++;
            }
        sum = warp_sum(sum) - 1;
        count = warp_sum(count);
        if (count == 0)
            break;
        before = threshold == -INFINITY ? n + 1 : above;
        above = count;
        threshold = sum / (double)count;
    }
    return (real)threshold;
}

/* Sets row i to its minimiser with the other rows fixed, and adds the change to F. The first warp computes it; all
 * threads of the block must call. */
template <typename real> __device__ inline void svm_update_row(const svm_item<real> &s, int64_t i) {
    __shared__ int32_t moved;
    int64_t C = s.classes;
    const real *K = s.K + i * s.n;
    if (!(K[i] > 0))
        return;
    if (threadIdx.x < 32) {
        real *alpha = s.alpha + i * C, *best = s.v, largest = 0;
        for (int64_t c = lane_of(); c < C; c += 32)
            best[c] = alpha[c] + (s.F[i * C + c] - s.Y[i * C + c]) * s.lambda / K[i];
        real threshold = svm_threshold(best, C);
        for (int64_t c = lane_of(); c < C; c += 32) {
            real x = best[c] > threshold ? best[c] - threshold : (real)0, change = x - alpha[c];
            alpha[c] = x;
            best[c] = change / s.lambda;
            largest = change > largest ? change : largest; /* changes sum to 0 */
        }
        largest = warp_max(largest);
        if (lane_of() == 0)
            moved = largest != 0;
    }
    __syncthreads();
    if (moved)
        for (int64_t k = threadIdx.x; k < s.N; k += svm_threads)
            s.F[k] -= K[k / C] * s.v[k % C];
    __syncthreads();
}

/* ---- all threads ---- */

/* Projects X onto the directions of the face: in every row 0 where alpha is 0, and of sum 0. One thread per row, as
 * there are few classes. */
template <typename real> __device__ inline void svm_onto_face(const svm_item<real> &s, real *X) {
    for (int64_t i = threadIdx.x; i < s.n; i += svm_threads) {
        const real *alpha = s.alpha + i * s.classes;
        real *x = X + i * s.classes, sum = 0, count = 0;
        for (int64_t c = 0; c < s.classes; c++)
            if (alpha[c] > 0) {
                sum += x[c];
                count++;
            }
        for (int64_t c = 0; c < s.classes; c++)
            x[c] = alpha[c] > 0 && count > 1 ? x[c] - sum / count : (real)0;
    }
    __syncthreads();
}

/* Y = K X / lambda; K is symmetric: neighbouring threads read neighbouring entries. */
template <typename real> __device__ inline void svm_apply(const svm_item<real> &s, const real *X, real *Y) {
    for (int64_t k = threadIdx.x; k < s.N; k += svm_threads) {
        int64_t i = k % s.n, c = k / s.n;
        real sum = 0;
        for (int64_t j = 0; j < s.n; j++)
            sum += s.K[j * s.n + i] * X[j * s.classes + c];
        Y[i * s.classes + c] = sum / s.lambda;
    }
    __syncthreads();
}

#endif
