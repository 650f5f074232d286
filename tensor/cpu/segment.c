/* tensor/cpu/segment.c - sums or means over runs of rows, and the adjoint, which spreads them back. */
#include "tensor/cpu/kernels.h"

#include <string.h>

/* Segments can have any length: tasks are pairs of a segment and CHUNK columns, so that one long segment still keeps
 * every thread busy. */
enum { CHUNK = 128 };

/* y [width] = scale times the sum of the rows x[0 .. count-1], which lie d elements apart; added in double. */
static void sum_rows(const real *x, int64_t count, int64_t d, int64_t width, double scale, real *y) {
    double sum[CHUNK] = {0};
    for (int64_t i = 0; i < count; i++)
        for (int64_t j = 0; j < width; j++)
            sum[j] += x[i * d + j];
    for (int64_t j = 0; j < width; j++)
        y[j] = (real)(sum[j] * scale);
}

/* Runs of rows: segment s is rows first[s] .. first[s+1] - 1. */
typedef struct runs {
    const int64_t *first;
    int64_t d;
    bool mean;
    const real *x;
    real *y;
} runs;

static runs runs_of(bool mean, const mo_view *x, const mo_view *offset, const mo_view *y) {
    return (runs){.first = offset->data, .d = entry_length(x), .mean = mean, .x = x->data, .y = y->data};
}

static void sum_some(const void *of, task_range some) {
    const runs *p = of;
    int64_t chunks = ceil_div(p->d, CHUNK);
    for (int64_t i = some.first; i < some.end; i++) {
        int64_t s = i / chunks, start = i % chunks * CHUNK, count = p->first[s + 1] - p->first[s];
        double scale = p->mean && count > 0 ? 1.0 / (double)count : 1;
        sum_rows(p->x + p->first[s] * p->d + start, count, p->d, min_of(CHUNK, p->d - start), scale,
            p->y + s * p->d + start);
    }
}

void REAL(segment_sum_cpu)(mo_context *ctx, bool mean, const mo_view *x, const mo_view *offset, const mo_view *y) {
    int64_t segments = offset->shape[0] - 1;
    const runs p = runs_of(mean, x, offset, y);
    int threads = threads_for(ctx, (p.first[segments] - p.first[0]) * p.d);
    run_tasks(threads, segments * ceil_div(p.d, CHUNK), 4, sum_some, &p);
}

static void spread_some(const void *of, task_range some) {
    const runs *p = of;
    for (int64_t s = some.first; s < some.end; s++) {
        const real *restrict row = p->x + s * p->d;
        real scale = p->mean ? (real)(1.0 / (double)max_of(1, p->first[s + 1] - p->first[s])) : 1;
        for (int64_t i = p->first[s]; i < p->first[s + 1]; i++) {
            real *restrict out = p->y + i * p->d;
            for (int64_t j = 0; j < p->d; j++)
                out[j] = row[j] * scale;
        }
    }
}

void REAL(segment_spread_cpu)(mo_context *ctx, bool mean, const mo_view *x, const mo_view *offset, const mo_view *y) {
    int64_t segments = offset->shape[0] - 1;
    const runs p = runs_of(mean, x, offset, y);
    run_tasks(threads_for(ctx, (p.first[segments] - p.first[0]) * p.d), segments, 4, spread_some, &p);
}
