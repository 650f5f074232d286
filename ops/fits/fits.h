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
 * ignored. in: X, F, row weights, lambda, B; differentiable in all of them. kept: of the fit, from logistic.c. */
mo_tensor *mo_logistic_solve(mo_tape *t, mo_tensor *const in[5], mo_tensor *kept, bool free_intercept);

/* Returns whether a fit takes a column for each row: n <= d, and lambda > 0 in every item of the batch. */
bool mo_logistic_has_few_rows(mo_tape *t, mo_tensor *X, mo_tensor *lambda);

/* Writes the shape of `kept` (tensor/fits.h) for fits of X [.., n, d] to C classes. */
void mo_logistic_kept_shape(const mo_tensor *X, int64_t C, bool few_rows, bool free_intercept, int64_t shape[2]);

/* Raises for the first item of the batch whose code [B] is not MO_FIT_SOLVED. Returns whether all are solved. */
bool mo_check_fits(mo_call *c, mo_tensor *code);

/* Sums over the last axis, the classes, which is kept with size 1. */
mo_tensor *mo_class_sum(mo_tape *t, mo_tensor *X);

#endif
