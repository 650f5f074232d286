/* tensor/plain/blas.c - products and triangular solves as loop nests, for a build without a BLAS. Row-major; names and
 * arguments as in CBLAS. Compiled for each float type (tensor/cpu/real.h).
 *
 * op(A) is a `window`: entry (i, j) is at i * row + j * column, so that transposing swaps two strides. */
#include "tensor/cpu/real.h"

#include <cblas.h>
#include <stdbool.h>

typedef struct window {
    const real *at;
    int64_t row, column;
} window;

static window operand(const real *A, blasint ld, bool transposed) {
    return transposed ? (window){A, 1, ld} : (window){A, ld, 1};
}

static real entry(window A, int64_t i, int64_t j) {
    return A.at[i * A.row + j * A.column];
}

/* y := beta y. A beta of 0 sets y to 0 even where y is NaN or infinite. */
static void scale_row(real *y, int64_t n, int64_t step, real beta) {
    for (int64_t j = 0; j < n; j++)
        y[j * step] = beta == 0 ? 0 : beta * y[j * step];
}

/* C := alpha A B + beta C, C [m, n] with inner size k. */
static void multiply(window A, window B, int64_t m, int64_t n, int64_t k, real alpha, real beta, real *C, int64_t ldc) {
    for (int64_t i = 0; i < m; i++) {
        real *row = C + i * ldc;
        scale_row(row, n, 1, beta);
        for (int64_t l = 0; l < k; l++) {
            real a = alpha * entry(A, i, l);
            for (int64_t j = 0; j < n; j++)
                row[j] += a * entry(B, l, j);
        }
    }
}

void blas_gemm(enum CBLAS_ORDER order, enum CBLAS_TRANSPOSE op_A, enum CBLAS_TRANSPOSE op_B, blasint m, blasint n,
    blasint k, real alpha, const real *A, blasint lda, const real *B, blasint ldb, real beta, real *C, blasint ldc) {
    (void)order;
    multiply(
        operand(A, lda, op_A != CblasNoTrans), operand(B, ldb, op_B != CblasNoTrans), m, n, k, alpha, beta, C, ldc);
}

void blas_gemv(enum CBLAS_ORDER order, enum CBLAS_TRANSPOSE op, blasint m, blasint n, real alpha, const real *A,
    blasint lda, const real *x, blasint x_step, real beta, real *y, blasint y_step) {
    bool transposed = op != CblasNoTrans;
    (void)order;
    multiply(operand(A, lda, transposed), (window){x, x_step, 1}, transposed ? n : m, 1, transposed ? m : n, alpha,
        beta, y, y_step);
}

/* C := alpha op(A) op(A)^T + beta C; only the triangle `side` of C is computed. */
void blas_syrk(enum CBLAS_ORDER order, enum CBLAS_UPLO side, enum CBLAS_TRANSPOSE op, blasint n, blasint k, real alpha,
    const real *A, blasint lda, real beta, real *C, blasint ldc) {
    window X = operand(A, lda, op != CblasNoTrans);
    (void)order;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = side == CblasLower ? 0 : i; j < (side == CblasLower ? i + 1 : n); j++) {
            real sum = 0, *c = C + i * ldc + j;
            for (int64_t l = 0; l < k; l++)
                sum += entry(X, i, l) * entry(X, j, l);
            *c = alpha * sum + (beta == 0 ? 0 : beta * *c);
        }
}

/* C := alpha A B + beta C, or alpha B A + beta C, with A symmetric; reads one triangle of A. */
void blas_symm(enum CBLAS_ORDER order, enum CBLAS_SIDE side, enum CBLAS_UPLO triangle, blasint m, blasint n, real alpha,
    const real *A, blasint lda, const real *B, blasint ldb, real beta, real *C, blasint ldc) {
    (void)order;
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            real sum = 0, *c = C + i * ldc + j;
            for (int64_t l = 0; l < (side == CblasLeft ? m : n); l++) {
                int64_t r = side == CblasLeft ? i : l, s = side == CblasLeft ? l : j;
                bool stored = triangle == CblasLower ? r >= s : r <= s;
                real a = stored ? A[r * lda + s] : A[s * lda + r];
                sum += a * (side == CblasLeft ? B[l * ldb + j] : B[i * ldb + l]);
            }
            *c = alpha * sum + (beta == 0 ? 0 : beta * *c);
        }
}

void blas_symv(enum CBLAS_ORDER order, enum CBLAS_UPLO triangle, blasint n, real alpha, const real *A, blasint lda,
    const real *x, blasint x_step, real beta, real *y, blasint y_step) {
    blas_symm(order, CblasLeft, triangle, n, 1, alpha, A, lda, x, x_step, beta, y, y_step);
}

/* Solves T x = b in place for a column x of n entries, `step` apart. lower: whether the window T, after op, is a lower
 * triangle. */
static void substitute(window T, bool lower, bool unit, int64_t n, real *x, int64_t step) {
    for (int64_t r = 0; r < n; r++) {
        int64_t i = lower ? r : n - 1 - r;
        for (int64_t j = lower ? 0 : i + 1; j < (lower ? i : n); j++)
            x[i * step] -= entry(T, i, j) * x[j * step];
        if (!unit)
            x[i * step] /= entry(T, i, i);
    }
}

void blas_trsv(enum CBLAS_ORDER order, enum CBLAS_UPLO triangle, enum CBLAS_TRANSPOSE op, enum CBLAS_DIAG diagonal,
    blasint n, const real *T, blasint ld, real *x, blasint step) {
    bool transposed = op != CblasNoTrans;
    (void)order;
    substitute(operand(T, ld, transposed), (triangle == CblasLower) != transposed, diagonal == CblasUnit, n, x, step);
}

/* B := alpha op(T)^-1 B, or alpha B op(T)^-1, for which each row is solved with the transpose of op(T). */
void blas_trsm(enum CBLAS_ORDER order, enum CBLAS_SIDE side, enum CBLAS_UPLO triangle, enum CBLAS_TRANSPOSE op,
    enum CBLAS_DIAG diagonal, blasint m, blasint n, real alpha, const real *T, blasint ld, real *B, blasint ldb) {
    bool left = side == CblasLeft, transposed = (op != CblasNoTrans) != !left;
    int64_t systems = left ? n : m, length = left ? m : n, apart = left ? 1 : ldb, step = left ? ldb : 1;
    (void)order;
    for (int64_t s = 0; s < systems; s++) {
        if (alpha != 1)
            scale_row(B + s * apart, length, step, alpha);
        substitute(operand(T, ld, transposed), (triangle == CblasLower) != transposed, diagonal == CblasUnit, length,
            B + s * apart, step);
    }
}
