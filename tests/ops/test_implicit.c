/* tests/ops/test_implicit.c - implicit differentiation: gradients to order two by dense factors, conjugate gradients
 * and GMRES, and the messages for bad problems. */
#include "tests/cubic_systems.h"

/* ---- gradients ---- */

/* The checker moves A freely, so the residual takes A's symmetric part: J = A + diag(x^2) is then symmetric. */
static mo_tensor *symmetric_cubic(mo_tape *t, mo_tensor *x, mo_tensor *const *theta, int n, void *state) {
    mo_tensor *A = mo_scale(t, mo_add(t, theta[0], mo_transpose(t, theta[0])), 0.5, 0);
    return cubic(t, x, (mo_tensor *[]){A, theta[1]}, n, state);
}

static void symmetric_function(mo_tape *t, mo_tensor *const *in, int n_in, mo_tensor **out, int n_out, void *state) {
    mo_tensor *A = mo_scale(t, mo_add(t, in[0], mo_transpose(t, in[0])), 0.5, 0);
    mo_tensor *x = solve_cubic(t, (mo_tensor *[]){A, in[1]}, 30);
    out[0] = mo_implicit(t, x, symmetric_cubic, in, n_in, state);
}

/* By factors of the Jacobian, found or given; GMRES, which restarts; and conjugate gradients. */
TEST_OF(every_method_gives_first_and_second_derivatives, fixture *f) {
    mo_solver_report report = {0};
    mo_implicit_options methods[] = {{.batch_axes = 1}, {.batch_axes = 1, .jacobian = cubic_jacobian},
        {.batch_axes = 1, .dense_limit = -1}, {.batch_axes = 1, .dense_limit = -1, .restart = 4, .report = &report},
        {.batch_axes = 1, .symmetric = true, .dense_limit = -1}};
    const int sizes[][2] = {{3, 4}, {3, 4}, {3, 7}, {2, 12}, {3, 7}};
    for (int i = 0; i < 5; i++) {
        mo_implicit_options *o = &methods[i];
        draw_cubic(f, MO_F64, sizes[i][0], sizes[i][1], o->symmetric);
        mo_function function = o->symmetric ? symmetric_function : root_function;
        mo_check_result r = mo_check_function(f->ctx, function, o, f->theta, 2, 1, 2, 1e-5, 7);
        if (!r.pass)
            fail_msg("method %d: error %.3g; %s", i, r.error, r.worst);
    }
    assert_true(report.adjoint_iterations > 4);
}

static const struct test_state {
    double scale;
    mo_tensor *dead;
} twice = {2, NULL};

/* The zero is x = theta s; the scale s is in the state. */
static mo_tensor *scaled(mo_tape *t, mo_tensor *x, mo_tensor *const *theta, int n, void *state) {
    return mo_sub(t, x, mo_scale(t, theta[0], ((const struct test_state *)state)->scale, 0));
}

TEST_OF(state_may_go_once_it_was_copied, fixture *f) {
    draw_cubic(f, MO_F64, 2, 3, false);
    struct test_state *s = malloc(sizeof *s);
    *s = twice;
    mo_tensor *x = mo_implicit(f->t, mo_scale(f->t, f->theta[1], 2, 0), scaled, &f->theta[1], 1,
        &(mo_implicit_options){.state = s, .state_size = sizeof *s});
    memset(s, 0xff, sizeof *s);
    free(s);
    assert_int_equal(mo_backward(f->t, mo_sum(f->t, x, MO_ALL, MO_DROP_AXES)), MO_OK);
    double g[6];
    mo_tensor_read(mo_grad_of(f->theta[1]), g, sizeof g);
    for (int i = 0; i < 6; i++)
        expect_near(g[i], 2, 1e-14);
}

/* F = x^3 - theta, with zero theta^(1/3): one rule gives derivatives of every order. */
static mo_tensor *cube(mo_tape *t, mo_tensor *x, mo_tensor *const *theta, int n, void *state) {
    return mo_sub(t, mo_mul(t, mo_square(t, x), x), theta[0]);
}

TEST_OF(third_derivative_of_a_cube_root, fixture *f) {
    for (int krylov = 0; krylov < 2; krylov++) {
        mo_tensor *theta = mo_require_grad(mo_scalar(f->t, MO_F64, 8)), *d;
        d = mo_implicit(
            f->t, mo_scalar(f->t, MO_F64, 2), cube, &theta, 1, &(mo_implicit_options){.dense_limit = krylov ? -1 : 0});
        /* the derivatives t^(-2/3) / 3, -2 t^(-5/3) / 9, 10 t^(-8/3) / 27 at t = 8 */
        const double expected[3] = {1. / 12, -1. / 144, 10. / 27 / 256};
        for (int order = 0; order < 3; order++) {
            mo_tensor *y = d;
            assert_int_equal(mo_grad(f->t, &y, NULL, 1, &theta, &d, 1, MO_CREATE_GRAPH), MO_OK);
            expect_near(mo_item(d), expected[order], 1e-9);
        }
    }
}

/* A batch of no items, and items without unknowns. */
TEST_OF(nothing_to_solve_is_fine, fixture *f) {
    const int64_t sizes[2][2] = {{0, 3}, {3, 0}};
    for (int i = 0; i < 6; i++) {
        const int64_t *s = sizes[i % 2];
        mo_tensor *c = mo_require_grad(mo_full(f->t, MO_F64, 2, s, 1)), *grad;
        mo_implicit_options o = {.batch_axes = 1, .dense_limit = i / 2 ? -1 : 0, .symmetric = i / 2 == 2};
        o.state = &(struct test_state){2, NULL};
        mo_tensor *x = mo_implicit(f->t, mo_scale(f->t, c, 2, 0), scaled, &c, 1, &o);
        assert_int_equal(mo_grad(f->t, &x, NULL, 1, &c, &grad, 1, 0), MO_OK);
        assert_int_equal(mo_numel(grad), 0);
    }
}

/* ---- errors ---- */

static mo_tensor *misshapen(mo_tape *t, mo_tensor *x, mo_tensor *const *theta, int n, void *state) {
    return mo_sum(t, cubic(t, x, theta, n, state), MO_AXIS(0), MO_DROP_AXES);
}

TEST_OF(bad_problems_are_named, fixture *f) {
    draw_cubic(f, MO_F64, 2, 3, false);
    mo_tensor *x = solve_cubic(f->t, f->theta, 30), *far = mo_scale(f->t, x, 1, 1), *g;
    mo_implicit(f->t, x, misshapen, f->theta, 2, NULL);
    assert_failed(
        f->ctx, MO_INVALID, PARTS("implicit: the residual is [3] float64, expected [2, 3] float64 like x_star"));
    mo_implicit(f->t, far, cubic, f->theta, 2, &(mo_implicit_options){.batch_axes = 1});
    assert_failed(f->ctx, MO_NUMERICAL, PARTS("implicit: x_star is no solution: |F| / max(1, |x_star|) is "));
    mo_implicit(f->t, x, cubic, f->theta, 2, &(mo_implicit_options){.batch_axes = 3});
    assert_failed(f->ctx, MO_INVALID, PARTS("implicit: 3 batch axes, expected 0 to 2"));
    mo_implicit(f->t, x, cubic, f->theta, 13, NULL);
    assert_failed(f->ctx, MO_INVALID, PARTS("implicit: 13 tensors theta, expected 0 to 12"));
    mo_tensor *zero = mo_scalar(f->t, MO_F64, 0), *theta = mo_require_grad(mo_scalar(f->t, MO_F64, 0));
    mo_implicit(f->t, zero, cube, &theta, 1, NULL); /* the Jacobian 3 x^2 is 0 at x = 0 */
    assert_failed(f->ctx, MO_NUMERICAL, PARTS("implicit: the Jacobian dF/dx is singular to working precision"));
    mo_tensor *y = mo_implicit(f->t, zero, cube, &theta, 1, &(mo_implicit_options){.dense_limit = -1});
    mo_grad(f->t, &y, NULL, 1, &theta, &g, 1, 0);
    assert_failed(f->ctx, MO_NUMERICAL, PARTS("implicit_solve: GMRES reached a relative residual of 1 after"));
}
