/* tensor/cpu/logistic_dual.h - softmax regressions on parts of one support with at most as many rows as columns
 * (logistic_folds.c). */
#ifndef MO_CPU_LOGISTIC_DUAL_H
#define MO_CPU_LOGISTIC_DUAL_H

#include "tensor/cpu/logistic_fit.h"

/* A support and its fits. */
typedef struct logistic_dual {
    logistic_support s;
    const real *X;
    int count;     /* fits */
    bool inverted; /* the matrix is A^-1, else K */
    panels matrix;
    real *A, *border;     /* K, then A^-1; A^-1 1 */
    real *intercepts;     /* [C] of a direction */
    real *leads, *images; /* [fits, C, n]: of the fits that still move, what the product takes and gives */
    logistic_fit fits[MO_FOLDS_AT_ONCE + 1];
} logistic_dual;

#define logistic_dual_place REAL(logistic_dual_place)
#define logistic_dual_run REAL(logistic_dual_run)

/* Lays out item sizes of g in `scratch` (NULL: nothing is given out): how much there is. */
int64_t logistic_dual_place(logistic_dual *s, const mo_folds_call *g, real *scratch);
/* All fits of item b to g->W and g->held. False where one of them does not end. */
bool logistic_dual_run(logistic_dual *s, const mo_folds_call *g, int64_t b);

#endif
