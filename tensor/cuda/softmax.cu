/* tensor/cuda/softmax.cu - softmax of the rows of the last axis, its logarithm, and the adjoints of both.
 *
 * Our kernels give each row a warp; the largest entry is subtracted before any exponential, so that rows with entries
 * of +-1e4 are exact to rounding. A warp is slow on a row of thousands of values; cuDNN gives a row a block, and
 * computes the wide rows. */
#include "tensor/cuda/kernels.h"
#include "tensor/cuda/matrices.h"
#include "tensor/cuda/row.h"

/* cuDNN computes rows of this many values and more. Softmax and its adjoint took, by cuDNN and by our kernels on an
 * H100: 36 and 56 us for 65536 x 64, 48 and 63 us for 4096 x 1024, 94 and 244 us for 2048 x 4096, 83 and 563 us for
 * 256 x 16384. */
constexpr int64_t wide_row = 64;

/* Whether to try cuDNN. The alignment that it needs is not documented: it gets multiples of 16 bytes. addresses: the
 * addresses of all arrays, joined by |. */
static bool by_library(const mo_context *ctx, const seam_rows *r, uintptr_t addresses) {
    return r->rows * r->n > 0 && addresses % 16 == 0 && library_first(ctx, r->n >= wide_row);
}

template <typename real>
static __global__ void softmax_kernel(bool log_of, int64_t rows, int64_t n, const real *x, real *y) {
    for (int64_t i = first_warp(); i < rows; i += warp_step()) {
        const real *row = x + i * n;
        real *out = y + i * n, shift = row_shift(row, n);
        double sum = row_exponential_sum(row, n, shift);
        real scale = (real)(1 / sum), log_sum = (real)log(sum);
        for (int64_t j = lane_of(); j < n; j += 32)
            out[j] = log_of ? (row[j] - shift) - log_sum : exp_of(row[j] - shift) * scale;
    }
}

template <typename real>
static __global__ void softmax_adjoint_kernel(
    bool log_of, int64_t rows, int64_t n, const real *y, const real *y_bar, real *x_bar) {
    for (int64_t i = first_warp(); i < rows; i += warp_step()) {
        const real *row = y + i * n, *g = y_bar + i * n;
        double sum = 0;
        for (int64_t j = lane_of(); j < n; j += 32)
            sum += log_of ? g[j] : row[j] * g[j];
        real total = (real)warp_sum(sum);
        for (int64_t j = lane_of(); j < n; j += 32)
            x_bar[i * n + j] = log_of ? g[j] - exp_of(row[j]) * total : row[j] * (g[j] - total);
    }
}

template <typename real> void softmax_cuda(mo_context *ctx, bool log, const mo_view *x, const mo_view *y) {
    int64_t rows = row_count(x), n = row_length(x);
    seam_rows r = {seam_type_of<real>(), log, rows, n};
    if (by_library(ctx, &r, (uintptr_t)x->data | (uintptr_t)y->data) &&
        seam_softmax(seam_of(ctx), &r, x->data, y->data))
        return;
    mo_launch(softmax_kernel<real>, blocks_for_rows(rows), dim3(row_threads), 0, seam_of(ctx), log, rows, n,
        static_cast<const real *>(x->data), static_cast<real *>(y->data));
}

template <typename real>
void softmax_adjoint_cuda(mo_context *ctx, bool log, const mo_view *y, const mo_view *y_bar, const mo_view *x_bar) {
    int64_t rows = row_count(y), n = row_length(y);
    seam_rows r = {seam_type_of<real>(), log, rows, n};
    if (by_library(ctx, &r, (uintptr_t)y->data | (uintptr_t)y_bar->data | (uintptr_t)x_bar->data) &&
        seam_softmax_adjoint(seam_of(ctx), &r, y->data, y_bar->data, x_bar->data))
        return;
    mo_launch(softmax_adjoint_kernel<real>, blocks_for_rows(rows), dim3(row_threads), 0, seam_of(ctx), log, rows, n,
        static_cast<const real *>(y->data), static_cast<const real *>(y_bar->data), static_cast<real *>(x_bar->data));
}

template void softmax_cuda<float>(mo_context *, bool, const mo_view *, const mo_view *);
template void softmax_cuda<double>(mo_context *, bool, const mo_view *, const mo_view *);
template void softmax_adjoint_cuda<float>(mo_context *, bool, const mo_view *, const mo_view *, const mo_view *);
template void softmax_adjoint_cuda<double>(mo_context *, bool, const mo_view *, const mo_view *, const mo_view *);
