/* tensor/cuda/cross_entropy.cu - the cross entropy of softmax rows with (smoothed) targets, and the adjoint of its
 * mean, a warp for each row.
 *
 * -log softmax(x)_c = (m - x_c) + log sum exp(x - m), m the largest entry: both parts are exact to rounding at any size
 * of x. A label out of its range is never used as an index: its loss is NaN, and the check of the labels raises the
 * error. */
#include "tensor/cuda/kernels.h"
#include "tensor/cuda/row.h"

/* The weight t_ic of class c in row i. */
template <typename real>
__device__ static double target_weight(double smoothing, int64_t n, int64_t c, int64_t label, const real *target) {
    double hit = target ? (double)target[c] : c == label ? 1 : 0;
    return (1 - smoothing) * hit + smoothing / (double)n;
}

template <typename real>
__device__ static double row_loss(const real *x, int64_t n, int64_t label, const real *target, double smoothing) {
    real largest = row_shift(x, n);
    double log_sum = log(row_exponential_sum(x, n, largest)), sum = 0;
    for (int64_t c = lane_of(); c < n; c += 32) {
        double t = target_weight(smoothing, n, c, label, target);
        sum += t == 0 ? 0 : t * (((double)largest - x[c]) + log_sum); /* weight 0 adds nothing, even if x is infinite */
    }
    sum = warp_sum(sum);
    return target || (label >= 0 && label < n) ? sum : NAN;
}

template <typename real>
static __global__ void cross_entropy_kernel(
    int64_t rows, int64_t n, double smoothing, const real *x, const int64_t *label, const real *target, real *loss) {
    for (int64_t i = first_warp(); i < rows; i += warp_step()) {
        double value =
            row_loss(x + i * n, n, label ? label[i] : 0, target ? target + i * n : (const real *)nullptr, smoothing);
        if (lane_of() == 0)
            loss[i] = (real)value;
    }
}

template <typename real>
void cross_entropy_cuda(
    mo_context *ctx, double smoothing, const mo_view *x, const mo_view *target, const mo_view *loss) {
    int64_t rows = row_count(x);
    bool labels = target->dtype == MO_I64;
    mo_launch(cross_entropy_kernel<real>, blocks_for_rows(rows), dim3(row_threads), 0, seam_of(ctx), rows,
        row_length(x), smoothing, static_cast<const real *>(x->data),
        labels ? static_cast<const int64_t *>(target->data) : nullptr,
        labels ? nullptr : static_cast<const real *>(target->data), static_cast<real *>(loss->data));
}

template <typename real>
static __global__ void cross_entropy_adjoint_kernel(int64_t rows, int64_t n, double smoothing, const real *x,
    const int64_t *label, const real *target, const real *mean_bar, real *x_bar) {
    double each_bar = (double)*mean_bar / (double)rows;
    for (int64_t i = first_warp(); i < rows; i += warp_step()) {
        const real *row = x + i * n, *weights = target ? target + i * n : (const real *)nullptr;
        int64_t own = label ? label[i] : 0;
        real shift = row_shift(row, n);
        double sum = row_exponential_sum(row, n, shift), total = 0;
        for (int64_t c = lane_of(); c < n && target; c += 32)
            total += target_weight(smoothing, n, c, own, weights);
        total = target ? warp_sum(total) : 1;
        for (int64_t c = lane_of(); c < n; c += 32) {
            double p = (double)exp_of(row[c] - shift) / sum;
            x_bar[i * n + c] = (real)((p * total - target_weight(smoothing, n, c, own, weights)) * each_bar);
        }
    }
}

template <typename real>
void cross_entropy_adjoint_cuda(mo_context *ctx, double smoothing, const mo_view *x, const mo_view *target,
    const mo_view *mean_bar, const mo_view *x_bar) {
    int64_t rows = row_count(x);
    bool labels = target->dtype == MO_I64;
    mo_launch(cross_entropy_adjoint_kernel<real>, blocks_for_rows(rows), dim3(row_threads), 0, seam_of(ctx), rows,
        row_length(x), smoothing, static_cast<const real *>(x->data),
        labels ? static_cast<const int64_t *>(target->data) : nullptr,
        labels ? nullptr : static_cast<const real *>(target->data), static_cast<const real *>(mean_bar->data),
        static_cast<real *>(x_bar->data));
}

template void cross_entropy_cuda<float>(mo_context *, double, const mo_view *, const mo_view *, const mo_view *);
template void cross_entropy_cuda<double>(mo_context *, double, const mo_view *, const mo_view *, const mo_view *);
template void cross_entropy_adjoint_cuda<float>(
    mo_context *, double, const mo_view *, const mo_view *, const mo_view *, const mo_view *);
template void cross_entropy_adjoint_cuda<double>(
    mo_context *, double, const mo_view *, const mo_view *, const mo_view *, const mo_view *);
