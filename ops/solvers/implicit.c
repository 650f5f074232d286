/* ops/solvers/implicit.c - implicit differentiation: gives a solution, found by any means, the gradient of the implicit
 * function theorem (Krantz and Parks 2002; Blondel et al. 2022).
 *
 * x_star [batch .., item ..], theta of any shapes, F as graph code -> x, equal to x_star; float32 or float64. Errors: F
 * not shaped like x_star, F(x_star, theta) not small, F reads a tensor that needs a gradient and is not in theta, a
 * singular dF/dx, an adjoint system that does not reach its tolerance. Saved: the factors of dF/dx if systems are
 * small, made only if the call is recorded.
 *
 * F(x, theta) = 0 with J = dF/dx regular makes x a function of theta near the solution:
 *     J dx + dF/dtheta dtheta = 0;   dx = -J^-1 dF/dtheta dtheta;
 *     <x_bar, dx> = -<J^-T x_bar, dF/dtheta dtheta>, hence with J^T u = x_bar
 *     theta_bar = -(dF/dtheta)^T u,
 * one linear system and one vjp of F with the cotangent -u. The method that found x_star and the number of its
 * iterations do not matter. u is the result of the op implicit_solve, which is differentiable, and F is evaluated at
 * this op's own output, so that every order of derivative follows from the rules of these two ops. */
#include "ops/solvers/implicit.h"
#include "ops/rules/shapes.h"
#include "ops/solvers/solver.h"
#include "tensor/library.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

bool mo_implicit_open(mo_context *ctx, const char *name, mo_implicit_problem *p, mo_residual function,
    mo_tensor *const *theta, int n, const mo_implicit_options *options) {
    p->n = n;
    if (options)
        p->options = *options;
    const mo_implicit_options *o = &p->options;
    if (mo_ok(ctx) && (n < 0 || n > MO_MAX_THETA))
        mo_fail(ctx, MO_INVALID, "%s: %d tensors theta, expected 0 to %d", name, n, MO_MAX_THETA);
    if (mo_ok(ctx) && o->state_size > MO_MAX_STATE)
        mo_fail(ctx, MO_INVALID, "%s: %zu bytes of state, expected at most %d: pass state_size 0 and keep it", name,
            o->state_size, MO_MAX_STATE);
    if (mo_ok(ctx) && o->iterations < 0)
        mo_fail(ctx, MO_INVALID, "%s: %d iterations of a linear system, expected 0 (the default) or more", name,
            o->iterations);
    if (!mo_given(ctx, name, "the function", (void *)(uintptr_t)function) ||
        (n && !mo_given(ctx, name, "theta", theta)) || (o->state_size && !mo_given(ctx, name, "the state", o->state)))
        return false;
    if (o->state_size)
        memcpy(p->state, o->state, o->state_size);
    return true;
}

static bool implicit_shape(mo_call *c) {
    const mo_implicit_problem *p = c->attributes;
    const mo_tensor *x = c->in[0];
    if (!mo_call_real(c, 0, 0))
        return false;
    for (int i = 1; i < c->n_in; i++)
        if (mo_dtype_is_real(c->in[i]->dtype) && c->in[i]->dtype != x->dtype)
            return mo_call_fail(c, MO_MISMATCH, "x_star and theta[%d] differ in dtype", i - 1);
    if (p->options.batch_axes < 0 || p->options.batch_axes > x->ndim)
        return mo_call_fail(c, MO_INVALID, "%d batch axes, expected 0 to %d", p->options.batch_axes, x->ndim);
    return mo_call_output(c, 0, x->dtype, x->ndim, x->shape);
}

/* Writes the residual to the report and raises an error if the residual is too large, unless `accept` is set. Returns
 * false after raising. Checks nothing if options.residual is below 0. */
static bool check_residual(mo_call *c, const mo_implicit_problem *p, const mo_implicit_graph *g) {
    const mo_implicit_options *o = &p->options;
    if (o->residual < 0)
        return true;
    mo_tape *t = c->t;
    mo_scope scope = mo_scope_open(t);
    mo_tape_set_mode(t, MO_EVAL);
    mo_tensor *square = mo_item_residual(t, g->F, g->x, o->batch_axes);
    int64_t item;
    double residual = sqrt(mo_item_worst(t, square, &item)), limit = o->residual;
    mo_scope_close(t, &scope, NULL, 0);
    if (limit == 0)
        limit = g->x->dtype == MO_F64 ? 1e-6 : 1e-3;
    bool converged = residual <= limit;
    if (o->report) {
        o->report->residual = residual;
        o->report->missed |= !converged;
    }
    char which[80] = "";
    if (o->batch_axes)
        snprintf(which, sizeof which, " in item %" PRId64, item);
    if (!converged && !o->accept)
        mo_fail(c->ctx, MO_NUMERICAL,
            "%s: x_star is no solution: |F| / max(1, |x_star|) is %.3g%s, expected at most %.3g", c->op->name, residual,
            which, limit);
    return mo_ok(c->ctx);
}

static void implicit_forward(mo_call *c) {
    const mo_implicit_problem *p = c->attributes;
    mo_tensor *theta[MO_MAX_THETA], *LU, *pivot;
    bool recorded = mo_call_recorded(c), recording = c->t->recording;
    mo_implicit_graph g;
    mo_tensor_copy(c->out[0], c->in[0]);
    if (!recorded && p->options.residual < 0)
        return;
    mo_tape_set_mode(c->t, MO_RECORD);
    for (int i = 0; i < p->n; i++)
        theta[i] = mo_stop_gradient(c->t, c->in[1 + i]);
    mo_tensor *x = mo_stop_gradient(c->t, c->out[0]);
    if (!mo_implicit_record(c->t, p, c->op->name, x, theta, &g) ||
        (recording && !mo_implicit_is_closed(c->t, c->op->name, &g)) || !check_residual(c, p, &g))
        return;
    if (recorded && mo_implicit_is_dense(p, x) && mo_implicit_factor(c, p, &g, &LU, &pivot)) {
        mo_call_save(c, LU);
        mo_call_save(c, pivot);
    }
}

static void implicit_vjp(mo_vjp *v) {
    mo_tape *t = v->t;
    const mo_implicit_problem *p = v->attributes;
    mo_tensor *x = v->out[0], *const *theta = v->in + 1;
    mo_tensor *const *factors = mo_implicit_is_dense(p, x) ? v->saved : NULL;
    mo_tensor *u = mo_implicit_solve_open(t, p, v->out_bar[0], x, theta, factors, true);
    mo_tape_set_mode(t, MO_RECORD);
    mo_implicit_graph g;
    mo_tensor *at[MO_MAX_THETA], *bar[MO_MAX_THETA];
    int which[MO_MAX_THETA], n = 0;
    if (!mo_implicit_record(t, p, v->op->name, x, theta, &g))
        return;
    for (int i = 0; i < p->n; i++)
        if (v->needs[1 + i]) {
            which[n] = 1 + i;
            at[n++] = g.theta[i];
        }
    u = mo_neg(t, u);
    mo_grad(t, &g.F, &u, 1, at, bar, n, v->create_graph ? MO_CREATE_GRAPH | MO_ALLOW_UNUSED : MO_ALLOW_UNUSED);
    for (int i = 0; i < n; i++)
        v->in_bar[which[i]] = bar[i];
}

/* Not in the registry: the checker would fail, as the value of the op does not depend on theta but its derivative
 * does. */
static const mo_op mo_op_implicit = {
    .name = "implicit",
    .max_in = 1 + MO_MAX_THETA,
    .attributes_size = sizeof(mo_implicit_problem),
    .reads_in = ~(uint64_t)1,
    .reads_out = 1,
    .shape = implicit_shape,
    .forward = implicit_forward,
    .vjp = implicit_vjp,
};

mo_tensor *mo_implicit(mo_tape *t, mo_tensor *x_star, mo_residual residual, mo_tensor *const *theta, int n,
    const mo_implicit_options *options) {
    mo_context *ctx = mo_tape_context(t);
    mo_implicit_problem p = {.residual = residual};
    if (!mo_implicit_open(ctx, "implicit", &p, residual, theta, n, options))
        return mo_null_tensor(ctx);
    mo_tensor *in[1 + MO_MAX_THETA] = {x_star};
    for (int i = 0; i < n; i++)
        in[1 + i] = theta[i];
    return mo_apply(t, &mo_op_implicit, in, 1 + n, &p);
}
