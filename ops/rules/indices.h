/* ops/rules/indices.h - checks of integer inputs before a kernel uses them as positions (library internal). */
#ifndef MO_INDICES_H
#define MO_INDICES_H

#include "autograd/inside.h"

/* Requires input i to be int64 with every value in 0 .. limit-1. The error names the first value outside, its position
 * and the range; `what` is the error's word for the value, such as "label". */
bool mo_check_indices(mo_call *c, int i, int64_t limit, const char *what);
/* Requires input i to be int64 [segments + 1] that starts at 0, never falls and ends at n. */
bool mo_check_offsets(mo_call *c, int i, int64_t n);

#endif
