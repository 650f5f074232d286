/* ops/solvers/newton_krylov.c - F(x, theta) = 0 by Newton's method, with linear systems solved by products (Knoll and
 * Keyes 2004) or, if they are small, by factors.
 *
 *     J(x_k) d = -F(x_k),   x_(k+1) = x_k + alpha d,
 * where the system is solved to a relative residual that falls with |F| (inexact Newton: Dembo, Eisenstat and
 * Steihaug 1982), and alpha is halved from 1 until |F| has fallen by the factor 1 - alpha / 10^4. Items of a batch
 * have their own alpha. d is the result of the op implicit_solve: if iterations are unrolled, the gradient passes
 * through each d by that op's adjoint, with alpha held fixed. */
#include "ops/solvers/solver.h"

#include <math.h>

enum { HALVINGS = 40 };

/* The line search. Returns alpha for every item: 1, halved until |F|^2 has fallen enough; 0 for items that are not
 * active. */
static mo_tensor *backtrack(mo_solver *s, mo_tensor *x, mo_tensor *F, mo_tensor *d, mo_tensor *active) {
    mo_tape *t = s->t;
    int axes = s->o.implicit.batch_axes;
    mo_mode mode = mo_tape_mode(t);
    x = mo_stop_gradient(t, x), d = mo_stop_gradient(t, d);
    mo_scope scope = mo_scope_open(t);
    mo_tensor *now = mo_item_dot(t, F, F, axes), *alpha = active;
    for (int i = 0; i < HALVINGS && mo_ok(s->ctx); i++) {
        mo_tape_set_mode(t, MO_EVAL);
        mo_tensor *trial = mo_solver_F(s, mo_add(t, x, mo_mul(t, alpha, d)));
        mo_tensor *factor = mo_square(t, mo_scale(t, alpha, -1e-4, 1));
        mo_tensor *falls = mo_greater_equal(t, mo_mul(t, factor, now), mo_item_dot(t, trial, trial, axes));
        falls = mo_larger(t, falls, mo_scale(t, active, -1, 1));
        bool all = mo_item(mo_sum(t, falls, MO_ALL, MO_DROP_AXES)) == (double)s->items;
        alpha = mo_mul(t, alpha, mo_scale(t, falls, 0.5, 0.5));
        mo_scope_close(t, &scope, (mo_tensor *[]){alpha, now}, 2); /* `active` is older than the scope and stays */
        if (all)
            break;
    }
    mo_tape_set_mode(t, mode);
    return alpha;
}

mo_tensor *mo_newton_krylov(
    mo_tape *t, mo_tensor *x0, mo_residual F, mo_tensor *const *theta, int n, const mo_solver_options *options) {
    mo_solver s = {.name = "newton_krylov", .p.residual = F};
    if (options)
        s.o = *options;
    if (!mo_solver_open(&s, t, x0, F, theta, n))
        return mo_null_tensor(mo_tape_context(t));
    mo_tensor *state[2] = {mo_stop_gradient(t, x0), NULL}, *active;
    state[1] = mo_solver_F(&s, state[0]);
    while ((active = mo_solver_unfinished(&s, state[1], state[0]))) {
        mo_implicit_problem step = s.p;
        step.options.report = NULL;
        step.options.accept = true; /* the line search decides whether the direction is useful */
        if (!s.o.unrolled)
            step.options.tolerance = fmax(mo_implicit_tolerance(&s.p, mo_tensor_dtype(x0)), fmin(1e-2, s.residual));
        mo_tensor *d = mo_implicit_solve_open(t, &step, mo_neg(t, state[1]), state[0], s.theta, NULL, false);
        mo_tensor *alpha = backtrack(&s, state[0], state[1], d, active);
        state[0] = mo_add(t, state[0], mo_mul(t, alpha, d));
        state[1] = mo_solver_F(&s, state[0]);
        s.iterations++;
        mo_solver_end_iteration(&s, state, 2);
    }
    return mo_solver_finish(&s, state[0]);
}
