/* train/run/ranks.h - messages between the processes of one run, on mo_ranks (train/inside.h) (library internal). */
#ifndef MO_RANKS_H
#define MO_RANKS_H

#include "train/inside.h"

/* The first episode of a rank: of the E episodes of a step, rank r has first(r) .. first(r + 1) - 1. */
int mo_ranks_first(int E, int size, int rank);
/* Before round `bit`, `rank` has the messages of ranks rank .. end - 1; returns that end. */
int mo_ranks_end(const mo_ranks *ranks, int rank, int bit);
/* settings.c: compares the ranks' programs, BLAS kernels and settings with those of rank 0; if they differ, raises on
 * every rank, naming the member. mine: this rank's settings as a JSON object (borrowed; NULL: it has failed). Returns
 * whether all are equal and no rank has failed. */
bool mo_ranks_compare(mo_context *ctx, const mo_ranks *ranks, const char *mine);
/* Copies rank 0's bytes to every rank. */
void mo_ranks_broadcast(const mo_ranks *ranks, void *data, size_t bytes);

#endif
