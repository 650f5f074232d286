/* ops/indices.h - integer inputs are looked at before a kernel follows them (library internal). */
#ifndef MO_INDICES_H
#define MO_INDICES_H

#include "autograd/autograd.h"

/* Requires that input i is int64 with every value in 0 .. limit-1; raises an error that names the first other one, its
 * position and the range, calling it `what` ("label"). */
bool mo_check_indices(mo_call *c, int i, int64_t limit, const char *what);
/* Requires that input i is int64 [segments + 1], starts at 0, never falls and ends at n. */
bool mo_check_offsets(mo_call *c, int i, int64_t n);

#endif
