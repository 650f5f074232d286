/* tools/bench/bench_rows.c - `mochi bench rows`: softmax of rows with its adjoint, and products of sparse rows.
 *
 * Operations counted: 5 per entry for softmax and 4 for its adjoint; 2 per entry of the sparse matrix and column of the
 * dense one. The sparse matrix has DEGREE entries in every row but the first, which has one in every column: a hub. */
#include "tools/bench/bench.h"
#include "tools/bench/synthetic.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LARGEST = 1 << 24 };

typedef struct rows_case {
    bool sparse;
    int64_t size[3]; /* softmax: rows, n; spmm: nodes, degree, d */
} rows_case;

/* "softmax:4096x1024", "spmm:100000x10x512". */
static bool scan_rows_case(const char *name, rows_case *c) {
    static const char *const kinds[] = {"softmax:", "spmm:"};
    c->sparse = name[1] == 'p';
    const char *kind = kinds[c->sparse], *at = name + strlen(kind);
    if (strncmp(name, kind, strlen(kind)) != 0)
        return false;
    for (int n = 0, wanted = c->sparse ? 3 : 2; n < wanted; n++) {
        char *end;
        c->size[n] = strtoll(at, &end, 10);
        if (end == at || c->size[n] < 1 || c->size[n] > LARGEST || *end != (n + 1 < wanted ? 'x' : '\0'))
            return false;
        at = end + 1;
    }
    return !c->sparse || c->size[1] <= c->size[0];
}

bool bench_rows_knows(const char *name) {
    rows_case c;
    return scan_rows_case(name, &c);
}

typedef struct rows_run {
    mo_tape *t;
    mo_csr *A;
    mo_tensor *X, *Y_bar;
} rows_run;

static void run_softmax(void *state) {
    rows_run *r = state;
    mo_tensor *Y = mo_softmax(r->t, r->X, MO_AXIS(-1)), *X_bar;
    mo_grad(r->t, &Y, &r->Y_bar, 1, &r->X, &X_bar, 1, 0);
    mo_tape_reset(r->t);
}

static void run_product(void *state) {
    rows_run *r = state;
    mo_spmm(r->t, r->A, r->X);
    mo_tape_reset(r->t);
}

static mo_csr *hub_matrix(mo_context *ctx, int64_t n, int64_t degree) {
    int64_t nnz = n + (n - 1) * degree, *row = malloc((size_t)(n + 1) * sizeof *row);
    int32_t *column = malloc((size_t)nnz * sizeof *column);
    mo_random r = mo_random_at(0, MO_PURPOSE_BENCH, 3);
    mo_csr *A = NULL;
    for (int64_t i = 0; row && column && i <= n; i++)
        row[i] = i ? n + (i - 1) * degree : 0;
    for (int64_t e = 0; row && column && e < nnz; e++)
        column[e] = (int32_t)(e < n ? e : mo_random_below(&r, n));
    if (row && column)
        A = mo_csr_create(ctx, n, n, row, column, MO_F32, NULL);
    else
        mo_fail(ctx, MO_MEMORY, "bench rows: out of memory");
    free(row);
    free(column);
    return A;
}

static bool run_rows_case(mo_context *ctx, const bench_options *o, const char *name, double rate) {
    rows_case c = {0};
    scan_rows_case(name, &c);
    int64_t m = c.size[0], n = c.size[c.sparse ? 2 : 1];
    rows_run r = {.t = mo_tape_create(ctx, MO_RECORD),
        .A = c.sparse ? hub_matrix(ctx, m, c.size[1]) : NULL,
        .X = mo_require_grad(synthetic_normal(ctx, 2, (int64_t[]){m, n}, 0)),
        .Y_bar = synthetic_normal(ctx, 2, (int64_t[]){m, n}, 1)};
    bench_record record = {
        .name = name, .variant = c.sparse ? "product" : "with adjoint", .rows = m, .gemm_rate = rate};
    double entries = r.A ? 2 * (double)mo_csr_nnz(r.A) : 9 * (double)m;
    record.gflop = 1e-9 * entries * (double)n;
    bool fine = mo_ok(ctx) && r.t && bench_run(ctx, o, c.sparse ? run_product : run_softmax, &r, &record) &&
                bench_print(o, &record);
    mo_tape_release(r.t);
    mo_csr_release(r.A);
    mo_tensor_release(r.X);
    mo_tensor_release(r.Y_bar);
    return fine;
}

bool bench_rows(mo_context *ctx, const bench_options *o) {
    static const char *const standard[] = {
        "softmax:65536x64", "softmax:4096x1024", "softmax:256x16384", "spmm:3000x4x512", "spmm:100000x10x512"};
    double rate = bench_gemm_rate(ctx, o);
    int n = o->cases.count ? o->cases.count : (int)(sizeof standard / sizeof *standard);
    for (int i = 0; i < n && mo_ok(ctx); i++)
        if (!run_rows_case(ctx, o, o->cases.count ? o->cases.items[i] : standard[i], rate))
            break;
    return mo_ok(ctx);
}
