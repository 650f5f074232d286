/* tensor/cpu/rows.c - softmax and its relatives: each row of the last axis by itself, rows in parallel.
 *
 * The largest entry is subtracted before any exponential, so that rows with entries of +-1e4 are exact to rounding. */
#include "tensor/cpu/kernels.h"
#include "tensor/cpu/lane_sum.h"
#include "tensor/scalar.h"

enum { SHORT = 16, LANES = 16 };

/* Returns the largest entry; -Inf for an empty row. It skips NaN, which the sum then shows. */
static real largest(const real *x, int64_t n) {
    real m = -INFINITY;
#pragma omp simd reduction(max : m)
    for (int64_t i = 0; i < n; i++)
        m = x[i] > m ? x[i] : m;
    return m;
}

/* A row of -Inf alone has no finite shift; a shift of 0 then gives log 0 and 0/0, like the limit. */
static real shift_of(const real *x, int64_t n) {
    real m = largest(x, n);
    return m == -INFINITY ? 0 : m;
}

static double exponential_sum(const real *x, int64_t n, real shift) {
    lane_sum sum = {0};
    int64_t i = 0;
    for (; i + LANE_SUM <= n; i += LANE_SUM)
        for (int j = 0; j < LANE_SUM; j++)
            sum.lane[j] += exp_of(x[i + j] - shift);
    for (; i < n; i++)
        sum.lane[0] += exp_of(x[i] - shift);
    return lane_sum_total(&sum);
}

/* Softmax, or its logarithm, of up to LANES short rows, such as the weights of hops: one row per lane, so that all
 * loops are long. */
static void softmax_short(bool logarithm, const real *x, int64_t rows, int64_t n, real *restrict y) {
    real z[SHORT][LANES], m[LANES], scale[LANES];
    double sum[LANES] = {0};
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < LANES; i++)
            z[j][i] = i < rows ? x[i * n + j] : 0;
    for (int64_t i = 0; i < LANES; i++)
        m[i] = -INFINITY;
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < LANES; i++)
            m[i] = z[j][i] > m[i] ? z[j][i] : m[i];
    for (int64_t i = 0; i < LANES; i++)
        m[i] = m[i] == -INFINITY ? 0 : m[i];
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < LANES; i++) {
            real shifted = z[j][i] - m[i], e = exp_of(shifted);
            z[j][i] = logarithm ? shifted : e;
            sum[i] += e;
        }
    for (int64_t i = 0; i < LANES; i++)
        scale[i] = (real)(logarithm ? log(sum[i]) : 1 / sum[i]);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < n; j++)
            y[i * n + j] = logarithm ? z[j][i] - scale[i] : z[j][i] * scale[i];
}

static double inner_product(const real *x, const real *y, int64_t n) {
    lane_sum sum = {0};
    int64_t i = 0;
    for (; i + LANE_SUM <= n; i += LANE_SUM)
        for (int j = 0; j < LANE_SUM; j++)
            sum.lane[j] += x[i + j] * y[i + j];
    for (; i < n; i++)
        sum.lane[0] += x[i] * y[i];
    return lane_sum_total(&sum);
}

static void softmax_row(const real *x, int64_t n, real *restrict y) {
    real shift = shift_of(x, n);
    for (int64_t i = 0; i < n; i++)
        y[i] = exp_of(x[i] - shift);
    real scale = (real)(1 / lane_sum_row(y, n));
    for (int64_t i = 0; i < n; i++)
        y[i] *= scale;
}

static void log_softmax_row(const real *x, int64_t n, real *y) {
    real shift = shift_of(x, n), log_sum = (real)log(exponential_sum(x, n, shift));
    for (int64_t i = 0; i < n; i++)
        y[i] = (x[i] - shift) - log_sum;
}

void REAL(softmax_cpu)(mo_context *ctx, bool log, const mo_view *x, const mo_view *y) {
    int64_t n = row_length(x), rows = row_count(x), together = n <= SHORT ? LANES : 1;
    const real *X = x->data;
    real *Y = y->data;
    int threads = threads_for(ctx, 8 * rows * n);
#pragma omp parallel num_threads(threads) if (threads > 1)
    {
        const unsigned mode __attribute__((cleanup(restore_mode))) = usual_mode();
#pragma omp for schedule(static) nowait
        for (int64_t i = 0; i < rows; i += together) {
            if (n <= SHORT)
                softmax_short(log, X + i * n, min_of(LANES, rows - i), n, Y + i * n);
            else if (log)
                log_softmax_row(X + i * n, n, Y + i * n);
            else
                softmax_row(X + i * n, n, Y + i * n);
        }
    }
}

/* Returns the sum of y g, or of g if y is NULL. Short rows are added in order, which is faster for them than
 * lane_sum. */
static real row_product(const real *y, const real *g, int64_t n) {
    double sum = 0;
    for (int64_t i = 0; i < n && n < 4 * LANES; i++)
        sum += y ? y[i] * g[i] : g[i];
    if (n < 4 * LANES)
        return (real)sum;
    return (real)(y ? inner_product(y, g, n) : lane_sum_row(g, n));
}

static void softmax_adjoint_row(const real *y, const real *g, int64_t n, real *restrict x_bar) {
    real sum = row_product(y, g, n);
    for (int64_t i = 0; i < n; i++)
        x_bar[i] = y[i] * (g[i] - sum);
}

static void log_softmax_adjoint_row(const real *y, const real *g, int64_t n, real *restrict x_bar) {
    real sum = row_product(NULL, g, n);
    for (int64_t i = 0; i < n; i++)
        x_bar[i] = g[i] - exp_of(y[i]) * sum;
}

void REAL(softmax_adjoint_cpu)(
    mo_context *ctx, bool log, const mo_view *y, const mo_view *y_bar, const mo_view *x_bar) {
    int64_t n = row_length(y), rows = row_count(y);
    const real *Y = y->data, *G = y_bar->data;
    real *X = x_bar->data;
    void (*const row)(const real *, const real *, int64_t, real *restrict) =
        log ? log_softmax_adjoint_row : softmax_adjoint_row;
    int threads = threads_for(ctx, 4 * rows * n);
#pragma omp parallel num_threads(threads) if (threads > 1)
    {
        const unsigned mode __attribute__((cleanup(restore_mode))) = usual_mode();
#pragma omp for schedule(static) nowait
        for (int64_t i = 0; i < rows; i++)
            row(Y + i * n, G + i * n, n, X + i * n);
    }
}

void REAL(logsumexp_cpu)(mo_context *ctx, const mo_view *x, const mo_view *y) {
    int64_t n = row_length(x), rows = row_count(x);
    const real *X = x->data;
    real *Y = y->data;
    int threads = threads_for(ctx, 8 * rows * n);
#pragma omp parallel num_threads(threads) if (threads > 1)
    {
        const unsigned mode __attribute__((cleanup(restore_mode))) = usual_mode();
#pragma omp for schedule(static) nowait
        for (int64_t i = 0; i < rows; i++) {
            real shift = shift_of(X + i * n, n);
            shift = shift == INFINITY ? 0 : shift; /* inf - inf would be NaN; unshifted, the sum is inf */
            Y[i] = (real)(shift + log(exponential_sum(X + i * n, n, shift)));
        }
    }
}
