/* tensor/cpu/gather.c - rows or entries picked by an index, and the adjoints, which add to the picked rows or
 * entries. */
#include "tensor/cpu/kernels.h"

#include <string.h>

enum { AHEAD = 4 }; /* a row is prefetched this number of rows before its use */

/* Rows of y [n or m, d] from those of x, by m indices; or, in a row, k of n entries by k indices. */
typedef struct picked {
    const real *x;
    const int64_t *index;
    real *y;
    int64_t m, d, n, k;
    const int64_t *start, *order; /* positions grouped by destination (group_by_destination) */
} picked;

static void gather_some(const void *of, task_range some) {
    const picked *p = of;
    for (int64_t i = some.first; i < some.end; i++) {
        if (i + AHEAD < p->m)
            fetch_row(p->x + p->index[i + AHEAD] * p->d, p->d);
        memcpy(p->y + i * p->d, p->x + p->index[i] * p->d, (size_t)p->d * sizeof(real));
    }
}

void REAL(gather_rows_cpu)(mo_context *ctx, const mo_view *x, const mo_view *index, const mo_view *y) {
    const picked p = {.x = x->data, .index = index->data, .y = y->data, .m = index->shape[0], .d = entry_length(x)};
    run_tasks(threads_for(ctx, p.m * p.d), p.m, 0, gather_some, &p);
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
static void scatter_some(const void *of, task_range some) {
    const picked *p = of;
    for (int64_t r = some.first; r < some.end; r++) {
        real *row = p->y + r * p->d;
        memset(row, 0, (size_t)p->d * sizeof(real));
        for (int64_t k = p->start[r]; k < p->start[r + 1]; k++) {
            if (k + AHEAD < p->m)
                fetch_row(p->x + p->order[k + AHEAD] * p->d, p->d);
            add_row(p->x + p->order[k] * p->d, p->d, row);
        }
    }
}

static void scatter_parallel(mo_context *ctx, const mo_view *x, const mo_view *index, const mo_view *y) {
    int64_t m = index->shape[0], n = y->shape[0], d = entry_length(x);
    int64_t *start = cpu_workspace(ctx, (size_t)(n + 2 + m) * sizeof *start), *order = start + n + 2;
    if (!start)
        return;
    group_by_destination(index->data, m, n, start, order);
    const picked p = {.x = x->data, .y = y->data, .m = m, .d = d, .start = start, .order = order};
    run_tasks(free_threads(ctx), n, task_rows(d), scatter_some, &p);
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

static void take_some(const void *of, task_range some) {
    const picked *p = of;
    for (int64_t i = some.first; i < some.end; i++)
        for (int64_t j = 0; j < p->k; j++)
            p->y[i * p->k + j] = p->x[i * p->n + p->index[i * p->k + j]];
}

static picked entries_of(const mo_view *x, const mo_view *index, const mo_view *y, int64_t n) {
    return (picked){.x = x->data, .index = index->data, .y = y->data, .n = n, .k = row_length(index)};
}

void REAL(take_along_cpu)(mo_context *ctx, const mo_view *x, const mo_view *index, const mo_view *y) {
    const picked p = entries_of(x, index, y, row_length(x));
    int64_t rows = row_count(index);
    run_tasks(threads_for(ctx, rows * p.k), rows, 0, take_some, &p);
}

static void put_some(const void *of, task_range some) {
    const picked *p = of;
    for (int64_t i = some.first; i < some.end; i++) {
        real *row = p->y + i * p->n;
        memset(row, 0, (size_t)p->n * sizeof(real));
        for (int64_t j = 0; j < p->k; j++)
            row[p->index[i * p->k + j]] += p->x ? p->x[i * p->k + j] : (real)1;
    }
}

void REAL(put_along_cpu)(mo_context *ctx, const mo_view *x, const mo_view *index, const mo_view *y) {
    const picked p = entries_of(x, index, y, row_length(y));
    int64_t rows = row_count(index);
    run_tasks(threads_for(ctx, rows * (p.n + p.k)), rows, 0, put_some, &p);
}
