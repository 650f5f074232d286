/* ops/solver.h - what the iterative solvers share: a start, iterations that leave nothing behind, a verdict, and the
 * step from a solution to its gradient (library internal). */
#ifndef MO_SOLVER_H
#define MO_SOLVER_H

#include "ops/implicit.h"
#include "ops/krylov.h"

typedef struct mo_solver {
    mo_tape *t;
    mo_context *ctx;
    const char *name;
    mo_implicit_problem p; /* F */
    mo_solver_options o;
    mo_tensor *const *given;        /* theta */
    mo_tensor *theta[MO_MAX_THETA]; /* the same, held fixed unless unrolled */
    double tolerance;
    mo_mode mode; /* of the tape, before */
    mo_scope scope;
    int64_t items;
    /* so far */
    int iterations;
    double residual;
    int64_t worst; /* the item that it belongs to */
} mo_solver;

/* With name, o and (but for objectives) p.residual set: fills in defaults, checks, and turns recording off unless
 * unrolled. False in the error state. Every open solver is finished. */
bool mo_solver_open(mo_solver *s, mo_tape *t, mo_tensor *x0, mo_tensor *const *theta, int n);
mo_tensor *mo_solver_F(const mo_solver *s, mo_tensor *x);
/* 1 for items still above the tolerance, NULL where there are none or the limit is reached; sets residual and worst. */
mo_tensor *mo_solver_unfinished(mo_solver *s, mo_tensor *F, mo_tensor *x);
/* Ends an iteration: frees what it made but the n tensors in keep, unless unrolled. */
void mo_solver_turn(mo_solver *s, mo_tensor *const *keep, int n);
/* Reports and judges, and gives x its gradient. */
mo_tensor *mo_solver_finish(mo_solver *s, mo_tensor *x);

/* x with F(x) = A x - b = 0, by that method: all of mo_conjugate_gradients and mo_gmres. */
mo_tensor *mo_solver_affine(mo_solver *s, mo_tape *t, mo_tensor *x0, mo_tensor *const *theta, int n,
    mo_tensor *(*method)(mo_tape *t, mo_krylov *k, mo_tensor *b));

/* |F|^2 / max(1, |x|^2) of every item. */
mo_tensor *mo_item_residual(mo_tape *t, mo_tensor *F, mo_tensor *x, int batch_axes);

/* An objective in the place of a residual: copied before the user's state. */
typedef struct mo_objective {
    mo_residual f;
    void *state;
    int batch_axes;
    bool copied; /* the user's state follows */
} mo_objective;

/* Makes p's residual the gradient of f, or x - P(x - gradient) on the simplex. False where the state is too large. */
bool mo_solver_minimise(mo_solver *s, mo_residual f, bool simplex);
/* f, one value an item, and its gradient in x; recorded where the tape records. state is a mo_objective, f may be NULL.
 */
mo_tensor *mo_objective_gradient(mo_tape *t, mo_tensor *x, mo_tensor *const *theta, int n, void *state, mo_tensor **f);

#endif
