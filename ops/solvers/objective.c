/* ops/solvers/objective.c - makes the residual that is 0 at the minimiser of an objective f(x, theta).
 *
 * Over all x: F = df/dx. On the simplex: F = x - P(x - df/dx), P the projection of simplex.c; F is 0 exactly at the
 * points that satisfy the first-order conditions (Facchinei and Pang 2003, 1.5.8). The gradient is taken by autograd,
 * so that F is graph code again and differentiable itself. */
#include "ops/solvers/solver.h"
#include "tensor/objects.h"

#include <inttypes.h>
#include <string.h>

static mo_tensor *value(mo_tape *t, mo_tensor *x, mo_tensor *const *theta, int n, void *state) {
    const mo_objective *o = state;
    mo_context *ctx = mo_tape_context(t);
    if (!mo_ok(ctx))
        return mo_null_tensor(ctx);
    mo_tensor *f = o->f(t, x, theta, n, o->copied ? (void *)(uintptr_t)(o + 1) : o->state);
    int64_t items = mo_item_count(x, o->batch_axes);
    char got[160];
    if (mo_ok(ctx) && (mo_is_null(f) || mo_numel(f) != items))
        mo_fail(ctx, MO_INVALID, "minimise: the objective is %s, expected one value for each of %" PRId64 " items",
            mo_is_null(f) ? "nothing" : mo_shape_string(f, got, sizeof got), items);
    return f;
}

mo_tensor *mo_objective_gradient(mo_tape *t, mo_tensor *x, mo_tensor *const *theta, int n, void *state, mo_tensor **f) {
    mo_context *ctx = mo_tape_context(t);
    bool record = mo_tape_mode(t) == MO_RECORD;
    mo_scope scope = mo_scope_open(t);
    mo_tape_set_mode(t, MO_RECORD);
    if (!mo_needs_grad(x))
        x = mo_require_grad(mo_stop_gradient(t, x));
    mo_tensor *at = mo_reshape(t, x, mo_ndim(x), x->shape), *both[2] = {NULL, mo_null_tensor(ctx)};
    both[0] = value(t, at, theta, n, state);
    if (mo_ok(ctx))
        mo_grad(t, both, NULL, 1, &at, &both[1], 1, record ? MO_CREATE_GRAPH : 0);
    if (!record)
        mo_scope_close(t, &scope, both, 2);
    if (f)
        *f = both[0];
    return both[1];
}

static mo_tensor *gradient(mo_tape *t, mo_tensor *x, mo_tensor *const *theta, int n, void *state) {
    return mo_objective_gradient(t, x, theta, n, state, NULL);
}

static mo_tensor *natural_residual(mo_tape *t, mo_tensor *x, mo_tensor *const *theta, int n, void *state) {
    mo_tensor *g = mo_objective_gradient(t, x, theta, n, state, NULL);
    return mo_sub(t, x, mo_simplex_project(t, mo_sub(t, x, g)));
}

bool mo_solver_minimise(mo_solver *s, mo_residual f, bool simplex) {
    mo_implicit_options *o = &s->o.implicit;
    mo_objective objective = {.f = f, .state = o->state, .batch_axes = o->batch_axes, .copied = o->state_size > 0};
    s->p.residual = simplex ? natural_residual : gradient;
    if (!mo_ok(s->ctx))
        return false;
    memmove(s->p.state + sizeof objective, s->p.state, o->state_size);
    memcpy(s->p.state, &objective, sizeof objective);
    s->p.options.state_size = sizeof objective + o->state_size;
    s->p.options.symmetric = !simplex;
    return true;
}
