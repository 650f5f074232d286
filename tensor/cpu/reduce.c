/* tensor/cpu/reduce.c - sums, maxima and sums of squares over any axes.
 *
 * The axes of x are merged and ordered by memory. If the innermost axis is reduced, a task sums runs of x to one
 * number; if it is kept, a task adds rows of x to a row of sums. A long reduction is cut into blocks, whose partial
 * results are joined in order. Partial results are double, so that float32 sums lose next to nothing. */
#include "tensor/cpu/kernels.h"
#include "tensor/cpu/loop_nest.h"

#include <math.h>

enum { LANES = 32, WIDTH = 512, BLOCK = 16384, BLOCK_ROWS = 512 };

#define INLINE static inline __attribute__((always_inline))

/* An ordered set of axes; its indices are counted in row-major order. */
typedef struct axes {
    int count;
    int64_t total, size[MO_MAX_AXES], x_stride[MO_MAX_AXES], y_stride[MO_MAX_AXES];
} axes;

typedef struct reduction {
    mo_reduction kind;
    const real *x;
    real *y;
    axes kept, reduced;     /* the axes other than the innermost one */
    int64_t n, step;        /* size and stride of the innermost axis of x */
    int64_t y_step;         /* stride of the innermost axis in y, if it is kept */
    bool columns;           /* the innermost axis is kept */
    int64_t chunks, pieces; /* parts of the innermost axis: chunks if it is kept, pieces if it is reduced */
    int64_t blocks;         /* parts of the rows (reduced.total * pieces) of one result */
    double *partial;        /* [kept, chunk, block, width], if there are several blocks */
} reduction;

static double start_value(mo_reduction kind) {
    return kind == MO_REDUCE_MAX ? -INFINITY : 0;
}

INLINE real term(mo_reduction kind, real x) {
    return kind == MO_REDUCE_SUM_OF_SQUARES ? x * x : x;
}

INLINE double join(mo_reduction kind, double a, double b) {
    if (kind == MO_REDUCE_MAX)
        return b > a || b != b ? b : a; /* NaN propagates */
    return a + b;
}

INLINE real join_terms(mo_reduction kind, real a, real b) {
    if (kind == MO_REDUCE_MAX)
        return b > a || b != b ? b : a;
    return a + b;
}

INLINE double run_value(mo_reduction kind, const real *restrict x, int64_t n, int64_t step) {
    double lane[LANES], value = start_value(kind);
    int64_t i = 0;
    if (step == 1 && n >= 2 * LANES) {
        for (int j = 0; j < LANES; j++)
            lane[j] = value;
        for (; i + 2 * LANES <= n; i += 2 * LANES)
            for (int j = 0; j < LANES; j++)
                lane[j] = join(kind, lane[j], join_terms(kind, term(kind, x[i + j]), term(kind, x[i + LANES + j])));
        for (int half = LANES / 2; half > 0; half /= 2)
            for (int j = 0; j < half; j++)
                lane[j] = join(kind, lane[j], lane[j + half]);
        value = lane[0];
    }
    for (; i < n; i++)
        value = join(kind, value, term(kind, x[i * step]));
    return value;
}

/* Joins rows of x to sum[j]; four rows at a time are joined first, which saves loads and stores of the sums. */
INLINE void add_rows(
    mo_reduction kind, double *restrict sum, int64_t n, int64_t step, const real *const *rows, int count) {
    const real *restrict a = rows[0], *restrict b = rows[1], *restrict c = rows[2], *restrict d = rows[3];
    if (count == 4 && step == 1)
        for (int64_t j = 0; j < n; j++)
            sum[j] = join(kind, sum[j],
                join_terms(kind, join_terms(kind, term(kind, a[j]), term(kind, b[j])),
                    join_terms(kind, term(kind, c[j]), term(kind, d[j]))));
    else
        for (int i = 0; i < count; i++)
            for (int64_t j = 0; j < n; j++)
                sum[j] = join(kind, sum[j], term(kind, rows[i][j * step]));
}

static int64_t seek(const axes *A, int64_t i, const int64_t *stride) {
    int64_t offset = 0;
    for (int k = A->count - 1; k >= 0; k--, i /= A->size[k + 1])
        offset += i % A->size[k] * stride[k];
    return offset;
}

INLINE double runs_value(mo_reduction kind, const reduction *p, const real *x, int64_t first, int64_t last) {
    double value = start_value(kind);
    for (int64_t r = first; r < last; r++) {
        int64_t piece = r % p->pieces, start = p->n * piece / p->pieces, end = p->n * (piece + 1) / p->pieces;
        const real *run = x + seek(&p->reduced, r / p->pieces, p->reduced.x_stride) + start * p->step;
        value = join(kind, value, run_value(kind, run, end - start, p->step));
    }
    return value;
}

INLINE void columns_value(
    mo_reduction kind, const reduction *p, const real *x, int64_t first, int64_t last, int64_t width, double *sum) {
    for (int64_t j = 0; j < width; j++)
        sum[j] = start_value(kind);
    for (int64_t r = first; r < last; r += 4) {
        int count = (int)min_of(4, last - r);
        const real *rows[4] = {x, x, x, x};
        for (int i = 0; i < count; i++)
            rows[i] = x + seek(&p->reduced, r + i, p->reduced.x_stride);
        add_rows(kind, sum, width, p->step, rows, count);
    }
}

typedef struct reduce_task {
    int64_t kept, first, last, start, width; /* index among the kept axes; rows first .. last - 1; columns from start */
} reduce_task;

static reduce_task task_of(const reduction *p, int64_t number) {
    int64_t block = number % p->blocks, chunk = number / p->blocks % p->chunks;
    int64_t rows = p->reduced.total * p->pieces;
    return (reduce_task){.kept = number / (p->blocks * p->chunks),
        .first = rows * block / p->blocks,
        .last = rows * (block + 1) / p->blocks,
        .start = chunk * WIDTH,
        .width = p->columns ? min_of(WIDTH, p->n - chunk * WIDTH) : 1};
}

static void task_value(const reduction *p, const reduce_task *t, double *sum) {
    const real *x = p->x + seek(&p->kept, t->kept, p->kept.x_stride) + t->start * p->step;
    switch (p->kind) {
    case MO_REDUCE_SUM:
        if (p->columns)
            return columns_value(MO_REDUCE_SUM, p, x, t->first, t->last, t->width, sum);
        *sum = runs_value(MO_REDUCE_SUM, p, x, t->first, t->last);
        return;
    case MO_REDUCE_MAX:
        if (p->columns)
            return columns_value(MO_REDUCE_MAX, p, x, t->first, t->last, t->width, sum);
        *sum = runs_value(MO_REDUCE_MAX, p, x, t->first, t->last);
        return;
    case MO_REDUCE_SUM_OF_SQUARES:
        if (p->columns)
            return columns_value(MO_REDUCE_SUM_OF_SQUARES, p, x, t->first, t->last, t->width, sum);
        *sum = runs_value(MO_REDUCE_SUM_OF_SQUARES, p, x, t->first, t->last);
        return;
    }
}

static void write_result(const reduction *p, const reduce_task *t, const double *sum) {
    real *y = p->y + seek(&p->kept, t->kept, p->kept.y_stride) + t->start * p->y_step;
    for (int64_t j = 0; j < t->width; j++)
        y[j * p->y_step] = (real)sum[j];
}

static void run_task(const reduction *p, int64_t number) {
    reduce_task t = task_of(p, number);
    double sum[WIDTH];
    double *target = p->blocks > 1 ? p->partial + number * (p->columns ? WIDTH : 1) : sum;
    task_value(p, &t, target);
    if (p->blocks == 1)
        write_result(p, &t, target);
}

/* Joins the blocks of one result in order, and writes it. */
static void join_blocks(const reduction *p, int64_t result) {
    reduce_task t = task_of(p, result * p->blocks);
    int64_t width = p->columns ? WIDTH : 1;
    double *sum = p->partial + result * p->blocks * width;
    for (int64_t block = 1; block < p->blocks; block++)
        for (int64_t j = 0; j < t.width; j++)
            sum[j] = join(p->kind, sum[j], sum[block * width + j]);
    write_result(p, &t, sum);
}

static void add_axis(axes *A, int64_t size, int64_t x_stride, int64_t y_stride) {
    A->size[A->count] = size;
    A->x_stride[A->count] = x_stride;
    A->y_stride[A->count++] = y_stride;
    A->total *= size;
}

/* Splits the merged axes of x into the innermost one, kept ones and reduced ones. */
static reduction reduction_of(mo_reduction kind, const mo_view *x, const mo_view *y) {
    mo_view full = *y; /* y's strides and x's sizes; x comes last below, so that its strides order the axes */
    for (int i = 0; i < x->ndim; i++)
        full.shape[i] = x->shape[i];
    loop_nest N = loop_nest_of(2, (const mo_view *[]){&full, x});
    int inner = N.ndim - 1;
    reduction p = {.kind = kind,
        .x = x->data,
        .y = y->data,
        .kept.total = 1,
        .reduced.total = 1,
        .n = N.n,
        .step = N.stride[1][inner],
        .y_step = N.stride[0][inner],
        .columns = N.stride[0][inner] != 0};
    for (int i = 0; i < inner; i++)
        add_axis(N.stride[0][i] ? &p.kept : &p.reduced, N.size[i], N.stride[1][i], N.stride[0][i]);
    return p;
}

/* Cuts columns into chunks, long runs into pieces, and many rows into blocks, by shape alone. */
static void plan(reduction *p) {
    p->chunks = p->columns ? ceil_div(p->n, WIDTH) : 1;
    p->pieces = p->columns ? 1 : max_of(1, ceil_div(p->n, BLOCK));
    int64_t rows = p->reduced.total * p->pieces;
    int64_t length = p->columns ? min_of(p->n, WIDTH) : min_of(p->n, BLOCK);
    int64_t elements = p->columns ? max_of(BLOCK, BLOCK_ROWS * length) : BLOCK;
    p->blocks = max_of(1, min_of(ceil_div(rows * length, elements), rows));
}

static void run_some(const void *of, task_range some) {
    for (int64_t i = some.first; i < some.end; i++)
        run_task(of, i);
}

void REAL(reduce_cpu)(mo_context *ctx, mo_reduction kind, const mo_view *x, const mo_view *y) {
    reduction p = reduction_of(kind, x, y);
    plan(&p);
    int64_t results = p.kept.total * p.chunks, tasks = results * p.blocks;
    if (p.blocks > 1 && tasks > 0) {
        p.partial = cpu_workspace(ctx, (size_t)(tasks * (p.columns ? WIDTH : 1)) * sizeof(double));
        if (!p.partial)
            return;
    }
    run_tasks(threads_for(ctx, p.kept.total * p.reduced.total * p.n), tasks, 0, run_some, &p);
    if (p.blocks > 1)
        for (int64_t i = 0; i < results; i++)
            join_blocks(&p, i);
}
