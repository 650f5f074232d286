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

static void run_rows(
    const loop_nest *N, int64_t first, int64_t last, const int64_t *step, loop_nest_row *row, const void *arguments) {
    int64_t index[MO_MAX_AXES], at[LOOP_NEST_OPERANDS];
    seek(N, first, index, at);
    for (int64_t r = first; r < last; r++, next_row(N, index, at))
        row(arguments, N->n, at, step);
}

/* The number of parts of n elements, each of at most `most`: even, so that two threads get equal shares. */
static int64_t part_count(int64_t n, int64_t most) {
    return n <= most ? 1 : ceil_div(n, 2 * most) * 2;
}

/* The first element of part i, a multiple of 16. */
static int64_t part_start(int64_t n, int64_t parts, int64_t i) {
    return min_of(n, ceil_div(n, 16) * i / parts * 16);
}

/* Runs part i of row r. */
static void run_part(const loop_nest *N, int64_t r, int64_t parts, int64_t i, const int64_t *step, loop_nest_row *row,
    const void *arguments) {
    int64_t index[MO_MAX_AXES], at[LOOP_NEST_OPERANDS], start = part_start(N->n, parts, i);
    seek(N, r, index, at);
    for (int o = 0; o < N->operands; o++)
        at[o] += start * step[o];
    row(arguments, (i + 1 == parts ? N->n : part_start(N->n, parts, i + 1)) - start, at, step);
}

typedef struct nest_run {
    const loop_nest *N;
    int64_t parts, groups, step[LOOP_NEST_OPERANDS];
    loop_nest_row *row;
    const void *arguments;
} nest_run;

static void run_some(const void *of, task_range some) {
    const nest_run *r = of;
    for (int64_t task = some.first; task < some.end; task++)
        if (r->parts > 1)
            run_part(r->N, task / r->parts, r->parts, task % r->parts, r->step, r->row, r->arguments);
        else
            run_rows(r->N, r->N->rows * task / r->groups, r->N->rows * (task + 1) / r->groups, r->step, r->row,
                r->arguments);
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
