/* tensor/cpu/logistic_fit.h - softmax regressions on parts of one support by Newton's method with conjugate gradients:
 * what both forms of logistic_folds.c share. */
#ifndef MO_CPU_LOGISTIC_FIT_H
#define MO_CPU_LOGISTIC_FIT_H

#include "tensor/cpu/panels.h"
#include "tensor/fits.h"

#define COARSE 0.2 /* what is left of the gradient of all rows where the curvatures are taken from that fit */

enum { LOGISTIC_ROUNDS = 1000 }; /* at most, of products */

/* What the fits of an item share. Vectors of rows are [C, n], each class `row` numbers from the next, coordinates
 * `width`. */
typedef struct logistic_support {
    bool free_intercept, primal; /* primal: coordinates are weights, else of rows */
    int64_t n, d, C, row, width;
    int64_t given;     /* rows */
    const int32_t *of; /* [given]: which of the n rows each is; NULL: as they come */
    int64_t penalised; /* coordinates of a class */
    real lambda;
    real *Y, *weight, *curvature; /* [C, n], [n]: T, [n]: w */
} logistic_support;

/* One of them: a point a; the Newton step x there; p, the direction of conjugate gradients; r, what is left of the
 * negative gradient: all coordinates. The logits of a, x and p, and the probabilities at a. */
typedef struct logistic_fit {
    real *a, *x, *p, *r;
    real *F, *Fx, *Fp, *P;
    real *fitted;   /* [n]: m */
    double left;    /* a fit ends where |gradient| is so much of |lambda a| */
    double enough;  /* |r|^2 where a Newton step ends */
    double product; /* of r and its image under the preconditioner; 0 before the first direction */
    double bend;    /* of the objective along p */
    double slope;   /* of the objective along x */
    bool moves;
} logistic_fit;

#define logistic_place REAL(logistic_place)
#define logistic_take_labels REAL(logistic_take_labels)
#define logistic_take_held REAL(logistic_take_held)
#define logistic_begin REAL(logistic_begin)
#define logistic_begin_fold REAL(logistic_begin_fold)
#define logistic_weigh REAL(logistic_weigh)
#define logistic_turn REAL(logistic_turn)
#define logistic_follow REAL(logistic_follow)
#define logistic_arrive REAL(logistic_arrive)
#define logistic_losses REAL(logistic_losses)
#define logistic_settle REAL(logistic_settle)

/* Room for `count` fits in `scratch` (NULL: none is given out): how much there is of it. */
int64_t logistic_place(const logistic_support *s, logistic_fit *fits, int count, real *scratch);
/* s->Y from Y [given, C], class by class, and s->weight, the sums of its rows. */
void logistic_take_labels(const logistic_support *s, const real *Y);
/* What the fits say of their folds to g->held of item b. */
void logistic_take_held(const logistic_support *s, const logistic_fit *fits, const mo_folds_call *g, int64_t b);

/* The fit of all rows at 0. False where a class has no weight and nothing penalises its intercept. */
bool logistic_begin(const logistic_support *s, logistic_fit *f);
/* The fit without the rows from .. to - 1 where that of all rows is. False as before. */
bool logistic_begin_fold(const logistic_support *s, logistic_fit *f, const logistic_fit *all, int64_t from, int64_t to);
/* s->curvature by the probabilities of f; where f is NULL, the same for all rows. */
void logistic_weigh(const logistic_support *s, const logistic_fit *f);

/* A direction from z, what the preconditioner makes of r, and its logits Fz. Q, by logits, is the part of the losses of
 * the image of p under the Hessian; it may be Fz. */
void logistic_turn(const logistic_support *s, logistic_fit *f, const real *z, const real *Fz, real *Q);
/* Goes along p, Hp being Q by coordinates; whether the Newton step has been found. */
bool logistic_follow(const logistic_support *s, logistic_fit *f, const real *Hp);
/* Goes along the Newton step. False where there is none: rounding hides where it falls. */
bool logistic_arrive(const logistic_support *s, logistic_fit *f);
/* The gradient of the losses by logits. */
void logistic_losses(const logistic_support *s, const logistic_fit *f, real *G);
/* Whether the fit moves on, and r, from the gradient of the losses by coordinates, whose rounding has this size. */
void logistic_settle(const logistic_support *s, logistic_fit *f, const real *G, double rounding);

#endif
