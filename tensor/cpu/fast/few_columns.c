/* tensor/cpu/fast/few_columns.c - products of a matrix with a few columns.
 *
 * A row of X is one vector of FEW_COLUMNS reals, filled up with zeros. A X: eight rows of A at once, each with its sum
 * in a register; sums are closed every few hundred terms, so that rounding does not grow with the length. A^T X: four
 * rows of A at once are added to the vectors of Y. A is read once, and only X is packed. */
#include "tensor/cpu/fast/few_columns.h"
#include "tensor/cpu/matrices.h"

#include <string.h>

enum { ROWS = 8, DEPTH = 4, TERMS = 256 };

typedef real vector __attribute__((vector_size(FEW_COLUMNS * sizeof(real)), aligned(sizeof(real))));

static void pad(const real *X, int64_t n, int64_t C, vector *padded) {
    memset(padded, 0, (size_t)n * sizeof *padded);
    for (int64_t i = 0; i < n; i++)
        memcpy(&padded[i], X + i * C, (size_t)C * sizeof(real));
}

/* count <= ROWS rows of A X; count is a constant after inlining. */
static inline __attribute__((always_inline)) void multiply_rows(
    const real *A, int64_t k, const vector *X, int count, vector *sum) {
    for (int r = 0; r < count; r++)
        sum[r] = (vector){0};
    for (int64_t first = 0; first < k; first += TERMS) {
        int64_t stop = first + TERMS < k ? first + TERMS : k;
        vector part[ROWS] = {{0}};
        for (int64_t j = first; j < stop; j++)
#pragma GCC unroll 8
            for (int r = 0; r < count; r++)
                part[r] += A[r * k + j] * X[j];
        for (int r = 0; r < count; r++)
            sum[r] += part[r];
    }
}

static void multiply(const real *A, int64_t m, int64_t k, real scale, const vector *X, int64_t C, real *Y) {
    vector sum[ROWS];
    for (int64_t i = 0; i < m; i += ROWS) {
        int count = m - i < ROWS ? (int)(m - i) : ROWS;
        if (count == ROWS)
            multiply_rows(A + i * k, k, X, ROWS, sum);
        else
            for (int r = 0; r < count; r++)
                multiply_rows(A + (i + r) * k, k, X, 1, sum + r);
        for (int r = 0; r < count; r++) {
            sum[r] *= scale;
            memcpy(Y + (i + r) * C, &sum[r], (size_t)C * sizeof(real));
        }
    }
}

static void multiply_transposed(
    const real *A, int64_t m, int64_t k, real scale, const vector *X, int64_t C, vector *sum, real *Y) {
    memset(sum, 0, (size_t)k * sizeof *sum);
    int64_t i = 0;
    for (; i + DEPTH <= m; i += DEPTH) {
        const real *a = A + i * k;
        vector x0 = scale * X[i], x1 = scale * X[i + 1], x2 = scale * X[i + 2], x3 = scale * X[i + 3];
        for (int64_t j = 0; j < k; j++)
            sum[j] += (a[j] * x0 + a[k + j] * x1) + (a[2 * k + j] * x2 + a[3 * k + j] * x3);
    }
    for (; i < m; i++)
        for (int64_t j = 0; j < k; j++)
            sum[j] += A[i * k + j] * (scale * X[i]);
    for (int64_t j = 0; j < k; j++)
        memcpy(Y + j * C, &sum[j], (size_t)C * sizeof(real));
}

void few_columns_product(
    const real *A, int64_t m, int64_t k, bool transposed, real scale, const real *X, int64_t C, real *Y, real *work) {
    vector *padded = (vector *)work;
    if (C > FEW_COLUMNS) {
        blas_gemm(CblasRowMajor, transposed ? CblasTrans : CblasNoTrans, CblasNoTrans, (blasint)(transposed ? k : m),
            (blasint)C, (blasint)(transposed ? m : k), scale, A, (blasint)k, X, (blasint)C, 0, Y, (blasint)C);
        return;
    }
    pad(X, transposed ? m : k, C, padded);
    if (transposed)
        multiply_transposed(A, m, k, scale, padded, C, padded + m, Y);
    else
        multiply(A, m, k, scale, padded, C, Y);
}
