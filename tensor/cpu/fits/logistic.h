/* tensor/cpu/fits/logistic.h - the Hessian of a penalised softmax regression in preconditioned coordinates, and
 * Newton's equation in these coordinates, for fits (logistic.c) and their adjoint (logistic_solve.c).
 *
 * With rows Phi = [X | 1] (or X), m columns, and mu = lambda on the columns of X and 0 on the intercept, the Hessian at
 * probabilities P is H = Phi^T W Phi + mu, W_i = T_i (diag P_i - P_i P_i^T). The preconditioner replaces W_i by one
 * number D_i for all classes: M = Phi^T D Phi + mu / kappa = L L^T, kappa = 1 unless rounding needs a larger penalty.
 * - Primal: weights V have the coordinates v = L^T V and the logits F_v = (Phi L^-T) v; pull(R) = L^-1 Phi^T R.
 * - Dual: v has a coordinate for each row, V = M^-1 Phi^T v, F_v = G v with G = Phi M^-1 Phi^T [n, n]; pull(R) = R.
 * In both, the Hessian takes v to kappa v + pull(W F_v - kappa D F_v); the inner product of V and U is <v, u> in the
 * primal and <v, F_u> in the dual. A step of conjugate gradients costs two passes over the rows in the primal, one
 * product with G in the dual: folds of 15 to 448 rows with 64 to 513 columns take 1.1 to 1.9 times as long in the
 * primal, on rows reduced to n columns. What stays when D changes: V in the primal, q = kappa (v - D F_v) in the dual,
 * where mu V = Phi^T q.
 *
 * Vectors of coordinates are [C, width], of logits [C, row], padded with zeros to whole lanes. */
#ifndef MO_CPU_LOGISTIC_H
#define MO_CPU_LOGISTIC_H

#include "tensor/cpu/fast/panels.h"
#include "tensor/fits.h"

typedef struct logistic_space {
    mo_context *ctx; /* asked whether to go on */
    bool dual, free_intercept;
    int threads;
    int64_t n, d, m, C; /* m: columns of Phi */
    int64_t row, width;
    int64_t order; /* order of `factor`: n in the dual, else m */
    int factorizations;
    const real *X;
    real lambda, kappa;
    real *T, *D;            /* [row]: T_i is the sum of row i's labels, D_i its curvature */
    real *factor;           /* [order, order]: G in the dual, else L */
    real *K, *sums;         /* dual: X X^T [n, n], lower triangle; sums [n]: scratch */
    real *Phi;              /* [n, m]: Phi L^-T */
    panels logits, pull;    /* packed matrices for logistic_product and, if not dual, logistic_pull */
    real *inputs, *outputs; /* [fits, C, max(row, width)]: inputs and outputs of the products */
} logistic_space;

/* One fit. F, Fx, Fp: the logits of a, x and p. */
typedef struct logistic_fit {
    real *a, *x, *p, *r;       /* the point, the Newton step, a direction of conjugate gradients, the residual */
    real *F, *Fx, *Fp, *P;     /* P: probabilities at a */
    real *fitted;              /* [row]: 1, or 0 for rows that are held out */
    double tolerance;          /* a fit ends when |gradient| <= tolerance * size */
    double size, norm, before; /* norms of the gradient's terms, of the gradient, and of the previous gradient */
    double target, least;      /* Newton's equation is solved when |r| <= target or product <= least */
    double product;            /* inner product of r with itself at the last direction; 0 before the first */
    double moved;              /* the largest change of a logit in the last Newton step */
    double slope;              /* slope of the objective along x */
    int steps, limit, taken;   /* steps of conjugate gradients in this Newton step, the limit, and all so far */
    bool near, moves;          /* near: the gradient is little more than rounding; moves: the fit goes on */
} logistic_fit;

#define logistic_layout REAL(logistic_layout)
#define logistic_factor REAL(logistic_factor)
#define logistic_product REAL(logistic_product)
#define logistic_pull REAL(logistic_pull)
#define logistic_inner REAL(logistic_inner)
#define logistic_probabilities REAL(logistic_probabilities)
#define logistic_curve REAL(logistic_curve)
#define logistic_cg_step REAL(logistic_cg_step)
#define logistic_save REAL(logistic_save)
#define logistic_load REAL(logistic_load)
#define logistic_leave REAL(logistic_leave)
#define logistic_enter REAL(logistic_enter)
#define logistic_write_weights REAL(logistic_write_weights)
#define logistic_run_items REAL(logistic_run_items)
#define logistic_centre REAL(logistic_centre)

/* Threads inside the products of one item of X [B, n, d]: several only if B is 1 and the item is large. */
static inline int logistic_threads(const mo_context *ctx, const mo_view *X, int64_t classes) {
    return X->shape[0] == 1 && X->shape[1] * X->shape[2] * classes > MO_PARALLEL_FLOP ? blas_threads(ctx) : 1;
}

/* Returns the scratch size in reals of a space for X [B, n, d] and of `count` fits. If scratch is not NULL, also sets
 * the pointers to its parts. The flags, threads and C of the space must be set. */
int64_t logistic_layout(logistic_space *s, const mo_view *X, logistic_fit *fits, int count, real *scratch);

/* The usual `least` of logistic_factor. The preconditioner made at P also serves other points, and the fits that leave
 * a fold out; there, a row of almost no curvature at P can have some curvature. */
#define LEAST_CURVATURE 3e-3
/* Sets D from the probabilities P [C, row], with D_i at least `least` times T_i, computes the factor, and prepares the
 * products. Returns false if M is not positive definite. */
bool logistic_factor(logistic_space *s, const real *P, real least);
/* Saves the preconditioner for an adjoint: D [n], kappa, factor [order, order]; logistic_load takes it from there. */
void logistic_save(const logistic_space *s, real *saved);
void logistic_load(logistic_space *s, const real *saved);
/* logistic_leave replaces coordinates v by what stays when D changes (above); logistic_enter computes v from it again.
 * F: the logits of v. */
void logistic_leave(const logistic_space *s, real *v, const real *F);
void logistic_enter(const logistic_space *s, real *v, const real *F);
/* Writes to W [m, C] the weights with the coordinates v and the logits F. Then computes F from W, without the rounding
 * of many steps, and v from F. */
void logistic_write_weights(const logistic_space *s, real *v, real *F, real *W);

/* Y = the logits of `count` vectors of coordinates X. */
void logistic_product(const logistic_space *s, const real *X, int count, real *Y);
/* Returns pull(R) of the `count` vectors R in s->inputs; the result lies in s->outputs or s->inputs. */
real *logistic_pull(const logistic_space *s, int count);
/* <U, V> of weights U with coordinates u, and V with coordinates v and logits Fv. */
double logistic_inner(const logistic_space *s, const real *u, const real *v, const real *Fv);

/* Sets the mean over classes of each coordinate to 0. It differs from 0 by rounding alone, which the Hessian of an
 * intercept without penalty would not reduce. */
void logistic_centre(const logistic_space *s, real *r);
/* Sets P to the probabilities at the logits F + t Fx. */
void logistic_probabilities(const logistic_space *s, const logistic_fit *f, real t);
/* Q = W F - kappa D F, W at the probabilities f->P. Returns <F, Q>. */
double logistic_curve(const logistic_space *s, const logistic_fit *f, const real *F, real *Q);
/* One step of conjugate gradients for H x = r in each fit, H at the probabilities f[k]->P. there[k] becomes true if
 * this was the last step of fit k: its equation is solved, has no further direction, or has taken `limit` steps. */
void logistic_cg_step(const logistic_space *s, logistic_fit *const *f, int count, bool *there);

/* The work done for an item: factorizations, and steps of conjugate gradients of its fits. */
typedef struct logistic_counts {
    mo_context *ctx; /* asked whether to go on */
    int factorizations, steps;
} logistic_counts;
/* Fits or solves item b of a call, with its own scratch. */
typedef mo_fit_code logistic_item(const void *call, int threads, real *scratch, int64_t b, logistic_counts *counts);
/* Runs the items of a batch, several at once, or a single item with `inside` threads, and writes their codes [B]. each:
 * the scratch size of an item, in reals. */
void logistic_run_items(mo_context *ctx, int64_t batch, int inside, int64_t each, logistic_item *item, const void *call,
    const mo_view *code);

#endif
