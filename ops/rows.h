/* ops/rows.h - moving axes to the end, for ops that are defined along rows (library internal). */
#ifndef MO_ROWS_H
#define MO_ROWS_H

#include "ops/ops.h"

/* X with the axes of the mask (0: all) joined to one last axis, the others in order before it: [.., m]. Raises for an
 * axis that X has not, in the name of `what`. */
mo_tensor *mo_rows(mo_tape *t, const char *what, mo_tensor *X, unsigned axes);
/* Y [..], reduced from the rows of X, with axes of size 1 where X was reduced if they are kept. */
mo_tensor *mo_from_rows(mo_tape *t, mo_tensor *Y, const mo_tensor *X, unsigned axes, mo_reduced reduced);
/* X with that axis swapped with the last one: its own inverse. Raises likewise. */
mo_tensor *mo_swap_last(mo_tape *t, const char *what, mo_tensor *X, int axis);

#endif
