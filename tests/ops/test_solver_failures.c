/* tests/ops/test_solver_failures.c - what solvers report if they do not converge, meet a NaN or get impossible
 * limits. */
#include "tests/solver_methods.h"

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
    assert_failed(f->ctx, MO_INVALID, PARTS("implicit: -3 iterations, expected 0"));
}
