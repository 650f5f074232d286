/* tensor/cpu/fast/lu_small.h - the small matrices of lu.c, a group of at most LANES at a time. */
#ifndef MO_CPU_LU_SMALL_H
#define MO_CPU_LU_SMALL_H

#include "tensor/cpu/fast/lanes.h"
#include "tensor/cpu/matrices.h"

/* Systems op(A) X = B of one group: n <= SMALL_MATRIX, m <= SMALL_COLUMNS. */
typedef struct small_systems {
    int64_t count, n, m;
    bool transposed;
    const real *factor[LANES];
    const int32_t *pivot[LANES];
    real *B[LANES]; /* becomes X */
} small_systems;

#define getrf_small REAL(getrf_small)
#define getrs_small REAL(getrs_small)

/* Factors A [count, n, n] in place; pivot [count, n] and info [count] as for getrf in tensor/backend.h. */
void getrf_small(real *A, int64_t count, int64_t n, int32_t *pivot, int32_t *info);
void getrs_small(const small_systems *s);

#endif
