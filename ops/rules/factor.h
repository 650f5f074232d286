/* ops/rules/factor.h - factorizations of an op's input 0: factors that are saved as by-products, errors that name the
 * matrix, and solves with a known factor (library internal). */
#ifndef MO_FACTOR_H
#define MO_FACTOR_H

#include "autograd/inside.h"
#include "tensor/objects.h"

/* What happens if a matrix has no factor. */
typedef enum mo_failure {
    MO_FAIL_CALL = 0, /* the call raises an error that names the matrix */
    MO_FAIL_ITEM      /* the factor and the result of that matrix are NaN; the rest of the batch is unaffected */
} mo_failure;

/* Requires input i to be square matrices [.., n, n]; raises and returns false if not. */
bool mo_call_square(mo_call *c, int i);

/* Requires inputs 0 and 1 to be systems: square matrices, and right-hand sides [.., n, k] with the same leading axes;
 * raises and returns false if not. */
bool mo_call_system(mo_call *c);

/* Applies a solve op to A and B whose leading axes broadcast: if A has none, one factor serves all right-hand sides. If
 * the axes do not broadcast, the op gets A and B unchanged, so that its error names their shapes. */
mo_tensor *mo_apply_system(mo_tape *t, const mo_op *op, mo_tensor *A, mo_tensor *B, const void *attributes);

/* Makes the info of a factorization: int32, zeros, one word for each matrix [.., n, n] of X. */
mo_tensor *mo_factor_info(mo_call *c, const mo_tensor *X);
/* Raises MO_NUMERICAL for the first word of info that is not 0, naming its matrix: -1 "holds a value that is not
 * finite", -2 "is singular to working precision"; for other words the text is `defect`, a format with one int ("is not
 * positive definite (leading minor %d)"). */
bool mo_check_factor_info(mo_call *c, const mo_tensor *info, const char *defect);
/* Sets the parts of T [batch .., ..], contiguous, to `value` where the info of the matrix is not 0. */
void mo_fill_failed(mo_call *c, const mo_tensor *info, const mo_tensor *T, double value);

/* Returns L with A = L L^T for A = input 0; writes its info to *info unless info is NULL. Returns NULL on failure. */
mo_tensor *mo_factor_spd(mo_call *c, mo_failure failure, mo_tensor **info);
/* Writes LU, pivots and info of input 0, in the form that getrs reads; the diagonal of LU is U's. Returns false on
 * failure. */
bool mo_factor_lu(mo_call *c, mo_failure failure, mo_tensor **LU, mo_tensor **pivot, mo_tensor **info);

/* Decomposes input 0, A [.., m, n] = U diag(s) V^T with k = min(m, n), writes s [.., k], and the vectors to *wide
 * [.., k, max(m, n)] and *square [.., k, k], as mo_svd_views reads them. `kept`: they may be saved; else they are freed
 * when forward returns. Returns false on failure. */
bool mo_factor_svd(mo_call *c, bool kept, const mo_tensor *s, mo_tensor **wide, mo_tensor **square);
/* Writes U [.., m, k] and V [.., n, k], views of the factors of A; a pair of columns has any sign. */
void mo_svd_views(const mo_tensor *A, const mo_tensor *wide, const mo_tensor *square, mo_view *U, mo_view *V);

/* Returns A^-1 B for an A whose factor L is known; differentiable in A and B. */
mo_tensor *mo_solve_spd_factored(mo_tape *t, mo_tensor *A, mo_tensor *B, mo_tensor *L);
/* Returns A^-1 B (transposed: A^-T B) for an A whose LU and pivots are known; differentiable in A and B. */
mo_tensor *mo_solve_factored(mo_tape *t, mo_tensor *A, mo_tensor *B, mo_tensor *const factors[2], bool transposed);

#endif
