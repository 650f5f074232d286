/* tensor/cpu/fits/logistic_fit.h - softmax regressions on parts of one support by Newton's method with conjugate
 * gradients: what both forms of logistic_folds.c share. */
#ifndef MO_CPU_LOGISTIC_FIT_H
#define MO_CPU_LOGISTIC_FIT_H

#include "tensor/cpu/fast/panels.h"
#include "tensor/fits.h"

#define COARSE 0.2 /* relative gradient of the fit of all rows at which the curvatures are taken from it */

enum { LOGISTIC_ROUNDS = 1000 }; /* limit of the products of a fit */

/* The data that all fits of an item share. Vectors of rows are [C, n], with classes `row` numbers apart; vectors of
 * coordinates have classes `width` numbers apart. */
typedef struct logistic_support {
    bool free_intercept, primal; /* primal: the coordinates are the weights; else one per row */
    int64_t n, d, C, row, width;
    int64_t given;     /* rows */
    const int32_t *of; /* [given]: the distinct row of each given row; NULL: the rows themselves */
    int64_t penalised; /* penalised coordinates per class */
    real lambda;
    real *Y, *weight, *curvature; /* [C, n], [n]: T, [n]: w */
} logistic_support;

/* One fit, in coordinates: the point a; the Newton step x there; the direction p of conjugate gradients; the residual r
 * of Newton's equation. F, Fx, Fp: the logits of a, x and p; P: the probabilities at a. */
typedef struct logistic_fit {
    real *a, *x, *p, *r;
    real *F, *Fx, *Fp, *P;
    real *fitted;     /* [n]: m */
    double tolerance; /* a fit ends at |gradient| <= tolerance |lambda a| */
    double target;    /* |r|^2 at which a Newton step ends */
    double product;   /* <r, z> with z = M r; 0 before the first direction */
    double curvature; /* of the objective along p */
    double slope;     /* of the objective along x */
    bool moves;
} logistic_fit;

#define logistic_layout REAL(logistic_layout)
#define logistic_read_labels REAL(logistic_read_labels)
#define logistic_write_held REAL(logistic_write_held)
#define logistic_start REAL(logistic_start)
#define logistic_start_fold REAL(logistic_start_fold)
#define logistic_set_curvature REAL(logistic_set_curvature)
#define logistic_direction REAL(logistic_direction)
#define logistic_step REAL(logistic_step)
#define logistic_line_search REAL(logistic_line_search)
#define logistic_loss_gradient REAL(logistic_loss_gradient)
#define logistic_gradient REAL(logistic_gradient)

/* Returns the scratch size of `count` fits, in reals; lays them out in `scratch` unless it is NULL. */
int64_t logistic_layout(const logistic_support *s, logistic_fit *fits, int count, real *scratch);
/* Fills s->Y from Y [given, C], class by class, and s->weight, the sums of its rows. */
void logistic_read_labels(const logistic_support *s, const real *Y);
/* Writes each fit's logits of its held-out fold to g->held of item b. */
void logistic_write_held(const logistic_support *s, const logistic_fit *fits, const mo_folds_call *g, int64_t b);

/* Starts the fit of all rows at 0. Returns false if a class has no weight and its intercept is not penalised. */
bool logistic_start(const logistic_support *s, logistic_fit *f);
/* Starts the fit without the rows from .. to - 1 at the solution for all rows. Returns false as logistic_start does. */
bool logistic_start_fold(const logistic_support *s, logistic_fit *f, const logistic_fit *all, int64_t from, int64_t to);
/* Sets s->curvature from the probabilities of f; equal for all rows if f is NULL. */
void logistic_set_curvature(const logistic_support *s, const logistic_fit *f);

/* The next direction p from z = M r and its logits Fz. Writes Q = W Fp, the losses' part of H p on the logits; Q may be
 * Fz. */
void logistic_direction(const logistic_support *s, logistic_fit *f, const real *z, const real *Fz, real *Q);
/* One step of conjugate gradients along p; Hp: Q in coordinates. Returns whether Newton's equation is solved. */
bool logistic_step(const logistic_support *s, logistic_fit *f, const real *Hp);
/* The line search along the Newton step. Returns false if the slope is lost in rounding. */
bool logistic_line_search(const logistic_support *s, logistic_fit *f);
/* The gradient of the losses in the logits. */
void logistic_loss_gradient(const logistic_support *s, const logistic_fit *f, real *G);
/* Sets r from the gradient G of the losses in coordinates, and whether the fit goes on; rounding: the size of rounding
 * in G. */
void logistic_gradient(const logistic_support *s, logistic_fit *f, const real *G, double rounding);

#endif
