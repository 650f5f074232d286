/* ops/solvers/solver.h - the frame of all iterative solvers: a start, iterations whose memory is freed, the test of
 * convergence, and the step from a solution to its gradient (library internal). */
#ifndef MO_SOLVER_H
#define MO_SOLVER_H

#include "ops/solvers/implicit.h"
#include "ops/solvers/krylov.h"

typedef struct mo_solver {
    mo_tape *t;
    mo_context *ctx;
    const char *name;
    mo_implicit_problem p; /* F */
    mo_solver_options o;
    mo_tensor *const *given;        /* theta */
    mo_tensor *theta[MO_MAX_THETA]; /* theta, held fixed unless unrolled */
    double tolerance;
    mo_mode mode; /* of the tape before the solve */
    mo_scope scope;
    int64_t items;
    /* so far */
    int iterations;
    double residual;
    int64_t worst; /* the item with that residual */
} mo_solver;

/* Starts a solve; the caller has set name, o and (unless there is an objective) p.residual. Fills in defaults, checks,
 * and turns recording off unless unrolled. Returns false in the error state. Every opened solver must be finished. */
bool mo_solver_open(mo_solver *s, mo_tape *t, mo_tensor *x0, mo_tensor *const *theta, int n);
mo_tensor *mo_solver_F(const mo_solver *s, mo_tensor *x);
/* 1 for items still above the tolerance; NULL if there are none or the limit is reached. Sets residual and worst. */
mo_tensor *mo_solver_unfinished(mo_solver *s, mo_tensor *F, mo_tensor *x);
/* Ends an iteration: unless unrolled, frees all that it made except the n tensors in keep. */
void mo_solver_end_iteration(mo_solver *s, mo_tensor *const *keep, int n);
/* Writes the report, raises if the tolerance was missed, and gives x its gradient. */
mo_tensor *mo_solver_finish(mo_solver *s, mo_tensor *x);

/* |F|^2 / max(1, |x|^2) of every item. */
mo_tensor *mo_item_residual(mo_tape *t, mo_tensor *F, mo_tensor *x, int batch_axes);

/* An objective instead of a residual: stored before the user's state. */
typedef struct mo_objective {
    mo_residual f;
    void *state;
    int batch_axes;
    bool copied; /* the user's state follows */
} mo_objective;

/* Sets p's residual to the gradient of f, or to x - P(x - gradient) on the simplex. Returns false if the state is too
 * large. */
bool mo_solver_minimise(mo_solver *s, mo_residual f, bool simplex);
/* f, one value per item, and its gradient in x; recorded if the tape records. state is a mo_objective, f may be NULL.
 */
mo_tensor *mo_objective_gradient(mo_tape *t, mo_tensor *x, mo_tensor *const *theta, int n, void *state, mo_tensor **f);

#endif
