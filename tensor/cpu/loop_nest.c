/* tensor/cpu/loop_nest.c - strided loops: merges axes once, and hands out rows in tasks that follow from the shape
 * alone. */
#include "tensor/cpu/loop_nest.h"
#include "tensor/cpu/tasks.h"

#include <stdlib.h>

static void swap_axes(loop_nest *N, int i, int j) {
    int64_t size = N->size[i];
    N->size[i] = N->size[j];
    N->size[j] = size;
    for (int o = 0; o < N->operands; o++) {
        int64_t stride = N->stride[o][i];
        N->stride[o][i] = N->stride[o][j];
        N->stride[o][j] = stride;
    }
}

static void sort_axes(loop_nest *N) {
    const int64_t *key = N->stride[N->operands - 1];
    for (int i = 1; i < N->ndim; i++)
        for (int j = i; j > 0 && llabs(key[j - 1]) < llabs(key[j]); j--)
            swap_axes(N, j - 1, j);
}

/* Returns whether every operand can treat the axes i and i + 1 as one axis. */
static bool mergeable(const loop_nest *N, int i) {
    for (int o = 0; o < N->operands; o++)
        if (N->stride[o][i] != N->stride[o][i + 1] * N->size[i + 1])
            return false;
    return true;
}

static void merge_axes(loop_nest *N) {
    int last = 0;
    for (int i = 1; i < N->ndim; i++) {
        if (last + 1 != i)
            swap_axes(N, last + 1, i);
        if (!mergeable(N, last)) {
            last++;
            continue;
        }
        N->size[last] *= N->size[last + 1];
        for (int o = 0; o < N->operands; o++)
            N->stride[o][last] = N->stride[o][last + 1];
    }
    N->ndim = N->ndim ? last + 1 : 0;
}

loop_nest loop_nest_of(int operands, const mo_view *const *views) {
    loop_nest N = {.operands = operands, .rows = 1};
    for (int i = 0; i < views[0]->ndim; i++) {
        if (views[0]->shape[i] == 1)
            continue;
        N.size[N.ndim] = views[0]->shape[i];
        for (int o = 0; o < operands; o++)
            N.stride[o][N.ndim] = views[o]->stride[i];
        N.ndim++;
    }
    sort_axes(&N);
    merge_axes(&N);
    if (N.ndim == 0) {
        N.ndim = 1;
        N.size[0] = 1;
    }
    for (int i = 0; i < N.ndim - 1; i++)
        N.rows *= N.size[i];
    N.n = N.size[N.ndim - 1];
    return N;
}

/* Computes the index of row r along every outer axis, and its position in every operand. */
static void seek(const loop_nest *N, int64_t r, int64_t *index, int64_t *at) {
    for (int o = 0; o < N->operands; o++)
        at[o] = 0;
    for (int i = N->ndim - 2; i >= 0; i--) {
        index[i] = r % N->size[i];
        r /= N->size[i];
        for (int o = 0; o < N->operands; o++)
            at[o] += index[i] * N->stride[o][i];
    }
}

static void next_row(const loop_nest *N, int64_t *index, int64_t *at) {
    for (int i = N->ndim - 2; i >= 0; i--) {
        bool wraps = ++index[i] == N->size[i];
        for (int o = 0; o < N->operands; o++)
            at[o] += wraps ? -(N->size[i] - 1) * N->stride[o][i] : N->stride[o][i];
        if (!wraps)
            return;
        index[i] = 0;
    }
}

/* The number of parts of n elements, each of at most `most`: even, so that two threads get equal shares. */
static int64_t part_count(int64_t n, int64_t most) {
    return n <= most ? 1 : ceil_div(n, 2 * most) * 2;
}

/* The first element of part i, a multiple of 16. */
static int64_t part_start(int64_t n, int64_t parts, int64_t i) {
    return min_of(n, ceil_div(n, 16) * i / parts * 16);
}

/* parts: of each row; or groups: of the rows. */
typedef struct nest_run {
    const loop_nest *N;
    int64_t parts, groups, step[LOOP_NEST_OPERANDS];
    loop_nest_row *row;
    const void *arguments;
} nest_run;

/* Runs the elements start .. end-1 of the rows first .. last-1. */
static void run_rows(const nest_run *r, int64_t first, int64_t last, int64_t start, int64_t end) {
    int64_t index[MO_MAX_AXES], at[LOOP_NEST_OPERANDS];
    seek(r->N, first, index, at);
    for (int o = 0; o < r->N->operands; o++)
        at[o] += start * r->step[o];
    for (int64_t i = first; i < last; i++, next_row(r->N, index, at))
        r->row(r->arguments, end - start, at, r->step);
}

static void run_some(const void *of, task_range some) {
    const nest_run *r = of;
    int64_t n = r->N->n, rows = r->N->rows;
    for (int64_t task = some.first; task < some.end; task++) {
        int64_t row = task / r->parts, i = task % r->parts;
        if (r->parts > 1)
            run_rows(r, row, row + 1, part_start(n, r->parts, i), part_start(n, r->parts, i + 1));
        else
            run_rows(r, rows * task / r->groups, rows * (task + 1) / r->groups, 0, n);
    }
}

void loop_nest_run(mo_context *ctx, const loop_nest *N, loop_nest_row *row, const void *arguments) {
    if (N->rows == 0 || N->n == 0)
        return;
    int threads = threads_for(ctx, N->rows * N->n);
    nest_run r = {.N = N, .parts = 1, .groups = 1, .row = row, .arguments = arguments};
    for (int o = 0; o < N->operands; o++)
        r.step[o] = N->stride[o][N->ndim - 1];
    if (threads > 1) {
        r.parts = part_count(N->n, MO_TASK);
        r.groups = part_count(N->rows, task_rows(N->n));
    }
    run_tasks(threads, r.parts > 1 ? N->rows * r.parts : r.groups, 0, run_some, &r);
}
