/* tensor/cpu/gather.c - rows or entries picked by an index, and the adjoints, which add to the picked rows or
 * entries. */
#include "tensor/cpu/kernels.h"

#include <string.h>

enum { AHEAD = 4 }; /* a row is prefetched this number of rows before its use */

void REAL(gather_rows_cpu)(mo_context *ctx, const mo_view *x, const mo_view *index, const mo_view *y) {
    int64_t m = index->shape[0], d = entry_length(x);
    const int64_t *from = index->data;
    int threads = threads_for(ctx, m * d);
#pragma omp parallel num_threads(threads) if (threads > 1)
    {
        const unsigned mode __attribute__((cleanup(restore_mode))) = usual_mode();
#pragma omp for schedule(static) nowait
        for (int64_t i = 0; i < m; i++) {
            if (i + AHEAD < m)
                fetch_row((const real *)x->data + from[i + AHEAD] * d, d);
            memcpy((real *)y->data + i * d, (const real *)x->data + from[i] * d, (size_t)d * sizeof(real));
        }
    }
}

static void add_row(const real *restrict x, int64_t d, real *restrict y) {
    for (int64_t j = 0; j < d; j++)
        y[j] += x[j];
}

/* Sorts the positions 0..m-1 by destination; the positions with destination r are order[start[r] .. start[r+1]-1],
 * rising. start has room for n + 2. */
static void group_by_destination(const int64_t *index, int64_t m, int64_t n, int64_t *start, int64_t *order) {
    memset(start, 0, (size_t)(n + 2) * sizeof *start);
    for (int64_t i = 0; i < m; i++)
        start[index[i] + 2]++;
    for (int64_t r = 2; r < n + 2; r++)
        start[r] += start[r - 1];
    for (int64_t i = 0; i < m; i++) /* start[r + 1] walks from the first position of r to its end */
        order[start[index[i] + 1]++] = i;
}

/* Each destination row is summed by one thread in rising i: the same bits as in the serial loop. */
static void scatter_parallel(mo_context *ctx, const mo_view *x, const mo_view *index, const mo_view *y) {
    int64_t m = index->shape[0], n = y->shape[0], d = entry_length(x), group = task_rows(d);
    int64_t *start = cpu_workspace(ctx, (size_t)(n + 2 + m) * sizeof *start), *order = start + n + 2;
    if (!start)
        return;
    group_by_destination(index->data, m, n, start, order);
#pragma omp parallel num_threads(free_threads(ctx))
    {
        const unsigned mode __attribute__((cleanup(restore_mode))) = usual_mode();
#pragma omp for schedule(dynamic, group) nowait
        for (int64_t r = 0; r < n; r++) {
            real *row = (real *)y->data + r * d;
            memset(row, 0, (size_t)d * sizeof(real));
            for (int64_t k = start[r]; k < start[r + 1]; k++) {
                if (k + AHEAD < m)
                    fetch_row((const real *)x->data + order[k + AHEAD] * d, d);
                add_row((const real *)x->data + order[k] * d, d, row);
            }
        }
    }
}

void REAL(scatter_add_rows_cpu)(mo_context *ctx, const mo_view *x, const mo_view *index, const mo_view *y) {
    int64_t m = index->shape[0], d = entry_length(y), n = y->shape[0];
    if (threads_for(ctx, (m + n) * d) > 1 && d >= 8) {
        scatter_parallel(ctx, x, index, y);
        return;
    }
    const int64_t *to = index->data;
    if (n * d > 0)
        memset(y->data, 0, (size_t)(n * d) * sizeof(real));
    for (int64_t i = 0; i < m; i++)
        add_row((const real *)x->data + i * d, d, (real *)y->data + to[i] * d);
}

void REAL(take_along_cpu)(mo_context *ctx, const mo_view *x, const mo_view *index, const mo_view *y) {
    int64_t n = row_length(x), k = row_length(index), rows = row_count(index);
    const int64_t *from = index->data;
    int threads = threads_for(ctx, rows * k);
#pragma omp parallel num_threads(threads) if (threads > 1)
    {
        const unsigned mode __attribute__((cleanup(restore_mode))) = usual_mode();
#pragma omp for schedule(static) nowait
        for (int64_t i = 0; i < rows; i++)
            for (int64_t j = 0; j < k; j++)
                ((real *)y->data)[i * k + j] = ((const real *)x->data)[i * n + from[i * k + j]];
    }
}

void REAL(put_along_cpu)(mo_context *ctx, const mo_view *x, const mo_view *index, const mo_view *y) {
    int64_t n = row_length(y), k = row_length(index), rows = row_count(index);
    const int64_t *to = index->data;
    int threads = threads_for(ctx, rows * (n + k));
#pragma omp parallel num_threads(threads) if (threads > 1)
    {
        const unsigned mode __attribute__((cleanup(restore_mode))) = usual_mode();
#pragma omp for schedule(static) nowait
        for (int64_t i = 0; i < rows; i++) {
            real *row = (real *)y->data + i * n;
            memset(row, 0, (size_t)n * sizeof(real));
            for (int64_t j = 0; j < k; j++)
                row[to[i * k + j]] += x->data ? ((const real *)x->data)[i * k + j] : (real)1;
        }
    }
}
