/* ops/solvers/solver.c - the common part of all iterative solvers: checks the start, decides when to stop, and makes
 * the solution differentiable. */
#include "ops/solvers/solver.h"
#include "tensor/library.h"
#include "tensor/objects.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

mo_tensor *mo_item_residual(mo_tape *t, mo_tensor *F, mo_tensor *x, int batch_axes) {
    mo_tensor *size = mo_larger(t, mo_item_dot(t, x, x, batch_axes), mo_scalar(t, mo_tensor_dtype(x), 1));
    return mo_div(t, mo_item_dot(t, F, F, batch_axes), size);
}

static bool check_start(mo_solver *s, mo_tensor *x0) {
    int axes = s->o.implicit.batch_axes;
    if (mo_is_null(x0))
        mo_fail(s->ctx, MO_INVALID, "%s: the start is null", s->name);
    else if (!mo_dtype_is_real(x0->dtype))
        mo_fail(
            s->ctx, MO_MISMATCH, "%s: the start is %s, expected float32 or float64", s->name, mo_dtype_name(x0->dtype));
    else if (axes < 0 || axes > x0->ndim)
        mo_fail(s->ctx, MO_INVALID, "%s: %d batch axes, expected 0 to %d", s->name, axes, x0->ndim);
    else if (s->o.iterations < 0)
        mo_fail(s->ctx, MO_INVALID, "%s: %d iterations, expected 0 (the default) or more", s->name, s->o.iterations);
    else if (s->o.memory < 0)
        mo_fail(s->ctx, MO_INVALID, "%s: a memory of %d pairs, expected 0 (the default) or more", s->name, s->o.memory);
    return mo_ok(s->ctx);
}

bool mo_solver_open(mo_solver *s, mo_tape *t, mo_tensor *x0, mo_residual f, mo_tensor *const *theta, int n) {
    s->t = t;
    s->ctx = mo_tape_context(t);
    s->mode = mo_tape_mode(t);
    if (!mo_implicit_open(s->ctx, s->name, &s->p, f, theta, n, &s->o.implicit) || !check_start(s, x0))
        return false;
    s->given = theta;
    for (int i = 0; i < n; i++)
        s->theta[i] = s->o.unrolled ? theta[i] : mo_stop_gradient(t, theta[i]);
    s->tolerance = s->o.tolerance > 0 ? s->o.tolerance : x0->dtype == MO_F64 ? 1e-10 : 1e-5;
    s->o.iterations = s->o.iterations ? s->o.iterations : 1000;
    s->items = mo_item_count(x0, s->o.implicit.batch_axes);
    if (!mo_ok(s->ctx))
        return false;
    s->outer = mo_tape_enter(t, s->name, s);
    if (!s->o.unrolled)
        mo_tape_set_mode(t, MO_EVAL);
    s->scope = mo_scope_open(t);
    return true;
}

mo_tensor *mo_solver_F(const mo_solver *s, mo_tensor *x) {
    return s->p.residual(s->t, x, s->theta, s->p.n, mo_implicit_state(&s->p));
}

mo_tensor *mo_solver_unfinished(mo_solver *s, mo_tensor *F, mo_tensor *x) {
    mo_tape *t = s->t;
    mo_tensor *square = mo_item_residual(t, mo_stop_gradient(t, F), mo_stop_gradient(t, x), s->o.implicit.batch_axes);
    mo_tensor *limit = mo_scalar(t, mo_tensor_dtype(square), s->tolerance * s->tolerance);
    mo_tensor *active = mo_krylov_unfinished(t, square, limit);
    s->residual = sqrt(mo_item_worst(t, square, &s->worst));
    bool more = mo_item(mo_sum(t, active, MO_ALL, MO_DROP_AXES)) > 0 && s->iterations < s->o.iterations;
    return mo_ok(s->ctx) && more ? active : NULL;
}

void mo_solver_end_iteration(mo_solver *s, mo_tensor *const *keep, int n) {
    if (!s->o.unrolled)
        mo_scope_close(s->t, &s->scope, keep, n);
}

mo_tensor *mo_solver_finish(mo_solver *s, mo_tensor *x) {
    mo_context *ctx = s->ctx;
    mo_tape_leave(s->t, &s->outer);
    mo_tape_set_mode(s->t, s->mode);
    bool converged = s->residual <= s->tolerance;
    mo_solver_report *report = s->o.implicit.report;
    if (report) {
        report->iterations = s->iterations;
        report->residual = s->residual;
        report->converged = converged;
    }
    char which[80] = "";
    if (s->o.implicit.batch_axes)
        snprintf(which, sizeof which, " of item %" PRId64, s->worst);
    if (mo_ok(ctx) && !converged && !s->o.implicit.accept)
        mo_fail(ctx, MO_NUMERICAL, "%s: the residual%s is %.3g after %d iterations, expected %.3g", s->name, which,
            s->residual, s->iterations, s->tolerance);
    if (!mo_ok(ctx))
        return mo_null_tensor(ctx);
    if (s->o.unrolled)
        return x;
    mo_implicit_options o = s->p.options;
    if (o.residual == 0 && s->tolerance > 1e-6)
        o.residual = s->tolerance;
    if (o.state_size)
        o.state = s->p.state;
    return mo_implicit(s->t, x, s->p.residual, s->given, s->p.n, &o);
}
