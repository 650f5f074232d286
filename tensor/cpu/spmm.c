/* tensor/cpu/spmm.c - Y = A X for a CSR matrix: each row of Y is a weighted sum of rows of X.
 *
 * Four rows of X are added at a time, so that the row of Y, which stays in the first-level cache, is loaded and stored
 * once per four rows. The next four rows are prefetched meanwhile: their addresses follow no pattern that the processor
 * could guess. */
#include "tensor/cpu/kernels.h"

#include <string.h>

enum { ROWS = 32, AHEAD = 4 };

typedef struct csr_view {
    mo_context *ctx;
    const int64_t *first;
    const int32_t *column;
    const real *value, *X;
    real *Y;
    int64_t nnz, d, X_stride, Y_stride;
} csr_view;

static void add_four(const csr_view *A, int64_t k, real *restrict y) {
    const real *x0 = A->X + A->column[k] * A->X_stride, *x1 = A->X + A->column[k + 1] * A->X_stride;
    const real *x2 = A->X + A->column[k + 2] * A->X_stride, *x3 = A->X + A->column[k + 3] * A->X_stride;
    const real *v = A->value + k;
    for (int64_t j = 0; j < A->d; j++)
        y[j] += (v[0] * x0[j] + v[1] * x1[j]) + (v[2] * x2[j] + v[3] * x3[j]);
}

static void add_one(const csr_view *A, int64_t k, real *restrict y) {
    const real *x = A->X + A->column[k] * A->X_stride, v = A->value[k];
    for (int64_t j = 0; j < A->d; j++)
        y[j] += v * x[j];
}

static void multiply_row(const csr_view *A, int64_t i) {
    real *y = A->Y + i * A->Y_stride;
    memset(y, 0, (size_t)A->d * sizeof(real));
    int64_t k = A->first[i], end = A->first[i + 1];
    for (; k + 4 <= end; k += 4) {
        for (int64_t next = k + AHEAD; next < min_of(A->nnz, k + AHEAD + 4); next++)
            fetch_row(A->X + A->column[next] * A->X_stride, A->d);
        add_four(A, k, y);
    }
    for (; k < end; k++) {
        if (k + AHEAD < A->nnz)
            fetch_row(A->X + A->column[k + AHEAD] * A->X_stride, A->d);
        add_one(A, k, y);
    }
}

static void multiply_rows(const void *of, task_range some) {
    const csr_view *A = of;
    bool on = true;
    for (int64_t i = some.first; i < some.end; i++) {
        on = i % ROWS ? on : mo_goes_on(A->ctx);
        if (on)
            multiply_row(A, i);
    }
}

void REAL(spmm_cpu)(mo_context *ctx, const mo_csr_view *M, const mo_view *X, const mo_view *Y) {
    csr_view A = {.ctx = ctx,
        .first = M->row_pointer.data,
        .column = M->column.data,
        .value = M->values.data,
        .X = X->data,
        .Y = Y->data,
        .d = X->shape[1],
        .X_stride = X->stride[0],
        .Y_stride = Y->stride[0]};
    int64_t n = Y->shape[0];
    A.nnz = n > 0 ? A.first[n] : 0;
    if (A.d == 0)
        return;
    run_tasks(threads_for(ctx, (n + A.nnz) * A.d), n, ROWS, multiply_rows, &A);
}
