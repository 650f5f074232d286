/* tests/rows_outside.h - a support without a fold of its rows. */
#ifndef TEST_ROWS_OUTSIDE_H
#define TEST_ROWS_OUTSIDE_H

#include "ops/ops.h"

/* Returns the rows of X [.., n, columns] outside first .. last - 1. */
static inline mo_tensor *rows_outside(mo_tape *t, mo_tensor *X, int64_t first, int64_t last) {
    mo_axes rows = MO_AXIS(-2);
    mo_tensor *parts[] = {mo_slice(t, X, rows, 0, first), mo_slice(t, X, rows, last, mo_dim(X, -2))};
    return mo_concat(t, parts, 2, rows);
}

#endif
