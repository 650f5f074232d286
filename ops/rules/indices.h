/* ops/rules/indices.h - checking integer inputs before a kernel follows them (library internal). */
#ifndef MO_INDICES_H
#define MO_INDICES_H

#include "autograd/inside.h"

/* Requires that input i is int64 with every value in 0 .. limit-1; the error names the first value outside, its
 * position and the range, and calls the value `what` ("label"). */
bool mo_check_indices(mo_call *c, int i, int64_t limit, const char *what);
/* Requires that input i is int64 [segments + 1], starts at 0, never falls and ends at n. */
bool mo_check_offsets(mo_call *c, int i, int64_t n);

#endif
