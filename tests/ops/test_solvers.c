/* tests/ops/test_solvers.c - solvers as graph code: solutions, and gradients to order two by the implicit function
 * theorem (with constant memory) and unrolled (with growing memory). */
#include "tests/solver_fixture.h"

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

/* Objectives x^T A x / 2 - c^T x, without and with the sum of x^4 / 4; the residuals above are their gradients. */
static mo_tensor *quadratic(mo_tape *t, mo_tensor *x, mo_tensor *const *theta, int n, void *state) {
    mo_tensor *half = mo_scale(t, times(t, theta[0], x), 0.5, 0);
    return mo_sum(t, mo_mul(t, x, mo_sub(t, half, theta[1])), MO_AXIS(1), MO_DROP_AXES);
}

static mo_tensor *quartic(mo_tape *t, mo_tensor *x, mo_tensor *const *theta, int n, void *state) {
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

static void run_method(mo_tape *t, mo_tensor *const *in, int n_in, mo_tensor **out, int n_out, void *state) {
    const method *m = state;
    mo_solver_options o = m->options;
    o.implicit.batch_axes = 1;
    mo_tensor *A = in[0];
    if (m->symmetric)
        A = mo_scale(t, mo_add(t, A, mo_transpose(t, A)), 0.5, 0);
    mo_tensor *x0 = mo_full(t, mo_tensor_dtype(in[1]), 2, (int64_t[]){mo_dim(in[1], 0), mo_dim(in[1], 1)}, 0.1);
    out[0] = m->solve(t, x0, m->problem, (mo_tensor *[]){A, in[1]}, n_in, &o);
}

static void expect_gradients(fixture *f, bool unrolled, int order) {
    for (int i = 0; i < METHODS; i++) {
        method m = methods[i];
        m.options.unrolled = unrolled;
        mo_check_result r =
            mo_check_function(f->ctx, run_method, &m, f->theta, 2, 1, order, order == 1 ? 1e-6 : 1e-5, 3);
        if (!r.pass)
            fail_msg("%s, order %d: error %.3g; %s", m.name, order, r.error, r.worst);
    }
}

TEST(every_solver_has_the_derivatives_of_its_solution) {
    expect_gradients(*state, false, 2);
}

TEST(unrolled_iterations_have_it_too) {
    expect_gradients(*state, true, 1);
}

/* Returns |F(x)| of the worst item; for objectives F is their gradient, written out. */
static double worst_residual(fixture *f, const method *m, mo_tensor *x, mo_tensor *A) {
    mo_residual F = m->problem == quartic ? cubic : m->problem == quadratic ? affine : m->problem;
    mo_tensor *r = F(f->t, x, (mo_tensor *[]){A, f->theta[1]}, 2, NULL);
    if (m->solve == mo_projected_gradient)
        r = mo_sub(f->t, x, mo_simplex_project(f->t, mo_sub(f->t, x, r)));
    return sqrt(
        mo_item(mo_max(f->t, mo_sum(f->t, mo_square(f->t, r), MO_AXIS(1), MO_DROP_AXES), MO_ALL, MO_DROP_AXES)));
}

TEST_OF(solutions_fulfil_their_equations, fixture *f) {
    for (int i = 0; i < METHODS; i++) {
        mo_solver_report report = {0};
        method m = methods[i];
        m.options.implicit.report = &report;
        mo_tensor *x, *A = f->theta[0];
        run_method(f->t, f->theta, 2, &x, 1, &m);
        assert_string_equal(mo_context_status(f->ctx)->message, "");
        if (m.symmetric)
            A = mo_scale(f->t, mo_add(f->t, A, mo_transpose(f->t, A)), 0.5, 0);
        double r = worst_residual(f, &m, x, A);
        if (!(r < 1e-10) || !report.converged || report.iterations < 1)
            fail_msg("%s: residual %g after %d iterations, reported %g", m.name, r, report.iterations, report.residual);
    }
}

/* Returns the peak bytes of a solution and of its gradient, both at a tolerance. */
static int64_t peak_bytes(const method *given, double tolerance, bool unrolled, int *iterations) {
    HELD(fixture) f = fixture_create(1);
    draw(&f, MO_F64, ITEMS, 40, false);
    mo_solver_report report = {0};
    method m = *given;
    m.options.tolerance = tolerance;
    m.options.unrolled = unrolled;
    m.options.implicit.report = &report;
    m.options.implicit.residual = -1;
    m.options.implicit.tolerance = unrolled ? 0 : tolerance;
    m.options.implicit.restart = 4;
    m.options.memory = 1;
    mo_tensor *x;
    run_method(f.t, f.theta, 2, &x, 1, &m);
    mo_backward(f.t, mo_sum(f.t, x, MO_ALL, MO_DROP_AXES));
    assert_string_equal(mo_context_status(f.ctx)->message, "");
    *iterations = report.iterations;
    return mo_context_counters(f.ctx).tape_peak;
}

TEST(only_unrolled_memory_grows_with_the_iterations) {
    for (int i = 0; i < METHODS; i++) {
        int few, many;
        int64_t first = peak_bytes(&methods[i], 1e-2, false, &few), last = peak_bytes(&methods[i], 1e-11, false, &many);
        assert_true(many > few);
        if (last != first)
            fail_msg("%s: %lld bytes after %d iterations, %lld after %d", methods[i].name, (long long)first, few,
                (long long)last, many);
        first = peak_bytes(&methods[i], 1e-2, true, &few), last = peak_bytes(&methods[i], 1e-11, true, &many);
        if (last <= first)
            fail_msg("%s, unrolled: %lld bytes after %d iterations, %lld after %d", methods[i].name, (long long)first,
                few, (long long)last, many);
    }
}

/* ---- failures: no convergence, a NaN, impossible limits ---- */

static mo_tensor *no_root(mo_tape *t, mo_tensor *x, mo_tensor *const *theta, int n, void *state) {
    return mo_add(t, mo_scale(t, mo_square(t, x), 1, 1), mo_scale(t, theta[0], 0, 0));
}

static mo_tensor *two_values(mo_tape *t, mo_tensor *x, mo_tensor *const *theta, int n, void *state) {
    return mo_slice(t, x, MO_AXIS(1), 0, 2);
}

TEST_OF(a_missed_tolerance_is_an_error_or_a_report, fixture *f) {
    mo_solver_report report = {0};
    mo_tensor *one = mo_require_grad(mo_full(f->t, MO_F64, 1, (int64_t[]){1}, 0.7)), *x;
    mo_newton_krylov(f->t, one, no_root, &one, 1, &(mo_solver_options){.iterations = 5});
    assert_failed(f->ctx, MO_NUMERICAL, PARTS("newton_krylov: the residual is "));
    mo_solver_options accept = {.implicit = {.accept = true, .report = &report}, .iterations = 5};
    x = mo_newton_krylov(f->t, one, no_root, &one, 1, &accept);
    (void)x;
    mo_clear_error(f->ctx);
    assert_false(report.converged);
    assert_int_equal(report.iterations, 5);
    method m = methods[0];
    m.options.iterations = 1;
    m.options.implicit.tolerance = 1e-2;
    run_method(f->t, f->theta, 2, &x, 1, &m);
    assert_failed(f->ctx, MO_NUMERICAL, PARTS("newton_krylov: the residual of item "));
    m = methods[6];
    m.problem = two_values;
    run_method(f->t, f->theta, 2, &x, 1, &m);
    assert_failed(
        f->ctx, MO_INVALID, PARTS("minimise: the objective is [3, 2], expected one value for each of 3 items"));
}

/* If failures are accepted, the other items have the results that they have without the NaN, and the report says that
 * an item has not converged. */
TEST_OF(a_nan_ends_its_own_item_alone, fixture *f) {
    double c[ITEMS * M], clean[ITEMS * M], x[ITEMS * M];
    mo_tensor_read(f->theta[1], c, sizeof c);
    c[M] = NAN; /* item 1 */
    mo_tensor *with_nan = mo_from(f->t, MO_F64, 2, (int64_t[]){ITEMS, M}, c), *out;
    for (int i = 0; i < METHODS; i++) {
        mo_solver_report report = {0};
        method m = methods[i];
        m.options.implicit.accept = true;
        m.options.implicit.report = &report;
        run_method(f->t, f->theta, 2, &out, 1, &m);
        assert_int_equal(mo_tensor_read(out, clean, sizeof clean), MO_OK);
        run_method(f->t, (mo_tensor *[]){f->theta[0], with_nan}, 2, &out, 1, &m);
        if (mo_tensor_read(out, x, sizeof x) != MO_OK)
            fail_msg("%s: %s", m.name, mo_context_status(f->ctx)->message);
        assert_false(report.converged);
        for (int j = 0; j < ITEMS * M; j++)
            if (j / M != 1 && !(fabs(x[j] - clean[j]) <= 1e-9))
                fail_msg("%s: item %d is %g, without the NaN %g", m.name, j / M, x[j], clean[j]);
    }
}

TEST_OF(what_is_missing_is_named, fixture *f) {
    mo_tensor *x0 = mo_full(f->t, MO_F64, 1, (int64_t[]){2}, 1);
    const mo_solver_options sized = {.implicit.state_size = 8};
    for (int i = 0; i < METHODS; i++) {
        assert_true(mo_is_null(methods[i].solve(f->t, x0, NULL, NULL, 0, NULL)));
        assert_failed(f->ctx, MO_INVALID, PARTS("the function is NULL"));
        assert_true(mo_is_null(methods[i].solve(f->t, x0, methods[i].problem, NULL, 2, NULL)));
        assert_failed(f->ctx, MO_INVALID, PARTS("theta is NULL"));
        assert_true(mo_is_null(methods[i].solve(f->t, x0, methods[i].problem, f->theta, 2, &sized)));
        assert_failed(f->ctx, MO_INVALID, PARTS("the state is NULL"));
    }
    mo_implicit(f->t, x0, NULL, NULL, 0, NULL);
    assert_failed(f->ctx, MO_INVALID, PARTS("implicit: the function is NULL"));
    mo_implicit(f->t, x0, affine, f->theta, 2, &sized.implicit);
    assert_failed(f->ctx, MO_INVALID, PARTS("implicit: the state is NULL"));
    mo_recompute(f->t, NULL, &x0, 1, NULL, 0);
    assert_failed(f->ctx, MO_INVALID, PARTS("recompute: the function is NULL"));
}

TEST_OF(negative_limits_are_refused, fixture *f) {
    mo_tensor *x;
    for (int i = 0; i < METHODS; i++)
        for (int which = 0; which < 3; which++) {
            method m = methods[i];
            *(int *[]){&m.options.iterations, &m.options.memory, &m.options.implicit.iterations}[which] = -1;
            run_method(f->t, f->theta, 2, &x, 1, &m);
            assert_failed(f->ctx, MO_INVALID, PARTS("expected 0 (the default) or more"));
        }
    mo_implicit_options options = {.iterations = -3};
    mo_implicit(f->t, f->theta[1], affine, f->theta, 2, &options);
    assert_failed(f->ctx, MO_INVALID, PARTS("implicit: -3 iterations of a linear system, expected 0"));
}
