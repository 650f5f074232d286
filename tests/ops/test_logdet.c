/* tests/ops/test_logdet.c - log determinants: beyond the range of the determinant itself, and with factors reused at
 * every order. */
#include "tests/host_matrices.h"

TEST_OF(a_determinant_beyond_the_range_has_a_logarithm, fixture *f) {
    int n = 200;
    double *A = zeros(n, n);
    for (int i = 0; i < n; i++)
        A[i * n + i] = 1e4;
    for (int d = 0; d < 2; d++) {
        double *y = values_of(f, mo_logdet(f->t, matrix(f, d ? MO_F64 : MO_F32, n, n, A)));
        double *z = values_of(f, mo_log_abs_det(f->t, matrix(f, d ? MO_F64 : MO_F32, n, n, A)));
        assert_true(fabs(y[0] / (n * log(1e4)) - 1) < 100 * epsilon(d ? MO_F64 : MO_F32));
        assert_true(fabs(z[0] - y[0]) < 100 * epsilon(d ? MO_F64 : MO_F32) * y[0]);
    }
}

TEST_OF(the_sign_is_left_out, fixture *f) {
    double *y = values_of(f, mo_log_abs_det(f->t, second_of_two(f, MO_F64, (double[]){0, 2, 0, 3, 0, 0, 0, 0, 5})));
    assert_true(y[0] == 0 && fabs(y[1] - log(30)) < 1e-15);
}

/* Draws three symmetric diagonally dominant matrices of order 5, and columns for them. */
static void draw_problem(fixture *f, mo_tensor *xs[2]) {
    double *A = zeros(75, 1), *X = normals(f, 30, 1);
    for (int i = 0; i < 75; i++)
        A[i] = (i % 25) % 6 == 0 ? 4 : 0.1 * (i % 25 % 5 + i % 25 / 5);
    xs[0] = mo_require_grad(tensor_of(f, MO_F64, 3, (int64_t[]){3, 5, 5}, A));
    xs[1] = mo_require_grad(tensor_of(f, MO_F64, 3, (int64_t[]){3, 5, 2}, X));
}

static mo_tensor *sum_of_squares(mo_tape *t, mo_tensor *X) {
    return mo_sum(t, mo_square(t, X), MO_ALL, MO_DROP_AXES);
}

/* Takes gradients in A up to order three: only forward factorizes, three times. */
static void expect_three_factorizations(fixture *f, mo_tensor *A, int64_t before, mo_tensor *y) {
    for (int order = 1; order <= 3; order++) {
        mo_tensor *s = sum_of_squares(f->t, y);
        assert_int_equal(mo_grad(f->t, &s, NULL, 1, &A, &y, 1, MO_CREATE_GRAPH), MO_OK);
    }
    assert_int_equal(mo_context_counters(f->ctx).factorizations - before, 3);
}

TEST_OF(factors_are_reused_at_every_order, fixture *f) {
    mo_tensor *xs[2];
    draw_problem(f, xs);
    mo_tensor *(*const of_one[])(mo_tape *, mo_tensor *) = {mo_logdet, mo_log_abs_det};
    mo_tensor *(*const of_two[])(mo_tape *, mo_tensor *, mo_tensor *) = {mo_solve, mo_solve_spd};
    for (int k = 0; k < 4; k++) {
        int64_t before = mo_context_counters(f->ctx).factorizations;
        mo_tensor *y = k < 2 ? of_one[k](f->t, xs[0]) : of_two[k - 2](f->t, xs[0], xs[1]);
        expect_three_factorizations(f, xs[0], before, y);
    }
}

/* Exactly, not only up to rounding. */
TEST_OF(gradients_of_symmetric_matrices_are_symmetric, fixture *f) {
    mo_tensor *xs[2], *grad;
    draw_problem(f, xs);
    mo_tensor *y = mo_logdet(f->t, xs[0]);
    assert_int_equal(mo_grad(f->t, &y, NULL, 1, xs, &grad, 1, 0), MO_OK);
    double *g = values_of(f, grad);
    for (int k = 0; k < 75; k++)
        assert_true(g[k] == g[k / 25 * 25 + k % 5 * 5 + k % 25 / 5]);
}
