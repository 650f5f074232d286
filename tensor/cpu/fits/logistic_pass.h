/* tensor/cpu/fits/logistic_pass.h - a pass over rows (tensor/fits.h), for solvers that have the workspace. */
#ifndef MO_CPU_LOGISTIC_PASS_H
#define MO_CPU_LOGISTIC_PASS_H

#include "tensor/cpu/real.h"
#include "tensor/fits.h"

#define logistic_pass_scratch REAL(logistic_pass_scratch)
#define logistic_pass_in REAL(logistic_pass_in)

/* Returns the scratch size of a pass, in reals; it depends on sizes and on which views have data. */
int64_t logistic_pass_scratch(const mo_logistic_pass *g);
/* Runs a pass in scratch of that size. */
void logistic_pass_in(mo_context *ctx, const mo_logistic_pass *g, real *scratch);

#endif
