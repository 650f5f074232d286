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

void REAL(segment_sum_cpu)(mo_context *ctx, bool mean, const mo_view *x, const mo_view *offset, const mo_view *y) {
    int64_t segments = offset->shape[0] - 1, d = entry_length(x), chunks = ceil_div(d, CHUNK);
    const int64_t *first = offset->data;
    int threads = threads_for(ctx, (first[segments] - first[0]) * d);
#pragma omp parallel num_threads(threads) if (threads > 1)
    {
        const unsigned mode __attribute__((cleanup(restore_mode))) = usual_mode();
#pragma omp for schedule(dynamic, 4) nowait
        for (int64_t i = 0; i < segments * chunks; i++) {
            int64_t s = i / chunks, start = i % chunks * CHUNK, count = first[s + 1] - first[s];
            const real *rows = (const real *)x->data + first[s] * d + start;
            double scale = mean && count > 0 ? 1.0 / (double)count : 1;
            sum_rows(rows, count, d, min_of(CHUNK, d - start), scale, (real *)y->data + s * d + start);
        }
    }
}

void REAL(segment_spread_cpu)(mo_context *ctx, bool mean, const mo_view *x, const mo_view *offset, const mo_view *y) {
    int64_t segments = offset->shape[0] - 1, d = entry_length(x);
    const int64_t *first = offset->data;
    int threads = threads_for(ctx, (first[segments] - first[0]) * d);
#pragma omp parallel num_threads(threads) if (threads > 1)
    {
        const unsigned mode __attribute__((cleanup(restore_mode))) = usual_mode();
#pragma omp for schedule(dynamic, 4) nowait
        for (int64_t s = 0; s < segments; s++) {
            const real *restrict row = (const real *)x->data + s * d;
            real scale = mean ? (real)(1.0 / (double)max_of(1, first[s + 1] - first[s])) : 1;
            for (int64_t i = first[s]; i < first[s + 1]; i++) {
                real *restrict out = (real *)y->data + i * d;
                for (int64_t j = 0; j < d; j++)
                    out[j] = row[j] * scale;
            }
        }
    }
}
