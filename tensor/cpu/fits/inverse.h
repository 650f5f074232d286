/* tensor/cpu/fits/inverse.h - the inverse of a symmetric positive definite matrix, for preconditioners that are applied
 * many times. */
#ifndef MO_CPU_INVERSE_H
#define MO_CPU_INVERSE_H

#include "tensor/cpu/real.h"

#define inverse_spd REAL(inverse_spd)

/* The lower triangle of A [n, n], with rows `row` apart, becomes that of its inverse; the upper triangle is
 * overwritten. scratch: n n / 2 numbers. Returns false if A is not positive definite. */
bool inverse_spd(real *A, int64_t n, int64_t row, real *scratch);

#endif
