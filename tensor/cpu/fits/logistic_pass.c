/* tensor/cpu/fits/logistic_pass.c - logits, a sum over rows, or a product with the Hessian, in one pass over X
 * (tensor/fits.h).
 *
 * A block of rows stays in the second-level cache for both products of the Hessian, X V and X^T Q, so that X is read
 * from memory once; a library reads it twice and, with as few columns as there are classes, takes longer to pack it
 * than to multiply. X V: four rows meet up to five classes, each pair with a register of sums along the columns.
 * X^T Q: up to five classes meet four registers of columns, over the rows of the block. Neither wastes a lane on a
 * class that is not there.
 *
 * The rows are cut into chunks by n alone; a chunk has its own sums, which are added in order. */
#include "tensor/cpu/fits/logistic_pass.h"
#include "tensor/cpu/fast/lanes.h"
#include "tensor/cpu/kernels.h"

enum { BLOCK = 64, TILE_ROWS = 4, TILE_CLASSES = 5, TILE_LANES = 4, CHUNK = 512, MOST_CHUNKS = 64 };

typedef real row_lanes __attribute__((vector_size(64), aligned(sizeof(real)), may_alias));

typedef struct pass {
    const mo_logistic_pass *g;
    int64_t n, d, C, chunk, chunks; /* chunk: its rows */
    real *Vt, *sums;                /* [C, d]; [chunks, C, d + 1], the last column the sum of Q */
} pass;

LANE_FUNCTION real total(row_lanes v) {
    real part[LANES];
    memcpy(part, &v, sizeof part);
    for (int width = LANES / 2; width; width /= 2)
        for (int l = 0; l < width; l++)
            part[l] += part[l + width];
    return part[0];
}

/* E [rows, C] = X V for these rows and classes; both numbers are constants after inlining. */
LANE_FUNCTION void multiply_tile(
    const pass *p, const real *X, const real *Vt, const int rows, const int classes, real *E) {
    row_lanes sum[TILE_ROWS][TILE_CLASSES] = {0};
    int64_t d = p->d, whole = d / LANES * LANES;
    for (int64_t j = 0; j < whole; j += LANES) {
#pragma GCC unroll 5
        for (int c = 0; c < classes; c++) {
            row_lanes v = *(const row_lanes *)(Vt + c * d + j);
#pragma GCC unroll 4
            for (int r = 0; r < rows; r++)
                sum[r][c] += *(const row_lanes *)(X + r * d + j) * v;
        }
    }
#pragma GCC unroll 4
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 5
        for (int c = 0; c < classes; c++) {
            real e = total(sum[r][c]);
            for (int64_t j = whole; j < d; j++)
                e += X[r * d + j] * Vt[c * d + j];
            E[r * p->C + c] = e;
        }
}

/* Columns first .. first + width LANES - 1 of the sums [C, d + 1] of these classes, plus X^T Q. */
LANE_FUNCTION void add_tile(
    const pass *p, const real *X, int64_t rows, const real *Q, const int width, const int classes, real *sums) {
    row_lanes sum[TILE_CLASSES][TILE_LANES];
    int64_t d = p->d;
    for (int c = 0; c < classes; c++)
        for (int l = 0; l < width; l++)
            sum[c][l] = *(row_lanes *)(sums + c * (d + 1) + l * LANES);
    for (int64_t i = 0; i < rows; i++) {
#pragma GCC unroll 5
        for (int c = 0; c < classes; c++) {
            row_lanes q = Q[i * p->C + c] - (row_lanes){0};
#pragma GCC unroll 4
            for (int l = 0; l < width; l++)
                sum[c][l] += q * *(const row_lanes *)(X + i * d + l * LANES);
        }
    }
    for (int c = 0; c < classes; c++)
        for (int l = 0; l < width; l++)
            *(row_lanes *)(sums + c * (d + 1) + l * LANES) = sum[c][l];
}

LANE_FUNCTION void multiply_rows(const pass *p, const real *X, int64_t rows, int64_t c, const int classes, real *E) {
    const real *Vt = p->Vt + c * p->d;
    int64_t i = 0;
    for (; i + TILE_ROWS <= rows; i += TILE_ROWS)
        multiply_tile(p, X + i * p->d, Vt, TILE_ROWS, classes, E + i * p->C + c);
    for (; i < rows; i++)
        multiply_tile(p, X + i * p->d, Vt, 1, classes, E + i * p->C + c);
}

LANE_FUNCTION void add_columns(
    const pass *p, const real *X, int64_t rows, const real *Q, int64_t c, const int classes, real *sums) {
    int64_t d = p->d, j = 0;
    real *at = sums + c * (d + 1);
    for (; j + TILE_LANES * LANES <= d; j += TILE_LANES * LANES)
        add_tile(p, X + j, rows, Q + c, TILE_LANES, classes, at + j);
    for (; j + LANES <= d; j += LANES)
        add_tile(p, X + j, rows, Q + c, 1, classes, at + j);
    for (int k = 0; k < classes; k++)
        for (int64_t i = 0; i < rows; i++) {
            real q = Q[i * p->C + c + k];
            for (int64_t tail = j; tail < d; tail++)
                at[k * (d + 1) + tail] += X[i * d + tail] * q;
            at[k * (d + 1) + d] += q;
        }
}

/* The classes from c on that make one tile: all tiles have about equal sizes. */
static int tile_classes(int64_t C, int64_t c) {
    int64_t tiles = ceil_div(C, TILE_CLASSES), tile = 0;
    while (C * (tile + 1) / tiles <= c)
        tile++;
    return (int)(C * (tile + 1) / tiles - c);
}

/* Of the classes c .. c + classes - 1: their logits E, or their sums if there are any. */
LANE_FUNCTION void run_tile(
    const pass *p, const real *X, int64_t rows, int64_t c, const int classes, real *E, real *sums) {
    if (sums)
        add_columns(p, X, rows, E, c, classes, sums);
    else
        multiply_rows(p, X, rows, c, classes, E);
}

/* E = X V of a block; with sums, these become themselves plus X^T E. */
static void run_tiles(const pass *p, const real *X, int64_t rows, real *E, real *sums) {
    for (int64_t c = 0, classes; c < p->C; c += classes)
        switch (classes = tile_classes(p->C, c)) {
        case 1:
            run_tile(p, X, rows, c, 1, E, sums);
            break;
        case 2:
            run_tile(p, X, rows, c, 2, E, sums);
            break;
        case 3:
            run_tile(p, X, rows, c, 3, E, sums);
            break;
        case 4:
            run_tile(p, X, rows, c, 4, E, sums);
            break;
        default:
            run_tile(p, X, rows, c, TILE_CLASSES, E, sums);
        }
}

static void block_logits(const pass *p, const real *X, int64_t rows, real *E) {
    const real *V = p->g->V.data;
    run_tiles(p, X, rows, E, NULL);
    for (int64_t i = 0; i < rows && p->g->free_intercept; i++)
        for (int64_t c = 0; c < p->C; c++)
            E[i * p->C + c] += V[p->d * p->C + c];
}

/* E becomes S[E]. */
static void block_curvature(const pass *p, int64_t first, int64_t rows, real *E) {
    const real *P = (const real *)p->g->P.data + first * p->C, *T = (const real *)p->g->T.data + first;
    for (int64_t i = 0; i < rows; i++, P += p->C, E += p->C) {
        real mean = 0;
        for (int64_t c = 0; c < p->C; c++)
            mean += P[c] * E[c];
        for (int64_t c = 0; c < p->C; c++)
            E[c] = T[i] * P[c] * (E[c] - mean);
    }
}

static void run_chunk(const pass *p, int64_t number) {
    const mo_logistic_pass *g = p->g;
    int64_t stop = min_of(p->n, (number + 1) * p->chunk), C = p->C;
    real *sums = p->sums + number * C * (p->d + 1), *given = g->E.data, block[BLOCK * MO_PASS_CLASSES];
    if (g->sum.data)
        memset(sums, 0, (size_t)(C * (p->d + 1)) * sizeof(real));
    for (int64_t first = number * p->chunk; first < stop; first += BLOCK) {
        int64_t rows = min_of(BLOCK, stop - first);
        const real *X = (const real *)g->X.data + first * p->d;
        real *E = given ? given + first * C : block;
        if (g->V.data)
            block_logits(p, X, rows, E);
        if (g->P.data)
            block_curvature(p, first, rows, E);
        if (g->sum.data)
            run_tiles(p, X, rows, E, sums);
    }
}

/* sum[j, c] over the chunks, in order. */
static void add_chunks(const pass *p, int64_t c) {
    int64_t length = p->d + 1, kept = p->d + p->g->free_intercept;
    real *out = (real *)p->g->sum.data + c;
    for (int64_t j = 0; j < kept; j++) {
        real sum = 0;
        for (int64_t k = 0; k < p->chunks; k++)
            sum += p->sums[(k * p->C + c) * length + j];
        out[j * p->C] = sum;
    }
}

static pass pass_of(const mo_logistic_pass *g) {
    const mo_view *wide = g->V.data ? &g->V : &g->E;
    pass p = {.g = g, .n = g->X.shape[0], .d = g->X.shape[1], .C = wide->shape[1]};
    p.chunk = ceil_div(max_of(CHUNK, ceil_div(p.n, MOST_CHUNKS)), BLOCK) * BLOCK;
    p.chunks = ceil_div(p.n, p.chunk);
    return p;
}

static int64_t packed_length(const pass *p) {
    return p->g->V.data ? p->C * p->d : 0;
}

int64_t logistic_pass_scratch(const mo_logistic_pass *g) {
    pass p = pass_of(g);
    return max_of(1, packed_length(&p) + (g->sum.data ? p.chunks * p.C * (p.d + 1) : 0));
}

void logistic_pass_in(mo_context *ctx, const mo_logistic_pass *g, real *scratch) {
    pass p = pass_of(g);
    int64_t packed = packed_length(&p);
    int threads = threads_for(ctx, p.n * p.d);
    p.Vt = scratch;
    p.sums = scratch + packed;
    for (int64_t i = 0; i < packed; i++)
        p.Vt[i] = ((const real *)g->V.data)[i % p.d * p.C + i / p.d];
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(dynamic)
    for (int64_t k = 0; k < p.chunks; k++)
        run_chunk(&p, k);
    for (int64_t c = 0; c < p.C && g->sum.data; c++)
        add_chunks(&p, c);
}

void REAL(logistic_pass_cpu)(mo_context *ctx, const mo_logistic_pass *g) {
    real *scratch = cpu_workspace(ctx, (size_t)logistic_pass_scratch(g) * sizeof(real));
    if (scratch)
        logistic_pass_in(ctx, g, scratch);
}
