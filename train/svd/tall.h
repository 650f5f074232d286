/* train/svd/tall.h - matrices of many rows and a few hundred columns, worked on in place (library internal). */
#ifndef MO_TALL_H
#define MO_TALL_H

#include "train/inside.h"

enum { MO_TALL_ROWS = 32768 /* of a block; a BLAS rounds a row by the number of rows around it */ };

/* An uninitialised matrix on the tape; its memory is returned to the system as soon as it is dropped. */
mo_tensor *mo_tall_create(mo_tape *t, mo_dtype real, int64_t rows, int64_t columns);
/* X^T Y [columns of X, columns of Y] in float64, summed over blocks of rows; X may be Y. */
mo_tensor *mo_tall_gram(mo_tape *t, mo_tensor *X, mo_tensor *Y);
/* The sums of squares of the columns of X, in square [columns]. */
void mo_tall_squares(mo_tape *t, mo_tensor *X, double *square);
/* X := X R for an upper triangular R of X's type, or for a full one. */
void mo_tall_multiply(mo_tape *t, mo_tensor *X, mo_tensor *R, bool upper);
/* Z := alpha X B + beta Z, in blocks of rows: a row's last digits may depend on how many rows a product has. */
void mo_tall_product_into(mo_tape *t, double alpha, mo_tensor *X, const mo_tensor *B, double beta, mo_tensor *Z);
/* Y := A X. */
void mo_tall_spmm(const mo_csr *A, mo_tensor *X, mo_tensor *Y);

#endif
