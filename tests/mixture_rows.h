/* tests/mixture_rows.h - random rows, their labels and a solver in loops for the tests of the mixture of ridges. */
#ifndef MIXTURE_ROWS_H
#define MIXTURE_ROWS_H

#include "scratch.h"

/* Returns a float64 leaf of normal numbers times scale. */
static inline mo_tensor *draw(mo_context *ctx, int ndim, const int64_t *shape, double scale, uint64_t stream) {
    mo_random r = mo_random_at(11, MO_PURPOSE_CHECK, stream);
    mo_tensor *T = mo_tensor_create(ctx, MO_F64, ndim, shape);
    int64_t n = mo_numel(T);
    double *x = test_memory((size_t)n * sizeof *x);
    for (int64_t i = 0; i < n; i++)
        x[i] = scale * mo_random_normal(&r);
    mo_tensor_write(T, x, (size_t)n * sizeof *x);
    return mo_require_grad(T);
}

/* Returns one-hot rows; row i has class i mod C. */
static inline mo_tensor *labels(mo_context *ctx, int64_t n, int64_t C) {
    HELD_MEMORY double *y = calloc((size_t)(n * C), sizeof *y);
    for (int64_t i = 0; i < n; i++)
        y[i * C + i % C] = 1;
    return mo_tensor_create_from(ctx, MO_F64, 2, (int64_t[]){n, C}, y);
}

/* Computes X = A^-1 B for a positive definite A [n, n], whose rows are `width` apart, and B [n, C], by elimination
 * without pivoting; X replaces B. */
static inline void solve_in_place(int n, int width, int C, double A[][width], double B[][C]) {
    for (int k = 0; k < n; k++)
        for (int i = 0; i < n; i++) {
            double factor = i == k ? 0 : A[i][k] / A[k][k];
            for (int j = 0; j < n; j++)
                A[i][j] -= factor * A[k][j];
            for (int c = 0; c < C; c++)
                B[i][c] -= factor * B[k][c];
        }
    for (int i = 0; i < n; i++)
        for (int c = 0; c < C; c++)
            B[i][c] /= A[i][i];
}

#endif
