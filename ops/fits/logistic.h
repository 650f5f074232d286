/* ops/fits/logistic.h - shared by the ops of logistic regression (library internal). */
#ifndef MO_LOGISTIC_H
#define MO_LOGISTIC_H

#include "autograd/inside.h"
#include "tensor/fits.h"

/* Returns U with H[U] = B, where H is the Hessian at the logits F; the class means of U are 0, the class means of B are
 * ignored. in: X, F, row weights, lambda, B; differentiable in all of them. factors: D and the factor that logistic.c
 * saves. */
mo_tensor *mo_logistic_solve(mo_tape *t, mo_tensor *const in[5], mo_tensor *const *factors, bool free_intercept);

/* Returns whether a fit uses the dual, with a coordinate for each row: n <= d, and lambda > 0 in every item of the
 * batch. */
bool mo_logistic_is_dual(mo_tape *t, mo_tensor *X, mo_tensor *lambda);

/* Makes memory for the curvatures D [B, n + 1] and the factor [B, k, k] of fits of X [.., n, d]; k is n if dual, else
 * d, plus 1 with a free intercept. */
void mo_logistic_factors(mo_call *c, const mo_tensor *X, bool dual, bool free_intercept, mo_tensor *factors[2]);

/* Raises for the first item of the batch whose code [B] is not MO_FIT_SOLVED. Returns whether all are solved. */
bool mo_check_fits(mo_call *c, mo_tensor *code);

/* Sums over the last axis, the classes, which is kept with size 1. */
mo_tensor *mo_class_sum(mo_tape *t, mo_tensor *X);

#endif
