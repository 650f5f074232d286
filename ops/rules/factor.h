/* ops/rules/factor.h - factorizations of an op's input 0: factors that are kept as by-products, errors that name the
 * matrix, and solves with a given factor (library internal). */
#ifndef MO_FACTOR_H
#define MO_FACTOR_H

#include "autograd/inside.h"
#include "tensor/storage.h"

/* The outcome for a matrix that has no factor. */
typedef enum mo_failure {
    MO_FAIL_CALL = 0, /* the call raises an error that names the matrix */
    MO_FAIL_ITEM      /* the factor and the result of that matrix are NaN; the rest of the batch is unaffected */
} mo_failure;

/* Requires input i to be square matrices [.., n, n] (raises otherwise). */
bool mo_call_square(mo_call *c, int i);

/* Requires inputs 0 and 1 to be systems: square matrices, and right-hand sides [.., n, k] with the same leading axes.
 */
bool mo_call_system(mo_call *c);

/* A solve, an op of such systems, for leading axes that broadcast: one factor for many right-hand sides where A has no
 * axes of its own. Systems that do not fit are left to the op, which names them. */
mo_tensor *mo_apply_system(mo_tape *t, const mo_op *op, mo_tensor *A, mo_tensor *B, const void *attributes);

/* An int32 tensor with one word per matrix [.., n, n] of X: the info view of a factorization. */
mo_tensor *mo_factor_info(mo_call *c, const mo_tensor *X);
/* Raises MO_NUMERICAL for the first word that is not 0 and names the matrix: -1 as "holds a value that is not finite",
 * -2 as "is singular to working precision", other words by `defect`, a format with one int ("is not positive definite
 * (leading minor %d)"). */
bool mo_check_factor_info(mo_call *c, const mo_tensor *info, const char *defect);
/* Fills T [batch .., ..] (contiguous) with value for every matrix whose word is not 0. */
void mo_fill_failed(mo_call *c, const mo_tensor *info, const mo_tensor *T, double value);

/* L with A = L L^T for input 0; info (may be NULL) receives the words. Returns NULL on failure. */
mo_tensor *mo_factor_spd(mo_call *c, mo_failure failure, mo_tensor **info);
/* LU and pivots of input 0 in the form that getrs reads; the diagonal is that of U. Returns false on failure. */
bool mo_factor_lu(mo_call *c, mo_failure failure, mo_tensor **LU, mo_tensor **pivot, mo_tensor **info);

/* A^-1 B with the factor L of A given; differentiable in A and B. */
mo_tensor *mo_solve_spd_factored(mo_tape *t, mo_tensor *A, mo_tensor *B, mo_tensor *L);
/* A^-1 B (transposed: A^-T B) with LU and pivots of A given; differentiable in A and B. */
mo_tensor *mo_solve_factored(mo_tape *t, mo_tensor *A, mo_tensor *B, mo_tensor *const factors[2], bool transposed);

#endif
