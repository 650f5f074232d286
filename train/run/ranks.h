/* train/run/ranks.h - messages between the processes of one run, on mo_ranks (train/inside.h) (library internal). */
#ifndef MO_RANKS_H
#define MO_RANKS_H

#include "train/inside.h"

/* The first episode of a rank: rank r has the episodes first(r) .. first(r + 1) - 1 of a step of E. */
int mo_ranks_first(int E, int size, int rank);
/* The end of the ranks from `rank` on that have been heard of, through this one, before round `bit`. */
int mo_ranks_end(const mo_ranks *ranks, int rank, int bit);
/* settings.c: raises on every rank where one differs from rank 0 in `mine`, its settings as a JSON object (borrowed;
 * NULL: it has failed), in its program, or in the kernels of BLAS; the message names the member. Returns whether all
 * are equal and none has failed. */
bool mo_ranks_compare(mo_context *ctx, const mo_ranks *ranks, const char *mine);
/* Rank 0's bytes, on every rank. */
void mo_ranks_broadcast(const mo_ranks *ranks, void *data, size_t bytes);

#endif
