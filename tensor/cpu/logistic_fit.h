/* tensor/cpu/logistic_fit.h - softmax regressions on parts of one support, side by side (logistic_folds.c). */
#ifndef MO_CPU_LOGISTIC_FIT_H
#define MO_CPU_LOGISTIC_FIT_H

#include "tensor/cpu/real.h"

enum { KEPT = 5 }; /* steps that a fit remembers */

/* What the fits of an item share. */
typedef struct logistic_support {
    int64_t n, d, C, row; /* row: from one class of a vector to the next */
    const real *X;
    real lambda, c, border_sum;
    real *A, *panels, *border; /* A^-1 in the end, its panels, c A^-1 1 */
    real *Y, *weight;          /* [C, n], [n]: T */
    real *gradients, *images;  /* [fits, C, n]: of the fits that still move, and A^-1 of them */
} logistic_support;

/* One of them. A step v has coordinates and logits K v + b. */
typedef struct logistic_fit {
    real *a, *F, *v, *Fv, *g, *next;                /* point, direction, gradient, and at the end of the step */
    real *kept[KEPT], *kept_F[KEPT], *change[KEPT]; /* steps and the changes of the gradient on them */
    double scale[KEPT], part[KEPT];
    real *fitted; /* [n]: m */
    int64_t steps;
    double left; /* a fit ends where |g| is so much of |lambda a| */
    bool moves;
} logistic_fit;

#define logistic_start REAL(logistic_start)
#define logistic_minimise REAL(logistic_minimise)

/* A fit at 0, without the rows from .. to - 1. False where a class has no weight and nothing penalises its intercept.
 */
bool logistic_start(const logistic_support *s, logistic_fit *f, int64_t from, int64_t to);
/* All fits. False where one of them does not end. */
bool logistic_minimise(const logistic_support *s, logistic_fit *fits, int count);

#endif
