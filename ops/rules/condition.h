/* ops/rules/condition.h - what a factorization says of its matrices, as data: info words, condition numbers, norms, and
 * residuals of solutions. No gradient flows through any of it (library internal). */
#ifndef MO_CONDITION_H
#define MO_CONDITION_H

#include "ops/inside.h"

/* What is known of every matrix [.., n, n] of a batch. */
typedef struct mo_conditioning {
    mo_tensor *info;  /* int32 [..]: the word of the factorization in the matrix's own precision (tensor/backend.h) */
    mo_tensor *rcond; /* float64 [..]: 1 / (|A| |A^-1|), 1-norms in float64; 0 of a singular matrix */
} mo_conditioning;

/* Symmetric matrices from the lower triangles of A. */
mo_tensor *mo_mirrored(mo_tape *t, mo_tensor *A);
/* |A| of every matrix [.., m, n], the largest column sum of magnitudes: float64 [..]; 0 of an empty matrix. */
mo_tensor *mo_matrix_norm(mo_tape *t, mo_tensor *A);
/* By Cholesky (spd: the lower triangle is read) or LU. Without `measured` rcond is null: it costs an inverse. */
mo_conditioning mo_condition_of(mo_tape *t, mo_tensor *A, bool spd, bool measured);
/* |A X - B| / (n eps |A| |X|), eps that of X's dtype and the rest in float64: [..]; 0 where A X = B. */
mo_tensor *mo_residual_ratio(mo_tape *t, mo_tensor *A, mo_tensor *X, mo_tensor *B);

#endif
