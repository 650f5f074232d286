/* tensor/cpu/spmm.c - Y = A X for a CSR matrix: each row of Y is a weighted sum of rows of X.
 *
 * Four rows of X are added at a time, so that the row of Y, which stays in the first-level cache, is loaded and stored
 * once per four rows; a row of 16, 32, 48 or 64 numbers stays in registers. The next rows are prefetched meanwhile:
 * their addresses follow no pattern that the processor could guess. */
#include "tensor/cpu/kernels.h"

#include <string.h>

enum { ROWS = 32, AHEAD = 4, FAR_AHEAD = 8, LINE = 16, MOST_LINES = 4 };

typedef struct csr_view {
    mo_context *ctx;
    const int64_t *first;
    const int32_t *column;
    const real *value, *X;
    real *Y;
    int64_t nnz, d, X_stride, Y_stride;
} csr_view;

static inline __attribute__((always_inline)) void add_four(const csr_view *A, int64_t k, int64_t d, real *restrict y) {
    const real *x0 = A->X + A->column[k] * A->X_stride, *x1 = A->X + A->column[k + 1] * A->X_stride;
    const real *x2 = A->X + A->column[k + 2] * A->X_stride, *x3 = A->X + A->column[k + 3] * A->X_stride;
    const real *v = A->value + k;
    for (int64_t j = 0; j < d; j++)
        y[j] += (v[0] * x0[j] + v[1] * x1[j]) + (v[2] * x2[j] + v[3] * x3[j]);
}

static inline __attribute__((always_inline)) void add_one(const csr_view *A, int64_t k, int64_t d, real *restrict y) {
    const real *x = A->X + A->column[k] * A->X_stride, v = A->value[k];
    for (int64_t j = 0; j < d; j++)
        y[j] += v * x[j];
}

/* y += row i of the product. */
static inline __attribute__((always_inline)) void add_row_of(
    const csr_view *A, int64_t i, int64_t d, int64_t ahead, real *restrict y) {
    int64_t k = A->first[i], end = A->first[i + 1];
    for (; k + 4 <= end; k += 4) {
        for (int64_t next = k + ahead; next < min_of(A->nnz, k + ahead + 4); next++)
            fetch_row(A->X + A->column[next] * A->X_stride, d);
        add_four(A, k, d, y);
    }
    for (; k < end; k++) {
        if (k + ahead < A->nnz)
            fetch_row(A->X + A->column[k + ahead] * A->X_stride, d);
        add_one(A, k, d, y);
    }
}

/* Row i of a product with d columns, for a constant d that fits in registers. */
static inline __attribute__((always_inline)) void multiply_narrow(const csr_view *A, int64_t i, int64_t d) {
    real sum[MOST_LINES * LINE] = {0};
    add_row_of(A, i, d, FAR_AHEAD, sum);
    memcpy(A->Y + i * A->Y_stride, sum, (size_t)d * sizeof(real));
}

static void multiply_row(const csr_view *A, int64_t i) {
    switch (A->d) {
    case LINE:
        return multiply_narrow(A, i, LINE);
    case 2 * LINE:
        return multiply_narrow(A, i, 2 * LINE);
    case 3 * LINE:
        return multiply_narrow(A, i, 3 * LINE);
    case 4 * LINE:
        return multiply_narrow(A, i, 4 * LINE);
    default:
        memset(A->Y + i * A->Y_stride, 0, (size_t)A->d * sizeof(real));
        add_row_of(A, i, A->d, AHEAD, A->Y + i * A->Y_stride);
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
