/* models/heads/rank.h - the rank of a Gram matrix, for a line that says why a system is singular (library internal). */
#ifndef MO_RANK_H
#define MO_RANK_H

#include "models/inside.h"

/* The eigenvalues of symmetric A [.., n, n] above n times the rounding of the largest; the fewest in a batch. -1 on
 * failure. */
int64_t mo_rank(mo_tape *t, mo_tensor *A);

#endif
