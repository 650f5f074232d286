/* tensor/cpu/fast/lu_blocks.c - LU factors of one matrix of middle order, LANES columns at a time.
 *
 * The convention is that of lu.c: the row-major buffer holds the LU of M = A^T, column j of M in row j. A copy of M in
 * rows of whole vectors is factored, filled up with an identity: there rows are exchanged as wholes, and the columns
 * right of a panel advance a vector at a time, with the LANES rows of U that they need in registers. A panel itself
 * lies by columns, so that its largest entry is found, and its columns are subtracted, along vectors (Golub and Van
 * Loan 2013, 3.2.11). */
#include "tensor/cpu/fast/lu_blocks.h"

#include <string.h>

enum { ROWS = 4 /* advance together */ };

typedef struct lu_blocks {
    lanes *M;      /* row i: M + i row */
    lanes *panel;  /* column k: panel + k blocks */
    lanes *column; /* of L, 0 down to the diagonal */
    int64_t n, blocks, row;
    int32_t *pivot;
    int singular;
} lu_blocks;

static int64_t row_of_blocks(int64_t blocks) {
    return blocks | 1; /* an odd number, as lane_row */
}

int64_t getrf_blocks_scratch(int64_t n) {
    int64_t blocks = ceil_div(n, LANES);
    return LANES * (blocks * LANES * row_of_blocks(blocks) + blocks * (LANES + 1));
}

/* ---- the copy ---- */

/* M = A^T, with ones on the rest of the diagonal. */
static void blocks_read(const lu_blocks *s, const real *A) {
    for (int64_t v = 0; v < s->blocks; v++)
        for (int64_t b = 0; b < s->blocks; b++) {
            lanes block[LANES] = {{0}};
            int64_t columns = min_of(LANES, s->n - v * LANES), rows = min_of(LANES, s->n - b * LANES);
            for (int64_t k = 0; k < columns; k++) {
                const real *from = A + (v * LANES + k) * s->n + b * LANES;
                if (rows == LANES)
                    memcpy(&block[k], from, sizeof *block);
                else
                    memcpy(&block[k], from, (size_t)rows * sizeof(real));
            }
            for (int64_t k = columns; k < LANES && v == b; k++)
                block[k][k] = 1;
            transpose_lanes(block);
            for (int64_t k = 0; k < LANES; k++)
                s->M[(b * LANES + k) * s->row + v] = block[k];
        }
}

static void blocks_write(const lu_blocks *s, real *A) {
    for (int64_t v = 0; v < s->blocks; v++)
        for (int64_t b = 0; b < s->blocks; b++) {
            lanes block[LANES];
            int64_t columns = min_of(LANES, s->n - v * LANES), rows = min_of(LANES, s->n - b * LANES);
            for (int64_t k = 0; k < LANES; k++)
                block[k] = s->M[(b * LANES + k) * s->row + v];
            transpose_lanes(block);
            for (int64_t k = 0; k < columns; k++) {
                real *to = A + (v * LANES + k) * s->n + b * LANES;
                if (rows == LANES)
                    memcpy(to, &block[k], sizeof *block);
                else
                    memcpy(to, &block[k], (size_t)rows * sizeof(real));
            }
        }
}

/* ---- one panel ---- */

static void panel_read(const lu_blocks *s, int64_t first) {
    for (int64_t b = first; b < s->blocks; b++) {
        lanes block[LANES];
        for (int64_t k = 0; k < LANES; k++)
            block[k] = s->M[(b * LANES + k) * s->row + first];
        transpose_lanes(block);
        for (int64_t k = 0; k < LANES; k++)
            s->panel[k * s->blocks + b] = block[k];
    }
}

static void panel_write(const lu_blocks *s, int64_t first) {
    for (int64_t b = first; b < s->blocks; b++) {
        lanes block[LANES];
        for (int64_t k = 0; k < LANES; k++)
            block[k] = s->panel[k * s->blocks + b];
        transpose_lanes(block);
        for (int64_t k = 0; k < LANES; k++)
            s->M[(b * LANES + k) * s->row + first] = block[k];
    }
}

LANE_FUNCTION real largest_lane(lanes x) {
    real value[LANES], largest;
    memcpy(value, &x, sizeof x);
    largest = value[0];
#pragma omp simd reduction(max : largest)
    for (int l = 0; l < LANES; l++)
        largest = value[l] > largest ? value[l] : largest;
    return largest;
}

/* The first row, from the k-th of the panel on, of the entry of x that is largest in magnitude; NaN is never largest.
 */
static int64_t panel_pivot(const lu_blocks *s, int64_t first, int64_t k, const lanes *x) {
    lanes index = lane_index(), none = lanes_of(-1);
    lanes best = lanes_choose(index < (real)k, none, lanes_max(lanes_abs(x[first]), none));
    lanes place = index + (real)(first * LANES);
    for (int64_t b = first + 1; b < s->blocks; b++) {
        lanes size = lanes_abs(x[b]);
        lane_words more = size > best;
        best = lanes_choose(more, size, best);
        place = lanes_choose(more, index + (real)(b * LANES), place);
    }
    real top = largest_lane(best);
    if (top < 0)
        return first * LANES + k;
    return -(int64_t)largest_lane(lanes_choose(best == top, -place, lanes_of(-BLOCKS_ORDER)));
}

static void panel_exchange(const lu_blocks *s, int64_t j, int64_t row) {
    lanes *restrict a = s->M + j * s->row, *restrict b = s->M + row * s->row;
    for (int64_t v = 0; v < s->blocks; v++) {
        lanes spare = a[v];
        a[v] = b[v];
        b[v] = spare;
    }
    for (int64_t k = 0; k < LANES; k++) {
        real *x = (real *)(s->panel + k * s->blocks);
        swap(x + j, x + row);
    }
}

/* Factors the panel's column k, and subtracts it from those right of it. */
static void panel_column(lu_blocks *s, int64_t first, int64_t k) {
    int64_t j = first * LANES + k;
    lanes *restrict x = s->panel + k * s->blocks, *restrict below = s->column;
    int64_t row = panel_pivot(s, first, k, x);
    if (j < s->n)
        s->pivot[j] = (int32_t)row + 1;
    if (row != j)
        panel_exchange(s, j, row);
    if (((real *)x)[j] == 0) {
        s->singular = s->singular ? s->singular : (int)j + 1;
        ((real *)x)[j] = 1;
    }
    real inverse = 1 / ((real *)x)[j];
    lane_words under = lane_index() > (real)k;
    below[first] = lanes_choose(under, x[first] * inverse, lanes_of(0));
    x[first] = lanes_choose(under, below[first], x[first]);
    for (int64_t b = first + 1; b < s->blocks; b++)
        below[b] = x[b] *= inverse;
    for (int64_t c = k + 1; c < LANES; c++) {
        lanes *restrict y = s->panel + c * s->blocks;
        real u = ((real *)y)[j];
        for (int64_t b = first; b < s->blocks; b++)
            y[b] -= below[b] * u;
    }
}

/* ---- the columns right of a panel ---- */

/* U = L^-1 M in the panel's rows of one vector of columns, then M -= L U below. */
static void advance_columns(const lu_blocks *s, int64_t first, int64_t v) {
    lanes *M = s->M + first * LANES * s->row, U[LANES];
    const real *L = (const real *)(M + first);
    int64_t ld = s->row * LANES;
#pragma GCC unroll 16
    for (int k = 0; k < LANES; k++)
        U[k] = M[k * s->row + v];
#pragma GCC unroll 16
    for (int k = 0; k < LANES; k++)
#pragma GCC unroll 16
        for (int i = 0; i < LANES; i++)
            if (i > k)
                U[i] -= L[i * ld + k] * U[k];
#pragma GCC unroll 16
    for (int k = 0; k < LANES; k++)
        M[k * s->row + v] = U[k];
    for (int64_t i = LANES; i < (s->blocks - first) * LANES; i += ROWS) {
        lanes x[ROWS];
        const real *l = L + i * ld;
        for (int r = 0; r < ROWS; r++)
            x[r] = M[(i + r) * s->row + v];
#pragma GCC unroll 16
        for (int k = 0; k < LANES; k++)
#pragma GCC unroll 4
            for (int r = 0; r < ROWS; r++)
                x[r] -= l[r * ld + k] * U[k];
        for (int r = 0; r < ROWS; r++)
            M[(i + r) * s->row + v] = x[r];
    }
}

int getrf_blocks(real *A, int64_t n, int32_t *pivot, real *scratch) {
    lu_blocks s = {.M = (lanes *)scratch, .n = n, .blocks = ceil_div(n, LANES), .pivot = pivot};
    s.row = row_of_blocks(s.blocks);
    s.panel = s.M + s.blocks * LANES * s.row;
    s.column = s.panel + LANES * s.blocks;
    blocks_read(&s, A);
    for (int64_t first = 0; first < s.blocks; first++) {
        panel_read(&s, first);
        for (int64_t k = 0; k < LANES; k++)
            panel_column(&s, first, k);
        panel_write(&s, first);
        for (int64_t v = first + 1; v < s.blocks; v++)
            advance_columns(&s, first, v);
    }
    blocks_write(&s, A);
    return s.singular;
}
