/* tests/models/transduced.h - what the tests of both transductive readouts share: the problem, and the steps of the
 * reference in loops that do not depend on the readout. */
#ifndef TRANSDUCED_H
#define TRANSDUCED_H

#include "models/inside.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { DIM = 3, M = 2, R = 2, C = 3, WIDTH = DIM + 1, D = M * WIDTH, SUPPORT = 7, ROUNDS = 4 };

static const int64_t label[SUPPORT] = {0, 1, 2, 0, 1, 2, 0};
static const double lambda[2 * M * R] = {0.2, 3, 0.5, 1.5, 0.7, 2, 0.1, 1}, sharpness = 6;
static const double weight_of[SUPPORT] = {2, 1, 1, 0, 1, 1, 1}; /* both supports have a row twice */

static inline int open_context(void **state) {
    *state = mo_context_create(NULL);
    return *state ? 0 : -1;
}

static inline int close_context(void **state) {
    mo_context_release(*state);
    return 0;
}

/* Normal rows [n, M, DIM + 1], the last of a row 1. */
static inline void draw_rows(int n, double *z) {
    mo_random r = mo_random_at(4, MO_PURPOSE_CHECK, 1);
    for (int i = 0; i < n * M; i++)
        for (int j = 0; j < WIDTH; j++)
            z[i * WIDTH + j] = j < DIM ? 0.6 * mo_random_normal(&r) : 1;
}

/* width: of the Gaussian kernel; NULL: without one. */
static inline mo_mixture constant_mixture(mo_tape *t, const double *width) {
    const int64_t shape[] = {width ? 2 * M : M, R};
    return (mo_mixture){mo_from(t, MO_F64, 2, shape, lambda), mo_full(t, MO_F64, 2, shape, 0),
        mo_scalar(t, MO_F64, 0.3), mo_scalar(t, MO_F64, 0.5), mo_scalar(t, MO_F64, 4),
        width ? mo_scalar(t, MO_F64, *width) : NULL, mo_from(t, MO_F64, 1, (int64_t[]){SUPPORT}, weight_of)};
}

static inline mo_tensor *support_labels(mo_tape *t) {
    return mo_one_hot(t, mo_from(t, MO_I64, 1, (int64_t[]){SUPPORT}, label), C, MO_F64);
}

/* Solves A X = B by elimination with pivots; both are destroyed, X is left in B. */
static inline void eliminate(int n, double A[n][n], double B[n][C]) {
    for (int p = 0; p < n; p++) {
        int best = p;
        for (int i = p + 1; i < n; i++)
            best = fabs(A[i][p]) > fabs(A[best][p]) ? i : best;
        for (int j = 0; j < n; j++) {
            double swap = A[p][j];
            A[p][j] = A[best][j];
            A[best][j] = swap;
        }
        for (int c = 0; c < C; c++) {
            double swap = B[p][c];
            B[p][c] = B[best][c];
            B[best][c] = swap;
        }
        for (int i = 0; i < n; i++) {
            double f = i == p ? 0 : A[i][p] / A[p][p];
            for (int j = 0; j < n; j++)
                A[i][j] -= f * A[p][j];
            for (int c = 0; c < C; c++)
                B[i][c] -= f * B[p][c];
        }
    }
    for (int i = 0; i < n; i++)
        for (int c = 0; c < C; c++)
            B[i][c] /= A[i][i];
}

/* softmax(sharpness logits), columns to sum 1, rows to sum 1, labels where they are known. */
static inline void reference_predictions(int n, double logits[n][C], const int64_t support[SUPPORT], double P[n][C]) {
    for (int i = 0; i < n; i++) {
        double sum = 0;
        for (int c = 0; c < C; c++)
            sum += exp(sharpness * logits[i][c]);
        for (int c = 0; c < C; c++)
            P[i][c] = exp(sharpness * logits[i][c]) / sum;
    }
    for (int c = 0; c < C; c++) {
        double sum = 0;
        for (int i = 0; i < n; i++)
            sum += P[i][c];
        for (int i = 0; i < n; i++)
            P[i][c] /= sum;
    }
    for (int i = 0; i < n; i++) {
        double sum = P[i][0] + P[i][1] + P[i][2];
        for (int c = 0; c < C; c++)
            P[i][c] /= sum;
    }
    for (int s = 0; s < SUPPORT; s++)
        for (int c = 0; c < C; c++)
            P[support[s]][c] = label[s] == c;
}

/* Logits [n, C] and shares of the mixture, which has its own tests. */
static inline void inductive(mo_tape *t, int n, const double *z, const int64_t support[SUPPORT], const mo_mixture *mix,
    double logits[n][C], double share[][R]) {
    mo_tensor *Z = mo_permute(t, mo_from(t, MO_F64, 3, (int64_t[]){n, M, WIDTH}, z), (const int[]){1, 0, 2});
    mo_tensor *rows[SUPPORT], *weight;
    for (int s = 0; s < SUPPORT; s++)
        rows[s] = mo_slice(t, mo_slice(t, Z, MO_AXIS(1), support[s], support[s] + 1), MO_AXIS(2), 0, DIM);
    mo_tensor *Y = mo_ridge_mixture(t, mo_concat(t, rows, SUPPORT, MO_AXIS(1)), support_labels(t),
        mo_slice(t, Z, MO_AXIS(2), 0, DIM), mix, &weight);
    assert_int_equal(mo_tensor_read(Y, logits, sizeof(double) * (size_t)(n * C)), MO_OK);
    assert_int_equal(mo_tensor_read(weight, share, (size_t)mo_numel(weight) * sizeof(double)), MO_OK);
}

static inline double largest_difference(mo_tensor *got, int n, double expected[n][C]) {
    double y[n][C], worst = 0;
    assert_int_equal(mo_tensor_read(got, y, sizeof y), MO_OK);
    for (int i = 0; i < n; i++)
        for (int c = 0; c < C; c++)
            worst = fmax(worst, fabs(y[i][c] - expected[i][c]));
    return worst;
}

#endif
