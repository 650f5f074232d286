/* tests/web/test_lab.c - the experiments of the page's room Lab: gradients become exact and only unrolled memory grows;
 * errors grow with the condition number; implicit gradients are off as the solution is. */
#include "tests/suite.h"
#include "tools/web/lab/lab.h"

#include <math.h>

/* Measures one cell of an experiment. */
static void measure(const lab_experiment *e, int problem, int series, double x, double y[LAB_COLUMNS]) {
    char lines[256];
    mo_context *ctx = mo_context_create(&(mo_context_options){.threads = 1});
    void *state = e->open(ctx, problem, lines, sizeof lines);
    e->measure(state, series, x, y);
    e->close(state);
    if (!mo_ok(ctx))
        fail_msg("%s", mo_context_status(ctx)->message);
    mo_context_release(ctx);
}

enum { ANALYTIC, UNROLLED, IMPLICIT, NEUMANN };

BARE_TEST(all_gradients_become_exact_and_only_unrolled_memory_grows) {
    for (int problem = 0; problem < 3; problem++)
        for (int method = ANALYTIC; method <= NEUMANN; method++) {
            double few[LAB_COLUMNS], many[LAB_COLUMNS];
            measure(&lab_adjoint, problem, method, 10, few);
            measure(&lab_adjoint, problem, method, 1000, many);
            assert_true(many[0] < 1e-9); /* central differences have an error of about 1e-11 */
            assert_true(method == ANALYTIC || few[0] > 1e-4);
            if (method == UNROLLED)
                assert_true(many[1] >= 30 * few[1]);
            else
                assert_true(many[1] == few[1]);
        }
}

/* The errors after ten steps, of the problems as they were first published: another problem has others. */
BARE_TEST(the_problems_are_those_that_were_published) {
    static const double error[3][3] = {
        {.0953884, .0688227, .0856279}, {.0790556, .00835507, .0286243}, {.207251, .258839, .205552}};
    for (int problem = 0; problem < 3; problem++)
        for (int method = UNROLLED; method <= NEUMANN; method++) {
            double y[LAB_COLUMNS];
            measure(&lab_adjoint, problem, method, 10, y);
            assert_true(fabs(y[0] / error[problem][method - 1] - 1) < 1e-3);
        }
}

enum { FLOAT64, FLOAT32, FLOAT32_REFINED, TF32, TF32_REFINED };

/* The relative precision is 1e-16 or 6e-8; a random system has 0.001 to 100 times the error of the bound's estimate. In
 * float32 there is no useful result from a condition number of 10^10 on; in tf32 refinement no longer helps at 10^6. */
BARE_TEST(errors_grow_with_the_condition_number) {
    double y[LAB_COLUMNS], refined[LAB_COLUMNS];
    for (int i = 0; i < lab_conditioning.n_x; i++) {
        const double kappa = lab_conditioning.x[i];
        for (int part = 0; part < 2; part++) {
            measure(&lab_conditioning, 0, FLOAT64, kappa, y);
            assert_true(kappa > 1e6 || (1e-18 * kappa < y[part] && y[part] < 2e-14 * kappa));
            assert_true(y[part] < 1e-3);
            measure(&lab_conditioning, 0, FLOAT32, kappa, y);
            assert_true(kappa > 1e6 || (6e-11 * kappa < y[part] && y[part] < 6e-6 * kappa));
            assert_true(kappa < 1e10 || isnan(y[part]) || y[part] > 0.05);
            measure(&lab_conditioning, 0, FLOAT32_REFINED, kappa, y);
            assert_true(kappa > 1e6 || y[part] < 2e-14 * kappa);
        }
    }
    measure(&lab_conditioning, 0, TF32, 100, y);
    measure(&lab_conditioning, 0, TF32_REFINED, 100, refined);
    for (int part = 0; part < 2; part++)
        assert_true(refined[part] < 1e-12 && y[part] > 1e-4);
    measure(&lab_conditioning, 0, TF32_REFINED, 1e6, refined);
    assert_true(refined[0] > 0.01 && refined[1] > 0.01);
}

/* The gradients -u w_K^T and -u w^T differ by the error of w_K. The part of sum_j (I - A)^j w_bar w^T after K terms is
 * at most (1 + K (1 - radius) / radius) radius^K times the condition number of A. */
BARE_TEST(implicit_gradients_are_off_as_the_solution_is) {
    static const double radius[] = {0.5, 0.9, 0.99}, steps[] = {1, 3, 10, 30, 100, 1000};
    for (int which = 0; which < 3; which++)
        for (int i = 0; i < 6; i++) {
            double y[LAB_COLUMNS], bound = pow(radius[which], steps[i]), cut = bound / (1 - radius[which]);
            measure(&lab_truncation, 0, which, steps[i], y);
            assert_true(y[0] <= bound + 1e-14);
            assert_true(fabs(y[2] - y[0]) <= 1e-6 * y[0] + 1e-14);
            assert_true(0.9 * y[2] - 1e-13 <= y[1] && y[1] <= (2 + steps[i]) * cut + 1e-13);
            assert_true(y[3] <= y[0] + 2 * cut + 1e-13);
            assert_true(which > 0 || i > 0 || y[1] == 1); /* the first step from 0 does not use A */
        }
}
