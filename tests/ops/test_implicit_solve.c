/* tests/ops/test_implicit_solve.c - the linear systems of implicit differentiation: each is factored once, and the
 * report is right. */
#include "tests/cubic_systems.h"

TEST_OF(factors_are_made_in_forward_only, fixture *f) {
    draw_cubic(f, MO_F64, 3, 4, false);
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
    draw_cubic(f, MO_F32, 2, 4, false);
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
    draw_cubic(f, MO_F64, 2, 9, false);
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
    draw_cubic(f, MO_F64, 2, 9, false);
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
    draw_cubic(f, MO_F64, 2, 60, false);
    mo_tensor *start = mo_full(f->t, MO_F64, 2, (int64_t[]){2, 60}, 0), *gradient;
    mo_implicit_options options = {.batch_axes = 1, .symmetric = true, .dense_limit = -1};
    mo_newton_krylov(f->t, start, cubic, f->theta, 2, &(mo_solver_options){.implicit = options});
    assert_failed(f->ctx, MO_INVALID, PARTS("implicit_solve: dF/dx is declared symmetric, but"));
    mo_tensor *x = mo_implicit(f->t, solve_cubic(f->t, f->theta, 30), cubic, f->theta, 2, &options);
    mo_grad(f->t, &x, NULL, 1, f->theta, &gradient, 1, 0);
    assert_failed(f->ctx, MO_INVALID, PARTS("implicit_solve: dF/dx is declared symmetric, but"));
}
