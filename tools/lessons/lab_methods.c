/* tools/lessons/lab_methods.c - four methods to get from inner iterations w <- w - h F(w, theta) to the gradient of a
 * loss of w in theta.
 *
 * analytic: no iterations; the solution by factors, with the adjoint of its formula, J written out by hand. unrolled:
 * the iterations are recorded and backward runs through every one. implicit: the iterations leave nothing; mo_implicit
 * solves J^T u = w_bar where they ended. neumann:  the same with u = h (w_bar + (I - h J^T) w_bar + .. ), as many terms
 * as iterations (Lorraine et al. 2020). */
#include "tools/lessons/lab.h"

const char *const lab_methods[LAB_METHODS] = {"analytic", "unrolled", "implicit", "neumann"};

static mo_tensor *lab_iterate(mo_tape *t, const lab_problem *p, int iterations, bool record) {
    mo_tensor *w = mo_full(t, MO_F64, p->kind->ndim, p->kind->shape, 0), *theta = p->theta;
    mo_mode mode = mo_tape_mode(t);
    if (!record)
        mo_tape_set_mode(t, MO_EVAL);
    mo_scope scope = mo_scope_open(t);
    for (int i = 0; i < iterations; i++) {
        mo_tensor *F = p->kind->residual(t, w, &theta, 1, (void *)(uintptr_t)p);
        w = mo_sub(t, w, mo_scale(t, F, p->step, 0));
        if (!record)
            mo_scope_close(t, &scope, &w, 1);
    }
    mo_tape_set_mode(t, mode);
    return w;
}

/* -(dF/dtheta)^T u */
static mo_tensor *lab_neumann(mo_tape *t, const lab_problem *p, int iterations) {
    mo_tensor *w = mo_require_grad(lab_iterate(t, p, iterations, false)), *theta = p->theta, *w_bar, *theta_bar;
    mo_tensor *loss = p->kind->loss(t, p, w), *F;
    mo_gradients(t, loss, &w, &w_bar, 1);
    F = p->kind->residual(t, w, &theta, 1, (void *)(uintptr_t)p);
    mo_tensor *state[2] = {mo_scale(t, w_bar, p->step, 0), mo_scale(t, w_bar, p->step, 0)}; /* the term, and the sum */
    mo_scope scope = mo_scope_open(t);
    for (int k = 1; k < iterations; k++) {
        mo_tensor *Jv;
        mo_grad(t, &F, &state[0], 1, &w, &Jv, 1, MO_RETAIN);
        state[0] = mo_sub(t, state[0], mo_scale(t, Jv, p->step, 0));
        state[1] = mo_add(t, state[1], state[0]);
        mo_scope_close(t, &scope, state, 2);
    }
    mo_tensor *u = mo_neg(t, state[1]);
    mo_grad(t, &F, &u, 1, &theta, &theta_bar, 1, 0);
    return theta_bar;
}

static mo_tensor *lab_solution(mo_tape *t, const lab_problem *p, int method, int iterations) {
    mo_tensor *theta = p->theta;
    if (method == LAB_ANALYTIC)
        return lab_solve(t, p, theta);
    mo_tensor *w = lab_iterate(t, p, iterations, method == LAB_UNROLLED);
    if (method == LAB_UNROLLED)
        return w;
    return mo_implicit(t, w, p->kind->residual, &theta, 1,
        &(mo_implicit_options){.symmetric = true,
            .dense_limit = -1,
            .tolerance = 1e-12,
            .residual = -1, /* the lab studies iterations that have not converged */
            .state = (void *)(uintptr_t)p});
}

bool lab_gradient(const lab_problem *p, int method, int iterations, double *gradient) {
    mo_tape *t = mo_tape_create(p->ctx, MO_RECORD);
    if (!t)
        return false;
    mo_tensor *theta = p->theta, *theta_bar = NULL;
    if (method == LAB_NEUMANN) {
        theta_bar = lab_neumann(t, p, iterations);
    } else {
        mo_tensor *loss = p->kind->loss(t, p, lab_solution(t, p, method, iterations));
        mo_gradients(t, loss, &theta, &theta_bar, 1);
    }
    if (mo_ok(p->ctx))
        mo_tensor_read(theta_bar, gradient, (size_t)mo_numel(theta) * sizeof *gradient);
    mo_tape_release(t);
    return mo_ok(p->ctx);
}
