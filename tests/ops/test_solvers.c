/* tests/ops/test_solvers.c - solvers as graph code: solutions, and gradients to order two by the implicit function
 * theorem (with constant memory) and unrolled (with growing memory). */
#include "tests/solver_methods.h"

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
    draw(&f, 40);
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
