/* tensor/cpu/fast/lu_blocks.h - the matrices of lu.c of middle order, in blocks of LANES rows and columns. */
#ifndef MO_CPU_LU_BLOCKS_H
#define MO_CPU_LU_BLOCKS_H

#include "tensor/cpu/fast/lanes.h"

enum { BLOCKS_ORDER = 256 /* the largest order; larger ones go to LAPACK */ };

#define getrf_blocks REAL(getrf_blocks)
#define getrf_blocks_scratch REAL(getrf_blocks_scratch)
#define getrs_blocks REAL(getrs_blocks)

/* Returns whether getrs_blocks takes this order: whole blocks. */
static inline bool solves_in_blocks(int64_t n) {
    return n > SMALL_MATRIX && n <= BLOCKS_ORDER && n % LANES == 0;
}

/* The scratch of getrf_blocks, in reals. */
int64_t getrf_blocks_scratch(int64_t n);
/* Factors A [n, n] in place, n <= BLOCKS_ORDER; scratch is aligned to 64 bytes. Returns the first zero pivot, counted
 * from 1, or 0. */
int getrf_blocks(real *A, int64_t n, int32_t *pivot, real *scratch);
/* x := A^-1 x, or A^-T x, without the row exchanges, for an order of solves_in_blocks. */
void getrs_blocks(const real *LU, int64_t n, bool transposed, real *x);

#endif
