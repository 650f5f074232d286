/* tensor/cpu/svd.c - thin singular value decompositions by divide and conquer.
 *
 * LAPACK reads a wide matrix as its transpose, A^T = V diag(s) U^T, and writes V to the columns of A^T, which are our
 * rows of V^T, and U^T to columns that are our rows of U: nothing is transposed. */
#include "tensor/cpu/kernels.h"
#include "tensor/cpu/matrices.h"

#include <limits.h>

typedef struct batch {
    real *A, *U, *s, *scratch;
    int64_t count, k, n, length, each; /* length: reals for LAPACK; each: reals of a workspace */
    int threads;
    int32_t *info;
} batch;

static int decompose(const batch *p, int64_t b, real *work) {
    int64_t size = p->k * p->n;
    if (!all_finite(p->A + b * size, size))
        return -1;
    int k = (int)p->k, n = (int)p->n, length = (int)min_of(p->length, INT_MAX), info;
    real *U = p->U + b * p->k * p->k, unused;
    lapack_gesdd("O", &n, &k, p->A + b * size, &n, p->s + b * p->k, &unused, &n, U, &k, work, &length,
        (int *)(work + p->length), &info);
    return info;
}

static void decompose_some(const void *of, task_range some) {
    const batch *p = of;
    for (int64_t b = some.first; b < some.end; b++)
        p->info[b] = decompose(p, b, p->scratch + workspace_of(b, p->count, p->threads, some.thread) * p->each);
}

void REAL(svd_cpu)(mo_context *ctx, const mo_view *A, const mo_view *U, const mo_view *s, const mo_view *info) {
    int64_t k = A->shape[A->ndim - 2], n = A->shape[A->ndim - 1], count = matrix_count(A);
    ctx->counters.factorizations += count;
    if (k == 0)
        return;
    int threads = matrix_threads(ctx, count, 6 * (double)n * (double)k * (double)k);
    /* The workspace with which LAPACK works at once and in blocks, in reals; its integers, no larger, follow. */
    int64_t length = 7 * k + 5 * k * k + (k + 64) * n, each = ceil_div(length + 8 * k, 16) * 16;
    real *scratch = cpu_workspace(ctx, (size_t)(workspace_count(count, threads) * each) * sizeof(real));
    if (!scratch)
        return;
    const batch p = {A->data, U->data, s->data, scratch, count, k, n, length, each, threads, info->data};
    run_tasks(threads, count, 1, decompose_some, &p);
}
