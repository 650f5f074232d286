/* tensor/cpu/fast/few_columns.h - products of a matrix with a few columns; a library takes longer to pack such a matrix
 * than to multiply it. */
#ifndef MO_CPU_FEW_COLUMNS_H
#define MO_CPU_FEW_COLUMNS_H

#include "tensor/cpu/real.h"

#define few_columns_product REAL(few_columns_product)

enum { FEW_COLUMNS = 8 }; /* columns that one vector holds; wider products go to the library */

/* Y = scale A X, or scale A^T X: A [m, k], X and Y of C columns. work: FEW_COLUMNS (m + k) reals. Runs on one thread.
 */
void few_columns_product(
    const real *A, int64_t m, int64_t k, bool transposed, real scale, const real *X, int64_t C, real *Y, real *work);

#endif
