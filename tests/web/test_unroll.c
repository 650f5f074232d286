/* tests/web/test_unroll.c - the measurement of the page's room Unroll: implicit gradients are off as the solution is,
 * and only the memory of recorded steps grows. */
#include "tests/suite.h"
#include "tools/web/page.h"

#include <math.h>

static unrolled_steps measure(double radius, uint64_t seed, int64_t K) {
    mo_context *ctx = mo_context_create(&(mo_context_options){.threads = 1});
    unrolled_steps y = page_unroll(ctx, 12, radius, seed, K);
    if (!mo_ok(ctx))
        fail_msg("%s", mo_context_status(ctx)->message);
    mo_context_release(ctx);
    return y;
}

/* The gradients -u w_K^T and -u w^T differ by the error of w_K. The part of sum_j (I - A)^j w_bar w^T after K terms is
 * at most (1 + K (1 - radius) / radius) radius^K times the condition number of A. */
BARE_TEST(implicit_gradients_are_off_as_the_solution_is) {
    static const double radius[] = {0.5, 0.9, 0.99}, steps[] = {1, 3, 10, 30, 100, 1000};
    for (int which = 0; which < 3; which++)
        for (int i = 0; i < 6; i++) {
            double bound = pow(radius[which], steps[i]), cut = bound / (1 - radius[which]);
            unrolled_steps y = measure(radius[which], 200 + (uint64_t)which, (int64_t)steps[i]);
            assert_true(y.X <= bound + 1e-14);
            assert_true(fabs(y.implicit - y.X) <= 1e-6 * y.X + 1e-14);
            assert_true(0.9 * y.implicit - 1e-13 <= y.unrolled && y.unrolled <= (2 + steps[i]) * cut + 1e-13);
            assert_true(y.neumann <= y.X + 2 * cut + 1e-13);
            assert_true(which > 0 || i > 0 || y.unrolled == 1); /* the first step from 0 does not use A */
        }
}

BARE_TEST(only_the_memory_of_recorded_steps_grows) {
    unrolled_steps few = measure(0.9, 1, 10), many = measure(0.9, 1, 1000);
    assert_true(many.unrolled_bytes >= 30 * few.unrolled_bytes);
    assert_true(many.implicit_bytes == few.implicit_bytes);
}
