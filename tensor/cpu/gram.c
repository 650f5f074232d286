/* tensor/cpu/gram.c - Y = X X^T, batched: blocks on and below the diagonal by BLAS, the blocks above by copying. If the
 * batch is short, each block is a task. The sizes alone decide the tasks, so Y has the same bits with any number of
 * threads. */
#include "tensor/cpu/kernels.h"
#include "tensor/cpu/loop_nest.h"
#include "tensor/cpu/matrices.h"
#include "tensor/cpu/tasks.h"

enum {
    TASKS = 8,          /* number of tasks: enough for 8 threads */
    LEAST_BLOCK = 128,  /* least rows of a block: with fewer, the cost of packing shows */
    TURNED = 16,        /* side of a square that is transposed at once */
    TASK_FLOP = 500000, /* least operations in a task */
    TINY = 4096         /* multiplications not worth a BLAS call */
};

/* Matrices op(X) [n, d] of a batch with leading dimension ld, in blocks of rows. */
typedef struct gram {
    mo_view X;
    int64_t n, d, ld, batch, blocks, pairs;
    bool transposed;
    real *Y;
} gram;

static const real *item(const gram *g, int64_t b) {
    const real *X = g->X.data;
    for (int axis = g->X.ndim - 3; axis >= 0; axis--) {
        X += b % g->X.shape[axis] * g->X.stride[axis];
        b /= g->X.shape[axis];
    }
    return X;
}

static const real *row(const gram *g, const real *X, int64_t i) {
    return X + i * (g->transposed ? 1 : g->ld);
}

static int64_t block_start(const gram *g, int64_t block) {
    return block == g->blocks ? g->n : ceil_div(g->n, 16) * block / g->blocks * 16;
}

/* Computes Y on and below the diagonal. */
static void run_loops(const gram *g, const real *X, real *Y) {
    int64_t step = g->transposed ? g->ld : 1;
    for (int64_t i = 0; i < g->n; i++)
        for (int64_t j = 0; j <= i; j++) {
            const real *a = row(g, X, i), *b = row(g, X, j);
            real sum = 0;
            for (int64_t k = 0; k < g->d; k++)
                sum += a[k * step] * b[k * step];
            Y[i * g->n + j] = sum;
        }
}

static void gram_mirror(real *Y, int64_t n, int64_t i0, int64_t i1, int64_t j0, int64_t j1) {
    for (int64_t i = i0; i < i1; i += TURNED)
        for (int64_t j = j0; j < j1 && j < i + TURNED; j += TURNED)
            for (int64_t b = j; b < min_of(j + TURNED, j1); b++)
                for (int64_t a = max_of(i, b + 1); a < min_of(i + TURNED, i1); a++)
                    Y[b * n + a] = Y[a * n + b];
}

static void run_task(const gram *g, int64_t number) {
    int64_t pair = number % g->pairs, i = 0;
    const real *X = item(g, number / g->pairs);
    real *Y = g->Y + number / g->pairs * g->n * g->n;
    while ((i + 1) * (i + 2) / 2 <= pair)
        i++;
    int64_t j = pair - i * (i + 1) / 2, i0 = block_start(g, i), i1 = block_start(g, i + 1), j0 = block_start(g, j),
            j1 = block_start(g, j + 1);
    real *block = Y + i0 * g->n + j0;
    enum CBLAS_TRANSPOSE left = g->transposed ? CblasTrans : CblasNoTrans;
    if (g->n * g->n * g->d < TINY)
        run_loops(g, X, Y);
    else if (i == j)
        blas_syrk(CblasRowMajor, CblasLower, left, (blasint)(i1 - i0), (blasint)g->d, 1, row(g, X, i0), (blasint)g->ld,
            0, block, (blasint)g->n);
    else
        blas_gemm(CblasRowMajor, left, g->transposed ? CblasNoTrans : CblasTrans, (blasint)(i1 - i0),
            (blasint)(j1 - j0), (blasint)g->d, 1, row(g, X, i0), (blasint)g->ld, row(g, X, j0), (blasint)g->ld, 0,
            block, (blasint)g->n);
    gram_mirror(Y, g->n, i0, i1, j0, j1);
}

static void run_some(const void *of, task_range some) {
    for (int64_t i = some.first; i < some.end; i++)
        run_task(of, i);
}

static void run_blocks(mo_context *ctx, const gram *g) {
    int64_t tasks = g->batch * g->pairs;
    double flop = (double)g->n * (double)g->n * (double)g->d / (double)g->pairs;
    int64_t chunk = max_of(1, (int64_t)(TASK_FLOP / (flop + 1)));
    int threads = flop * (double)tasks < MO_PARALLEL_FLOP ? 1 : blas_threads(ctx);
    run_tasks(threads, tasks, chunk, run_some, g);
}

/* Makes X a rounded copy of itself in scratch memory. */
static bool round_rows(mo_context *ctx, mo_view *X) {
    mo_view whole = *X, packed = packed_as_stored(X);
    whole.dtype = packed.dtype;
    packed.data = cpu_workspace(ctx, (size_t)(leading(&packed, packed.ndim) + 1) * sizeof(real));
    if (!packed.data)
        return false;
    for (int i = 0; i < packed.ndim; i++)
        whole.shape[i] = packed.shape[i];
    round_cpu(ctx, &whole, &packed);
    for (int i = 0; i < packed.ndim; i++)
        packed.shape[i] = X->shape[i];
    *X = packed;
    return true;
}

void REAL(gram_cpu)(mo_context *ctx, const mo_view *X, const mo_view *Y) {
    int down = X->ndim - 2, along = X->ndim - 1;
    gram g = {.X = *X, .n = X->shape[down], .d = X->shape[along], .blocks = 1, .Y = Y->data};
    g.batch = leading(X, down);
    if (g.n * g.batch == 0 || !can_multiply(ctx, sizeof(real)))
        return;
    if (rounds_factors(ctx, sizeof(real)) && !round_rows(ctx, &g.X))
        return;
    g.transposed = g.X.stride[along] != 1;
    g.ld = g.X.stride[g.transposed ? along : down];
    while (g.batch * g.blocks * (g.blocks + 1) / 2 < TASKS && g.n / (g.blocks + 1) >= LEAST_BLOCK)
        g.blocks++;
    g.pairs = g.blocks * (g.blocks + 1) / 2;
    run_blocks(ctx, &g);
}
