/* tests/models/test_kernel_mixture.c - the mixture's second kernel against loops, and the cases that omit it. */
#include "models/inside.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/largest_difference.h"
#include "tests/mixture_rows.h"

/* k(x, y) = 1 + exp(-gamma |x - y|^2) from two rows of A [n, d] and B [m, d]. */
static mo_tensor *kernel_of(mo_tape *t, mo_tensor *A, mo_tensor *B, double gamma) {
    int64_t n = mo_dim(A, 0), m = mo_dim(B, 0), d = mo_dim(A, 1);
    double a[64], b[64], k[64];
    mo_tensor_read(A, a, (size_t)(n * d) * sizeof *a);
    mo_tensor_read(B, b, (size_t)(m * d) * sizeof *b);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < m; j++) {
            double square = 0;
            for (int64_t c = 0; c < d; c++)
                square += (a[i * d + c] - b[j * d + c]) * (a[i * d + c] - b[j * d + c]);
            k[i * m + j] = 1 + exp(-gamma * square);
        }
    return mo_from(t, MO_F64, 2, (int64_t[]){n, m}, k);
}

/* With priors that leave the kernel of one expert and penalty alone. */
static void gamma_adds_a_ridge_of_its_kernel(void **state) {
    enum { N = 7, Q = 4, DIM = 3 };
    mo_context *ctx = *state;
    mo_tape *t = mo_tape_create(ctx, MO_EVAL);
    mo_tensor *Zs = draw(ctx, 3, (int64_t[]){2, N, DIM}, 1, 1), *Zq = draw(ctx, 3, (int64_t[]){2, Q, DIM}, 1, 2);
    mo_tensor *Y = labels(ctx, N, 3), *weight;
    const double lambda[] = {1, 1, 1, 1, 1, 1, 1, 0.3}, prior[] = {0, 0, 0, 0, 0, 0, 0, 500}, gamma = 0.6;
    mo_mixture mix = {mo_from(t, MO_F64, 2, (int64_t[]){4, 2}, lambda), mo_from(t, MO_F64, 2, (int64_t[]){4, 2}, prior),
        mo_scalar(t, MO_F64, 1), mo_scalar(t, MO_F64, 0.5), mo_scalar(t, MO_F64, 8), mo_scalar(t, MO_F64, gamma), NULL};
    mo_tensor *got = mo_ridge_mixture(t, Zs, Y, Zq, &mix, &weight);
    assert_int_equal(mo_dim(weight, 0), 4);
    mo_tensor *S = mo_reshape(t, mo_slice(t, Zs, MO_AXIS(0), 1, 2), 2, (int64_t[]){N, DIM});
    mo_tensor *K = mo_add_diag(t, kernel_of(t, S, S, gamma), mo_scalar(t, MO_F64, 0.3));
    mo_tensor *X = mo_reshape(t, mo_slice(t, Zq, MO_AXIS(0), 1, 2), 2, (int64_t[]){Q, DIM});
    mo_tensor *expected = mo_matmul(t, kernel_of(t, X, S, gamma), mo_solve_spd(t, K, Y));
    assert_true(largest_difference(got, expected) < 1e-10);
    mo_tape_release(t);
    mo_tensor_release(Zs);
    mo_tensor_release(Zq);
    mo_tensor_release(Y);
}

/* For more rows than this the mixture uses inner products alone, as the Gaussian kernel costs more than it gains. */
static void large_supports_are_read_by_inner_products_alone(void **state) {
    enum { N = 2050 };
    mo_context *ctx = *state;
    mo_tape *t = mo_tape_create(ctx, MO_EVAL);
    mo_tensor *Zs = draw(ctx, 3, (int64_t[]){1, N, 2}, 1, 1), *Y = labels(ctx, N, 2), *with, *without;
    mo_mixture mix = {mo_full(t, MO_F64, 2, (int64_t[]){2, 1}, 1), mo_full(t, MO_F64, 2, (int64_t[]){2, 1}, 0),
        mo_scalar(t, MO_F64, 1), mo_scalar(t, MO_F64, 0.5), mo_scalar(t, MO_F64, 8), mo_scalar(t, MO_F64, 1), NULL};
    mo_tensor *a = mo_ridge_mixture(t, Zs, Y, Zs, &mix, &with);
    mix.lambda = mix.prior = mo_full(t, MO_F64, 2, (int64_t[]){1, 1}, 1);
    mix.gamma = NULL;
    mo_tensor *b = mo_ridge_mixture(t, Zs, Y, Zs, &mix, &without);
    assert_int_equal(mo_dim(with, 0), 1);
    assert_true(largest_difference(a, b) < 1e-12);
    mo_tape_release(t);
    mo_tensor_release(Zs);
    mo_tensor_release(Y);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(gamma_adds_a_ridge_of_its_kernel, open_context, close_context),
        cmocka_unit_test_setup_teardown(large_supports_are_read_by_inner_products_alone, open_context, close_context),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
