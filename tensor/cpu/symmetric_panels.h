/* tensor/cpu/symmetric_panels.h - products of some rows with one symmetric matrix, which is packed once for many of
 * them. */
#ifndef MO_CPU_SYMMETRIC_PANELS_H
#define MO_CPU_SYMMETRIC_PANELS_H

#include "tensor/cpu/lanes.h"

#define panels_pack REAL(panels_pack)
#define panels_product REAL(panels_product)

enum { PANEL = 2 * LANES }; /* columns of a panel */

/* Rows of X and Y are so far apart: n filled up to whole vectors. */
static inline int64_t panels_row(int64_t n) {
    return (n + LANES - 1) / LANES * LANES;
}

/* How many reals the panels of a matrix of order n take. */
static inline int64_t panels_length(int64_t n) {
    return (n + PANEL - 1) / PANEL * PANEL * n;
}

/* The panels of A [n, n], of which the lower triangle is read; 64-byte aligned. */
void panels_pack(const real *A, int64_t n, real *panels);

/* Y = X A for m rows; what fills up the rows of Y becomes 0. On one thread. */
void panels_product(const real *panels, int64_t n, const real *X, int64_t m, real *Y);

#endif
