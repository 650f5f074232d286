/* tests/train/test_bf16_training.c - training in the mode bf16 on the CPU follows training in float32: 200 steps from
 * the same weights and features, one episode of each family per step. */
#include "tests/device.h"
#include "tests/parity_run.h"
#include "tests/worst_of.h"

/* Rounding a factor to 8 bits moves a product by up to 2^-9 of its terms, in either direction. */
static const double tolerance = 5e-3;

TEST_OF(two_hundred_steps_have_the_losses_of_float32, scratch *s) {
    static parity_run full, rounded, again;
    mo_context *ctx[] = {device_context_of(MO_CPU, 1),
        mo_context_create(&(mo_context_options){.threads = 1, .math = MO_MATH_BF16}),
        mo_context_create(&(mo_context_options){.threads = 2, .math = MO_MATH_BF16})};
    parity_train(ctx[0], s, "full", 0, PARITY_STEPS, &full);
    parity_train(ctx[1], s, "rounded", 0, PARITY_STEPS, &rounded);
    parity_train(ctx[2], s, "again", 0, PARITY_STEPS, &again);
    assert_memory_equal(&rounded, &again, sizeof again); /* again on two threads */
    double worst = 0;
    for (int i = 0; i < PARITY_STEPS; i++)
        worst = worst_of(worst, fabs(rounded.loss[i] - full.loss[i]));
    print_message("%d steps: losses differ by at most %.2g\n", PARITY_STEPS, worst);
    assert_true(worst > 0 && worst <= tolerance);
    assert_true(rounded.loss[PARITY_STEPS - 1] < rounded.loss[0]);
    for (int i = 0; i < 3; i++)
        mo_context_release(ctx[i]);
}
