/* tensor/cpu/fast/lu_column.c - solves of one column with the LU factors of one matrix of middle order, a block of
 * LANES rows at a time.
 *
 * The convention is that of lu.c. A library packs the factors, which takes longer than a solve of one column; and a
 * column entry by entry waits for one product after another, where a block has LANES sums at once. */
#include "tensor/cpu/fast/lu_blocks.h"

#include <string.h>

/* A vector at any address. */
typedef real loose_lanes __attribute__((vector_size(64), aligned(sizeof(real))));

/* A triangle of whole blocks; as `triangle` (matrices.h). */
typedef struct block_triangle {
    const real *T;
    int64_t n;
    bool lower, unit;
} block_triangle;

LANE_FUNCTION lanes load_block(const block_triangle *t, int64_t i, int64_t b) {
    return *(const loose_lanes *)(t->T + i * t->n + b * LANES);
}

/* x - the product of the rows of block b of T with the solved blocks of x. */
LANE_FUNCTION lanes subtract_solved(const block_triangle *t, int64_t b, const lanes *x) {
    lanes sum[LANES] = {{0}};
    int64_t from = t->lower ? 0 : b + 1, to = t->lower ? b : t->n / LANES;
    if (from >= to)
        return x[b];
    for (int64_t q = from; q < to; q++)
#pragma GCC unroll 16
        for (int i = 0; i < LANES; i++)
            sum[i] += load_block(t, b * LANES + i, q) * x[q];
    transpose_lanes(sum);
#pragma GCC unroll 4
    for (int half = LANES / 2; half > 0; half /= 2)
#pragma GCC unroll 8
        for (int i = 0; i < half; i++)
            sum[i] += sum[i + half];
    return x[b] - sum[0];
}

/* Subtracts the product of T^T's columns of block b with the solved x[b] from the blocks to come. */
LANE_FUNCTION void subtract_from_rest(const block_triangle *t, int64_t b, lanes *x) {
    int64_t from = t->lower ? 0 : b + 1, to = t->lower ? b : t->n / LANES;
    lanes own = x[b];
    for (int64_t q = from; q < to; q++) {
        lanes even = {0}, odd = {0};
#pragma GCC unroll 8
        for (int k = 0; k < LANES; k += 2) {
            even += load_block(t, b * LANES + k, q) * own[k];
            odd += load_block(t, b * LANES + k + 1, q) * own[k + 1];
        }
        x[q] -= even + odd;
    }
}

/* op(T)^-1 x within block b: rows are divided by their diagonals first, which leaves one product a step to wait for. */
LANE_FUNCTION lanes solve_block(const block_triangle *t, int64_t b, bool transposed, bool down, lanes x) {
    lanes column[LANES], diagonal, index = lane_index();
#pragma GCC unroll 16
    for (int k = 0; k < LANES; k++)
        column[k] = load_block(t, b * LANES + k, b);
    if (!transposed)
        transpose_lanes(column);
#pragma GCC unroll 16
    for (int k = 0; k < LANES; k++)
        diagonal[k] = column[k][k];
    lanes inverse = t->unit ? lanes_of(1) : 1 / diagonal;
    x *= inverse;
#pragma GCC unroll 16
    for (int k = 0; k < LANES; k++)
        column[k] = lanes_choose(down ? index > (real)k : index < (real)k, column[k] * inverse, lanes_of(0));
#pragma GCC unroll 16
    for (int step = 0; step < LANES; step++) {
        int k = down ? step : LANES - 1 - step;
        x -= column[k] * x[k];
    }
    return x;
}

/* x := op(T)^-1 x; transposed and down are constants after inlining. */
LANE_FUNCTION void solve_blocks(const block_triangle *t, bool transposed, bool down, lanes *x) {
    int64_t blocks = t->n / LANES;
    for (int64_t step = 0; step < blocks; step++) {
        int64_t b = down ? step : blocks - 1 - step;
        if (!transposed)
            x[b] = subtract_solved(t, b, x);
        x[b] = solve_block(t, b, transposed, down, x[b]);
        if (transposed)
            subtract_from_rest(t, b, x);
    }
}

void getrs_blocks(const real *LU, int64_t n, bool transposed, real *x) {
    lanes y[BLOCKS_ORDER / LANES];
    block_triangle U = {.T = LU, .n = n, .lower = true}, L = {.T = LU, .n = n, .unit = true};
    memcpy(y, x, (size_t)n * sizeof(real));
    if (transposed) {
        solve_blocks(&L, true, true, y);
        solve_blocks(&U, true, false, y);
    } else {
        solve_blocks(&U, false, true, y);
        solve_blocks(&L, false, false, y);
    }
    memcpy(x, y, (size_t)n * sizeof(real));
}
