/* tests/ops/test_where.c - choices: values that are not taken have no effect, ties go to the first; powers at the edge
 * of their domain. */
#include "ops/inside.h"
#include "tests/toy_ops.h"

static void expect(const char *what, const mo_tensor *T, int n, const double *expected) {
    assert_int_equal(mo_numel(T), n);
    for (int i = 0; i < n; i++) {
        double got = at(T, i);
        if (!(fabs(got - expected[i]) <= 1e-14 * fmax(1, fabs(expected[i])) || got == expected[i]))
            fail_msg("%s, element %d: %.17g, expected %.17g", what, i, got, expected[i]);
    }
}

static mo_tensor *leaf(toy *y, int n, const double *x) {
    return mo_require_grad(mo_from(y->t, MO_F64, 1, (int64_t[]){n}, x));
}

/* NaN and Inf on the side that was not taken, in value and in gradient of a function with an infinite slope there. */
static void what_is_not_taken_does_not_pass(void **state) {
    toy *y = *state;
    mo_tensor *mask = mo_from(y->t, MO_U8, 1, (int64_t[]){3}, (uint8_t[]){1, 0, 255});
    mo_tensor *A = leaf(y, 3, (double[]){1, NAN, 3}), *B = leaf(y, 3, (double[]){INFINITY, 5, NAN}), *grads[2];
    mo_tensor *Y = mo_where(y->t, mask, A, B);
    expect("where", Y, 3, (double[]){1, 5, 3});
    mo_tensor *g = mo_from(y->t, MO_F64, 1, (int64_t[]){3}, (double[]){NAN, 7, INFINITY});
    assert_int_equal(mo_grad(y->t, &Y, &g, 1, (mo_tensor *[]){A, B}, grads, 2, 0), MO_OK);
    assert_true(isnan(at(grads[0], 0)) && at(grads[0], 1) == 0 && at(grads[0], 2) == (double)INFINITY);
    expect("B_bar", grads[1], 3, (double[]){0, 7, 0});
}

static void a_condition_of_reals_holds_unless_zero(void **state) {
    toy *y = *state;
    mo_tensor *C = leaf(y, 4, (double[]){0, -0.0, -2, NAN}), *A = leaf(y, 1, (double[]){1}),
              *B = leaf(y, 1, (double[]){2});
    mo_tensor *Y = mo_where(y->t, C, A, B), *grads[3];
    expect("where", Y, 4, (double[]){2, 2, 1, 1});
    assert_int_equal(mo_grad(y->t, &Y, NULL, 1, (mo_tensor *[]){A, B, C}, grads, 3, 0), MO_OK);
    expect("A_bar", grads[0], 1, (double[]){2});
    expect("B_bar", grads[1], 1, (double[]){2});
    expect("C_bar", grads[2], 4, (double[]){0, 0, 0, 0});
}

static void check_extremum(
    toy *y, mo_tensor *(*op)(mo_tape *, mo_tensor *, mo_tensor *), const double *value, const double *A_bar) {
    mo_tensor *A = leaf(y, 3, (double[]){1, 2, 3}), *B = leaf(y, 3, (double[]){3, 2, 1}), *grads[2];
    mo_tensor *Y = op(y->t, A, B);
    expect("value", Y, 3, value);
    assert_int_equal(mo_grad(y->t, &Y, NULL, 1, (mo_tensor *[]){A, B}, grads, 2, 0), MO_OK);
    expect("A_bar", grads[0], 3, A_bar);
    expect("B_bar", grads[1], 3, (double[]){1 - A_bar[0], 1 - A_bar[1], 1 - A_bar[2]});
    mo_tensor *bad = leaf(y, 3, (double[]){NAN, NAN, NAN});
    assert_true(isnan(at(op(y->t, A, bad), 0)) && isnan(at(op(y->t, bad, A), 1)));
}

/* The value is NaN where either operand is; so the gradient goes to the NaN, to the first of two. */
static void the_gradient_goes_to_the_nan_that_was_taken(void **state) {
    toy *y = *state;
    mo_tensor *(*const ops[])(mo_tape *, mo_tensor *, mo_tensor *) = {mo_larger, mo_smaller};
    for (int i = 0; i < 2; i++) {
        mo_tensor *A = leaf(y, 3, (double[]){NAN, 1, NAN}), *B = leaf(y, 3, (double[]){1, NAN, NAN}), *grads[2];
        mo_tensor *Y = ops[i](y->t, A, B);
        assert_true(isnan(at(Y, 0)) && isnan(at(Y, 1)) && isnan(at(Y, 2)));
        assert_int_equal(mo_grad(y->t, &Y, NULL, 1, (mo_tensor *[]){A, B}, grads, 2, 0), MO_OK);
        expect("A_bar", grads[0], 3, (double[]){1, 0, 1});
        expect("B_bar", grads[1], 3, (double[]){0, 1, 0});
    }
}

static void ties_of_maximum_and_minimum_go_to_the_first(void **state) {
    check_extremum(*state, mo_larger, (double[]){3, 2, 3}, (double[]){0, 1, 1});
    check_extremum(*state, mo_smaller, (double[]){1, 2, 1}, (double[]){1, 1, 0});
}

/* x^0 is 1 with slope 0 everywhere; 0^p has slope 0 for p > 1, 1 for p = 1, infinity below. */
static void plain_powers_at_zero(void **state) {
    toy *y = *state;
    const double exponents[] = {0, 1, 2, 3, 0.5}, slopes[] = {0, 1, 0, 0, INFINITY};
    for (int i = 0; i < 5; i++) {
        mo_tensor *X = leaf(y, 1, (double[]){0}), *Y = mo_pow(y->t, X, exponents[i]), *grad;
        assert_int_equal(mo_grad(y->t, &Y, NULL, 1, &X, &grad, 1, 0), MO_OK);
        expect("0^p", Y, 1, (double[]){i == 0});
        expect("slope", grad, 1, &slopes[i]);
    }
}

static void powers_of_zero_have_finite_gradients(void **state) {
    toy *y = *state;
    mo_tensor *A = leaf(y, 4, (double[]){0, 0, 0, 2}), *B = leaf(y, 4, (double[]){0, 1, 2, 0}), *grads[2];
    mo_tensor *Y = mo_pow_entries(y->t, A, B);
    expect("A^B", Y, 4, (double[]){1, 0, 0, 1});
    assert_int_equal(mo_grad(y->t, &Y, NULL, 1, (mo_tensor *[]){A, B}, grads, 2, MO_CREATE_GRAPH), MO_OK);
    expect("A_bar", grads[0], 4, (double[]){0, 1, 0, 0});
    expect("B_bar", grads[1], 4, (double[]){0, 0, 0, log(2)});
    mo_tensor *second; /* d/dB of B A^(B-1) at B = 0 is A^-1 */
    assert_int_equal(mo_grad(y->t, &grads[0], NULL, 1, &B, &second, 1, 0), MO_OK);
    assert_true(fabs(at(second, 3) - 0.5) < 1e-15);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_not_taken_does_not_pass, toy_create, toy_release),
        cmocka_unit_test_setup_teardown(a_condition_of_reals_holds_unless_zero, toy_create, toy_release),
        cmocka_unit_test_setup_teardown(ties_of_maximum_and_minimum_go_to_the_first, toy_create, toy_release),
        cmocka_unit_test_setup_teardown(the_gradient_goes_to_the_nan_that_was_taken, toy_create, toy_release),
        cmocka_unit_test_setup_teardown(plain_powers_at_zero, toy_create, toy_release),
        cmocka_unit_test_setup_teardown(powers_of_zero_have_finite_gradients, toy_create, toy_release),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
