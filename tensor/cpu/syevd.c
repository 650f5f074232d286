/* tensor/cpu/syevd.c - eigenvalues and eigenvectors of symmetric matrices by divide and conquer.
 *
 * LAPACK writes the vectors to its columns, which are rows here, so each matrix is transposed afterwards. */
#include "tensor/cpu/kernels.h"
#include "tensor/cpu/matrices.h"

static void transpose_square(real *A, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < i; j++) {
            real swap = A[i * n + j];
            A[i * n + j] = A[j * n + i];
            A[j * n + i] = swap;
        }
}

static int decompose(real *A, int64_t n, real *w, real *work, int64_t length) {
    if (n == 0)
        return 0;
    if (!all_finite(A, n * n))
        return -1;
    int size = (int)n, info, lwork = (int)length, liwork = 3 + 5 * size;
    lapack_syevd("V", "U", &size, A, &size, w, work, &lwork, (int *)(work + length), &liwork, &info);
    transpose_square(A, n);
    return info;
}

typedef struct batch {
    real *A, *w, *scratch;
    int64_t count, n, length, each; /* length: reals that LAPACK asks for; each: reals of a workspace */
    int threads;
    int32_t *info;
} batch;

static void decompose_some(const void *of, task_range some) {
    const batch *p = of;
    int64_t n = p->n;
    for (int64_t b = some.first; b < some.end; b++) {
        real *own = p->scratch + workspace_of(b, p->count, p->threads, some.thread) * p->each;
        p->info[b] = decompose(p->A + b * n * n, n, p->w + b * n, own, p->length);
    }
}

void REAL(syevd_cpu)(mo_context *ctx, const mo_view *A, const mo_view *w, const mo_view *info) {
    int64_t n = A->shape[A->ndim - 1], count = matrix_count(A);
    ctx->counters.factorizations += count;
    int threads = matrix_threads(ctx, count, 9 * (double)n * (double)n * (double)n);
    /* The workspace that LAPACK asks for, in reals; its integers, no larger than reals, follow. */
    int64_t length = 1 + 6 * n + 2 * n * n;
    int64_t each = ceil_div(length + 3 + 5 * n, 16) * 16;
    real *scratch = cpu_workspace(ctx, (size_t)(workspace_count(count, threads) * each) * sizeof(real));
    if (!scratch)
        return;
    const batch p = {A->data, w->data, scratch, count, n, length, each, threads, info->data};
    run_tasks(threads, count, 1, decompose_some, &p);
}
