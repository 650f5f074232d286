/* ops/rules/rows.h - moves axes to the end, for ops that are defined along rows (library internal). */
#ifndef MO_ROWS_H
#define MO_ROWS_H

#include "ops/inside.h"

/* Returns X as rows [.., m]: the axes of the set, joined, become the last axis, and the other axes stay in order before
 * it. For an axis that X does not have, raises an error that begins with `what`. */
mo_tensor *mo_rows(mo_tape *t, const char *what, mo_tensor *X, mo_axes axes);
/* Y [..] has one entry for each row that mo_rows made of X. Returns Y itself or, with MO_KEEP_AXES, Y with the reduced
 * axes of X at size 1. */
mo_tensor *mo_from_rows(mo_tape *t, mo_tensor *Y, const mo_tensor *X, mo_axes axes, mo_reduced reduced);
/* Returns X with `axis` and the last axis swapped; the same call swaps back. Raises as mo_rows does. */
mo_tensor *mo_swap_last(mo_tape *t, const char *what, mo_tensor *X, mo_axes axis);
/* The shape rule of an op whose input is real rows [.., m] and whose output has the same shape. */
bool mo_call_rows(mo_call *c);
/* The shape rule of an op whose input is real rows [.., m], m >= 1, and whose output has one entry for each row, [..],
 * of dtype. */
bool mo_call_per_row(mo_call *c, mo_dtype dtype);

/* Returns X_bar of Y = mo_l2_normalize(X), by ops (normalize.c). */
mo_tensor *mo_l2_normalize_gradient(mo_tape *t, mo_tensor *X, mo_tensor *Y, mo_tensor *Y_bar, double epsilon);

#endif
