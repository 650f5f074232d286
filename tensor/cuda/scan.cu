/* tensor/cuda/scan.cu - along each row of the last axis: the first largest entry, running sums, the sorted order. */
#include "tensor/cuda/kernels.h"
#include "tensor/cuda/sort.h"

constexpr unsigned sort_threads = 512;

/* Whether a sorts before b: larger values first, NaN before all numbers. */
template <typename real> __device__ static bool precedes(real a, real b) {
    return a > b || (a != a && b == b);
}

template <typename real> static __global__ void argmax_kernel(int64_t rows, int64_t n, const real *x, int64_t *found) {
    for (int64_t i = first_warp(); i < rows; i += warp_step()) {
        const real *row = x + i * n;
        int64_t best = lane_of() < n ? lane_of() : 0;
        for (int64_t j = best; j < n; j += 32)
            if (precedes(row[j], row[best]))
                best = j;
        for (int d = 16; d > 0; d /= 2) {
            int64_t other = __shfl_xor_sync(whole_warp, best, d);
            if (n > 0 && (precedes(row[other], row[best]) || (!precedes(row[best], row[other]) && other < best)))
                best = other;
        }
        if (lane_of() == 0)
            found[i] = best;
    }
}

template <typename real>
static __global__ void cumsum_kernel(bool reversed, int64_t rows, int64_t n, const real *x, real *y) {
    for (int64_t i = first_warp(); i < rows; i += warp_step()) {
        double carry = 0;
        for (int64_t start = 0; start < n; start += 32) {
            int64_t k = start + lane_of(), j = reversed ? n - 1 - k : k;
            double sum = k < n ? (double)x[i * n + j] : 0;
            for (int d = 1; d < 32; d *= 2) {
                double before = __shfl_up_sync(whole_warp, sum, d);
                sum += lane_of() >= d ? before : 0;
            }
            sum += carry;
            if (k < n)
                y[i * n + j] = (real)sum;
            carry = __shfl_sync(whole_warp, sum, 31);
        }
    }
}

template <typename real> static __global__ void argsort_kernel(int64_t rows, int64_t n, const real *x, int64_t *order) {
    for (int64_t i = blockIdx.x; i < rows; i += gridDim.x) {
        const real *row = x + i * n;
        int64_t *own = order + i * n;
        for (int64_t j = threadIdx.x; j < n; j += blockDim.x)
            own[j] = j;
        sort_block(own, n,
            [row](int64_t a, int64_t b) { return precedes(row[a], row[b]) || (a < b && !precedes(row[b], row[a])); });
    }
}

template <typename real> void argmax_cuda(mo_context *ctx, const mo_view *x, const mo_view *index) {
    int64_t rows = row_count(x);
    mo_launch(argmax_kernel<real>, blocks_for_rows(rows), dim3(row_threads), 0, seam_of(ctx), rows, row_length(x),
        static_cast<const real *>(x->data), static_cast<int64_t *>(index->data));
}

template <typename real> void cumsum_cuda(mo_context *ctx, bool reversed, const mo_view *x, const mo_view *y) {
    int64_t rows = row_count(x);
    mo_launch(cumsum_kernel<real>, blocks_for_rows(rows), dim3(row_threads), 0, seam_of(ctx), reversed, rows,
        row_length(x), static_cast<const real *>(x->data), static_cast<real *>(y->data));
}

template <typename real> void argsort_cuda(mo_context *ctx, const mo_view *x, const mo_view *order) {
    int64_t rows = row_count(x), n = row_length(x);
    unsigned threads = n > sort_threads ? sort_threads : n > 64 ? 128 : 32;
    mo_launch(argsort_kernel<real>, blocks_for(rows, 1), dim3(threads), 0, seam_of(ctx), rows, n,
        static_cast<const real *>(x->data), static_cast<int64_t *>(order->data));
}

template void argmax_cuda<float>(mo_context *, const mo_view *, const mo_view *);
template void argmax_cuda<double>(mo_context *, const mo_view *, const mo_view *);
template void cumsum_cuda<float>(mo_context *, bool, const mo_view *, const mo_view *);
template void cumsum_cuda<double>(mo_context *, bool, const mo_view *, const mo_view *);
template void argsort_cuda<float>(mo_context *, const mo_view *, const mo_view *);
template void argsort_cuda<double>(mo_context *, const mo_view *, const mo_view *);
