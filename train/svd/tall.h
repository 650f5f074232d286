/* train/svd/tall.h - matrices of many rows and a few hundred columns, worked on in place (library internal). */
#ifndef MO_TALL_H
#define MO_TALL_H

#include "autograd/inside.h"

/* An uninitialised matrix on the tape; its memory is returned to the system as soon as it is dropped. */
mo_tensor *mo_tall_create(mo_tape *t, mo_dtype real, int64_t rows, int64_t columns);
/* X^T Y [columns of X, columns of Y] in float64, summed over blocks of rows; X may be Y. */
mo_tensor *mo_tall_gram(mo_tape *t, mo_tensor *X, mo_tensor *Y);
/* X := X R for an upper triangular R of X's type, or for a full one. */
void mo_tall_multiply(mo_tape *t, mo_tensor *X, mo_tensor *R, bool upper);
/* Y := A X. */
void mo_tall_spmm(const mo_csr *A, mo_tensor *X, mo_tensor *Y);

#endif
