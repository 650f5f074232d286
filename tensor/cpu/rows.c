/* tensor/cpu/rows.c - softmax and its relatives: each row of the last axis by itself, rows in parallel.
 *
 * The largest entry is subtracted before any exponential, so that rows of +-1e4 are exact. */
#include "tensor/cpu/kernels.h"

#include <tgmath.h>

/* NaN if there is one; -Inf of an empty row. */
static real largest(const real *x, int64_t n) {
    real m = -INFINITY;
    for (int64_t i = 0; i < n; i++)
        m = x[i] > m || x[i] != x[i] ? x[i] : m;
    return m;
}

/* sum exp(x - shift); y, where given, takes the terms. */
static double exponentials(const real *x, int64_t n, real shift, real *y) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        real e = exp(x[i] - shift);
        sum += e;
        if (y)
            y[i] = e;
    }
    return sum;
}

/* A row of -Inf alone has no finite shift; 0 then gives log 0 and 0/0, as the limit has it. */
static real shift_of(const real *x, int64_t n) {
    real m = largest(x, n);
    return isinf(m) && m < 0 ? 0 : m;
}

static void softmax_row(const real *x, int64_t n, real *y) {
    double sum = exponentials(x, n, shift_of(x, n), y);
    real scale = (real)(1 / sum);
    for (int64_t i = 0; i < n; i++)
        y[i] *= scale;
}

static void log_softmax_row(const real *x, int64_t n, real *y) {
    real shift = shift_of(x, n), log_sum = (real)log(exponentials(x, n, shift, NULL));
    for (int64_t i = 0; i < n; i++)
        y[i] = (x[i] - shift) - log_sum;
}

void REAL(softmax_cpu)(mo_context *ctx, bool log, const mo_view *x, const mo_view *y) {
    int64_t n = row_length(x), rows = row_count(x), group = task_rows(n);
    const real *X = x->data;
    real *Y = y->data;
    int threads = threads_for(ctx, 8 * rows * n);
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static, group)
    for (int64_t i = 0; i < rows; i++) {
        if (log)
            log_softmax_row(X + i * n, n, Y + i * n);
        else
            softmax_row(X + i * n, n, Y + i * n);
    }
}

void REAL(logsumexp_cpu)(mo_context *ctx, const mo_view *x, const mo_view *y) {
    int64_t n = row_length(x), rows = row_count(x), group = task_rows(n);
    const real *X = x->data;
    real *Y = y->data;
    int threads = threads_for(ctx, 8 * rows * n);
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static, group)
    for (int64_t i = 0; i < rows; i++) {
        real shift = shift_of(X + i * n, n);
        Y[i] = (real)(shift + log(exponentials(X + i * n, n, shift, NULL)));
    }
}
