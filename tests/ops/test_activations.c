/* tests/ops/test_activations.c - smooth and piecewise functions at their extremes and kinks. */
#include "ops/inside.h"
#include "tests/toy_ops.h"

typedef mo_tensor *(*function)(mo_tape *t, mo_tensor *X);

/* f and f' at x, in float64 or float32. */
static void value_and_slope(toy *y, function f, mo_dtype real, double x, double *value, double *slope) {
    mo_tensor *X = mo_require_grad(mo_full(y->t, real, 1, (int64_t[]){1}, x)), *Y = f(y->t, X), *grad;
    assert_int_equal(mo_grad(y->t, &Y, NULL, 1, &X, &grad, 1, 0), MO_OK);
    *value = mo_item(Y);
    *slope = mo_item(grad);
}

static void assert_near(const char *what, double x, double got, double expected, double tolerance) {
    if (!(fabs(got - expected) <= tolerance * fmax(1, fabs(expected))))
        fail_msg("%s at %g: %.17g, expected %.17g", what, x, got, expected);
}

static void check(toy *y, const char *what, function f, double x, double value, double slope) {
    for (int d = 0; d < 2; d++) {
        double got, got_slope, tolerance = d ? 2e-15 : 3e-7;
        value_and_slope(y, f, d ? MO_F64 : MO_F32, x, &got, &got_slope);
        assert_near(what, x, got, value, tolerance);
        assert_near(what, x, got_slope, slope, tolerance);
    }
}

static void nothing_overflows_at_ten_thousand(void **state) {
    toy *y = *state;
    check(y, "sigmoid", mo_sigmoid, 1e4, 1, 0);
    check(y, "sigmoid", mo_sigmoid, -1e4, 0, 0);
    check(y, "softplus", mo_softplus, 1e4, 1e4, 1);
    check(y, "softplus", mo_softplus, -1e4, 0, 0);
    check(y, "tanh", mo_tanh, 1e4, 1, 0);
    check(y, "tanh", mo_tanh, -1e4, -1, 0);
    check(y, "gelu", mo_gelu, 1e4, 1e4, 1);
    check(y, "gelu", mo_gelu, -1e4, 0, 0);
}

/* Values equal the closed forms to 17 digits; a sigmoid far below 1 keeps its relative precision. */
static void values_are_those_of_the_closed_forms(void **state) {
    toy *y = *state;
    double value, slope;
    check(y, "sigmoid", mo_sigmoid, 0.5, 0.62245933120185456, 0.23500371220159449);
    check(y, "softplus", mo_softplus, 0.5, 0.97407698418010668, 0.62245933120185456);
    check(y, "tanh", mo_tanh, 0.5, 0.46211715726000976, 0.78644773296592741);
    check(y, "gelu", mo_gelu, 1, 0.84134474606854295, 1.0833154705876864);
    check(y, "gelu", mo_gelu, -0.5, -0.15426876936299344, 0.13250487534383716);
    value_and_slope(y, mo_sigmoid, MO_F64, -40, &value, &slope);
    assert_near("sigmoid / e^-40", -40, value / exp(-40), 1, 1e-15);
    value_and_slope(y, mo_gelu, MO_F64, -10, &value, &slope);
    assert_near("gelu / (-10 Phi(-10))", -10, value / -7.6198530241605e-23, 1, 1e-12);
}

/* gelu at order three: the third derivative is (x^3 - 4 x) phi(x), the fourth comes from the ops it is made of. */
static void gelu_has_no_last_order(void **state) {
    toy *y = *state;
    double x = 0.7, phi = exp(-0.5 * x * x) / sqrt(2 * acos(-1.0));
    double expected[] = {(2 - x * x) * phi, (x * x * x - 4 * x) * phi, (-x * x * x * x + 7 * x * x - 4) * phi};
    mo_tensor *X = mo_require_grad(mo_full(y->t, MO_F64, 1, (int64_t[]){1}, x)), *Y = mo_gelu(y->t, X), *grad;
    mo_grad(y->t, &Y, NULL, 1, &X, &grad, 1, MO_CREATE_GRAPH);
    for (int order = 2; order <= 4; order++) {
        Y = grad;
        assert_int_equal(mo_grad(y->t, &Y, NULL, 1, &X, &grad, 1, MO_CREATE_GRAPH), MO_OK);
        assert_near("gelu, derivative", order, mo_item(grad), expected[order - 2], 1e-14);
    }
}

static mo_tensor *clamped(mo_tape *t, mo_tensor *X) {
    return mo_clamp(t, X, -1, 2);
}

static mo_tensor *leaky(mo_tape *t, mo_tensor *X) {
    return mo_leaky_relu(t, X, 0.25);
}

static void kinks_have_the_documented_slope(void **state) {
    toy *y = *state;
    check(y, "abs", mo_abs, 0, 0, 0);
    check(y, "abs", mo_abs, -3, 3, -1);
    check(y, "leaky_relu", leaky, 0, 0, 0.25);
    check(y, "leaky_relu", leaky, -4, -1, 0.25);
    check(y, "leaky_relu", leaky, 4, 4, 1);
    check(y, "clamp", clamped, -1, -1, 1);
    check(y, "clamp", clamped, 2, 2, 1);
    check(y, "clamp", clamped, 2.5, 2, 0);
    check(y, "clamp", clamped, -1.5, -1, 0);
}

static void not_a_number_passes(void **state) {
    toy *y = *state;
    const function all[] = {mo_abs, leaky, clamped, mo_tanh, mo_sigmoid, mo_softplus, mo_gelu};
    for (int i = 0; i < 7; i++) {
        double value, slope;
        value_and_slope(y, all[i], MO_F64, NAN, &value, &slope);
        assert_true(isnan(value));
    }
    mo_clamp(y->t, mo_scalar(y->t, MO_F64, 0), NAN, 1);
    assert_failed(y->ctx, MO_INVALID, PARTS("clamp: bounds nan and 1, expected a rising pair"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nothing_overflows_at_ten_thousand, toy_create, toy_release),
        cmocka_unit_test_setup_teardown(values_are_those_of_the_closed_forms, toy_create, toy_release),
        cmocka_unit_test_setup_teardown(gelu_has_no_last_order, toy_create, toy_release),
        cmocka_unit_test_setup_teardown(kinks_have_the_documented_slope, toy_create, toy_release),
        cmocka_unit_test_setup_teardown(not_a_number_passes, toy_create, toy_release),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
