/* tensor/cpu/fast/panels.c - products of some rows with one matrix.
 *
 * A library packs the matrix for every product; for a few dozen rows packing takes a third of the product's time. Here
 * the matrix is packed once, in panels: a panel has as many columns as two vectors have numbers, and its rows follow
 * each other in memory. For each eight rows of X, whose sums stay in registers, a panel is read once. */
#include "tensor/cpu/fast/panels.h"

enum { ROWS = 8 };

void panels_pack(const panels *p, const real *A, int64_t down, int64_t right) {
    real *numbers = p->numbers;
    for (int64_t first = 0; first < p->columns; first += PANEL)
        for (int64_t k = 0; k < p->depth; k++, numbers += PANEL)
            for (int64_t j = 0; j < PANEL; j++)
                numbers[j] = first + j < p->columns ? A[k * down + (first + j) * right] : 0;
}

/* A product with one panel: rows of X are `from` numbers apart, rows of Y `row` numbers; width: number of vectors that
 * the panel gives to a row of Y, 1 or 2. */
typedef struct panel_rows {
    int64_t depth, from, row;
    size_t width;
} panel_rows;

/* Multiplies `count` rows with one panel; count is a constant after inlining. */
LANE_FUNCTION void multiply(const lanes *panel, const panel_rows *p, const real *X, int count, real *Y) {
    lanes sum[ROWS][2] = {{{0}}};
    int64_t n = p->depth, from = p->from, row = p->row;
    for (int64_t k = 0; k < n; k++)
#pragma GCC unroll 8
        for (int r = 0; r < count; r++) {
            real x = X[r * from + k];
            sum[r][0] += x * panel[2 * k];
            sum[r][1] += x * panel[2 * k + 1];
        }
#pragma GCC unroll 8
    for (int r = 0; r < count; r++)
        memcpy(Y + r * row, sum[r], p->width * sizeof(lanes));
}

static void multiply_rows(const lanes *panel, const panel_rows *p, const real *X, int64_t count, real *Y) {
    switch (count) {
    case 8:
        multiply(panel, p, X, 8, Y);
        break;
    case 7:
        multiply(panel, p, X, 7, Y);
        break;
    case 6:
        multiply(panel, p, X, 6, Y);
        break;
    case 5:
        multiply(panel, p, X, 5, Y);
        break;
    default:
        for (int64_t r = 0; r < count; r++)
            multiply(panel, p, X + r * p->from, 1, Y + r * p->row);
    }
}

typedef struct factors {
    const panels *p;
    const real *X;
    int64_t m;
    real *Y;
} factors;

static void multiply_panels(const void *of, task_range some) {
    const factors *f = of;
    const panels *p = f->p;
    int64_t row = panels_row(p->columns), from = panels_row(p->depth), m = f->m;
    int64_t blocks = (m + ROWS - 1) / ROWS, each = blocks ? (m + blocks - 1) / blocks : 0;
    for (int64_t k = some.first; k < some.end; k++) {
        const panel_rows rows = {p->depth, from, row, row - k * PANEL >= PANEL ? 2 : 1};
        for (int64_t r = 0; r < m; r += each)
            multiply_rows((const lanes *)(p->numbers + k * PANEL * p->depth), &rows, f->X + r * from,
                m - r < each ? m - r : each, f->Y + r * row + k * PANEL);
    }
}

void panels_product(const panels *p, const real *X, int64_t m, real *Y) {
    run_tasks(p->threads, (p->columns + PANEL - 1) / PANEL, 0, multiply_panels, &(factors){p, X, m, Y});
}
