/* ops/solvers/implicit_solve.c - J^-1 b and J^-T b, where J = dF/dx(x, theta) is known as graph code for F alone.
 *
 * b and x [batch .., item ..], theta of any shapes -> u in the shape of x; float32 or float64. Small systems are solved
 * by factors of J (jacobian.c), made here or known. Large systems are solved by conjugate gradients if J is declared
 * symmetric, else by GMRES, by products with J^T (one vjp of F) or with J (the vjp of w -> J^T w, a linear map).
 * Errors: F not shaped like x, F reads a tensor that needs a gradient and is not in theta, a singular J, a system that
 * did not reach its tolerance (unless the options accept that), a J that is declared symmetric but is not, if conjugate
 * gradients do not converge. Saved: the factors, if any.
 *
 * J^T u = b;  dJ^T u + J^T du = db;  du = J^-T (db - dJ^T u), hence
 *     b_bar = J^-1 u_bar,   (x_bar, theta_bar) = -d/d(x, theta) <b_bar, J^T u>   with b_bar and u held fixed;
 * for J w = b: b_bar = J^-T w_bar and -d/d(x, theta) <b_bar, J w>. Both gradients are of one form, that of
 *     -<J^T left, right>,   (left, right) = (u, b_bar) or (b_bar, w),
 * that is solve.c's A_bar = -B_bar X^T, with A never formed. b_bar is this op again with known factors: derivatives of
 * any order neither factorize nor record an iteration. */
#include "autograd/tape.h"
#include "ops/rules/shapes.h"
#include "ops/solvers/implicit.h"
#include "ops/solvers/krylov.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

extern const mo_op mo_op_implicit_solve;

/* Inputs: b, x, theta..; then the factors and the pivots, if they are known. */
typedef struct solve_options {
    mo_implicit_problem problem;
    bool transposed, factored;
} solve_options;

static bool implicit_solve_shape(mo_call *c) {
    const solve_options *o = c->attributes;
    const mo_tensor *b = c->in[0], *x = c->in[1];
    int expected = 2 + o->problem.n + 2 * o->factored;
    if (c->n_in != expected)
        return mo_call_fail(c, MO_INVALID, "%d inputs, expected %d", c->n_in, expected);
    if (!mo_call_real(c, 0, 1))
        return false;
    if (o->problem.options.batch_axes < 0 || o->problem.options.batch_axes > x->ndim)
        return mo_call_fail(c, MO_INVALID, "%d batch axes, expected 0 to %d", o->problem.options.batch_axes, x->ndim);
    if (!mo_same_shape(b, x))
        return mo_call_fail(c, MO_INVALID, "expected the right-hand side and x in one shape");
    return mo_call_output(c, 0, x->dtype, x->ndim, x->shape);
}

/* ---- large systems ---- */

static void report_convergence(mo_call *c, const mo_krylov *k) {
    const mo_implicit_options *o = &((const solve_options *)c->attributes)->problem.options;
    /* k->residual is computed anew from x; rounding makes it larger than the residual of the recurrences. */
    bool converged = k->residual <= 10 * k->tolerance;
    char which[80] = "";
    if (o->report) {
        o->report->adjoint_residual = k->residual;
        o->report->adjoint_iterations = k->iterations;
        o->report->missed |= !converged;
    }
    if (!converged && k->asymmetry > MO_MOST_ASYMMETRY)
        mo_fail(c->ctx, MO_INVALID,
            "%s: dF/dx is declared symmetric, but <J u, v> and <u, J v> differ by %.3g |u| |J v|; leave out "
            "`symmetric`",
            c->op->name, k->asymmetry);
    if (converged || o->accept || !mo_ok(c->ctx))
        return;
    if (o->batch_axes)
        snprintf(which, sizeof which, " of item %" PRId64, k->worst);
    mo_fail(c->ctx, MO_NUMERICAL, "%s: %s%s reached a relative residual of %.3g after %d iterations, expected %.3g",
        c->op->name, o->symmetric ? "conjugate gradients" : "GMRES", which, k->residual, k->iterations, k->tolerance);
}

static int default_limit(int64_t unknowns) {
    return unknowns < 10 ? 100 : unknowns < INT32_MAX / 10 ? (int)(10 * unknowns) : INT32_MAX;
}

static mo_tensor *solve_by_products(mo_call *c, mo_jacobian *J) {
    const solve_options *a = c->attributes;
    const mo_implicit_options *o = &a->problem.options;
    bool forwards = !a->transposed && !o->symmetric;
    if (forwards)
        mo_jacobian_open(c->t, J);
    mo_krylov k = {.apply = forwards ? mo_jacobian_times : mo_jacobian_transposed_times,
        .state = J,
        .batch_axes = o->batch_axes,
        .tolerance = mo_implicit_tolerance(&a->problem, J->g.x->dtype),
        .limit = o->iterations ? o->iterations : default_limit(mo_implicit_unknowns(&a->problem, J->g.x)),
        .restart = o->restart ? o->restart : 30};
    mo_tensor *b = mo_stop_gradient(c->t, c->in[0]);
    mo_tensor *u = o->symmetric ? mo_krylov_cg(c->t, &k, b) : mo_krylov_gmres(c->t, &k, b);
    report_convergence(c, &k);
    return u;
}

/* ---- small systems ---- */

static void solve_by_factors(mo_call *c, mo_tensor *LU, mo_tensor *pivot) {
    const solve_options *o = c->attributes;
    mo_view b = mo_tensor_view(c->in[0]), u = mo_tensor_view(c->out[0]);
    c->ctx->backend->copy(c->ctx, &b, &u);
    mo_view lu = mo_tensor_view(LU), p = mo_tensor_view(pivot), column = u;
    column.ndim = 3;
    column.shape[0] = lu.shape[0], column.shape[1] = lu.shape[1], column.shape[2] = 1;
    column.stride[0] = lu.shape[1], column.stride[1] = column.stride[2] = 1;
    mo_kernels_of(c->ctx, u.dtype)->getrs(c->ctx, o->transposed, &lu, &p, &column);
    mo_call_save(c, LU);
    mo_call_save(c, pivot);
    if (o->problem.options.report) {
        o->problem.options.report->adjoint_residual = 0;
        o->problem.options.report->adjoint_iterations = 0;
    }
}

static void implicit_solve_forward(mo_call *c) {
    const solve_options *o = c->attributes;
    int n = o->problem.n;
    mo_tensor *theta[MO_MAX_THETA], *LU = o->factored ? c->in[2 + n] : NULL, *pivot = o->factored ? c->in[3 + n] : NULL;
    mo_jacobian J = {0};
    const bool recording = c->t->recording;
    if (o->problem.options.report)
        o->problem.options.report->adjoint_systems++;
    if (!LU) {
        mo_tape_set_mode(c->t, MO_RECORD);
        for (int i = 0; i < n; i++)
            theta[i] = mo_stop_gradient(c->t, c->in[2 + i]);
        mo_tensor *x = mo_stop_gradient(c->t, c->in[1]);
        if (!mo_implicit_record(c->t, &o->problem, c->op->name, x, theta, &J.g) ||
            (recording && !mo_implicit_is_closed(c->t, c->op->name, &J.g)))
            return;
        if (!mo_implicit_is_dense(&o->problem, x)) {
            mo_tensor *u = solve_by_products(c, &J);
            if (mo_ok(c->ctx))
                mo_tensor_copy(c->out[0], u);
            return;
        }
        if (!mo_implicit_factor(c, &o->problem, &J.g, &LU, &pivot))
            return;
    }
    solve_by_factors(c, LU, pivot);
}

mo_tensor *mo_implicit_solve_open(mo_tape *t, const mo_implicit_problem *p, mo_tensor *b, mo_tensor *x,
    mo_tensor *const *theta, mo_tensor *const *factors, bool transposed) {
    mo_tensor *in[MO_MAX_INPUTS] = {b, x};
    int n = 2;
    for (int i = 0; i < p->n; i++)
        in[n++] = theta[i];
    for (int i = 0; factors && i < 2; i++)
        in[n++] = factors[i];
    solve_options o = {.problem = *p, .transposed = transposed, .factored = factors != NULL};
    return mo_apply(t, &mo_op_implicit_solve, in, n, &o);
}

mo_tensor *mo_implicit_solve(mo_tape *t, mo_tensor *b, mo_tensor *x, mo_residual residual, mo_tensor *const *theta,
    int n, bool transposed, const mo_implicit_options *options) {
    mo_context *ctx = mo_tape_context(t);
    mo_implicit_problem p = {.residual = residual};
    if (!mo_implicit_open(ctx, "implicit_solve", &p, residual, theta, n, options))
        return mo_null_tensor(ctx);
    return mo_implicit_solve_open(t, &p, b, x, theta, NULL, transposed);
}

static void implicit_solve_vjp(mo_vjp *v) {
    mo_tape *t = v->t;
    const solve_options *o = v->attributes;
    bool dense = o->factored || mo_implicit_is_dense(&o->problem, v->in[1]);
    mo_tensor *u = v->out[0], *x = v->in[1], *const *theta = v->in + 2;
    mo_tensor *b_bar =
        mo_implicit_solve_open(t, &o->problem, v->out_bar[0], x, theta, dense ? v->saved : NULL, !o->transposed);
    mo_tensor *left = o->transposed ? u : b_bar, *right = o->transposed ? b_bar : u;
    v->in_bar[0] = b_bar;
    mo_tape_set_mode(t, MO_RECORD);
    mo_implicit_graph g;
    mo_tensor *at[1 + MO_MAX_THETA], *bar[1 + MO_MAX_THETA], *q;
    int which[1 + MO_MAX_THETA], n = 0;
    if (!mo_implicit_record(t, &o->problem, v->op->name, x, theta, &g))
        return;
    for (int i = 0; i <= o->problem.n; i++)
        if (v->needs[1 + i]) {
            which[n] = 1 + i;
            at[n++] = i ? g.theta[i - 1] : g.x;
        }
    mo_grad(t, &g.F, &left, 1, &g.x, &q, 1, MO_CREATE_GRAPH | MO_ALLOW_UNUSED); /* J^T left */
    right = mo_neg(t, right);
    mo_grad(t, &q, &right, 1, at, bar, n, v->create_graph ? MO_CREATE_GRAPH | MO_ALLOW_UNUSED : MO_ALLOW_UNUSED);
    for (int i = 0; i < n; i++)
        v->in_bar[which[i]] = bar[i];
}

/* ---- samples: F = A x + x^3 / 3 - c, with a leading batch axis; A = theta[0] [2, 3, 3], c = theta[1] ---- */

static mo_tensor *cubic(mo_tape *t, mo_tensor *x, mo_tensor *const *theta, int n, void *state) {
    (void)n;
    (void)state;
    mo_tensor *column = mo_reshape(t, x, 3, (int64_t[]){2, 3, 1});
    mo_tensor *Ax = mo_reshape(t, mo_matmul(t, theta[0], column), 2, (int64_t[]){2, 3});
    return mo_sub(t, mo_add(t, Ax, mo_scale(t, mo_mul(t, mo_square(t, x), x), 1. / 3, 0)), theta[1]);
}

static const solve_options
    dense = {.problem = {.residual = cubic, .n = 2, .options = {.batch_axes = 1}}},
    dense_transposed = {.problem = {.residual = cubic, .n = 2, .options = {.batch_axes = 1}}, .transposed = true},
    gmres = {.problem = {.residual = cubic, .n = 2, .options = {.batch_axes = 1, .dense_limit = -1}}},
    gmres_transposed = {.problem = {.residual = cubic, .n = 2, .options = {.batch_axes = 1, .dense_limit = -1}},
        .transposed = true},
    cg = {.problem = {.residual = cubic, .n = 2, .options = {.batch_axes = 1, .symmetric = true, .dense_limit = -1}}};

static const mo_sample implicit_solve_samples[] = {
    {"dense", "[2, 3] [2, 3] general[2, 3, 3] [2, 3]", &dense},
    {"dense, transposed", "[2, 3] [2, 3] general[2, 3, 3] [2, 3]", &dense_transposed},
    {"GMRES", "[2, 3] [2, 3] general[2, 3, 3] [2, 3]", &gmres},
    {"GMRES, transposed", "[2, 3] [2, 3] general[2, 3, 3] [2, 3]", &gmres_transposed},
    {"conjugate gradients", "[2, 3] [2, 3] spd[2, 3, 3] [2, 3]", &cg},
    {"right-hand side", "[2, 4] [2, 3] [2, 3, 3] [2, 3]", &dense,
        .error = "implicit_solve: expected the right-hand side and x in one shape; got [2, 4] float64"},
    {"theta", "[2, 3] [2, 3]", &dense, .error = "implicit_solve: 2 inputs, expected 4"},
};

const mo_op mo_op_implicit_solve = {
    .name = "implicit_solve",
    .n_in = 2,
    .max_in = MO_MAX_INPUTS,
    .attributes_size = sizeof(solve_options),
    .reads_in = ~(uint64_t)1,
    .reads_out = 1,
    .shape = implicit_solve_shape,
    .forward = implicit_solve_forward,
    .vjp = implicit_solve_vjp,
    MO_SAMPLES(implicit_solve_samples),
};
