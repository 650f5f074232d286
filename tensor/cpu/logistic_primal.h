/* tensor/cpu/logistic_primal.h - softmax regressions on parts of one support with more rows than columns, side by side
 * (logistic_folds.c). */
#ifndef MO_CPU_LOGISTIC_PRIMAL_H
#define MO_CPU_LOGISTIC_PRIMAL_H

#include "tensor/cpu/distinct.h"
#include "tensor/cpu/logistic_fit.h"

/* A support and its fits. */
typedef struct logistic_primal {
    logistic_support s; /* of distinct rows */
    distinct rows;
    int64_t stop[MO_FOLDS_AT_ONCE]; /* where folds of these end */
    int64_t m;                      /* columns, with that of the intercept */
    int count;                      /* fits */
    real *X, *scaled, *A;           /* [n, m] with ones for the intercept; rows of diag(sqrt w) X; [m, m] */
    panels inverse, down, out;      /* A^-1, X^T and X */
    real *weights, *steps; /* [fits, C, m]: of the fits that still move, what A^-1 takes and gives; gradients */
    real *residuals;       /* [fits, C, n]: their logits, and residuals */
    double size;           /* |X| */
    logistic_fit fits[MO_FOLDS_AT_ONCE + 1];
} logistic_primal;

#define logistic_primal_place REAL(logistic_primal_place)
#define logistic_primal_run REAL(logistic_primal_run)

/* Lays out item sizes of g in `scratch` (NULL: nothing is given out): how much there is. Products on `threads`. */
int64_t logistic_primal_place(logistic_primal *p, const mo_folds_call *g, int threads, real *scratch);
/* All fits of item b to g->W and g->held. False where one of them does not end. */
bool logistic_primal_run(logistic_primal *p, const mo_folds_call *g, int64_t b);

#endif
