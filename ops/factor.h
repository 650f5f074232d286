/* ops/factor.h - factorizations of an op's input 0: factors that are kept as by-products, errors that name the matrix,
 * and solves with a factor at hand (library internal). */
#ifndef MO_FACTOR_H
#define MO_FACTOR_H

#include "autograd/autograd.h"
#include "tensor/storage.h"

/* What becomes of a matrix that has no factor. */
typedef enum mo_failure {
    MO_FAIL_CALL = 0, /* an error that names it */
    MO_FAIL_ITEM      /* its factor and its result are NaN; the others are what they are without it */
} mo_failure;

/* Requires input i to be square matrices [.., n, n] (raises otherwise). */
bool mo_call_square(mo_call *c, int i);

/* Requires inputs 0 and 1 to be systems: square matrices and right-hand sides [.., n, k] with their leading axes. */
bool mo_call_system(mo_call *c);

/* An int32 tensor with one word for each matrix [.., n, n] of X: the info view of a factorization. */
mo_tensor *mo_factor_info(mo_call *c, const mo_tensor *X);
/* Raises MO_NUMERICAL for the first word that is not 0, naming the matrix: -1 as "holds a value that is not finite",
 * -2 as "is singular to working precision", others by `defect`, a format with one int ("is not positive definite
 * (leading minor %d)"). */
bool mo_check_factor_info(mo_call *c, const mo_tensor *info, const char *defect);
/* Fills T [batch .., ..] (contiguous) with value where the word of that matrix is not 0. */
void mo_fill_failed(mo_call *c, const mo_tensor *info, const mo_tensor *T, double value);

/* L with A = L L^T for input 0; info (may be NULL) gets the words. NULL on failure. */
mo_tensor *mo_factor_spd(mo_call *c, mo_failure failure, mo_tensor **info);
/* LU and pivots of input 0, as getrs reads them; the diagonal is that of U. False on failure. */
bool mo_factor_lu(mo_call *c, mo_failure failure, mo_tensor **LU, mo_tensor **pivot, mo_tensor **info);

/* A^-1 B with the factor L of A at hand; differentiable in A and B. */
mo_tensor *mo_solve_spd_factored(mo_tape *t, mo_tensor *A, mo_tensor *B, mo_tensor *L);
/* A^-1 B, or A^-T B where transposed, with LU and pivots of A at hand; differentiable in A and B. */
mo_tensor *mo_solve_factored(mo_tape *t, mo_tensor *A, mo_tensor *B, mo_tensor *const factors[2], bool transposed);

#endif
