/* ops/rules/rows.h - moving axes to the end, for ops that are defined along rows (library internal). */
#ifndef MO_ROWS_H
#define MO_ROWS_H

#include "ops/inside.h"

/* X with the axes of the set joined to one last axis, and the others in order before it: [.., m]. Raises an
 * error that starts with `what` for an axis that X does not have. */
mo_tensor *mo_rows(mo_tape *t, const char *what, mo_tensor *X, mo_axes axes);
/* Y [..], reduced from the rows of X; MO_KEEP_AXES puts axes of size 1 where X was reduced. */
mo_tensor *mo_from_rows(mo_tape *t, mo_tensor *Y, const mo_tensor *X, mo_axes axes, mo_reduced reduced);
/* X with that axis swapped with the last one; the same call swaps back. Raises as mo_rows does. */
mo_tensor *mo_swap_last(mo_tape *t, const char *what, mo_tensor *X, mo_axes axis);
/* The shape rule of an op from rows [.., m] of reals to rows of the same shape. */
bool mo_call_rows(mo_call *c);
/* The shape rule of an op from rows [.., m] of reals, m >= 1, to one entry [..] of dtype per row. */
bool mo_call_per_row(mo_call *c, mo_dtype dtype);

#endif
