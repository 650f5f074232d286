/* tensor/cpu/symmetric_panels.c - products of some rows with one symmetric matrix.
 *
 * A library packs the matrix for every product, which for a few dozen rows takes as long as a third of it. Here it lies
 * in panels of two vectors of columns, one below the other: a panel passes through the first cache once for each eight
 * rows of X, whose sums stay in registers. */
#include "tensor/cpu/symmetric_panels.h"

enum { ROWS = 8 };

void panels_pack(const real *A, int64_t n, real *panels) {
    for (int64_t first = 0; first < n; first += PANEL, panels += PANEL * n)
        for (int64_t j = 0; j < PANEL; j++) {
            int64_t column = first + j;
            const real *row = A + column * n;
            for (int64_t k = 0; k < n; k++)
                panels[k * PANEL + j] = column >= n ? 0 : k <= column ? row[k] : A[k * n + column];
        }
}

/* count rows, a constant where inlined, of one panel. */
LANE_FUNCTION void multiply(const lanes *panel, int64_t n, const real *X, int count, bool whole, real *Y) {
    lanes sum[ROWS][2] = {{{0}}};
    int64_t row = panels_row(n);
    for (int64_t k = 0; k < n; k++)
#pragma GCC unroll 8
        for (int r = 0; r < count; r++) {
            real x = X[r * row + k];
            sum[r][0] += x * panel[2 * k];
            sum[r][1] += x * panel[2 * k + 1];
        }
#pragma GCC unroll 8
    for (int r = 0; r < count; r++)
        memcpy(Y + r * row, sum[r], (whole ? 2 : 1) * sizeof(lanes));
}

static void multiply_rows(const lanes *panel, int64_t n, const real *X, int64_t count, bool whole, real *Y) {
    switch (count) {
    case 8:
        multiply(panel, n, X, 8, whole, Y);
        break;
    case 7:
        multiply(panel, n, X, 7, whole, Y);
        break;
    case 6:
        multiply(panel, n, X, 6, whole, Y);
        break;
    case 5:
        multiply(panel, n, X, 5, whole, Y);
        break;
    default:
        for (int64_t r = 0, row = panels_row(n); r < count; r++)
            multiply(panel, n, X + r * row, 1, whole, Y + r * row);
    }
}

void panels_product(const real *panels, int64_t n, const real *X, int64_t m, real *Y) {
    int64_t row = panels_row(n), blocks = (m + ROWS - 1) / ROWS, each = blocks ? (m + blocks - 1) / blocks : 0;
    for (int64_t first = 0; first < n; first += PANEL, panels += PANEL * n)
        for (int64_t r = 0; r < m; r += each)
            multiply_rows((const lanes *)panels, n, X + r * row, m - r < each ? m - r : each, row - first >= PANEL,
                Y + r * row + first);
}
