/* tensor/cpu/gram.h - completing a symmetric matrix from its lower half. */
#ifndef MO_CPU_GRAM_H
#define MO_CPU_GRAM_H

#include "tensor/cpu/real.h"

#define gram_mirror REAL(gram_mirror)

/* Y[j, i] = Y[i, j], Y [n, n], for rows i0 .. i1 - 1 and columns j0 .. min(j1, i) - 1. */
void gram_mirror(real *Y, int64_t n, int64_t i0, int64_t i1, int64_t j0, int64_t j1);

#endif
