/* tests/solver_methods.h - every solver, each with a problem for it, and a fixture with the problem's tensors. */
#ifndef SOLVER_METHODS_H
#define SOLVER_METHODS_H

#include "ops/inside.h"
#include "tests/solver_fixture.h"

enum { ITEMS = 3, M = 6 };

typedef mo_tensor *(*mo_solve_function)(
    mo_tape *t, mo_tensor *x0, mo_residual F, mo_tensor *const *theta, int n, const mo_solver_options *options);

/* A solver and its problem in A [items, m, m], made symmetric if the solver needs that, and c [items, m]. */
typedef struct method {
    const char *name;
    mo_solve_function solve;
    mo_residual problem;
    bool symmetric;
    mo_solver_options options;
} method;

static inline mo_tensor *times(mo_tape *t, mo_tensor *A, mo_tensor *x) {
    int64_t items = mo_dim(x, 0), m = mo_dim(x, 1);
    mo_tensor *column = mo_matmul(t, A, mo_reshape(t, x, 3, (int64_t[]){items, m, 1}));
    return mo_reshape(t, column, 2, (int64_t[]){items, m});
}

static inline mo_tensor *affine(mo_tape *t, mo_tensor *x, mo_tensor *const *theta, int n, void *state) {
    return mo_sub(t, times(t, theta[0], x), theta[1]);
}

static inline mo_tensor *cubic(mo_tape *t, mo_tensor *x, mo_tensor *const *theta, int n, void *state) {
    return mo_add(t, affine(t, x, theta, n, state), mo_mul(t, mo_square(t, x), x));
}

/* Objectives x^T A x / 2 - c^T x, without and with the sum of x^4 / 4; the residuals above are their gradients. */
static inline mo_tensor *quadratic(mo_tape *t, mo_tensor *x, mo_tensor *const *theta, int n, void *state) {
    mo_tensor *half = mo_scale(t, times(t, theta[0], x), 0.5, 0);
    return mo_sum(t, mo_mul(t, x, mo_sub(t, half, theta[1])), MO_AXIS(1), MO_DROP_AXES);
}

static inline mo_tensor *quartic(mo_tape *t, mo_tensor *x, mo_tensor *const *theta, int n, void *state) {
    mo_tensor *fourth = mo_scale(t, mo_sum(t, mo_square(t, mo_square(t, x)), MO_AXIS(1), MO_DROP_AXES), 0.25, 0);
    return mo_add(t, quadratic(t, x, theta, n, state), fourth);
}

static const method methods[] = {
    {"linear, CG", mo_newton_krylov, affine, true,
        {.implicit = {.dense_limit = -1, .symmetric = true}, .tolerance = 1e-12}},
    {"linear, GMRES", mo_newton_krylov, affine, false, {.implicit.dense_limit = -1, .tolerance = 1e-12}},
    {"linear, GMRES restarted", mo_newton_krylov, affine, false,
        {.implicit = {.dense_limit = -1, .restart = 4}, .tolerance = 1e-11}},
    {"Newton-Krylov, factors", mo_newton_krylov, cubic, false, {.tolerance = 1e-12}},
    {"Newton-Krylov, GMRES", mo_newton_krylov, cubic, false, {.implicit.dense_limit = -1, .tolerance = 1e-12}},
    {"Newton-Krylov, CG", mo_newton_krylov, cubic, true,
        {.implicit = {.dense_limit = -1, .symmetric = true}, .tolerance = 1e-12}},
    {"L-BFGS", mo_lbfgs, quartic, true, {.tolerance = 1e-11}},
    {"L-BFGS, few pairs", mo_lbfgs, quartic, true, {.implicit.dense_limit = -1, .memory = 2, .tolerance = 1e-11}},
    {"projected gradient", mo_projected_gradient, quadratic, true, {.tolerance = 1e-12}},
};
enum { METHODS = sizeof methods / sizeof *methods };

static inline void draw(fixture *f, int64_t m) {
    mo_random r = mo_random_at(31, MO_PURPOSE_CHECK, 0);
    double *A = test_memory((size_t)(ITEMS * m * m) * sizeof *A), *c = test_memory((size_t)(ITEMS * m) * sizeof *c);
    for (int64_t i = 0; i < ITEMS * m * m; i++)
        A[i] = ((i / m) % m == i % m) * 2 + mo_random_normal(&r) / (2 * sqrt((double)m));
    for (int64_t i = 0; i < ITEMS * m; i++)
        c[i] = mo_random_normal(&r);
    f->theta[0] = mo_require_grad(mo_tensor_create_from(f->ctx, MO_F64, 3, (int64_t[]){ITEMS, m, m}, A));
    f->theta[1] = mo_require_grad(mo_tensor_create_from(f->ctx, MO_F64, 2, (int64_t[]){ITEMS, m}, c));
}

/* Set-up with the tensors of draw_cubic. */
static inline int set_up_drawn(void **state) {
    set_up(state);
    draw(*state, M);
    return 0;
}

static inline void run_method(mo_tape *t, mo_tensor *const *in, int n_in, mo_tensor **out, int n_out, void *state) {
    const method *m = state;
    mo_solver_options o = m->options;
    o.implicit.batch_axes = 1;
    mo_tensor *A = in[0];
    if (m->symmetric)
        A = mo_scale(t, mo_add(t, A, mo_transpose(t, A)), 0.5, 0);
    mo_tensor *x0 = mo_full(t, mo_tensor_dtype(in[1]), 2, (int64_t[]){mo_dim(in[1], 0), mo_dim(in[1], 1)}, 0.1);
    out[0] = m->solve(t, x0, m->problem, (mo_tensor *[]){A, in[1]}, n_in, &o);
}

static const fixtures around_each = {set_up_drawn, tear_down};

#endif
