/* tensor/cpu/scan.c - along each row of the last axis: the first largest entry, running sums, the sorted order. */
#include "tensor/cpu/kernels.h"

#include <math.h>
#include <string.h>

/* Returns whether a sorts before b: larger values first, NaN before all numbers. */
static inline bool precedes(real a, real b) {
    return a > b || (a != a && b == b);
}

typedef struct scanned {
    const real *x;
    int64_t n;
    bool reversed;
    void *y;        /* real, or int64_t for positions */
    int64_t *spare; /* n for each thread */
} scanned;

static void argmax_rows(const void *of, task_range some) {
    const scanned *p = of;
    for (int64_t i = some.first; i < some.end; i++) {
        const real *row = p->x + i * p->n;
        int64_t best = 0;
        for (int64_t j = 1; j < p->n; j++)
            if (precedes(row[j], row[best]))
                best = j;
        ((int64_t *)p->y)[i] = best;
    }
}

void REAL(argmax_cpu)(mo_context *ctx, const mo_view *x, const mo_view *index) {
    const scanned p = {.x = x->data, .n = row_length(x), .y = index->data};
    int64_t rows = row_count(x);
    run_tasks(threads_for(ctx, rows * p.n), rows, 0, argmax_rows, &p);
}

static void cumsum_rows(const void *of, task_range some) {
    const scanned *p = of;
    for (int64_t i = some.first; i < some.end; i++) {
        const real *row = p->x + i * p->n;
        real *out = (real *)p->y + i * p->n;
        double sum = 0;
        for (int64_t k = 0; k < p->n; k++) {
            int64_t j = p->reversed ? p->n - 1 - k : k;
            sum += row[j];
            out[j] = (real)sum;
        }
    }
}

void REAL(cumsum_cpu)(mo_context *ctx, bool reversed, const mo_view *x, const mo_view *y) {
    const scanned p = {.x = x->data, .n = row_length(x), .reversed = reversed, .y = y->data};
    int64_t rows = row_count(x);
    run_tasks(threads_for(ctx, rows * p.n), rows, 0, cumsum_rows, &p);
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

static void sort_rows(const void *of, task_range some) {
    const scanned *p = of;
    for (int64_t i = some.first; i < some.end; i++)
        sort_row(p->x + i * p->n, p->n, (int64_t *)p->y + i * p->n, p->spare + some.thread * p->n);
}

void REAL(argsort_cpu)(mo_context *ctx, const mo_view *x, const mo_view *order) {
    int64_t n = row_length(x), rows = row_count(x);
    int threads = threads_for(ctx, 8 * rows * n);
    int64_t *spare = cpu_workspace(ctx, (size_t)(threads * n + 1) * sizeof *spare);
    if (!spare)
        return;
    const scanned p = {.x = x->data, .n = n, .y = order->data, .spare = spare};
    run_tasks(threads, rows, 0, sort_rows, &p);
}
