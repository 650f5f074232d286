/* tensor/cpu/normalize.c - rows to zero mean and unit variance, or to unit length. */
#include "tensor/cpu/kernels.h"
#include "tensor/cpu/lane_sum.h"

#include <tgmath.h>

/* Returns the sum of (x - mean)^2. */
static double squares_about(double mean, const real *x, int64_t n) {
    lane_sum sum = {0};
    int64_t i = 0;
    for (; i + LANE_SUM <= n; i += LANE_SUM)
        for (int j = 0; j < LANE_SUM; j++)
            sum.lane[j] += ((double)x[i + j] - mean) * ((double)x[i + j] - mean);
    for (; i < n; i++)
        sum.lane[0] += ((double)x[i] - mean) * ((double)x[i] - mean);
    return lane_sum_total(&sum);
}

/* Two passes: the variance about a known mean loses nothing if the mean is large. */
static void standardize(const real *x, int64_t n, double epsilon, real *restrict y) {
    double mean = lane_sum_row(x, n) / (double)max_of(1, n);
    double scale = 1 / sqrt(squares_about(mean, x, n) / (double)max_of(1, n) + epsilon);
    for (int64_t j = 0; j < n; j++)
        y[j] = (real)(((double)x[j] - mean) * scale);
}

/* In double, squares of float32 cannot overflow; squares of float64 beyond 1e154 can. */
static void to_unit_length(const real *x, int64_t n, double epsilon, real *restrict y) {
    double length = sqrt(squares_about(0, x, n));
    real scale = (real)(1 / (length < epsilon ? epsilon : length));
    for (int64_t j = 0; j < n; j++)
        y[j] = x[j] * scale;
}

/* Each row of x [.., n] to one of y. */
typedef struct normalization {
    void (*row)(const real *x, int64_t n, double epsilon, real *restrict y);
    int64_t n;
    double epsilon;
    const real *x;
    real *y;
} normalization;

static void normalize_some(const void *of, task_range some) {
    const normalization *p = of;
    for (int64_t i = some.first; i < some.end; i++)
        p->row(p->x + i * p->n, p->n, p->epsilon, p->y + i * p->n);
}

void REAL(layer_norm_cpu)(mo_context *ctx, double epsilon, const mo_view *x, const mo_view *y) {
    int64_t n = row_length(x), rows = row_count(x);
    const normalization p = {standardize, n, epsilon, x->data, y->data};
    run_tasks(threads_for(ctx, rows * n), rows, 0, normalize_some, &p);
}

void REAL(l2_normalize_cpu)(mo_context *ctx, double epsilon, const mo_view *x, const mo_view *y) {
    int64_t n = row_length(x), rows = row_count(x);
    const normalization p = {to_unit_length, n, epsilon, x->data, y->data};
    run_tasks(threads_for(ctx, rows * n), rows, 0, normalize_some, &p);
}
