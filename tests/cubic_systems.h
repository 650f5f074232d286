/* tests/cubic_systems.h - batches of the equation A x + x^3 / 3 = c, with theta = (A, c), solved by Newton's method. */
#ifndef CUBIC_SYSTEMS_H
#define CUBIC_SYSTEMS_H

#include "ops/inside.h"
#include "tensor/storage.h"
#include "tests/solver_fixture.h"

/* Returns F(x; A, c) = A x + x^3 / 3 - c for each item: x, c [items, m], A [items, m, m]. */
static inline mo_tensor *cubic(mo_tape *t, mo_tensor *x, mo_tensor *const *theta, int n, void *state) {
    int64_t items = mo_dim(x, 0), m = mo_dim(x, 1);
    mo_tensor *Ax = mo_matmul(t, theta[0], mo_reshape(t, x, 3, (int64_t[]){items, m, 1}));
    mo_tensor *cube = mo_scale(t, mo_mul(t, mo_square(t, x), x), 1. / 3, 0);
    return mo_sub(t, mo_add(t, mo_reshape(t, Ax, 2, (int64_t[]){items, m}), cube), theta[1]);
}

/* Returns the Jacobian dF/dx = A + diag(x^2) of each item. */
static inline mo_tensor *cubic_jacobian(mo_tape *t, mo_tensor *x, mo_tensor *const *theta, int n, void *state) {
    return mo_add(t, theta[0], mo_diagonal_embed(t, mo_square(t, x)));
}

/* Solves by Newton's method, exact to rounding; keeps only the solution on the tape. */
static inline mo_tensor *solve_cubic(mo_tape *t, mo_tensor *const *theta, int iterations) {
    mo_scope scope = mo_scope_open(t);
    mo_tensor *x = mo_scale(t, theta[1], 0, 0);
    for (int i = 0; i < iterations; i++) {
        mo_tensor *F = cubic(t, x, theta, 2, NULL);
        mo_tensor *column = mo_reshape(t, F, 3, (int64_t[]){mo_dim(x, 0), mo_dim(x, 1), 1});
        mo_tensor *step = mo_solve(t, cubic_jacobian(t, x, theta, 2, NULL), column);
        x = mo_sub(t, x, mo_reshape(t, step, 2, (int64_t[]){mo_dim(x, 0), mo_dim(x, 1)}));
        mo_scope_close(t, &scope, &x, 1);
    }
    return x;
}

static inline void root_function(mo_tape *t, mo_tensor *const *in, int n_in, mo_tensor **out, int n_out, void *state) {
    out[0] = mo_implicit(t, solve_cubic(t, in, 30), cubic, in, n_in, state);
}

/* Draws A = I + B / 2m with normal B, symmetric if asked, and c. */
static inline void draw_cubic(fixture *f, mo_dtype real, int64_t items, int64_t m, bool symmetric) {
    mo_random r = mo_random_at(5, MO_PURPOSE_CHECK, 0);
    double *A = test_memory((size_t)(items * m * m) * sizeof *A), *c = test_memory((size_t)(items * m) * sizeof *c);
    for (int64_t i = 0; i < items; i++)
        for (int64_t j = 0; j < m; j++)
            for (int64_t k = 0; k < m; k++) {
                double *a = A + i * m * m;
                a[j * m + k] = (j == k) + mo_random_normal(&r) / (2 * sqrt((double)m));
                if (symmetric && k <= j)
                    a[j * m + k] = a[k * m + j] = (j == k) * 2 + a[j * m + k] / 4;
            }
    for (int64_t i = 0; i < items * m; i++)
        c[i] = mo_random_normal(&r);
    for (int i = 0; i < 2; i++) {
        HELD(mo_tensor) *wide = mo_tensor_create_from(f->ctx, MO_F64, i ? 2 : 3, (int64_t[]){items, m, m}, i ? c : A);
        mo_tensor_release(f->theta[i]);
        f->theta[i] = mo_require_grad(mo_tensor_create(f->ctx, real, i ? 2 : 3, (int64_t[]){items, m, m}));
        mo_tensor_copy(f->theta[i], wide);
    }
}

static inline void expect_near(double got, double expected, double tolerance) {
    if (!(fabs(got - expected) <= tolerance))
        fail_msg("%.17g, expected %.17g to %g", got, expected, tolerance);
}

static const fixtures around_each = {set_up, tear_down};

#endif
