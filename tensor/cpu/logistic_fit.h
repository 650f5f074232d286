/* tensor/cpu/logistic_fit.h - softmax regressions on parts of one support, side by side (logistic_folds.c). */
#ifndef MO_CPU_LOGISTIC_FIT_H
#define MO_CPU_LOGISTIC_FIT_H

#include "tensor/cpu/panels.h"

#define CURVATURE 0.02 /* c of logistic_folds.c */

enum { KEPT = 5 }; /* steps that a fit remembers */

/* What the fits of an item share. */
typedef struct logistic_support {
    bool primal;          /* logistic_primal.c: coordinates are weights, not of rows */
    int64_t n, d, C, row; /* row: from one class of a vector of rows to the next */
    const real *X;
    real lambda, c, border_sum;
    panels inverse;           /* A^-1 */
    real *A, *border;         /* A^-1 in the end, c A^-1 1 */
    real *Y, *weight;         /* [C, n], [n]: T */
    real *gradients, *images; /* [fits, C, n]: of the fits that still move, and A^-1 of them */
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

#define logistic_take_labels REAL(logistic_take_labels)
#define logistic_take_held REAL(logistic_take_held)
#define logistic_fitted REAL(logistic_fitted)
#define logistic_search REAL(logistic_search)
#define logistic_start REAL(logistic_start)
#define logistic_minimise REAL(logistic_minimise)

/* s->Y from Y [n, C], class by class, and s->weight, the sums of its rows. */
void logistic_take_labels(const logistic_support *s, const real *Y);
/* What the fits say of their folds to g->held of item b. */
void logistic_take_held(
    const logistic_support *s, const logistic_fit *fits, const mo_logistic_folds_call *g, int64_t b);
/* f->fitted: all rows but from .. to - 1. False where a class has no weight there and `needed`. */
bool logistic_fitted(const logistic_support *s, logistic_fit *f, int64_t from, int64_t to, bool needed);
/* How far to go along the direction f->v, Fv, where the slope and the bend of the penalty are these. f->next is then
 * the gradient there, in primal form that of the losses by the logits. */
real logistic_search(const logistic_support *s, const logistic_fit *f, double slope, double pull, double penalty);
/* A fit at 0, without the rows from .. to - 1. False where a class has no weight and nothing penalises its intercept.
 */
bool logistic_start(const logistic_support *s, logistic_fit *f, int64_t from, int64_t to);
/* All fits. False where one of them does not end. */
bool logistic_minimise(const logistic_support *s, logistic_fit *fits, int count);

#endif
