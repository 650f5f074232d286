/* tensor/cpu/fits/logistic_dual.h - softmax regressions on parts of one support with at most as many rows as columns
 * (logistic_folds.c). */
#ifndef MO_CPU_LOGISTIC_DUAL_H
#define MO_CPU_LOGISTIC_DUAL_H

#include "tensor/cpu/fits/logistic_fit.h"

/* A support and its fits. */
typedef struct logistic_dual {
    logistic_support s;
    const real *X;
    int count;     /* fits */
    bool inverted; /* A holds A^-1, else K */
    panels matrix;
    real *A, *border;       /* K, then A^-1; A^-1 1 */
    real *intercepts;       /* [C], of a direction */
    real *inputs, *outputs; /* [fits, C, n]: inputs and outputs of the product, for the fits that go on */
    logistic_fit fits[MO_FOLDS_AT_ONCE + 1];
} logistic_dual;

#define logistic_dual_layout REAL(logistic_dual_layout)
#define logistic_dual_run REAL(logistic_dual_run)

/* Returns the scratch size of an item of g, in reals; lays the arrays out in `scratch` unless it is NULL. */
int64_t logistic_dual_layout(logistic_dual *s, const mo_folds_call *g, real *scratch);
/* Runs all fits of item b; writes g->W and g->held. Returns false if one of them does not converge. */
bool logistic_dual_run(logistic_dual *s, const mo_folds_call *g, int64_t b);

#endif
