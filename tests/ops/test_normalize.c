/* tests/ops/test_normalize.c - layer_norm, l2_normalize and norm where rows are ordinary, constant, tiny or zero. */
#include "ops/inside.h"
#include "tests/toy_ops.h"

static const int64_t shape[] = {3, 4};
static const double rows[12] = {0.5, -1, 2, 0.25, -3, 1, 1, 0, 7, 7, 7, 7};

static void layer_norm_gives_mean_zero_and_variance_one(void **state) {
    toy *y = *state;
    mo_tensor *X = mo_from(y->t, MO_F64, 2, shape, rows), *Y = mo_layer_norm(y->t, X, 1e-5);
    for (int i = 0; i < 3; i++) {
        double mean = 0, variance = 0, sum = 0, squares = 0;
        for (int j = 0; j < 4; j++)
            mean += rows[4 * i + j] / 4;
        for (int j = 0; j < 4; j++) {
            double d = rows[4 * i + j] - mean;
            variance += d * d / 4; /* biased */
        }
        for (int j = 0; j < 4; j++) {
            double e = (rows[4 * i + j] - mean) / sqrt(variance + 1e-5), found = at(Y, 4 * i + j);
            assert_true(fabs(found - e) <= 1e-14);
            sum += found;
            squares += found * found;
        }
        assert_true(fabs(sum) <= 1e-14);
        assert_true(i == 2 ? squares == 0 : fabs(squares / 4 - 1) < 1e-4);
    }
}

static void constant_rows_have_finite_gradients(void **state) {
    toy *y = *state;
    mo_tensor *X = toy_leaf(y->ctx, 7, 7), *Y = mo_layer_norm(y->t, X, 1e-4), *g;
    mo_tensor *G = mo_from(y->t, MO_F64, 1, (int64_t[]){2}, (double[]){1, 3});
    assert_int_equal(mo_grad(y->t, &Y, &G, 1, &X, &g, 1, 0), MO_OK);
    assert_values(g, -100, 100); /* (G - mean G) / sqrt(epsilon) */
    mo_tensor_release(X);
}

static void l2_normalize_scales_rows_to_one_or_by_epsilon(void **state) {
    toy *y = *state;
    const double x[] = {3, 4, 0, 0, 3e-7, 4e-7};
    mo_tensor *X = mo_require_grad(mo_tensor_create_from(y->ctx, MO_F64, 2, (int64_t[]){3, 2}, x)), *g;
    mo_tensor *Y = mo_l2_normalize(y->t, X, 1e-6), *G = mo_full(y->t, MO_F64, 2, (int64_t[]){3, 2}, 1);
    const double expected[] = {0.6, 0.8, 0, 0, 0.3, 0.4};
    const double slope[] = {(1 - 0.6 * 1.4) / 5, (1 - 0.8 * 1.4) / 5, 1e6, 1e6, 1e6, 1e6};
    assert_int_equal(mo_grad(y->t, &Y, &G, 1, &X, &g, 1, MO_RETAIN), MO_OK);
    for (int i = 0; i < 6; i++) {
        assert_true(fabs(at(Y, i) - expected[i]) <= 1e-15);
        assert_true(fabs(at(g, i) - slope[i]) <= 1e-9 * fmax(1, fabs(slope[i])));
    }
    mo_tensor_release(X);
}

static void norm_has_gradient_zero_at_zero(void **state) {
    toy *y = *state;
    const double x[] = {3, 4, 0, 0};
    mo_tensor *X = mo_require_grad(mo_tensor_create_from(y->ctx, MO_F64, 2, (int64_t[]){2, 2}, x)), *g, *second;
    mo_tensor *Y = mo_row_norm(y->t, X);
    assert_int_equal(mo_dim(Y, 0), 2);
    assert_int_equal(mo_dim(Y, 1), 1);
    assert_values(Y, 5, 0);
    assert_int_equal(mo_grad(y->t, &Y, NULL, 1, &X, &g, 1, MO_CREATE_GRAPH), MO_OK);
    assert_true(fabs(at(g, 0) - 0.6) <= 1e-15 && fabs(at(g, 1) - 0.8) <= 1e-15 && at(g, 2) == 0 && at(g, 3) == 0);
    assert_int_equal(mo_grad(y->t, &g, NULL, 1, &X, &second, 1, 0), MO_OK);
    assert_true(fabs(at(second, 0) - (1 - 0.6 * 1.4) / 5) <= 1e-15);
    assert_true(at(second, 2) == 0 && at(second, 3) == 0);
    mo_tensor_release(X);
}

static void epsilon_that_is_no_scale_is_refused(void **state) {
    toy *y = *state;
    mo_tensor *X = mo_from(y->t, MO_F64, 2, shape, rows);
    const double wrong[] = {-1e-9, NAN, INFINITY};
    for (int i = 0; i < 3; i++) {
        mo_layer_norm(y->t, X, wrong[i]);
        assert_failed(y->ctx, MO_INVALID, PARTS("layer_norm: epsilon", "expected 0 or more"));
        mo_l2_normalize(y->t, X, wrong[i]);
        assert_failed(y->ctx, MO_INVALID, PARTS("l2_normalize: epsilon", "got [3, 4] float64"));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(layer_norm_gives_mean_zero_and_variance_one, toy_create, toy_release),
        cmocka_unit_test_setup_teardown(constant_rows_have_finite_gradients, toy_create, toy_release),
        cmocka_unit_test_setup_teardown(l2_normalize_scales_rows_to_one_or_by_epsilon, toy_create, toy_release),
        cmocka_unit_test_setup_teardown(norm_has_gradient_zero_at_zero, toy_create, toy_release),
        cmocka_unit_test_setup_teardown(epsilon_that_is_no_scale_is_refused, toy_create, toy_release),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
