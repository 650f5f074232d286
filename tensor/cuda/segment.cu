/* tensor/cuda/segment.cu - sums or means over runs of rows, and the adjoint, which spreads them back: one thread per
 * segment and column. Offsets are clamped to 0 .. the number of rows. */
#include "tensor/cuda/kernels.h"

struct segments {
    int64_t mean, count, d, rows; /* rows: number of rows of x, or of y in the adjoint */
    const int64_t *offset;
};

__device__ static int64_t bounded(int64_t row, int64_t rows) {
    return row < 0 ? 0 : row > rows ? rows : row;
}

template <typename real> static __global__ void sum_kernel(segments p, const real *x, real *y) {
    for (int64_t i = first_item(); i < p.count * p.d; i += item_step()) {
        int64_t s = i / p.d, j = i % p.d, first = bounded(p.offset[s], p.rows), last = bounded(p.offset[s + 1], p.rows);
        double sum = 0;
        for (int64_t r = first; r < last; r++)
            sum += x[r * p.d + j];
        y[i] = (real)(sum * (p.mean && last > first ? 1.0 / (double)(last - first) : 1));
    }
}

template <typename real> static __global__ void spread_kernel(segments p, const real *x, real *y) {
    for (int64_t i = first_item(); i < p.count * p.d; i += item_step()) {
        int64_t s = i / p.d, j = i % p.d, first = bounded(p.offset[s], p.rows), last = bounded(p.offset[s + 1], p.rows);
        real value = x[i] * (p.mean && last > first ? (real)(1.0 / (double)(last - first)) : (real)1);
        for (int64_t r = first; r < last; r++)
            y[r * p.d + j] = value;
    }
}

static segments segments_of(bool mean, const mo_view *rows, const mo_view *offset) {
    return {mean, offset->shape[0] - 1, entry_length(rows), rows->shape[0], static_cast<const int64_t *>(offset->data)};
}

template <typename real>
void segment_sum_cuda(mo_context *ctx, bool mean, const mo_view *x, const mo_view *offset, const mo_view *y) {
    segments p = segments_of(mean, x, offset);
    mo_launch(sum_kernel<real>, blocks_for(p.count * p.d), dim3(block_threads), 0, seam_of(ctx), p,
        static_cast<const real *>(x->data), static_cast<real *>(y->data));
}

template <typename real>
void segment_spread_cuda(mo_context *ctx, bool mean, const mo_view *x, const mo_view *offset, const mo_view *y) {
    segments p = segments_of(mean, y, offset);
    mo_launch(spread_kernel<real>, blocks_for(p.count * p.d), dim3(block_threads), 0, seam_of(ctx), p,
        static_cast<const real *>(x->data), static_cast<real *>(y->data));
}

template void segment_sum_cuda<float>(mo_context *, bool, const mo_view *, const mo_view *, const mo_view *);
template void segment_sum_cuda<double>(mo_context *, bool, const mo_view *, const mo_view *, const mo_view *);
template void segment_spread_cuda<float>(mo_context *, bool, const mo_view *, const mo_view *, const mo_view *);
template void segment_spread_cuda<double>(mo_context *, bool, const mo_view *, const mo_view *, const mo_view *);
