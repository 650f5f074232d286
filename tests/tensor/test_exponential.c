/* tests/tensor/test_exponential.c - our e^x, tanh x and log(1 + u) against the C library's in a wider type. */
typedef double real;
#include "tensor/exponential.h"
#include "tests/suite.h"

/* Fails if found is more than `limit` units in the last place of expected apart. The unit is at least that of `least`,
 * the smallest normal number. */
static void assert_within_ulps(double found, long double expected, double ulp_of_1, double least, double limit) {
    double unit = ulp_of_1 * fmax(ldexp(1, ilogb((double)expected)), least);
    double ulps = (double)fabsl((found - expected) / unit);
    if (!(ulps <= limit))
        fail_msg("%.17g differs from %.17Lg by %g units in the last place", found, expected, ulps);
}

TEST(float32_is_within_2_units_everywhere) {
    for (int i = -103000; i <= 88700; i++) {
        float x = (float)i / 1000;
        assert_within_ulps(exp_f(x), expl(x), 0x1p-23, FLT_MIN, 2);
    }
}

TEST(float64_is_within_2_units_everywhere) {
    for (int i = -745000; i <= 709700; i++) {
        double x = (double)i / 1000;
        assert_within_ulps(exp_d(x), expl(x), 0x1p-52, DBL_MIN, 2);
    }
}

TEST(near_zero_it_is_one_plus_x) {
    for (double x = 1e-300; x < 1e-3; x *= 1.37) {
        assert_within_ulps(exp_d(x), expl(x), 0x1p-52, DBL_MIN, 1);
        assert_within_ulps(exp_d(-x), expl(-x), 0x1p-52, DBL_MIN, 1);
    }
    assert_true(exp_d(0) == 1 && exp_d(-0.0) == 1 && exp_f(0) == 1);
}

TEST(limits_are_those_of_the_c_library) {
    assert_true(exp_d(INFINITY) == INFINITY && exp_d(-INFINITY) == 0 && isnan(exp_d(NAN)));
    assert_true(exp_f(INFINITY) == INFINITY && exp_f(-INFINITY) == 0 && isnan(exp_f(NAN)));
    assert_true(exp_d(709.79) == INFINITY && exp_d(-745.2) == 0 && exp_d(-745) > 0);
    assert_true(exp_f(88.73f) == INFINITY && exp_f(-104.1f) == 0 && exp_f(-103) > 0);
}

TEST(tanh_is_within_3_units_and_odd) {
    for (double x = 1e-300; x < 50; x *= 1.0007) {
        assert_within_ulps(tanh_d(x), tanhl(x), 0x1p-52, DBL_MIN, 3);
        assert_true(tanh_d(-x) == -tanh_d(x));
    }
    for (float x = 1e-37f; x < 50; x *= 1.0001f)
        assert_within_ulps(tanh_f(x), tanhl(x), 0x1p-23, FLT_MIN, 3);
    assert_true(tanh_d(INFINITY) == 1 && tanh_d(-INFINITY) == -1 && isnan(tanh_d(NAN)) && signbit(tanh_d(-0.0)));
    assert_true(tanh_f(INFINITY) == 1 && tanh_f(-INFINITY) == -1 && isnan(tanh_f(NAN)) && signbit(tanh_f(-0.0f)));
}

TEST(log_of_one_plus_u_is_within_3_units) {
    for (int i = 0; i <= 100000; i++) {
        double u = (double)i / 100000;
        assert_within_ulps(log1p_of(u), log1pl(u), 0x1p-52, DBL_MIN, 3);
    }
    for (double u = 1e-300; u < 1e-3; u *= 1.37)
        assert_within_ulps(log1p_of(u), log1pl(u), 0x1p-52, DBL_MIN, 3);
    assert_true(isnan(log1p_of(NAN)) && log1p_of(0) == 0);
}
