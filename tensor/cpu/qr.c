/* tensor/cpu/qr.c - A = Q R, Q with orthonormal columns, R upper with diagonal >= 0, which makes the factors unique.
 *
 * LAPACK wants columns, so the matrix passes through a transposed copy, and the signs are set on the way back. */
#include "tensor/cpu/kernels.h"
#include "tensor/cpu/matrices.h"

#include <string.h>

enum { WORK_COLUMNS = 64 }; /* an upper bound of LAPACK's block size, in columns */

typedef struct panel {
    int64_t m, n;
    real *columns; /* [n, m]: the transposed copy */
    real *tau, *work;
} panel;

/* B [columns, rows] = A^T, in square blocks that stay in cache. */
static void transpose(const real *A, int64_t rows, int64_t columns, real *B) {
    for (int64_t i0 = 0; i0 < rows; i0 += 32)
        for (int64_t j0 = 0; j0 < columns; j0 += 32)
            for (int64_t i = i0; i < min_of(rows, i0 + 32); i++)
                for (int64_t j = j0; j < min_of(columns, j0 + 32); j++)
                    B[j * rows + i] = A[i * columns + j];
}

/* Copies R and makes its diagonal nonnegative; sign[i] receives the sign of row i, by which column i of Q must be
 * multiplied. */
static void take_R(const panel *p, real *R, real *sign) {
    for (int64_t i = 0; i < p->n; i++) {
        sign[i] = p->columns[i * p->m + i] < 0 ? -1 : 1;
        for (int64_t j = 0; j < p->n; j++)
            R[i * p->n + j] = j < i ? 0 : sign[i] * p->columns[j * p->m + i];
    }
}

static int decompose(const panel *p, real *A, real *R, real *sign) {
    if (!all_finite(A, p->m * p->n))
        return -1;
    int m = (int)p->m, n = (int)p->n, length = n * WORK_COLUMNS, info;
    if (n == 0)
        return 0;
    transpose(A, p->m, p->n, p->columns);
    lapack_geqrf(&m, &n, p->columns, &m, p->tau, p->work, &length, &info);
    take_R(p, R, sign);
    if (info == 0)
        lapack_orgqr(&m, &n, &n, p->columns, &m, p->tau, p->work, &length, &info);
    for (int64_t j = 0; j < p->n; j++)
        if (sign[j] < 0)
            for (int64_t i = 0; i < p->m; i++)
                p->columns[j * p->m + i] = -p->columns[j * p->m + i];
    transpose(p->columns, p->n, p->m, A);
    return info;
}

typedef struct batch {
    real *A, *R, *scratch;
    int64_t count, m, n, each; /* each: reals of a workspace */
    int threads;
    int32_t *info;
} batch;

static void decompose_some(const void *of, task_range some) {
    const batch *q = of;
    int64_t m = q->m, n = q->n;
    for (int64_t b = some.first; b < some.end; b++) {
        real *own = q->scratch + workspace_of(b, q->count, q->threads, some.thread) * q->each;
        panel p = {.m = m, .n = n, .columns = own, .tau = own + m * n, .work = own + m * n + 2 * n};
        q->info[b] = decompose(&p, q->A + b * m * n, q->R + b * n * n, p.tau + n);
    }
}

void REAL(qr_cpu)(mo_context *ctx, const mo_view *A, const mo_view *R, const mo_view *info) {
    int64_t m = A->shape[A->ndim - 2], n = A->shape[A->ndim - 1], count = matrix_count(A);
    ctx->counters.factorizations += count;
    int threads = matrix_threads(ctx, count, 4 * (double)m * (double)n * (double)n);
    int64_t each = ceil_div(m * n + (2 + WORK_COLUMNS) * n, 16) * 16;
    real *scratch = cpu_workspace(ctx, (size_t)(workspace_count(count, threads) * each + 1) * sizeof(real));
    if (!scratch)
        return;
    const batch q = {A->data, R->data, scratch, count, m, n, each, threads, info->data};
    run_tasks(threads, count, 1, decompose_some, &q);
}
