/* tests/tensor/test_bad_device.c - a missing or too small device, and a pivot that is no number: each gives one
 * clear line, after which the context still works. Skipped if there is no CUDA device. */
#include "ops/inside.h"
#include "tests/device.h"
#include "tests/scratch.h"

/* Elimination overflows to inf - inf: the last pivot is NaN. */
TEST(a_pivot_that_is_not_a_number_is_singular) {
    HELD(mo_context) *ctx = device_context(MO_CUDA);
    HELD(mo_tape) *t = mo_tape_create(ctx, MO_RECORD);
    double h = 1.7e308, A[16] = {1, -0.9, -0.9, 0, 0, 1, 0, 0.5, 0, 0, 1, -0.5, h, h, h, 1}, B[4] = {1, 1, 1, 1}, X[4];
    mo_tensor *a = mo_from(t, MO_F64, 2, (int64_t[]){4, 4}, A), *b = mo_from(t, MO_F64, 2, (int64_t[]){4, 1}, B);
    assert_int_not_equal(mo_tensor_read(mo_solve(t, a, b), X, sizeof X), MO_OK);
    assert_failed(ctx, MO_NUMERICAL, PARTS("solve: the matrix is singular to working precision"));
}

TEST(too_large_a_tensor_names_bytes_asked_held_and_free) {
    HELD(mo_context) *ctx = device_context(MO_CUDA);
    HELD(mo_tape) *t = mo_tape_create(ctx, MO_RECORD);
    int64_t n = (int64_t)1 << 42;
    char asked[64];
    snprintf(asked, sizeof asked, "%" PRId64 " bytes", n * 4);
    mo_tensor *small = mo_full(t, MO_F32, 1, (int64_t[]){4}, 1);
    assert_false(mo_is_null(small));
    assert_true(mo_is_null(mo_full(t, MO_F32, 1, &n, 1)));
    assert_failed(ctx, MO_MEMORY, PARTS("out of memory", asked, "held", "free"));
    mo_tape_reset(t);
    assert_true(mo_item(mo_sum(t, mo_full(t, MO_F32, 1, (int64_t[]){4}, 3), MO_ALL, MO_DROP_AXES)) == 12);
    assert_true(mo_ok(ctx));
}

TEST(a_missing_device_is_one_line) {
    mo_context_release(device_context(MO_CUDA));
    setenv("MOCHI_CUDA_HOST_FAIL", "seam_open", 1);
    HELD(mo_context) *ctx = mo_context_create(&(mo_context_options){.device = MO_CUDA});
    unsetenv("MOCHI_CUDA_HOST_FAIL");
    if (mo_ok(ctx))
        skip("only the emulated device disappears as planned");
    assert_failed(ctx, MO_UNSUPPORTED, PARTS("cuda: no device to compute on: a failure planned by the test"));
}
