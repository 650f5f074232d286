/* tensor/cpu/lu.c - LU with partial pivoting, and solving with it: the plain loop nest, then LAPACK.
 *
 * To LAPACK the row-major A is A^T, so getrf finds P A^T = L U, that is A = U^T L^T P. In the row-major buffer U^T is
 * the lower triangle, L^T the upper one with a unit diagonal, and the pivots exchange columns of A. Only getrs and
 * log_abs_det, which reads the diagonal, use this form. */
#include "tensor/cpu/kernels.h"
#include "tensor/cpu/matrices.h"

#include <float.h>
#include <math.h>

enum { STRIP = 64 }; /* right-hand sides in one task of getrs */

static void exchange_entries(real *A, int64_t n, int64_t j, int64_t row) {
    for (int64_t k = 0; k <= j; k++)
        swap(&A[k * n + j], &A[k * n + row]);
}

/* Eliminates the first j columns of x = row j of A by the rows before it, two at a time. */
static void subtract_rows(const real *restrict A, int64_t n, int64_t j, real *restrict x) {
    int64_t k = 0;
    for (; k + 1 < j; k += 2) {
        const real *a = A + k * n, *b = a + n;
        real u = x[k], v = x[k + 1] -= a[k + 1] * u;
        for (int64_t i = k + 2; i < n; i++)
            x[i] = x[i] - a[i] * u - b[i] * v;
    }
    for (int64_t i = k + 1; i < n && k < j; i++)
        x[i] -= A[k * n + i] * x[k];
}

/* Factors one finite matrix: row j of U^T and L^T after row j - 1 (a column of M = A^T at a time: Golub and Van Loan
 * 2013, 3.2.5). Returns the first zero pivot, counted from 1, or 0. */
static int factor_plain(real *A, int64_t n, int32_t *pivot) {
    int singular = 0;
    for (int64_t j = 0; j < n; j++) {
        real *x = A + j * n;
        for (int64_t k = 0; k < j; k++)
            swap(&x[k], &x[pivot[k] - 1]);
        subtract_rows(A, n, j, x);
        int64_t row = j;
        for (int64_t i = j + 1; i < n; i++)
            row = fabs(x[i]) > fabs(x[row]) ? i : row;
        pivot[j] = (int32_t)row + 1;
        if (row != j)
            exchange_entries(A, n, j, row);
        if (x[j] == 0) {
            singular = singular ? singular : (int)j + 1;
            x[j] = 1;
        }
        real inverse = 1 / x[j];
        for (int64_t i = j + 1; i < n; i++)
            x[i] *= inverse;
    }
    return singular;
}

/* ---- the condition of the factors ---- */

/* The 1-norm of M = A^T, whose columns are the rows of A. */
static real largest_row_sum(const real *A, int64_t n) {
    real largest = 0;
    for (int64_t i = 0; i < n; i++) {
        real_lanes sums = {0};
        int64_t j = 0;
        for (; j + LANE_SUM <= n; j += LANE_SUM)
            for (int l = 0; l < LANE_SUM; l++)
                sums.lane[l] += fabs(A[i * n + j + l]);
        for (; j < n; j++)
            sums.lane[0] += fabs(A[i * n + j]);
        real sum = real_lanes_total(&sums);
        largest = sum > largest ? sum : largest;
    }
    return largest;
}

/* x := A^-1 x, or A^-T x, without the row exchanges, which do not change a sum of magnitudes. */
static void solve_factors(const real *LU, int64_t n, bool transposed, real *x, int64_t m, int64_t ld) {
    triangle U = {.T = LU, .n = n, .lower = true, .transposed = transposed};
    triangle L = {.T = LU, .n = n, .transposed = transposed, .unit = true};
    solve_triangle(transposed ? &L : &U, x, m, ld);
    solve_triangle(transposed ? &U : &L, x, m, ld);
}

static real sum_magnitudes(const real *x, int64_t n) {
    real sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += fabs(x[i]);
    return sum;
}

/* A lower bound of |M| |M^-1| for M = A^T in the 1-norm that is rarely off by more than a factor of 3 (Higham 2002,
 * 15.3): the larger of |M| |M^-1 x| / |x| for an alternating, growing x, and |M| |M^-1 e_i|, where i is the position of
 * the largest entry of M^-T sign(M^-1 x). LAPACK's gecon is not used: it takes about as long as the factorization. */
static real estimate_condition(const real *LU, int64_t n, real norm, real *x) {
    for (int64_t i = 0; i < n; i++)
        x[i] = norm * ((i & 1 ? -1 : 1) * (1 + (real)i / (real)n));
    real start = sum_magnitudes(x, n);
    solve_factors(LU, n, true, x, 1, 1);
    real condition = norm * (sum_magnitudes(x, n) / start);
    int64_t place = 0;
    for (int64_t i = 0; i < n; i++)
        x[i] = x[i] < 0 ? -1 : 1;
    solve_factors(LU, n, false, x, 1, 1);
    for (int64_t i = 1; i < n; i++)
        place = fabs(x[i]) > fabs(x[place]) ? i : place;
    for (int64_t i = 0; i < n; i++)
        x[i] = i == place ? norm : 0;
    solve_factors(LU, n, true, x, 1, 1);
    real grown = sum_magnitudes(x, n);
    return condition > grown || condition != condition ? condition : grown; /* NaN counts as largest */
}

/* ---- one matrix of any size ---- */

/* Returns getrf's info for one matrix. LAPACK accepts a nearly singular matrix, so the condition is estimated too.
 * work: n reals. */
static int factor(real *A, int64_t n, int32_t *pivot, real *work) {
    if (!all_finite(A, n * n))
        return -1;
    int size = (int)n, info;
    real norm = largest_row_sum(A, n), epsilon = sizeof(real) == 4 ? FLT_EPSILON : DBL_EPSILON;
    if (n <= SMALL_MATRIX)
        info = factor_plain(A, n, pivot);
    else
        lapack_getrf(&size, &size, A, &size, pivot, &info);
    if (info != 0)
        return info;
    return n == 0 || estimate_condition(A, n, norm, work) <= 1 / epsilon ? 0 : -2;
}

/* ---- the kernels ---- */

typedef struct batch {
    real *A, *scratch;
    int64_t count, n, each; /* each: reals of a workspace */
    int threads;
    int32_t *pivot, *info;
} batch;

static void factor_each(const void *of, task_range some) {
    const batch *p = of;
    int64_t n = p->n;
    for (int64_t b = some.first; b < some.end; b++) {
        real *own = p->scratch + workspace_of(b, p->count, p->threads, some.thread) * p->each;
        p->info[b] = factor(p->A + b * n * n, n, p->pivot + b * n, own);
    }
}

void REAL(getrf_cpu)(mo_context *ctx, const mo_view *A, const mo_view *pivot, const mo_view *info) {
    int64_t n = A->shape[A->ndim - 1];
    batch p = {.A = A->data, .count = matrix_count(A), .n = n, .pivot = pivot->data, .info = info->data};
    ctx->counters.factorizations += p.count;
    p.threads = matrix_threads(ctx, p.count, (double)n * (double)n * (double)n / 3);
    p.each = ceil_div(n, 64) * 64; /* whole cache lines */
    p.scratch = cpu_workspace(ctx, (size_t)(workspace_count(p.count, p.threads) * p.each) * sizeof(real));
    if (p.scratch)
        run_tasks(p.threads, p.count, max_of(1, 8192 / (n * n + 1)), factor_each, &p);
}

/* ---- solves ---- */

static void exchange_rows(real *restrict x, real *restrict y, int64_t m) {
    for (int64_t j = 0; j < m; j++) {
        real spare = x[j];
        x[j] = y[j];
        y[j] = spare;
    }
}

/* m right-hand sides of one system, in columns of B, whose rows are ld apart. */
typedef struct columns {
    const real *LU;
    const int32_t *pivot;
    int64_t n, m, ld;
    real *B;
} columns;

static void exchange(const columns *s, int64_t row) {
    int64_t other = s->pivot[row] - 1;
    if (row != other)
        exchange_rows(s->B + row * s->ld, s->B + other * s->ld, s->m);
}

/* A X = B by U^T Y = B, L^T Z = Y, X = P^T Z, with the exchanges from the last to the first. A^T X = B by L U X = P
 * B. */
static void solve_columns(const columns *s, bool transposed) {
    for (int64_t i = 0; i < s->n && transposed; i++)
        exchange(s, i);
    solve_factors(s->LU, s->n, transposed, s->B, s->m, s->ld);
    for (int64_t i = s->n - 1; i >= 0 && !transposed; i--)
        exchange(s, i);
}

/* The systems of a batch; each strip of STRIP columns is a task. */
typedef struct systems {
    bool transposed;
    const mo_view *LU, *pivot, *B;
} systems;

static void solve_strips(const void *of, task_range some) {
    const systems *s = of;
    int64_t n = s->B->shape[s->B->ndim - 2], m = s->B->shape[s->B->ndim - 1], strips = ceil_div(m, STRIP);
    for (int64_t i = some.first; i < some.end; i++) {
        int64_t b = i / strips, start = i % strips * STRIP;
        const columns c = {.LU = (const real *)s->LU->data + batch_offset(s->B, s->LU, b),
            .pivot = (const int32_t *)s->pivot->data + batch_offset(s->B, s->pivot, b),
            .n = n,
            .m = min_of(STRIP, m - start),
            .ld = m,
            .B = (real *)s->B->data + b * n * m + start};
        solve_columns(&c, s->transposed);
    }
}

void REAL(getrs_cpu)(mo_context *ctx, bool transposed, const mo_view *LU, const mo_view *pivot, const mo_view *B) {
    int64_t n = B->shape[B->ndim - 2], m = B->shape[B->ndim - 1], batch = matrix_count(B);
    if (batch * n * m == 0)
        return;
    int64_t tasks = batch * ceil_div(m, STRIP);
    int threads = matrix_threads(ctx, tasks, (double)n * (double)n * (double)min_of(m, STRIP));
    const systems s = {transposed, LU, pivot, B};
    run_tasks(threads, tasks, max_of(1, 8192 / (n * n)), solve_strips, &s);
}
