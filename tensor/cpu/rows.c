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

/* Rows of n entries of x, and of g in an adjoint, to rows of y. */
typedef struct rows {
    int64_t n, count;
    bool log;
    const real *x, *g;
    real *y;
} rows;

static void softmax_rows(const void *of, task_range some) {
    const rows *r = of;
    int64_t n = r->n, together = n <= SHORT ? LANES : 1;
    for (int64_t i = some.first * together; i < min_of(r->count, some.end * together); i += together) {
        if (n <= SHORT)
            softmax_short(r->log, r->x + i * n, min_of(LANES, r->count - i), n, r->y + i * n);
        else if (r->log)
            log_softmax_row(r->x + i * n, n, r->y + i * n);
        else
            softmax_row(r->x + i * n, n, r->y + i * n);
    }
}

void REAL(softmax_cpu)(mo_context *ctx, bool log, const mo_view *x, const mo_view *y) {
    const rows r = {.n = row_length(x), .count = row_count(x), .log = log, .x = x->data, .y = y->data};
    int threads = threads_for(ctx, 8 * r.count * r.n);
    run_tasks(threads, ceil_div(r.count, r.n <= SHORT ? LANES : 1), 0, softmax_rows, &r);
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

static void softmax_adjoint_rows(const void *of, task_range some) {
    const rows *r = of;
    for (int64_t i = some.first * r->n; i < some.end * r->n; i += r->n)
        if (r->log)
            log_softmax_adjoint_row(r->x + i, r->g + i, r->n, r->y + i);
        else
            softmax_adjoint_row(r->x + i, r->g + i, r->n, r->y + i);
}

void REAL(softmax_adjoint_cpu)(
    mo_context *ctx, bool log, const mo_view *y, const mo_view *y_bar, const mo_view *x_bar) {
    const rows r = {.n = row_length(y), .log = log, .x = y->data, .g = y_bar->data, .y = x_bar->data};
    int64_t count = r.n ? row_count(y) : 0;
    run_tasks(threads_for(ctx, 4 * count * r.n), count, 0, softmax_adjoint_rows, &r);
}

static void logsumexp_rows(const void *of, task_range some) {
    const rows *r = of;
    for (int64_t i = some.first; i < some.end; i++) {
        const real *x = r->x + i * r->n;
        real shift = shift_of(x, r->n);
        shift = shift == INFINITY ? 0 : shift; /* inf - inf would be NaN; unshifted, the sum is inf */
        r->y[i] = (real)(shift + log(exponential_sum(x, r->n, shift)));
    }
}

void REAL(logsumexp_cpu)(mo_context *ctx, const mo_view *x, const mo_view *y) {
    const rows r = {.n = row_length(x), .x = x->data, .y = y->data};
    int64_t count = row_count(x);
    run_tasks(threads_for(ctx, 8 * count * r.n), count, 0, logsumexp_rows, &r);
}
