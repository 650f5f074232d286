/* ops/fits/logistic_system.h - the Hessian of a penalised softmax regression at given logits: products with it, a
 * preconditioner, conjugate gradients (library internal).
 *
 * Rows X [B, n, d], their weights T [B, n, 1], softmax P [B, n, C]. On weights W [B, d (+ 1), C] the Hessian is
 *     H[V] = Phi^T S[Phi V] + mu V,   Phi = X or [X | 1],   S[Q]_i = T_i (P_i o Q_i - P_i <P_i, Q_i>),
 * with mu = lambda on the rows of X and 0 on a free intercept. If n <= d, the minimiser lies in the span of the rows,
 * V = X^T v (the intercept is its own coordinate), and all vectors are stored by their n (+ 1) coordinates v:
 *     Phi V = E G v,   H[V] has the coordinates E^T S[E G v] + mu v,   <U, V> = <u, G v>
 * with K = X X^T, G = K (diag(K, 1) with an intercept) and E = I ([I | 1]). This is exact, and K may be singular. A
 * mo_krylov_vector holds the coordinates x, their image G x and F, the logits of the rows. */
#ifndef MO_LOGISTIC_SYSTEM_H
#define MO_LOGISTIC_SYSTEM_H

#include "ops/solvers/krylov.h"

typedef struct mo_logistic_system {
    mo_tape *t;
    bool dual;                      /* coordinates on the rows, not on the columns of X */
    bool free_intercept;            /* the last row of the weights has no penalty */
    mo_tensor *X, *weight, *lambda; /* [B, n, d], [B, n, 1], [B or 1, 1, 1] */
    mo_tensor *Phi;                 /* dual: K [B, n, n]; else X or [X | 1] */
    mo_tensor *mu;                  /* the penalty of each coordinate row, [B or 1, rows or 1, 1] */
    mo_tensor *P, *TP;              /* softmax at the logits, and its rows times their weights */
    mo_tensor *D, *L;               /* preconditioner: row weights [B, n, 1] and factor; L NULL: none */
    mo_tensor *root, *border;       /* dual: D^1/2; with a free intercept, the column that couples it */
    mo_tensor *ridge;               /* lambda plus the amount that rounding requires, [B, 1, 1] */
} mo_logistic_system;

/* Prepares the system. dual: needs lambda > 0; K may be given, or NULL. */
mo_logistic_system mo_logistic_open(
    mo_tape *t, bool dual, bool free_intercept, mo_tensor *X, mo_tensor *weight, mo_tensor *lambda, mo_tensor *K);
/* Moves to logits F [B, n, C]. */
void mo_logistic_move(mo_logistic_system *s, mo_tensor *F);
/* Factors the preconditioner at the current point. */
void mo_logistic_factor(mo_logistic_system *s);
void mo_logistic_reuse(mo_logistic_system *s, mo_tensor *D, mo_tensor *L);

/* Whether products go over the rows in one pass (logistic_pass.c): there is one item with many entries. Vectors of
 * conjugate gradients then carry no logits (F is x), and E = Phi V is part of each product with the Hessian. */
bool mo_logistic_passes(const mo_logistic_system *s, int64_t classes);
/* Phi V; Phi^T Q; Phi^T S[Phi V]. */
mo_tensor *mo_logistic_pass_logits(const mo_logistic_system *s, mo_tensor *V);
mo_tensor *mo_logistic_pass_pull(const mo_logistic_system *s, mo_tensor *Q);
mo_tensor *mo_logistic_pass_hessian(const mo_logistic_system *s, mo_tensor *V);
/* |X_i|^2 of each row of a matrix of the system, [B, n, 1]; of a large one without the memory of all squares. */
mo_tensor *mo_logistic_row_squares(const mo_logistic_system *s, mo_tensor *X, int64_t classes);

mo_krylov_vector mo_logistic_image(const mo_logistic_system *s, mo_tensor *x);
/* The coordinates of Phi^T Q. */
mo_tensor *mo_logistic_pull(const mo_logistic_system *s, mo_tensor *Q);
/* S[Q]. */
mo_tensor *mo_logistic_curvature(const mo_logistic_system *s, mo_tensor *Q);
/* Solves H[V] = r, r of zero class sums, by preconditioned conjugate gradients, each item of the batch until its
 * residual has fallen by the factor eta [B, 1, 1] in the norm of the preconditioner. Returns false if `limit`
 * iterations were not enough for all items. */
bool mo_logistic_conjugate(
    const mo_logistic_system *s, mo_tensor *r, mo_tensor *eta, int limit, mo_krylov_vector *solution);

/* The primal system in float32, factored at the logits F; at every other point it follows s. */
mo_logistic_system mo_logistic_narrow(const mo_logistic_system *s, mo_tensor *F);
void mo_logistic_follow(mo_logistic_system *narrow, const mo_logistic_system *s);
/* The same as mo_logistic_conjugate in the type of s, by conjugate gradients of the narrow system, to the accuracy of
 * float32; norm [1, 1, 1] is about that of r. */
bool mo_logistic_conjugate_narrow(const mo_logistic_system *s, const mo_logistic_system *narrow, mo_tensor *r,
    mo_tensor *norm, mo_tensor *eta, int limit, mo_krylov_vector *solution);

/* The minimiser over the weights, from 0: coordinates and logits. Raises for c if there is none. */
bool mo_logistic_minimise(mo_call *c, mo_logistic_system *s, mo_tensor *Y, mo_krylov_vector *W);
/* The weights [B, d (+ 1), C] of coordinates x. */
mo_tensor *mo_logistic_weights(const mo_logistic_system *s, mo_tensor *x);
/* logistic.c: whether to use coordinates of rows: n <= d, and lambda > 0 in every item. */
bool mo_logistic_is_dual(mo_tape *t, mo_tensor *X, mo_tensor *lambda);

/* The U with H[U] = B at logits F, both with class sums of zero; differentiable in X, F, weight, lambda and B. factors:
 * D, L and (dual) K of a nearby point. */
mo_tensor *mo_logistic_solve(mo_tape *t, mo_tensor *const in[5], mo_tensor *const *factors, bool free_intercept);

/* X with its leading axes (all but the last two) merged; the scalar or batch lambda as [1 or B, 1, 1]. */
mo_tensor *mo_flat_batch(mo_tape *t, mo_tensor *X);
mo_tensor *mo_flat_lambda(mo_tape *t, mo_tensor *lambda);
/* Sums over the last two axes, and over classes, kept as axes of size 1; X minus its mean over classes. */
mo_tensor *mo_item_sum(mo_tape *t, mo_tensor *X);
mo_tensor *mo_class_sum(mo_tape *t, mo_tensor *X);
mo_tensor *mo_class_centred(mo_tape *t, mo_tensor *X);

#endif
