/* tensor/cpu/potrf.c - A = L L^T: the plain loop nest, then the fast ways.
 *
 * Batches of small matrices go to potrf_small.c, medium matrices to LAPACK, large ones through the blocked algorithm,
 * whose parts run in parallel. LAPACK returns info 0 on NaN and Inf, so values are checked here. */
#include "tensor/cpu/kernels.h"
#include "tensor/cpu/matrices.h"

#include <math.h>
#include <string.h>

enum { BLOCK = 96, BLOCKED_FROM = 192 };

/* Factors one matrix, whose lower triangle is finite: column j of L after column j - 1, L[i][j] = (A[i][j] - sum_k
 * L[i][k] L[j][k]) / L[j][j]. A lane in potrf_small.c does the same operations in the same order, so the bits are the
 * same. */
static int factor_plain(real *A, int64_t n) {
    real T[SMALL_MATRIX][SMALL_MATRIX]; /* row k: column k of L */
    int info = 0;
    for (int64_t j = 0; j < n; j++) {
        real *restrict x = T[j];
        for (int64_t i = j; i < n; i++)
            x[i] = A[i * n + j];
        for (int64_t k = 0; k < j; k++)
            for (int64_t i = j; i < n; i++)
                x[i] -= T[k][i] * T[k][j];
        real pivot = x[j];
        info = info == 0 && !(pivot > 0) ? (int)j + 1 : info;
        x[j] = sqrt(pivot > 0 ? pivot : 1);
        real inverse = 1 / x[j];
        for (int64_t i = j + 1; i < n; i++)
            x[i] *= inverse;
    }
    for (int64_t i = 0; i < n; i++) {
        for (int64_t k = 0; k < n; k++)
            A[i * n + k] = k <= i ? T[k][i] : 0;
        if (info == 0 && !isfinite(A[i * n + i]))
            info = -1; /* overflow during the factorization */
    }
    return info;
}

/* ---- large matrices: blocks, in parallel ---- */

/* One step of the blocked algorithm, after the diagonal block k0 .. k1-1 has been factored. */
typedef struct step {
    real *A;
    int64_t n, k0, k1;
} step;

/* Rows r0 .. r1-1 of the panel P, which lies below the diagonal block: P := P L^-T. */
static void solve_panel(const step *s, int64_t r0, int64_t r1) {
    blas_trsm(CblasRowMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, (blasint)(r1 - r0),
        (blasint)(s->k1 - s->k0), 1, s->A + s->k0 * s->n + s->k0, (blasint)s->n, s->A + r0 * s->n + s->k0,
        (blasint)s->n);
}

/* Rows r0 .. r1-1 of the matrix right of P: A := A - P P^T up to the diagonal. */
static void update_rest(const step *s, int64_t r0, int64_t r1) {
    blas_gemm(CblasRowMajor, CblasNoTrans, CblasTrans, (blasint)(r1 - r0), (blasint)(r1 - s->k1),
        (blasint)(s->k1 - s->k0), -1, s->A + r0 * s->n + s->k0, (blasint)s->n, s->A + s->k1 * s->n + s->k0,
        (blasint)s->n, 1, s->A + r0 * s->n + s->k1, (blasint)s->n);
}

static void solve_strips(const void *of, task_range some) {
    const step *s = of;
    for (int64_t i = some.first; i < some.end; i++)
        solve_panel(s, s->k1 + i * BLOCK, min_of(s->n, s->k1 + (i + 1) * BLOCK));
}

/* Strip 0 is the last of the matrix: the longest rows first. */
static void update_strips(const void *of, task_range some) {
    const step *s = of;
    for (int64_t j = some.first; j < some.end; j++) {
        int64_t i = ceil_div(s->n - s->k1, BLOCK) - 1 - j;
        update_rest(s, s->k1 + i * BLOCK, min_of(s->n, s->k1 + (i + 1) * BLOCK));
    }
}

static int factor_blocked(real *A, int64_t n, int threads) {
    for (int64_t k0 = 0; k0 < n; k0 += BLOCK) {
        step s = {.A = A, .n = n, .k0 = k0, .k1 = min_of(n, k0 + BLOCK)};
        int size = (int)(s.k1 - k0), ld = (int)n, info = 0;
        lapack_potrf("U", &size, A + k0 * n + k0, &ld, &info);
        if (info > 0)
            return info + (int)k0;
        int64_t strips = ceil_div(n - s.k1, BLOCK);
        run_tasks(threads, strips, 1, solve_strips, &s);
        run_tasks(threads, strips, 1, update_strips, &s);
    }
    return 0;
}

/* ---- one matrix of any size ---- */

static bool lower_finite(const real *A, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        if (!all_finite(A + i * n, i + 1))
            return false;
    return true;
}

static int factor(real *A, int64_t n, int threads) {
    if (!lower_finite(A, n))
        return -1;
    if (n <= SMALL_MATRIX)
        return factor_plain(A, n);
    int info = 0, size = (int)n;
    if (n < BLOCKED_FROM && n > 0)
        lapack_potrf("U", &size, A, &size, &info);
    else
        info = factor_blocked(A, n, threads);
    for (int64_t i = 0; i < n && info == 0; i++) {
        if (!isfinite(A[i * n + i]))
            info = -1; /* overflow during the factorization */
        memset(A + i * n + i + 1, 0, (size_t)(n - i - 1) * sizeof(real));
    }
    return info;
}

/* ---- small matrices, side by side ---- */

typedef struct batch {
    real *A;
    int64_t count, n;
    int32_t *info;
} batch;

static void factor_groups(const void *of, task_range some) {
    const batch *p = of;
    for (int64_t b = some.first * MATRIX_LANES; b < min_of(p->count, some.end * MATRIX_LANES); b += MATRIX_LANES)
        potrf_small(p->A + b * p->n * p->n, min_of(MATRIX_LANES, p->count - b), p->n, p->info + b);
}

/* ---- the kernel ---- */

static void factor_each(const void *of, task_range some) {
    const batch *p = of;
    for (int64_t b = some.first; b < some.end; b++)
        p->info[b] = factor(p->A + b * p->n * p->n, p->n, 1);
}

void REAL(potrf_cpu)(mo_context *ctx, const mo_view *A, const mo_view *info) {
    int64_t n = A->shape[A->ndim - 1];
    const batch p = {.A = A->data, .count = matrix_count(A), .n = n, .info = info->data};
    ctx->counters.factorizations += p.count;
    if (n <= SMALL_MATRIX && p.count >= FEW_MATRICES)
        run_tasks(threads_for(ctx, p.count * n * n), ceil_div(p.count, MATRIX_LANES), 0, factor_groups, &p);
    else if (n >= BLOCKED_FROM && !can_multiply(ctx, sizeof(real)))
        return;
    else if (p.count == 1) /* its own blocks are the tasks */
        p.info[0] = factor(p.A, n, blas_threads(ctx));
    else
        run_tasks(matrix_threads(ctx, p.count, (double)n * (double)n * (double)n / 6), p.count, 1, factor_each, &p);
}
