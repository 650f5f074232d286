/* ops/fits/fits.h - shared by the ops of logistic regression and of the support vector machine (library internal). */
#ifndef MO_OPS_FITS_H
#define MO_OPS_FITS_H

#include "autograd/inside.h"
#include "ops/inside.h"
#include "tensor/fits.h"

/* Attributes of a fit. */
typedef struct fit_options {
    bool free_intercept;
    int64_t most_steps; /* of a support vector machine */
} fit_options;

/* Checks the inputs of a fit: rows [.., n, d], labels Y [.., n, C], lambda [] or [..]. The output gets the leading
 * axes, then `height` and C. what: the rows and their shape, for a message. */
bool mo_fit_shape(mo_call *c, const char *what, int64_t height);

/* Returns U with H[U] = B, where H is the Hessian at the logits F; the class means of U are 0, the class means of B are
 * ignored. in: X, F, row weights, lambda, B; differentiable in all of them. saved: the preconditioner, from logistic.c.
 */
mo_tensor *mo_logistic_solve(mo_tape *t, mo_tensor *const in[5], mo_tensor *saved, bool free_intercept);

/* Returns whether a fit uses the dual, with a coordinate for each row: n <= d, and lambda > 0 in every item of the
 * batch. */
bool mo_logistic_is_dual(mo_tape *t, mo_tensor *X, mo_tensor *lambda);

/* Makes memory for the preconditioners of fits of X [.., n, d] (`saved` in tensor/fits.h). */
mo_tensor *mo_logistic_saved(mo_call *c, const mo_tensor *X, bool dual, bool free_intercept);

/* Raises for the first item of the batch whose code [B] is not MO_FIT_SOLVED. Returns whether all are solved. */
bool mo_check_fits(mo_call *c, mo_tensor *code);

/* Sums over the last axis, the classes, which is kept with size 1. */
mo_tensor *mo_class_sum(mo_tape *t, mo_tensor *X);

#endif
