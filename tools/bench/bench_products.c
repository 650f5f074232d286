/* tools/bench/bench_products.c - `mochi-bench gemm`, `solve` and `rows`: the parts of a training step, timed
 * separately.
 *
 * Operations counted. gemm: 2 m k n. solve, for one system of order n with m columns: LU 2 n^3 / 3 or Cholesky n^3 / 3,
 * and 2 n^2 m for the two triangular solves; the adjoint 2 n^2 m for B_bar = A^-T X_bar and 2 n^2 m for A_bar =
 * -B_bar X^T. rows: softmax 5 per entry and its adjoint 4; a sparse product 2 per sparse entry, for each column of the
 * dense matrix. The sparse matrix has DEGREE entries in every row but the first, which has one in every column: a
 * hub. */
#include "tools/bench/bench.h"
#include "tools/cli/synthetic.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LARGEST = 1 << 24 };

/* The tape and inputs of one case; inputs that the case does not use are NULL. */
typedef struct work {
    mo_tape *t;
    mo_csr *S;
    mo_tensor *A, *B, *Y_bar;
    bool spd, adjoint;
} work;

/* Parses "3600x512x512": `least` to `most` numbers of 1 to LARGEST; if there are fewer than `most`, repeats the last.
 * Returns how many were given; 0 if the text is invalid. */
static int scan_sizes(const char *text, int least, int most, int64_t size[3]) {
    int n = 0;
    char *end = (char *)text;
    do {
        const char *at = end + (n > 0);
        size[n++] = strtoll(at, &end, 10);
        if (end == at || size[n - 1] < 1 || size[n - 1] > LARGEST)
            return 0;
    } while (*end == 'x' && n < most);
    for (int i = n; i < 3; i++)
        size[i] = size[n - 1];
    return *end == '\0' && n >= least ? n : 0;
}

static bool finish_work(mo_context *ctx, work *w, bool fine) {
    mo_tape_release(w->t);
    mo_csr_release(w->S);
    mo_tensor_release(w->A);
    mo_tensor_release(w->B);
    mo_tensor_release(w->Y_bar);
    return fine && mo_ok(ctx);
}

/* ---- gemm: "4096", or "3600x512x512" for [m, k] [k, n] ---- */

bool bench_gemm_knows(const char *name) {
    int64_t size[3];
    int n = scan_sizes(name, 1, 3, size);
    return n == 1 || n == 3;
}

static void multiply_once(void *state) {
    work *w = state;
    mo_matmul(w->t, w->A, w->B);
    mo_tape_reset(w->t);
}

bool bench_gemm(mo_context *ctx, const bench_options *o, const char *name, double rate) {
    int64_t size[3];
    scan_sizes(name, 1, 3, size);
    work w = {.t = mo_tape_create(ctx, MO_EVAL),
        .A = synthetic_normal(ctx, 2, (int64_t[]){size[0], size[1]}, 0),
        .B = synthetic_normal(ctx, 2, (int64_t[]){size[1], size[2]}, 1)};
    bench_record record = {.name = name, .variant = "float32", .rows = size[0], .gemm_rate = rate};
    record.gflop = 2e-9 * (double)size[0] * (double)size[1] * (double)size[2];
    return finish_work(ctx, &w, mo_ok(ctx) && bench_run(ctx, o, multiply_once, &w, &record));
}

/* ---- solve: batches of A X = B in float32, general (LU) and symmetric positive definite (Cholesky), the solution
 * alone and with its adjoint; "1024x32", "1024x32x15": batch, order and columns (default 1) ---- */

bool bench_solve_knows(const char *name) {
    int64_t size[3];
    return scan_sizes(name, 2, 3, size) && size[1] <= 1 << 14;
}

/* Returns N + s I for standard normal N [n, n] or, if spd, its symmetric part. N's eigenvalues lie within sqrt(n) of 0,
 * the symmetric part's within sqrt(2 n). So s = 2 sqrt(n) makes N + s I regular and its symmetric part positive
 * definite. 4 is added to s, because for small n eigenvalues can lie beyond these bounds. */
static mo_tensor *make_matrices(mo_context *ctx, int64_t batch, int64_t n, bool spd) {
    mo_tensor *A = synthetic_normal(ctx, 3, (int64_t[]){batch, n, n}, 4);
    size_t bytes = (size_t)mo_numel(A) * sizeof(float);
    float *a = malloc(bytes + 1);
    if (!a)
        mo_fail(ctx, MO_MEMORY, "bench solve: out of memory");
    else if (mo_tensor_read(A, a, bytes) == MO_OK) {
        for (float *m = a; m < a + batch * n * n; m += n * n)
            for (int64_t i = 0; i < n; i++) {
                for (int64_t j = 0; spd && j < i; j++)
                    m[i * n + j] = m[j * n + i] = (m[i * n + j] + m[j * n + i]) / 2;
                m[i * n + i] += 2 * sqrtf((float)n) + 4;
            }
        mo_tensor_write(A, a, bytes);
    }
    free(a);
    return mo_require_grad(A);
}

static void solve_once(void *state) {
    work *w = state;
    mo_tensor *X = w->spd ? mo_solve_spd(w->t, w->A, w->B) : mo_solve(w->t, w->A, w->B), *xs[] = {w->A, w->B},
              *grads[2];
    if (w->adjoint)
        mo_grad(w->t, &X, &w->Y_bar, 1, xs, grads, 2, 0);
    mo_tape_reset(w->t);
}

bool bench_solve(mo_context *ctx, const bench_options *o, const char *name, double rate) {
    static const char *const variants[2][2] = {{"solve", "solve+adjoint"}, {"solve_spd", "solve_spd+adjoint"}};
    int64_t size[3];
    if (scan_sizes(name, 2, 3, size) == 2)
        size[2] = 1;
    double batch = (double)size[0], n = (double)size[1], column = 2 * n * n * (double)size[2];
    bool fine = true;
    for (int spd = 0; fine && spd < 2; spd++) {
        work w = {.t = mo_tape_create(ctx, MO_RECORD),
            .spd = spd,
            .A = make_matrices(ctx, size[0], size[1], spd),
            .B = mo_require_grad(synthetic_normal(ctx, 3, size, 5)),
            .Y_bar = synthetic_normal(ctx, 3, size, 6)};
        fine = mo_ok(ctx);
        for (int adjoint = 0; fine && adjoint < 2; adjoint++) {
            bench_record record = {.name = name, .rows = size[0] * size[1], .gemm_rate = rate};
            record.variant = variants[spd][adjoint];
            record.gflop = 1e-9 * batch * ((spd ? 1 : 2) * n * n * n / 3 + (adjoint ? 3 : 1) * column);
            w.adjoint = adjoint;
            mo_tape_set_mode(w.t, adjoint ? MO_RECORD : MO_EVAL);
            fine = bench_run(ctx, o, solve_once, &w, &record);
        }
        fine = finish_work(ctx, &w, fine);
    }
    return fine;
}

/* ---- rows: "softmax:ROWSxN" with its adjoint, "spmm:NODESxDEGREExD" ---- */

static bool scan_rows(const char *name, bool *sparse, int64_t size[3]) {
    *sparse = !strncmp(name, "spmm:", 5);
    if (*sparse)
        return scan_sizes(name + 5, 3, 3, size) && size[1] <= size[0];
    return !strncmp(name, "softmax:", 8) && scan_sizes(name + 8, 2, 2, size);
}

bool bench_rows_knows(const char *name) {
    int64_t size[3];
    bool sparse;
    return scan_rows(name, &sparse, size);
}

static void softmax_once(void *state) {
    work *w = state;
    mo_tensor *Y = mo_softmax(w->t, w->A, MO_AXIS(-1)), *A_bar;
    mo_grad(w->t, &Y, &w->Y_bar, 1, &w->A, &A_bar, 1, 0);
    mo_tape_reset(w->t);
}

static void spmm_once(void *state) {
    work *w = state;
    mo_spmm(w->t, w->S, w->A);
    mo_tape_reset(w->t);
}

static mo_csr *hub_matrix(mo_context *ctx, int64_t n, int64_t degree) {
    int64_t nnz = n + (n - 1) * degree, *row = malloc((size_t)(n + 1) * sizeof *row);
    int32_t *column = malloc((size_t)nnz * sizeof *column);
    mo_random r = mo_random_at(0, MO_PURPOSE_BENCH, 3);
    mo_csr *S = NULL;
    for (int64_t i = 0; row && column && i <= n; i++)
        row[i] = i ? n + (i - 1) * degree : 0;
    for (int64_t e = 0; row && column && e < nnz; e++)
        column[e] = (int32_t)(e < n ? e : mo_random_below(&r, n));
    if (row && column)
        S = mo_csr_create(ctx, n, n, row, column, MO_F32, NULL);
    else
        mo_fail(ctx, MO_MEMORY, "bench rows: out of memory");
    free(row);
    free(column);
    return S;
}

bool bench_rows(mo_context *ctx, const bench_options *o, const char *name, double rate) {
    int64_t size[3];
    bool sparse;
    scan_rows(name, &sparse, size);
    int64_t shape[] = {size[0], size[sparse ? 2 : 1]};
    work w = {.t = mo_tape_create(ctx, MO_RECORD),
        .S = sparse ? hub_matrix(ctx, size[0], size[1]) : NULL,
        .A = mo_require_grad(synthetic_normal(ctx, 2, shape, 0)),
        .Y_bar = synthetic_normal(ctx, 2, shape, 1)};
    bench_record record = {
        .name = name, .variant = sparse ? "product" : "with adjoint", .rows = size[0], .gemm_rate = rate};
    double entries = w.S ? 2 * (double)mo_csr_nnz(w.S) : 9 * (double)size[0];
    record.gflop = 1e-9 * entries * (double)shape[1];
    return finish_work(ctx, &w, mo_ok(ctx) && bench_run(ctx, o, sparse ? spmm_once : softmax_once, &w, &record));
}
