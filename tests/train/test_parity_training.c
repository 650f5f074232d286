/* tests/train/test_parity_training.c - training on CUDA follows training on the CPU: 50 steps from the same weights and
 * features, one episode of each family per step, in every math mode. Skipped if there is no CUDA device. */
#include "tests/device.h"
#include "tests/parity_run.h"
#include "tests/worst_of.h"

enum { STEPS = 50 };

/* AdamW divides by the root of the second moment, which turns the rounding of small gradients into steps of full size:
 * losses drift apart by more than one step's rounding, the more the higher the learning rate. */
static const double tolerance[] = {[MO_MATH_FP32] = 1e-4, [MO_MATH_TF32] = 1e-3, [MO_MATH_BF16] = 5e-3};

static void compare_runs(scratch *s, mo_math math, int64_t max_rows) {
    static parity_run cpu, cuda;
    double worst = 0, worst_norm = 0;
    mo_context_release(device_context(MO_CUDA));
    HELD(mo_context) *on_cpu = device_context(MO_CPU);
    HELD(mo_context) *on_cuda = mo_context_create(&(mo_context_options){.device = MO_CUDA, .threads = 1, .math = math});
    parity_train(on_cpu, s, "cpu", max_rows, STEPS, &cpu);
    parity_train(on_cuda, s, "cuda", max_rows, STEPS, &cuda);
    for (int i = 0; i < STEPS; i++) {
        double difference = fabs(cuda.loss[i] - cpu.loss[i]);
        if (!(difference <= tolerance[math]))
            fail_msg("step %d: loss %.9g, on the CPU %.9g", i, cuda.loss[i], cpu.loss[i]);
        worst = fmax(worst, difference);
        worst_norm = worst_of(worst_norm, fabs(cuda.norm[i] - cpu.norm[i]) / cpu.norm[i]);
    }
    print_message(
        "%d steps: losses differ by at most %.2g, gradient norms by %.2g of themselves\n", STEPS, worst, worst_norm);
    assert_true(cpu.loss[STEPS - 1] < cpu.loss[0]);
}

TEST_OF(fifty_steps_have_the_losses_of_the_cpu, scratch *s) {
    compare_runs(s, MO_MATH_FP32, 0);
}

TEST_OF(steps_in_blocks_of_rows_have_them_too, scratch *s) {
    compare_runs(s, MO_MATH_FP32, 16);
}

TEST_OF(narrower_products_follow_them_from_further_off, scratch *s) {
    compare_runs(s, MO_MATH_TF32, 0);
    compare_runs(s, MO_MATH_BF16, 0);
}
