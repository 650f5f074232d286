/* tests/ops/test_logdet.c - log determinants: beyond the range of the determinant itself, and of matrices whose sign is
 * left out; test_ops_gradient.c counts factorizations. */
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

/* Exactly, not only up to rounding. */
TEST_OF(gradients_of_symmetric_matrices_are_symmetric, fixture *f) {
    double *A = zeros(75, 1); /* three symmetric diagonally dominant matrices of order 5 */
    for (int i = 0; i < 75; i++)
        A[i] = (i % 25) % 6 == 0 ? 4 : 0.1 * (i % 25 % 5 + i % 25 / 5);
    mo_tensor *X = mo_require_grad(tensor_of(f, MO_F64, 3, (int64_t[]){3, 5, 5}, A)), *y = mo_logdet(f->t, X), *grad;
    assert_int_equal(mo_grad(f->t, &y, NULL, 1, &X, &grad, 1, 0), MO_OK);
    double *g = values_of(f, grad);
    for (int k = 0; k < 75; k++)
        assert_true(g[k] == g[k / 25 * 25 + k % 5 * 5 + k % 25 / 5]);
}
