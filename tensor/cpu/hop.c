/* tensor/cpu/hop.c - rows of K matrices mixed with weights per row, and the adjoint in the weights. */
#include "tensor/cpu/kernels.h"
#include "tensor/cpu/lane_sum.h"

#include <string.h>

static const real *row_of(const mo_view *H, int64_t i) {
    return (const real *)H->data + i * H->stride[0];
}

/* y = w0 a + w1 b + w2 c + w3 d: one pass for the usual four hops. */
static void mix_four(const real *w, const real *const *h, int64_t d, real *restrict y) {
    const real *h0 = h[0], *h1 = h[1], *h2 = h[2], *h3 = h[3], w0 = w[0], w1 = w[1], w2 = w[2], w3 = w[3];
    for (int64_t j = 0; j < d; j++)
        y[j] = (w0 * h0[j] + w1 * h1[j]) + (w2 * h2[j] + w3 * h3[j]);
}

static void add_scaled(real w, const real *restrict h, int64_t d, real *restrict y) {
    for (int64_t j = 0; j < d; j++)
        y[j] += w * h[j];
}

static void mix_row(const real *w, int64_t step, const mo_view *H, int K, int64_t i, real *y) {
    int64_t d = H->shape[1];
    int k = 0;
    if (K >= 4) {
        const real *h[4] = {row_of(H, i), row_of(H + 1, i), row_of(H + 2, i), row_of(H + 3, i)};
        mix_four((const real[]){w[0], w[step], w[2 * step], w[3 * step]}, h, d, y);
        k = 4;
    } else {
        memset(y, 0, (size_t)d * sizeof(real));
    }
    for (; k < K; k++)
        add_scaled(w[k * step], row_of(H + k, i), d, y);
}

void REAL(hop_mix_cpu)(mo_context *ctx, const mo_view *w, const mo_view *H, int K, const mo_view *y) {
    int64_t n = y->shape[0], d = y->shape[1];
    int threads = threads_for(ctx, n * d * K);
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
    for (int64_t i = 0; i < n; i++)
        mix_row((const real *)w->data + i * w->stride[0], w->stride[1], H, K, i, (real *)y->data + i * d);
}

static real dot(const real *x, const real *y, int64_t n) {
    real_lanes sum = {0};
    int64_t j = 0;
    for (; j + LANE_SUM <= n; j += LANE_SUM)
        sum += real_lanes_at(x + j) * real_lanes_at(y + j);
    for (; j < n; j++)
        sum[0] += x[j] * y[j];
    return real_lanes_total(sum);
}

void REAL(hop_dot_cpu)(mo_context *ctx, const mo_view *g, const mo_view *H, int K, const mo_view *w) {
    int64_t n = w->shape[0], d = g->shape[1];
    int threads = threads_for(ctx, n * d * K);
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
    for (int64_t i = 0; i < n; i++)
        for (int k = 0; k < K; k++)
            ((real *)w->data)[i * w->stride[0] + k * w->stride[1]] = dot(row_of(g, i), row_of(H + k, i), d);
}
