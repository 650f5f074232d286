/* train/ranks/spread.h - tall matrices whose rows are spread over the ranks of a run (library internal).
 *
 * Rank r holds the rows start[r] .. start[r + 1] - 1; small matrices and figures are the same on every rank. Sums over
 * rows are formed in blocks of MO_SPREAD_ROWS rows, to which the starts are aligned, and added from the first block to
 * the last, whoever holds them: the sums, and all that is computed from them, have the bits of one process. */
#ifndef MO_SPREAD_H
#define MO_SPREAD_H

#include "train/ranks/ranks.h"

enum { MO_SPREAD_ROWS = 32768 };

typedef struct mo_spread {
    mo_context *ctx; /* of the CPU */
    mo_ranks ranks;  /* those that hold rows, from 0 on */
    int64_t *start;  /* [size + 1] */
    bool parted;     /* a rank has failed, all know of it, and no message follows */
} mo_spread;

/* Spreads n rows; weight [n + 1] is the work of the rows before each row, and each rank gets about as much of it as any
 * other. Ranks for which there are no rows hold none. Returns false on failure, which it raises; end it in any case. */
bool mo_spread_begin(mo_spread *s, mo_context *ctx, const mo_ranks *ranks, int64_t n, const double *weight);
void mo_spread_end(mo_spread *s);
/* Of this rank; of NULL, which stands for one process with all rows, 0. */
int64_t mo_spread_first(const mo_spread *s);
/* The rows of all ranks, of which this rank has `own`; and its own ones of `all`. */
int64_t mo_spread_all(const mo_spread *s, int64_t own);
int64_t mo_spread_own(const mo_spread *s, int64_t all);

/* Begins an exchange, which every rank takes part in: returns false, on all of them, if one has failed. What follows up
 * to the next exchange fails on no rank before its messages have been sent and received. */
bool mo_spread_agree(mo_spread *s);
/* sum [n] becomes sum + x[0] + x[1] + ..., in this order, over the `count` parts [n] of this rank and those of the
 * ranks after it, on every rank; before, it is the same on every rank. */
void mo_spread_add(mo_spread *s, double *sum, const double *x, int64_t count, int64_t n);
/* x [n] becomes that of the largest magnitude among the ranks; and, of values not 0, that of the lowest rank. */
void mo_spread_largest(mo_spread *s, double *x, int64_t n);
void mo_spread_earliest(mo_spread *s, double *x, int64_t n);

#endif
