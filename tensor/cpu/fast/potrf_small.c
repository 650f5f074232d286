/* tensor/cpu/fast/potrf_small.c - Cholesky factors of many small matrices, sixteen at a time.
 *
 * Entry (i, k) of sixteen matrices lies side by side, so that every step is one vector operation and the matrices
 * advance together; a single small matrix would spend its time waiting for square roots. The result of a matrix does
 * not depend on its neighbours. */
#include "tensor/cpu/kernels.h"
#include "tensor/cpu/matrices.h"

#include <math.h>
#include <string.h>

enum { ENTRIES = SMALL_MATRIX * (SMALL_MATRIX + 1) / 2 };

/* The lower triangles, by rows: entry (i, k) of all lanes is W[i (i + 1) / 2 + k]. */
typedef struct interleaved {
    real W[ENTRIES][MATRIX_LANES];
    int32_t info[MATRIX_LANES];
} interleaved;

/* Loads up to MATRIX_LANES matrices; lanes without a matrix get the identity. */
static void load(const real *A, int64_t count, int64_t n, interleaved *s) {
    real residue[MATRIX_LANES] = {0}; /* x - x is 0 except for Inf and NaN */
    for (int64_t i = 0, e = 0; i < n; i++)
        for (int64_t k = 0; k <= i; k++, e++)
            for (int64_t l = 0; l < MATRIX_LANES; l++) {
                s->W[e][l] = l < count ? A[(l * n + i) * n + k] : (real)(i == k);
                residue[l] += s->W[e][l] - s->W[e][l];
            }
    for (int64_t l = 0; l < MATRIX_LANES; l++)
        s->info[l] = residue[l] == 0 ? 0 : -1;
}

/* W[to] -= the dot product of the `length` entries from a on with those from b on. */
static void subtract_products(interleaved *s, int64_t to, int64_t a, int64_t b, int64_t length) {
    real sum[MATRIX_LANES];
    for (int64_t l = 0; l < MATRIX_LANES; l++)
        sum[l] = s->W[to][l];
    for (int64_t k = 0; k < length; k++)
        for (int64_t l = 0; l < MATRIX_LANES; l++)
            sum[l] -= s->W[a + k][l] * s->W[b + k][l];
    for (int64_t l = 0; l < MATRIX_LANES; l++)
        s->W[to][l] = sum[l];
}

/* Row by row: L[i][j] = (A[i][j] - <L[i], L[j]>) / L[j][j]. A lane that failed continues with a pivot of 1. */
static void factor_lanes(interleaved *s, int64_t n) {
    real inverse[SMALL_MATRIX][MATRIX_LANES];
    for (int64_t i = 0; i < n; i++) {
        int64_t row = i * (i + 1) / 2;
        for (int64_t j = 0; j < i; j++) {
            subtract_products(s, row + j, row, j * (j + 1) / 2, j);
            for (int64_t l = 0; l < MATRIX_LANES; l++)
                s->W[row + j][l] *= inverse[j][l];
        }
        subtract_products(s, row + i, row, row, i);
        for (int64_t l = 0; l < MATRIX_LANES; l++) {
            real pivot = s->W[row + i][l];
            s->info[l] = s->info[l] == 0 && !(pivot > 0) ? (int32_t)i + 1 : s->info[l];
            s->W[row + i][l] = sqrt(pivot > 0 ? pivot : 1);
            inverse[i][l] = 1 / s->W[row + i][l];
        }
    }
}

void potrf_small(real *A, int64_t count, int64_t n, int32_t *info) {
    interleaved s;
    load(A, count, n, &s);
    factor_lanes(&s, n);
    for (int64_t l = 0; l < count; l++) {
        info[l] = s.info[l];
        for (int64_t i = 0, e = 0; i < n; i++) {
            real *row = A + (l * n + i) * n;
            for (int64_t k = 0; k <= i; k++, e++)
                row[k] = s.W[e][l];
            for (int64_t k = i + 1; k < n; k++)
                row[k] = 0;
        }
        for (int64_t i = 0; i < n && info[l] == 0; i++)
            if (!isfinite(A[(l * n + i) * n + i]))
                info[l] = -1; /* overflow during the factorization */
    }
}
