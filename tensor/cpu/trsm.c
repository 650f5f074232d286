/* tensor/cpu/trsm.c - B := op(T)^-1 B in place: the plain loop nest, then the fast ways.
 *
 * The columns of B are independent: they are cut into strips, of a width that follows from the shape alone, and batch
 * times strips is one list of tasks. Small matrices with few columns go side by side in lanes, with more columns
 * through the plain loops; large matrices go to BLAS. */
#include "tensor/cpu/kernels.h"
#include "tensor/cpu/matrices.h"

enum { STRIP = 128, LEAST_STRIP = 32, STRIPS = 8, VECTOR_FROM = 128, WIDTH = 16 };

/* Solves `width` columns of row i of X: (b[i] - sum_k op(T)[i][k] x[k]) / T[i][i], adding in the order in which the
 * x[k] were solved. A lane in trsm_small.c does the same operations, so the
 * bits are the same. */
static inline __attribute__((always_inline)) void solve_row(
    const triangle *t, int64_t i, bool down, real *restrict B, int64_t width, int64_t ld) {
    real row[WIDTH];
    for (int64_t j = 0; j < width; j++)
        row[j] = B[i * ld + j];
    for (int64_t step = 0; step < (down ? i : t->n - 1 - i); step++) {
        int64_t k = down ? step : t->n - 1 - step;
        real w = t->transposed ? t->T[k * t->n + i] : t->T[i * t->n + k];
        for (int64_t j = 0; j < width; j++)
            row[j] -= w * B[k * ld + j];
    }
    real inverse = t->unit ? 1 : 1 / t->T[i * t->n + i];
    for (int64_t j = 0; j < width; j++)
        B[i * ld + j] = row[j] * inverse;
}

/* The plain loop nest, WIDTH columns at a time: rows downwards if op(T) is lower, else upwards. */
static void solve_plain(const triangle *t, real *B, int64_t m, int64_t ld) {
    bool down = t->lower != t->transposed;
    for (int64_t step = 0; step < t->n; step++) {
        int64_t i = down ? step : t->n - 1 - step, j = 0;
        for (; j + WIDTH <= m; j += WIDTH)
            solve_row(t, i, down, B + j, WIDTH, ld);
        if (j < m)
            solve_row(t, i, down, B + j, m - j, ld);
    }
}

/* ---- one column ---- */

/* Subtracts each solved entry from the entries that are not solved yet, along the columns of op(T). */
static void solve_vector(const triangle *t, real *B, int64_t ld) {
    real x[SMALL_MATRIX], columns_of_T[SMALL_MATRIX * SMALL_MATRIX];
    int64_t n = t->n;
    bool down = t->lower != t->transposed;
    for (int64_t k = 0; k < n && !t->transposed; k++)
        for (int64_t i = 0; i < n; i++)
            columns_of_T[k * n + i] = t->T[i * n + k];
    const real *columns = t->transposed ? t->T : columns_of_T;
    for (int64_t i = 0; i < n; i++)
        x[i] = B[i * ld];
    for (int64_t step = 0; step < n; step++) {
        int64_t k = down ? step : n - 1 - step, last = down ? n : k;
        x[k] *= t->unit ? 1 : 1 / t->T[k * n + k];
        for (int64_t i = down ? k + 1 : 0; i < last; i++)
            x[i] -= columns[k * n + i] * x[k];
    }
    for (int64_t i = 0; i < n; i++)
        B[i * ld] = x[i];
}

/* ---- large matrices: BLAS ---- */

void solve_triangle(const triangle *t, real *B, int64_t m, int64_t ld) {
    CBLAS_UPLO side = t->lower ? CblasLower : CblasUpper;
    CBLAS_TRANSPOSE op = t->transposed ? CblasTrans : CblasNoTrans;
    CBLAS_DIAG diagonal = t->unit ? CblasUnit : CblasNonUnit;
    if (t->n <= SMALL_MATRIX && m == 1)
        solve_vector(t, B, ld);
    else if (t->n <= SMALL_MATRIX)
        solve_plain(t, B, m, ld);
    else if (m == 1 && t->n >= VECTOR_FROM) /* trsv reads T once and in place; trsm would pack it */
        blas_trsv(CblasRowMajor, side, op, diagonal, (blasint)t->n, t->T, (blasint)t->n, B, (blasint)ld);
    else
        blas_trsm(CblasRowMajor, CblasLeft, side, op, diagonal, (blasint)t->n, (blasint)m, 1, t->T, (blasint)t->n, B,
            (blasint)ld);
}

/* The systems of a batch; each strip of `width` columns is a task. */
typedef struct systems {
    const triangle *t;
    const mo_view *T, *B;
    int64_t width;
} systems;

static void solve_groups(const void *of, task_range some) {
    const systems *s = of;
    for (int64_t group = some.first; group < some.end; group++)
        trsm_small(s->t, s->T, s->B, group * SYSTEM_LANES);
}

/* ---- the kernel ---- */

/* The number of columns in one task: fewer if there are few matrices. */
static int64_t strip_width(int64_t batch, int64_t m) {
    int64_t width = STRIP;
    while (width > LEAST_STRIP && batch * ceil_div(m, width) < STRIPS)
        width /= 2;
    return width;
}

static void solve_strips(const void *of, task_range some) {
    const systems *s = of;
    int64_t n = s->t->n, m = s->B->shape[s->B->ndim - 1], strips = ceil_div(m, s->width);
    for (int64_t i = some.first; i < some.end; i++) {
        int64_t b = i / strips, start = i % strips * s->width;
        triangle own = *s->t;
        own.T = (const real *)s->T->data + batch_offset(s->B, s->T, b);
        solve_triangle(&own, (real *)s->B->data + b * n * m + start, min_of(s->width, m - start), m);
    }
}

void REAL(trsm_cpu)(mo_context *ctx, mo_triangle which, const mo_view *T, const mo_view *B) {
    int64_t n = B->shape[B->ndim - 2], m = B->shape[B->ndim - 1], batch = matrix_count(B);
    triangle t = {.n = n, .lower = mo_triangle_is_lower(which), .transposed = mo_triangle_is_transposed(which)};
    systems s = {.t = &t, .T = T, .B = B};
    if (batch * n * m == 0)
        return;
    if (n <= SMALL_MATRIX && m <= SMALL_COLUMNS && batch >= FEW_MATRICES) {
        run_tasks(
            matrix_threads(ctx, batch, (double)(n * n * (m + 4))), ceil_div(batch, SYSTEM_LANES), 0, solve_groups, &s);
        return;
    }
    s.width = strip_width(batch, m);
    int64_t tasks = batch * ceil_div(m, s.width);
    int threads = matrix_threads(ctx, tasks, (double)n * (double)n * (double)min_of(m, s.width) / 2);
    run_tasks(threads, tasks, max_of(1, 8192 / (n * n)), solve_strips, &s);
}
