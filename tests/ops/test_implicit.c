/* tests/ops/test_implicit.c - implicit differentiation: gradients to order two by dense factors, conjugate gradients
 * and GMRES, their linear systems, and the messages for bad problems. */
#include "tests/solver_fixture.h"

/* Returns the Jacobian dF/dx = A + diag(3 x^2) of each item. */
static mo_tensor *cubic_jacobian(mo_tape *t, mo_tensor *x, mo_tensor *const *theta, int n, void *state) {
    return mo_add(t, theta[0], mo_diagonal_embed(t, mo_scale(t, mo_square(t, x), 3, 0)));
}

/* Solves by Newton's method, exact to rounding; keeps only the solution on the tape. */
static mo_tensor *solve_cubic(mo_tape *t, mo_tensor *const *theta, int iterations) {
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

static void root_function(mo_tape *t, mo_tensor *const *in, int n_in, mo_tensor **out, int n_out, void *state) {
    out[0] = mo_implicit(t, solve_cubic(t, in, 30), cubic, in, n_in, state);
}

static void expect_near(double got, double expected, double tolerance) {
    if (!(fabs(got - expected) <= tolerance))
        fail_msg("%.17g, expected %.17g to %g", got, expected, tolerance);
}

/* ---- gradients ---- */

/* The checker moves A freely, so the residual takes A's symmetric part: J = A + diag(3 x^2) is then symmetric. */
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
        draw(f, MO_F64, sizes[i][0], sizes[i][1], o->symmetric);
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
    draw(f, MO_F64, 2, 3, false);
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

/* ---- the linear systems: each is factored once, and the report is right ---- */

TEST_OF(factors_are_made_in_forward_only, fixture *f) {
    draw(f, MO_F64, 3, 4, false);
    mo_tensor *x_star = solve_cubic(f->t, f->theta, 30), *grads[2], *second[2];
    int64_t before = mo_context_counters(f->ctx).factorizations;
    mo_tensor *x = mo_implicit(f->t, x_star, cubic, f->theta, 2, &(mo_implicit_options){.batch_axes = 1});
    assert_int_equal(mo_context_counters(f->ctx).factorizations, before + 3);
    mo_grad(f->t, &x, NULL, 1, f->theta, grads, 2, MO_CREATE_GRAPH);
    mo_grad(f->t, grads, NULL, 2, f->theta, second, 2, MO_RETAIN);
    assert_int_equal(mo_grad(f->t, grads, NULL, 2, f->theta, second, 2, 0), MO_OK);
    assert_int_equal(mo_context_counters(f->ctx).factorizations, before + 3);
}

TEST_OF(evaluation_needs_no_factors, fixture *f) {
    draw(f, MO_F32, 2, 4, false);
    mo_tape_set_mode(f->t, MO_EVAL);
    mo_tensor *x_star = solve_cubic(f->t, f->theta, 20);
    int64_t before = mo_context_counters(f->ctx).factorizations;
    mo_tensor *x = mo_implicit(f->t, x_star, cubic, f->theta, 2, &(mo_implicit_options){.batch_axes = 1});
    assert_int_equal(mo_context_counters(f->ctx).factorizations, before);
    assert_int_equal(mo_tape_mode(f->t), MO_EVAL);
    assert_false(mo_needs_grad(x));
    assert_true(mo_ok(f->ctx));
}

TEST_OF(a_miss_can_be_a_report, fixture *f) {
    draw(f, MO_F64, 2, 9, false);
    mo_solver_report report = {0};
    mo_implicit_options o = {.batch_axes = 1, .dense_limit = -1, .iterations = 2, .accept = true, .report = &report};
    mo_tensor *x = mo_implicit(f->t, solve_cubic(f->t, f->theta, 30), cubic, f->theta, 2, &o);
    assert_false(report.missed);
    assert_true(report.residual < 1e-12);
    assert_int_equal(mo_backward(f->t, mo_sum(f->t, x, MO_ALL, MO_DROP_AXES)), MO_OK);
    assert_true(report.missed);
    assert_int_equal(report.adjoint_iterations, 2);
    assert_int_equal(report.adjoint_systems, 1);
    assert_true(report.adjoint_residual > 1e-9 && report.adjoint_residual < 1);
}

TEST_OF(restarts_that_cannot_be_are_errors, fixture *f) {
    static const int wrong[] = {-1, 10001};
    draw(f, MO_F64, 2, 9, false);
    for (int i = 0; i < 2; i++) {
        mo_implicit_options o = {.batch_axes = 1, .dense_limit = -1, .restart = wrong[i]};
        mo_tensor *x = mo_implicit(f->t, solve_cubic(f->t, f->theta, 30), cubic, f->theta, 2, &o);
        assert_int_equal(mo_backward(f->t, mo_sum(f->t, x, MO_ALL, MO_DROP_AXES)), MO_INVALID);
        assert_failed(f->ctx, MO_INVALID, PARTS("gmres: restart after "));
        mo_tape_reset(f->t);
    }
}

/* Conjugate gradients would otherwise end at their limit of 10 m iterations, in every step of Newton's method. */
TEST_OF(a_symmetry_that_is_not_there_is_named, fixture *f) {
    draw(f, MO_F64, 2, 60, false);
    mo_tensor *start = mo_full(f->t, MO_F64, 2, (int64_t[]){2, 60}, 0), *gradient;
    mo_implicit_options options = {.batch_axes = 1, .symmetric = true, .dense_limit = -1};
    mo_newton_krylov(f->t, start, cubic, f->theta, 2, &(mo_solver_options){.implicit = options});
    assert_failed(f->ctx, MO_INVALID, PARTS("implicit_solve: dF/dx is declared symmetric, but"));
    mo_tensor *x = mo_implicit(f->t, solve_cubic(f->t, f->theta, 30), cubic, f->theta, 2, &options);
    mo_grad(f->t, &x, NULL, 1, f->theta, &gradient, 1, 0);
    assert_failed(f->ctx, MO_INVALID, PARTS("implicit_solve: dF/dx is declared symmetric, but"));
}

/* ---- errors ---- */

TEST_OF(a_system_with_the_jacobian_is_solved, fixture *f) {
    draw(f, MO_F64, 2, 3, false);
    mo_tape *t = f->t;
    mo_tensor *x = solve_cubic(t, f->theta, 30), *b = mo_scale(t, mo_square(t, x), .5, 1);
    mo_tensor *J = cubic_jacobian(t, x, f->theta, 2, NULL);
    for (int i = 0; i < 4; i++) {
        bool transposed = i & 1;
        mo_implicit_options o = {.batch_axes = 1, .dense_limit = i & 2 ? -1 : 0};
        mo_tensor *u = mo_implicit_solve(t, b, x, cubic, f->theta, 2, transposed, &o);
        mo_tensor *column = mo_reshape(t, u, 3, (int64_t[]){2, 3, 1});
        mo_tensor *Ju = mo_reshape(t, mo_matmul(t, transposed ? mo_transpose(t, J) : J, column), 2, (int64_t[]){2, 3});
        expect_near(mo_item(mo_sum(t, mo_abs(t, mo_sub(t, Ju, b)), MO_ALL, MO_DROP_AXES)), 0, 1e-8);
    }
    mo_implicit_solve(t, b, x, NULL, f->theta, 2, false, NULL);
    assert_failed(f->ctx, MO_INVALID, PARTS("implicit_solve: the function is NULL"));
    mo_implicit_solve(t, b, x, cubic, f->theta, 2, false, &(mo_implicit_options){.batch_axes = 3});
    assert_failed(f->ctx, MO_INVALID, PARTS("implicit_solve: 3 batch axes, expected 0 to 2"));
    mo_implicit_solve(t, NULL, x, cubic, f->theta, 2, false, NULL);
    assert_failed(f->ctx, MO_INVALID, PARTS("implicit_solve: input 0 is null"));
}

/* x - a y, with a from outside: y is theta, and a leaf of its own, which F makes, is allowed. */
static mo_tensor *captures(mo_tape *t, mo_tensor *x, mo_tensor *const *theta, int n, void *state) {
    mo_tensor *own = mo_require_grad(mo_full(t, MO_F64, 0, NULL, 1));
    return mo_sub(t, x, mo_mul(t, mo_mul(t, own, theta[0]), state));
}

TEST_OF(a_hidden_tensor_that_needs_a_gradient_is_an_error, fixture *f) {
    draw(f, MO_F64, 2, 3, false);
    mo_tape *t = f->t;
    mo_tensor *theta = f->theta[1], *hidden = mo_scale(t, theta, 2, 0),
              *leaf = mo_require_grad(mo_full(t, MO_F64, 0, NULL, 3));
    mo_tensor *fixed = mo_stop_gradient(t, hidden), *outside[] = {theta, hidden, leaf};
    mo_tensor *x = mo_implicit(t, mo_mul(t, theta, fixed), captures, &theta, 1, &(mo_implicit_options){.state = fixed});
    assert_true(mo_ok(f->ctx) && mo_needs_grad(x));
    for (int i = 0; i < 3; i++)
        for (int dense = 0; dense < 2; dense++) {
            const mo_implicit_options o = {.state = outside[i], .dense_limit = dense ? 0 : -1};
            mo_implicit(t, mo_mul(t, theta, outside[i]), captures, &theta, 1, &o);
            assert_failed(f->ctx, MO_INVALID,
                PARTS("implicit: the function reads a tensor that needs a gradient and is not in theta"));
            mo_implicit_solve(t, x, x, captures, &theta, 1, false, &o);
            assert_failed(
                f->ctx, MO_INVALID, PARTS("implicit_solve: the function reads a tensor that needs a gradient"));
            mo_tape_set_mode(t, MO_EVAL); /* without gradients nothing is lost */
            mo_implicit(t, mo_mul(t, theta, outside[i]), captures, &theta, 1, &o);
            assert_true(mo_ok(f->ctx));
            mo_tape_set_mode(t, MO_RECORD);
        }
}

static mo_tensor *misshapen(mo_tape *t, mo_tensor *x, mo_tensor *const *theta, int n, void *state) {
    return mo_sum(t, cubic(t, x, theta, n, state), MO_AXIS(0), MO_DROP_AXES);
}

TEST_OF(bad_problems_are_named, fixture *f) {
    draw(f, MO_F64, 2, 3, false);
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
