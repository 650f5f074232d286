/* tools/bench/bench_gemm.c - `mochi bench gemm`: float32 products, and the rate with which other benchmarks compare. */
#include "tools/bench/bench.h"
#include "tools/bench/synthetic.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { LARGEST = 1 << 20 };

/* "4096", or "3600x512x512" for [m, k] [k, n]. */
static bool scan_sizes(const char *name, int64_t size[3]) {
    char *end;
    int n = 0;
    for (const char *at = name; n < 3; at = end + 1) {
        size[n++] = strtoll(at, &end, 10);
        if (end == at || size[n - 1] < 1 || size[n - 1] > LARGEST)
            return false;
        if (*end != 'x')
            break;
    }
    if (n == 1)
        size[1] = size[2] = size[0];
    return *end == '\0' && n != 2;
}

bool bench_gemm_knows(const char *name) {
    int64_t size[3];
    return scan_sizes(name, size);
}

typedef struct product {
    mo_tape *t;
    mo_tensor *A, *B;
} product;

static void multiply_once(void *state) {
    product *p = state;
    mo_matmul(p->t, p->A, p->B);
    mo_tape_reset(p->t);
}

static bool run_gemm(
    mo_context *ctx, const bench_options *o, const char *name, mo_dtype dtype, double rate, bench_record *record) {
    int64_t size[3] = {0};
    scan_sizes(name, size);
    product p = {.t = mo_tape_create(ctx, MO_EVAL)};
    p.A = synthetic_normal_of(ctx, dtype, 2, (int64_t[]){size[0], size[1]}, 0);
    p.B = synthetic_normal_of(ctx, dtype, 2, (int64_t[]){size[1], size[2]}, 1);
    *record = (bench_record){.name = name, .variant = "float32", .rows = size[0], .gemm_rate = rate};
    record->gflop = 2e-9 * (double)size[0] * (double)size[1] * (double)size[2];
    bool fine = p.t && mo_ok(ctx) && bench_run(ctx, o, multiply_once, &p, record);
    mo_tape_release(p.t);
    mo_tensor_release(p.A);
    mo_tensor_release(p.B);
    return fine;
}

static double rate_of(mo_context *ctx, const char *name, mo_dtype dtype, int runs) {
    bench_options o = {.runs = runs, .warmup = 1};
    bench_record record;
    return run_gemm(ctx, &o, name, dtype, NAN, &record) ? record.gflop / (1e-3 * record.min_ms) : NAN;
}

double bench_gemm_quick_rate(mo_context *ctx, mo_dtype dtype) {
    return rate_of(ctx, "1536", dtype, 4);
}

double bench_gemm_rate(mo_context *ctx, const bench_options *o) {
    if (o->runs < 3 && mo_context_device(ctx) == MO_CPU)
        return bench_gemm_quick_rate(ctx, MO_F32);
    return rate_of(ctx, "4096", MO_F32, 3);
}

bool bench_gemm(mo_context *ctx, const bench_options *o) {
    char encoder[64];
    snprintf(encoder, sizeof encoder, "3600x%dx%d", o->dim, o->dim);
    const char *standard[] = {"4096", encoder};
    double rate = bench_gemm_rate(ctx, o);
    int n = o->cases.count ? o->cases.count : 2;
    for (int i = 0; i < n; i++) {
        bench_record record;
        if (!run_gemm(ctx, o, o->cases.count ? o->cases.items[i] : standard[i], MO_F32, rate, &record))
            return false;
        if (!bench_print(o, &record))
            break; /* reported at the end */
    }
    return mo_ok(ctx);
}
