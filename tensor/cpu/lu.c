/* tensor/cpu/lu.c - LU with partial pivoting, and solving with it.
 *
 * To LAPACK the row-major A is A^T, so getrf finds P A^T = L U, that is A = U^T L^T P. In the row-major buffer U^T is
 * the lower triangle, L^T the upper one with a unit diagonal, and the pivots exchange columns of A. Only getrs reads
 * this form. */
#include "tensor/cpu/kernels.h"
#include "tensor/cpu/matrices.h"

#include <float.h>
#include <math.h>
#include <omp.h>

/* LAPACK's columns are our rows: its 1-norm. */
static real largest_row_sum(const real *A, int64_t n) {
    real largest = 0;
    for (int64_t i = 0; i < n; i++) {
        real sum = 0;
        for (int64_t j = 0; j < n; j++)
            sum += fabs(A[i * n + j]);
        largest = sum > largest ? sum : largest;
    }
    return largest;
}

/* getrf lets a nearly singular matrix pass, so its condition is estimated too. work: 5 n. */
static int factor(real *A, int64_t n, int32_t *pivot, real *work) {
    if (!all_finite(A, n * n))
        return -1;
    if (n == 0)
        return 0;
    int size = (int)n, info, refused;
    real norm = largest_row_sum(A, n), rcond = 0, epsilon = sizeof(real) == 4 ? FLT_EPSILON : DBL_EPSILON;
    lapack_getrf(&size, &size, A, &size, pivot, &info);
    if (info != 0)
        return info;
    lapack_gecon("1", &size, A, &size, &norm, &rcond, work, (int *)(work + 4 * n), &refused);
    return rcond >= epsilon ? 0 : -2;
}

void REAL(getrf_cpu)(mo_context *ctx, const mo_view *A, const mo_view *pivot, const mo_view *info) {
    int64_t n = A->shape[A->ndim - 1], batch = matrix_count(A);
    ctx->counters.factorizations += batch;
    int threads = (int)min_of(max_of(1, batch), matrix_threads(ctx, batch, (double)n * (double)n * (double)n / 3));
    int64_t each = ceil_div(5 * n, 16) * 16; /* the integers take no more room than reals */
    real *scratch = cpu_workspace(ctx, (size_t)(threads * each) * sizeof(real));
    if (!scratch)
        return;
    real *a = A->data;
    int32_t *pivots = pivot->data, *status = info->data;
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(dynamic)
    for (int64_t b = 0; b < batch; b++)
        status[b] = factor(a + b * n * n, n, pivots + b * n, scratch + omp_get_thread_num() * each);
}

static void exchange_rows(real *restrict x, real *restrict y, int64_t m) {
    for (int64_t j = 0; j < m; j++) {
        real swap = x[j];
        x[j] = y[j];
        y[j] = swap;
    }
}

static void exchange(real *B, int64_t m, int64_t row, int64_t other) {
    if (row != other)
        exchange_rows(B + row * m, B + other * m, m);
}

static void solve_triangle(
    CBLAS_UPLO side, CBLAS_TRANSPOSE op, CBLAS_DIAG diagonal, const real *LU, int64_t n, real *B, int64_t m) {
    blas_trsm(CblasRowMajor, CblasLeft, side, op, diagonal, (blasint)n, (blasint)m, 1, LU, (blasint)n, B, (blasint)m);
}

/* A X = B: U^T Y = B, L^T Z = Y, X = P^T Z, the exchanges from the last to the first. */
static void solve_plain(const real *LU, const int32_t *pivot, int64_t n, real *B, int64_t m) {
    solve_triangle(CblasLower, CblasNoTrans, CblasNonUnit, LU, n, B, m);
    solve_triangle(CblasUpper, CblasNoTrans, CblasUnit, LU, n, B, m);
    for (int64_t i = n - 1; i >= 0; i--)
        exchange(B, m, i, pivot[i] - 1);
}

/* A^T X = B: L U X = P B. */
static void solve_transposed(const real *LU, const int32_t *pivot, int64_t n, real *B, int64_t m) {
    for (int64_t i = 0; i < n; i++)
        exchange(B, m, i, pivot[i] - 1);
    solve_triangle(CblasUpper, CblasTrans, CblasUnit, LU, n, B, m);
    solve_triangle(CblasLower, CblasTrans, CblasNonUnit, LU, n, B, m);
}

void REAL(getrs_cpu)(mo_context *ctx, bool transposed, const mo_view *LU, const mo_view *pivot, const mo_view *B) {
    int64_t n = B->shape[B->ndim - 2], m = B->shape[B->ndim - 1], batch = matrix_count(B);
    if (batch * n * m == 0)
        return;
    int threads = matrix_threads(ctx, batch, (double)n * (double)n * (double)m);
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(dynamic)
    for (int64_t b = 0; b < batch; b++) {
        const real *factor = (const real *)LU->data + batch_offset(B, LU, b);
        const int32_t *exchanges = (const int32_t *)pivot->data + batch_offset(B, pivot, b);
        real *X = (real *)B->data + b * n * m;
        if (transposed)
            solve_transposed(factor, exchanges, n, X, m);
        else
            solve_plain(factor, exchanges, n, X, m);
    }
}
