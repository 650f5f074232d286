/* ops/solvers/solver.h - the frame of all iterative solvers: a start, iterations whose memory is freed, the test of
 * convergence, and the gradient of the solution (library internal). */
#ifndef MO_SOLVER_H
#define MO_SOLVER_H

#include "autograd/tape.h"
#include "ops/solvers/implicit.h"
#include "ops/solvers/krylov.h"

typedef struct mo_solver {
    mo_tape *t;
    mo_context *ctx;
    const char *name;
    mo_implicit_problem p; /* F and the options of mo_implicit */
    mo_solver_options o;
    mo_tensor *const *given;        /* theta as the caller passed it */
    mo_tensor *theta[MO_MAX_THETA]; /* theta as constants, unless unrolled */
    double tolerance;
    mo_mode mode; /* the tape's mode before the solve */
    mo_scope scope;
    mo_running outer;
    int64_t items;
    /* results so far, for the worst item */
    int iterations;
    double residual;
    int64_t worst; /* number of the item with that residual */
} mo_solver;

/* Starts a solve; the caller, in whose frame s lies, has set name, o and p.residual (or calls mo_solver_minimise for
 * that: f). Fills in defaults,
 * checks the arguments, and turns recording off unless unrolled. Returns false in the error state. After true,
 * mo_solver_finish must be called. */
bool mo_solver_open(mo_solver *s, mo_tape *t, mo_tensor *x0, mo_residual f, mo_tensor *const *theta, int n);
mo_tensor *mo_solver_F(const mo_solver *s, mo_tensor *x);
/* Returns a tensor that is 1 for items still above the tolerance, else 0; NULL if no item is, if the limit of
 * iterations is reached, or in the error state. Sets s->residual and s->worst. */
mo_tensor *mo_solver_unfinished(mo_solver *s, mo_tensor *F, mo_tensor *x);
/* Ends an iteration: unless unrolled, frees all that the iteration made, except the n tensors in keep. */
void mo_solver_end_iteration(mo_solver *s, mo_tensor *const *keep, int n);
/* Writes the report and raises if the tolerance was missed. Returns x with its gradient. */
mo_tensor *mo_solver_finish(mo_solver *s, mo_tensor *x);

/* Returns |F|^2 / max(1, |x|^2) for every item. */
mo_tensor *mo_item_residual(mo_tape *t, mo_tensor *F, mo_tensor *x, int batch_axes);

/* An objective, from which the residual is made (objective.c); stored before the user's state. */
typedef struct mo_objective {
    mo_residual f;
    void *state;
    int batch_axes;
    bool copied; /* the user's state follows this struct */
} mo_objective;

/* Sets p.residual to the gradient of f or, on the simplex, to x - P(x - gradient). Returns false in the error state. */
bool mo_solver_minimise(mo_solver *s, mo_residual f, bool simplex);
/* Returns the gradient of f with respect to x, and writes f, one value per item, unless f is NULL; recorded if the tape
 * records. state: a mo_objective. */
mo_tensor *mo_objective_gradient(mo_tape *t, mo_tensor *x, mo_tensor *const *theta, int n, void *state, mo_tensor **f);

#endif
