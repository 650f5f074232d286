/* tensor/cpu/fits/logistic_primal.h - softmax regressions on parts of one support with more rows than columns, side by
 * side (logistic_folds.c). */
#ifndef MO_CPU_LOGISTIC_PRIMAL_H
#define MO_CPU_LOGISTIC_PRIMAL_H

#include "tensor/cpu/fits/distinct.h"
#include "tensor/cpu/fits/logistic_fit.h"

/* A support and its fits. */
typedef struct logistic_primal {
    logistic_support s; /* on the distinct rows */
    distinct rows;
    int64_t stop[MO_FOLDS_AT_ONCE]; /* the ends of their folds */
    int64_t m;                      /* columns, with that of the intercept */
    int count;                      /* fits */
    real *X, *scaled, *A;           /* [n, m] with ones for the intercept; rows of diag(sqrt w) X; [m, m] */
    panels inverse, down, out;      /* A^-1, X^T and X */
    real *weights, *steps;          /* [fits, C, m]: inputs and outputs of A^-1 for the fits that go on; gradients */
    real *residuals;                /* [fits, C, n]: their logits, and residuals */
    double size;                    /* |X| */
    logistic_fit fits[MO_FOLDS_AT_ONCE + 1];
} logistic_primal;

#define logistic_primal_layout REAL(logistic_primal_layout)
#define logistic_primal_run REAL(logistic_primal_run)

/* Returns the scratch size of an item of g, in reals; lays the arrays out in `scratch` unless it is NULL. Products run
 * on `threads` threads. */
int64_t logistic_primal_layout(logistic_primal *p, const mo_folds_call *g, int threads, real *scratch);
/* Runs all fits of item b; writes g->W and g->held. Returns false if one of them does not converge. */
bool logistic_primal_run(logistic_primal *p, const mo_folds_call *g, int64_t b);

#endif
