/* tensor/cpu/trsm.c - B := op(T)^-1 B in place.
 *
 * The columns of B are independent: they are cut into strips of fixed width, and batch times strips is one list of
 * tasks. */
#include "tensor/cpu/kernels.h"
#include "tensor/cpu/matrices.h"

enum { STRIP = 128 };

typedef struct system {
    bool lower, transposed;
    const real *T;
    int64_t n, ld; /* of T: size; of B: row length */
} system;

/* Row by row: b[i] = (b[i] - sum_k op(T)[i][k] b[k]) / T[i][i], downwards when op(T) is lower. */
static void solve_small(const system *s, real *B, int64_t m) {
    bool down = s->lower != s->transposed;
    for (int64_t step = 0; step < s->n; step++) {
        int64_t i = down ? step : s->n - 1 - step;
        real *restrict b = B + i * s->ld;
        int64_t first = down ? 0 : i + 1, last = down ? i : s->n;
        for (int64_t k = first; k < last; k++) {
            real t = s->transposed ? s->T[k * s->n + i] : s->T[i * s->n + k];
            const real *solved = B + k * s->ld;
            for (int64_t j = 0; j < m; j++)
                b[j] -= t * solved[j];
        }
        real inverse = 1 / s->T[i * s->n + i];
        for (int64_t j = 0; j < m; j++)
            b[j] *= inverse;
    }
}

static void solve(const system *s, real *B, int64_t m) {
    if (s->n <= SMALL_MATRIX)
        solve_small(s, B, m);
    else
        blas_trsm(CblasRowMajor, CblasLeft, s->lower ? CblasLower : CblasUpper,
            s->transposed ? CblasTrans : CblasNoTrans, CblasNonUnit, (blasint)s->n, (blasint)m, 1, s->T, (blasint)s->n,
            B, (blasint)s->ld);
}

void REAL(trsm_cpu)(mo_context *ctx, bool lower, bool transposed, const mo_view *T, const mo_view *B) {
    int64_t n = B->shape[B->ndim - 2], m = B->shape[B->ndim - 1], batch = matrix_count(B);
    if (batch * n * m == 0)
        return;
    int64_t strips = ceil_div(m, STRIP), tasks = batch * strips;
    int threads = matrix_threads(ctx, tasks, (double)n * (double)n * (double)min_of(m, STRIP) / 2);
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(dynamic, max_of(1, 8192 / (n * n)))
    for (int64_t i = 0; i < tasks; i++) {
        int64_t b = i / strips, start = i % strips * STRIP;
        system s = {.lower = lower,
            .transposed = transposed,
            .T = (const real *)T->data + batch_offset(B, T, b),
            .n = n,
            .ld = m};
        solve(&s, (real *)B->data + b * n * m + start, min_of(STRIP, m - start));
    }
}
