/* tensor/cpu/scan.c - along each row of the last axis: the first largest entry, running sums, the sorted order. */
#include "tensor/cpu/kernels.h"

#include <math.h>
#include <omp.h>
#include <string.h>

/* Returns whether a sorts before b: larger values first, NaN before all numbers. */
static inline bool precedes(real a, real b) {
    return a > b || (a != a && b == b);
}

void REAL(argmax_cpu)(mo_context *ctx, const mo_view *x, const mo_view *index) {
    int64_t n = row_length(x), rows = row_count(x);
    int64_t *found = index->data;
    int threads = threads_for(ctx, rows * n);
#pragma omp parallel num_threads(threads) if (threads > 1)
    {
        const unsigned mode __attribute__((cleanup(restore_mode))) = usual_mode();
#pragma omp for schedule(static) nowait
        for (int64_t i = 0; i < rows; i++) {
            const real *row = (const real *)x->data + i * n;
            int64_t best = 0;
            for (int64_t j = 1; j < n; j++)
                if (precedes(row[j], row[best]))
                    best = j;
            found[i] = best;
        }
    }
}

void REAL(cumsum_cpu)(mo_context *ctx, bool reversed, const mo_view *x, const mo_view *y) {
    int64_t n = row_length(x), rows = row_count(x);
    int threads = threads_for(ctx, rows * n);
#pragma omp parallel num_threads(threads) if (threads > 1)
    {
        const unsigned mode __attribute__((cleanup(restore_mode))) = usual_mode();
#pragma omp for schedule(static) nowait
        for (int64_t i = 0; i < rows; i++) {
            const real *row = (const real *)x->data + i * n;
            real *out = (real *)y->data + i * n;
            double sum = 0;
            for (int64_t k = 0; k < n; k++) {
                int64_t j = reversed ? n - 1 - k : k;
                sum += row[j];
                out[j] = (real)sum;
            }
        }
    }
}

/* Merges the sorted runs a[0, m) and a[m, n) into b; equal entries keep their order. */
static void merge(const real *x, const int64_t *a, int64_t m, int64_t n, int64_t *b) {
    int64_t i = 0, j = m;
    for (int64_t k = 0; k < n; k++) {
        bool right = i == m || (j < n && precedes(x[a[j]], x[a[i]]));
        b[k] = right ? a[j++] : a[i++];
    }
}

/* Writes the positions 0..n-1, sorted by a bottom-up merge sort, to `order`; `spare` has room for n more. */
static void sort_row(const real *x, int64_t n, int64_t *order, int64_t *spare) {
    int64_t *from = order, *to = spare;
    for (int64_t i = 0; i < n; i++)
        from[i] = i;
    for (int64_t width = 1; width < n; width *= 2) {
        for (int64_t start = 0; start < n; start += 2 * width) {
            int64_t length = min_of(2 * width, n - start);
            merge(x, from + start, min_of(width, length), length, to + start);
        }
        int64_t *swap = from;
        from = to;
        to = swap;
    }
    if (from != order && n > 0)
        memcpy(order, from, (size_t)n * sizeof *order);
}

void REAL(argsort_cpu)(mo_context *ctx, const mo_view *x, const mo_view *order) {
    int64_t n = row_length(x), rows = row_count(x);
    int threads = threads_for(ctx, 8 * rows * n);
    int64_t *spare = cpu_workspace(ctx, (size_t)(threads * n + 1) * sizeof *spare);
    if (!spare)
        return;
#pragma omp parallel num_threads(threads) if (threads > 1)
    {
        const unsigned mode __attribute__((cleanup(restore_mode))) = usual_mode();
#pragma omp for schedule(static) nowait
        for (int64_t i = 0; i < rows; i++)
            sort_row(
                (const real *)x->data + i * n, n, (int64_t *)order->data + i * n, spare + omp_get_thread_num() * n);
    }
}
