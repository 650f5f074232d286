/* tests/train/test_schedule.c - the cosine schedule: its ends and middle, and the rates that PyTorch gave (stored). */
#include "tests/scratch.h"
#include "train/inside.h"

#include <math.h>

static const fixtures around_all = {scratch_create, scratch_release};

TEST(cosine_starts_at_lr_and_stops_one_step_before_lr_min) {
    (void)state;
    assert_true(mo_cosine(3e-4, 1e-5, 0, 100) == 3e-4);
    assert_true(fabs(mo_cosine(3e-4, 1e-5, 50, 100) - 1.55e-4) < 1e-18);
    assert_true(mo_cosine(3e-4, 0, 99, 100) > 0);
    assert_true(fabs(mo_cosine(3e-4, 1e-5, 100, 100) - 1e-5) < 1e-18);
}

TEST(cosine_never_rises) {
    (void)state;
    for (int64_t step = 1; step < 1000; step++)
        assert_true(mo_cosine(1e-2, 0, step, 1000) < mo_cosine(1e-2, 0, step - 1, 1000));
}

TEST(rates_are_those_of_the_stored_trajectory) {
    scratch *s = *state;
    mo_arrays *file = mo_npz_read(s->ctx, "tests/golden/step.npz");
    assert_non_null(file);
    double lr[5];
    assert_int_equal(mo_tensor_read(mo_arrays_find(file, "traj.lr"), lr, sizeof lr), MO_OK);
    for (int step = 0; step < 5; step++)
        assert_true(fabs(mo_cosine(lr[0], 1e-5, step, 5) - lr[step]) < 1e-12 * lr[0]);
    mo_arrays_release(file);
}
