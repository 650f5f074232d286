/* tensor/cpu/fast/panels.h - products of a few rows with a matrix that is packed once for many products. */
#ifndef MO_CPU_PANELS_H
#define MO_CPU_PANELS_H

#include "tensor/cpu/fast/lanes.h"

#define panels_pack REAL(panels_pack)
#define panels_product REAL(panels_product)

enum { PANEL = 2 * LANES }; /* columns of a panel */

/* A matrix [depth, columns] in panels; 64-byte aligned. */
typedef struct panels {
    real *numbers; /* panels_length(depth, columns) */
    int64_t depth, columns;
    int threads; /* threads for a product */
} panels;

/* The distance between rows of n numbers: n rounded up to whole vectors. */
static inline int64_t panels_row(int64_t n) {
    return (n + LANES - 1) / LANES * LANES;
}

static inline int64_t panels_length(int64_t depth, int64_t columns) {
    return (columns + PANEL - 1) / PANEL * PANEL * depth;
}

/* Packs A; A's rows are `down` numbers apart, its columns `right` numbers. */
void panels_pack(const panels *p, const real *A, int64_t down, int64_t right);

/* Y = X A for m rows; the padding of the rows of Y becomes 0. Y has the same bits with any number of threads. */
void panels_product(const panels *p, const real *X, int64_t m, real *Y);

#endif
