/* tensor/cpu/narrow.h - products of a matrix with a few columns, which a library packs for longer than it multiplies.
 */
#ifndef MO_CPU_NARROW_H
#define MO_CPU_NARROW_H

#include "tensor/cpu/real.h"

#define narrow_product REAL(narrow_product)

enum { NARROW = 8 }; /* columns that a row of vectors holds; more go to the library */

/* Y = scale A X, or scale A^T X: A [m, k], X and Y of C columns. work: NARROW (m + k) reals. On one thread. */
void narrow_product(
    const real *A, int64_t m, int64_t k, bool transposed, real scale, const real *X, int64_t C, real *Y, real *work);

#endif
