/* tensor/cuda/rows.cu - sums of exponentials and normalised rows: one warp per row of the last axis. */
#include "tensor/cuda/kernels.h"
#include "tensor/cuda/row.h"

template <typename real> static __global__ void logsumexp_kernel(int64_t rows, int64_t n, const real *x, real *y) {
    for (int64_t i = first_warp(); i < rows; i += warp_step()) {
        real shift = row_shift(x + i * n, n);
        shift = shift == INFINITY ? (real)0 : shift; /* inf - inf would be NaN; unshifted, the sum is inf */
        double sum = row_exponential_sum(x + i * n, n, shift);
        if (lane_of() == 0)
            y[i] = (real)(shift + log(sum));
    }
}

/* Two passes: the variance about a known mean stays accurate if the mean is large. */
template <typename real>
static __global__ void layer_norm_kernel(int64_t rows, int64_t n, double epsilon, const real *x, real *y) {
    for (int64_t i = first_warp(); i < rows; i += warp_step()) {
        const real *row = x + i * n;
        double sum = 0, squares = 0;
        for (int64_t j = lane_of(); j < n; j += 32)
            sum += row[j];
        double mean = warp_sum(sum) / (double)n;
        for (int64_t j = lane_of(); j < n; j += 32)
            squares += ((double)row[j] - mean) * ((double)row[j] - mean);
        double scale = 1 / sqrt(warp_sum(squares) / (double)n + epsilon);
        for (int64_t j = lane_of(); j < n; j += 32)
            y[i * n + j] = (real)(((double)row[j] - mean) * scale);
    }
}

template <typename real>
static __global__ void l2_normalize_kernel(int64_t rows, int64_t n, double epsilon, const real *x, real *y) {
    for (int64_t i = first_warp(); i < rows; i += warp_step()) {
        double squares = 0;
        for (int64_t j = lane_of(); j < n; j += 32)
            squares += (double)x[i * n + j] * (double)x[i * n + j];
        double length = sqrt(warp_sum(squares));
        real scale = (real)(1 / (length < epsilon ? epsilon : length));
        for (int64_t j = lane_of(); j < n; j += 32)
            y[i * n + j] = x[i * n + j] * scale;
    }
}

template <typename real>
static __global__ void scale_unit_kernel(
    int64_t rows, int64_t n, double epsilon, const real *x, const real *scale, real *y) {
    for (int64_t i = first_warp(); i < rows; i += warp_step()) {
        double squares = 0;
        for (int64_t j = i * n + lane_of(); j < (i + 1) * n; j += 32)
            squares += (double)x[j] * (double)x[j];
        double length = sqrt(warp_sum(squares));
        real unit = (real)(1 / (length < epsilon ? epsilon : length));
        for (int64_t j = i * n + lane_of(); j < (i + 1) * n; j += 32)
            y[j] = x[j] * unit * *scale;
    }
}

/* With u = x / max(|x|, epsilon): scale_bar = <u, g>, x_bar = scale (g - u scale_bar [|x| > epsilon]) / max(|x|,
 * epsilon). Rows of g are `step` values apart. */
template <typename real>
static __global__ void scale_unit_adjoint_kernel(int64_t rows, int64_t n, int64_t step, double epsilon, const real *x,
    const real *scale, const real *g, real *x_bar, real *scale_bar) {
    for (int64_t i = first_warp(); i < rows; i += warp_step()) {
        const real *x_row = x + i * n, *g_row = g + i * step;
        double squares = 0, along = 0;
        for (int64_t j = lane_of(); j < n; j += 32) {
            squares += (double)x_row[j] * (double)x_row[j];
            along += (double)x_row[j] * (double)g_row[j];
        }
        double length = sqrt(warp_sum(squares)), inverse = 1 / (length > epsilon ? length : epsilon);
        along = warp_sum(along) * inverse;
        real unit = (real)inverse, factor = (real)(inverse * (double)*scale);
        real dot = length > epsilon ? (real)along : (real)0;
        for (int64_t j = lane_of(); j < n; j += 32)
            x_bar[i * n + j] = (g_row[j] - x_row[j] * unit * dot) * factor;
        if (lane_of() == 0)
            scale_bar[i] = (real)along;
    }
}

template <typename real> void logsumexp_cuda(mo_context *ctx, const mo_view *x, const mo_view *y) {
    int64_t rows = row_count(x);
    mo_launch(logsumexp_kernel<real>, blocks_for_rows(rows), dim3(row_threads), 0, seam_of(ctx), rows, row_length(x),
        static_cast<const real *>(x->data), static_cast<real *>(y->data));
}

template <typename real> void layer_norm_cuda(mo_context *ctx, double epsilon, const mo_view *x, const mo_view *y) {
    int64_t rows = row_count(x);
    mo_launch(layer_norm_kernel<real>, blocks_for_rows(rows), dim3(row_threads), 0, seam_of(ctx), rows, row_length(x),
        epsilon, static_cast<const real *>(x->data), static_cast<real *>(y->data));
}

template <typename real> void l2_normalize_cuda(mo_context *ctx, double epsilon, const mo_view *x, const mo_view *y) {
    int64_t rows = row_count(x);
    mo_launch(l2_normalize_kernel<real>, blocks_for_rows(rows), dim3(row_threads), 0, seam_of(ctx), rows, row_length(x),
        epsilon, static_cast<const real *>(x->data), static_cast<real *>(y->data));
}

template <typename real>
void scale_unit_cuda(mo_context *ctx, double epsilon, const mo_view *x, const mo_view *scale, const mo_view *y) {
    int64_t rows = row_count(x);
    mo_launch(scale_unit_kernel<real>, blocks_for_rows(rows), dim3(row_threads), 0, seam_of(ctx), rows, row_length(x),
        epsilon, static_cast<const real *>(x->data), static_cast<const real *>(scale->data),
        static_cast<real *>(y->data));
}

template <typename real>
void scale_unit_adjoint_cuda(mo_context *ctx, double epsilon, const mo_view *x, const mo_view *scale,
    const mo_view *y_bar, const mo_view *x_bar, const mo_view *scale_bar) {
    int64_t rows = row_count(x);
    mo_launch(scale_unit_adjoint_kernel<real>, blocks_for_rows(rows), dim3(row_threads), 0, seam_of(ctx), rows,
        row_length(x), y_bar->ndim == 2 ? y_bar->stride[0] : row_length(x), epsilon, static_cast<const real *>(x->data),
        static_cast<const real *>(scale->data), static_cast<const real *>(y_bar->data),
        static_cast<real *>(x_bar->data), static_cast<real *>(scale_bar->data));
}

template void logsumexp_cuda<float>(mo_context *, const mo_view *, const mo_view *);
template void logsumexp_cuda<double>(mo_context *, const mo_view *, const mo_view *);
template void layer_norm_cuda<float>(mo_context *, double, const mo_view *, const mo_view *);
template void layer_norm_cuda<double>(mo_context *, double, const mo_view *, const mo_view *);
template void l2_normalize_cuda<float>(mo_context *, double, const mo_view *, const mo_view *);
template void l2_normalize_cuda<double>(mo_context *, double, const mo_view *, const mo_view *);
template void scale_unit_cuda<float>(mo_context *, double, const mo_view *, const mo_view *, const mo_view *);
template void scale_unit_cuda<double>(mo_context *, double, const mo_view *, const mo_view *, const mo_view *);
template void scale_unit_adjoint_cuda<float>(
    mo_context *, double, const mo_view *, const mo_view *, const mo_view *, const mo_view *, const mo_view *);
template void scale_unit_adjoint_cuda<double>(
    mo_context *, double, const mo_view *, const mo_view *, const mo_view *, const mo_view *, const mo_view *);
