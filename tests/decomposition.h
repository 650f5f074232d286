/* tests/decomposition.h - an SVD on the host, and checks that every SVD must pass: for the tests of train/svd/svd.c. */
#ifndef DECOMPOSITION_H
#define DECOMPOSITION_H

#include "ops/inside.h"
#include "scratch.h"
#include "tensor/storage.h"
#include "tests/worst_of.h"
#include "train/inside.h"
#include "train/svd/svd.h"

#include <math.h>

/* An SVD of an [n, m] matrix with r columns, on the host, in double. */
typedef struct result {
    int64_t n, m, r;
    double *U, *S, *V;
    double residual;
} result;

static inline double *host(mo_tape *t, mo_tensor *X) {
    double *x = calloc((size_t)mo_numel(X) + 1, sizeof *x);
    assert_int_equal(mo_tensor_read(mo_cast(t, X, MO_F64), x, (size_t)mo_numel(X) * sizeof *x), MO_OK);
    return x;
}

/* Computes an SVD. exact_below 0 forces the randomized method if the rank allows it. */
static inline result decompose(mo_context *ctx, const mo_csr *A, int rank, int power_iterations, int exact_below) {
    mo_tape *t = mo_tape_create(ctx, MO_EVAL);
    mo_svd_options options = {
        .rank = rank, .power_iterations = power_iterations, .exact_below = exact_below, .seed = 5};
    mo_svd svd;
    mo_svd_compute(t, A, &options, &svd);
    expect_ok(ctx);
    mo_tensor *V = svd.V ? svd.V : mo_mul(t, svd.U, svd.sign);
    result x = {mo_csr_rows(A), mo_csr_columns(A), rank, host(t, mo_mul(t, svd.U, svd.turn)), host(t, svd.S),
        host(t, mo_mul(t, V, svd.turn)), svd.residual};
    mo_tape_release(t);
    return x;
}

static inline void free_result(result *x) {
    free(x->U);
    free(x->S);
    free(x->V);
}

/* Returns the largest |X^T X - I| for X [n, r]. */
static inline double orthogonality(const double *X, int64_t n, int64_t r) {
    double worst = 0;
    for (int64_t a = 0; a < r; a++)
        for (int64_t b = 0; b <= a; b++) {
            double sum = 0;
            for (int64_t i = 0; i < n; i++)
                sum += X[i * r + a] * X[i * r + b];
            worst = worst_of(worst, fabs(sum - (a == b)));
        }
    return worst;
}

static inline void expect_orthonormal(const result *x, double tolerance) {
    double u = orthogonality(x->U, x->n, x->r), v = orthogonality(x->V, x->m, x->r);
    if (!(u <= tolerance && v <= tolerance))
        fail_msg("U^T U or V^T V differs from I by %g, %g; expected at most %g", u, v, tolerance);
}

/* Checks the signs: in each column of U the first entry of largest magnitude is positive. Magnitudes that differ by
 * less than `tie` count as equal. */
static inline void expect_signs(const result *x, double tie) {
    for (int64_t j = 0; j < x->r; j++) {
        double largest = 0;
        for (int64_t i = 0; i < x->n; i++)
            largest = fmax(largest, fabs(x->U[i * x->r + j]));
        for (int64_t i = 0; i < x->n; i++)
            if (fabs(x->U[i * x->r + j]) >= largest * (1 - tie)) {
                assert_true(x->U[i * x->r + j] > 0);
                break;
            }
    }
}

static inline void expect_near(const char *what, const double *got, const double *want, int64_t n, double tolerance) {
    double largest = 1e-300, worst = 0;
    int64_t at = 0;
    for (int64_t i = 0; i < n; i++) {
        largest = fmax(largest, fabs(want[i]));
        if (!(fabs(got[i] - want[i]) <= worst)) {
            worst = fabs(got[i] - want[i]);
            at = i;
        }
    }
    if (!(worst <= tolerance * largest))
        fail_msg("%s[%lld] is %.12g, expected %.12g; error %.3g of the largest", what, (long long)at, got[at], want[at],
            worst / largest);
}

/* Returns sum_j f_j X_j X_j^T for the columns of X [n, r]. */
static inline double *outer(const double *X, const double *f, int64_t n, int64_t r) {
    double *P = calloc((size_t)(n * n), sizeof *P);
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < n; k++)
            for (int64_t j = 0; j < r; j++)
                P[i * n + k] += X[i * r + j] * X[k * r + j] * (f ? f[j] : 1);
    return P;
}

/* Returns the non-zeros of a dense matrix as a sparse one. */
static inline mo_csr *sparse(mo_context *ctx, const double *dense, int64_t rows, int64_t columns, mo_dtype real) {
    int64_t *pointer = calloc((size_t)rows + 1, sizeof *pointer), nnz = 0;
    int32_t *column = calloc((size_t)(rows * columns), sizeof *column);
    double *value = calloc((size_t)(rows * columns), sizeof *value);
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < columns; j++)
            if (dense[i * columns + j] != 0) {
                column[nnz] = (int32_t)j;
                value[nnz++] = dense[i * columns + j];
            }
        pointer[i + 1] = nnz;
    }
    for (int64_t e = 0; e < nnz && real == MO_F32; e++)
        ((float *)value)[e] = (float)value[e];
    mo_csr *A = mo_csr_create(ctx, rows, columns, pointer, column, real, value);
    free(pointer);
    free(column);
    free(value);
    expect_ok(ctx);
    return A;
}

#endif
