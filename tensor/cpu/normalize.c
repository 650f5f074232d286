/* tensor/cpu/normalize.c - rows to zero mean and unit variance, or to unit length. */
#include "tensor/cpu/kernels.h"

#include <tgmath.h>

/* Two passes: the variance about a known mean loses nothing if the mean is large. */
static void standardize(const real *x, int64_t n, double epsilon, real *restrict y) {
    double sum = 0, squares = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t j = 0; j < n; j++)
        sum += x[j];
    double mean = sum / (double)max_of(1, n);
#pragma omp simd reduction(+ : squares)
    for (int64_t j = 0; j < n; j++)
        squares += ((double)x[j] - mean) * ((double)x[j] - mean);
    double scale = 1 / sqrt(squares / (double)max_of(1, n) + epsilon);
    for (int64_t j = 0; j < n; j++)
        y[j] = (real)(((double)x[j] - mean) * scale);
}

void REAL(layer_norm_cpu)(mo_context *ctx, double epsilon, const mo_view *x, const mo_view *y) {
    int64_t n = row_length(x), rows = row_count(x);
    int threads = threads_for(ctx, rows * n);
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
    for (int64_t i = 0; i < rows; i++)
        standardize((const real *)x->data + i * n, n, epsilon, (real *)y->data + i * n);
}

/* The squares of float32 cannot overflow in double; those of float64 beyond 1e154 can. */
static void to_unit_length(const real *x, int64_t n, double epsilon, real *restrict y) {
    double squares = 0;
#pragma omp simd reduction(+ : squares)
    for (int64_t j = 0; j < n; j++)
        squares += (double)x[j] * (double)x[j];
    double length = sqrt(squares);
    real scale = (real)(1 / (length < epsilon ? epsilon : length));
    for (int64_t j = 0; j < n; j++)
        y[j] = x[j] * scale;
}

void REAL(l2_normalize_cpu)(mo_context *ctx, double epsilon, const mo_view *x, const mo_view *y) {
    int64_t n = row_length(x), rows = row_count(x);
    int threads = threads_for(ctx, rows * n);
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
    for (int64_t i = 0; i < rows; i++)
        to_unit_length((const real *)x->data + i * n, n, epsilon, (real *)y->data + i * n);
}
