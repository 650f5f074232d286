/* tensor/cpu/potrf.c - A = L L^T.
 *
 * LAPACK's potrf returns info 0 on NaN and Inf, so values are checked here. Batches of small matrices take the plain
 * loops below: a LAPACK call costs as much as their work. */
#include "tensor/cpu/kernels.h"
#include "tensor/cpu/matrices.h"

#include <math.h>
#include <string.h>

/* The textbook, by rows: L[i][j] = (A[i][j] - <L[i], L[j]>) / L[j][j]. Returns the first bad leading minor, or 0. */
static int factor_small(real *A, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        real *restrict a = A + i * n;
        for (int64_t j = 0; j <= i; j++) {
            const real *l = A + j * n;
            real sum = a[j];
            for (int64_t k = 0; k < j; k++)
                sum -= a[k] * l[k];
            if (j < i)
                a[j] = sum * (1 / l[j]);
            else if (sum > 0)
                a[j] = sqrt(sum);
            else
                return (int)i + 1;
        }
    }
    return 0;
}

static int factor(real *A, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        if (!all_finite(A + i * n, i + 1))
            return -1;
    int info = 0, size = (int)n;
    if (n <= SMALL_MATRIX)
        info = factor_small(A, n);
    else
        lapack_potrf("U", &size, A, &size, &info);
    for (int64_t i = 0; i < n && info == 0; i++) {
        if (!isfinite(A[i * n + i]))
            info = -1; /* overflow on the way */
        memset(A + i * n + i + 1, 0, (size_t)(n - i - 1) * sizeof(real));
    }
    return info;
}

void REAL(potrf_cpu)(mo_context *ctx, const mo_view *A, const mo_view *info) {
    int64_t n = A->shape[A->ndim - 1], batch = matrix_count(A);
    real *a = A->data;
    int32_t *status = info->data;
    ctx->counters.factorizations += batch;
    int threads = matrix_threads(ctx, batch, (double)n * (double)n * (double)n / 6);
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(dynamic, max_of(1, 4096 / max_of(1, n * n)))
    for (int64_t b = 0; b < batch; b++)
        status[b] = factor(a + b * n * n, n);
}
