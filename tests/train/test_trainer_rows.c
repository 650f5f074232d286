/* tests/train/test_trainer_rows.c - runs that encode in blocks of rows: the same bits at any thread count and after any
 * interruption, and nearly the weights of a run without blocks. */
#include "tests/training_run.h"

static const fixtures around_all = {scratch_create, planted_release};

static char *folder_of(scratch *s, int which) {
    static char path[2][512];
    snprintf(path[which], sizeof path[which], "%s/run%d", s->folder, which);
    return path[which];
}

static int clean_up(void **state) {
    for (int i = 0; i < 2; i++)
        folder_remove(folder_of(*state, i));
    return 0;
}

static const fixtures around_each = {NULL, clean_up};

TEST(thread_count_and_interruption_change_no_bit) {
    run_options o = usual_run;
    char *whole = folder_of(*state, 0), *other = folder_of(*state, 1);
    o.max_rows = 7;
    run_until(&o, whole, false, o.steps);
    o.threads = 2;
    run_until(&o, other, false, o.steps);
    assert_same_run(whole, other);
    for (int64_t stop = 1; stop < o.steps; stop += 2) {
        folder_remove(other);
        run_until(&o, other, false, stop);
        run_until(&o, other, true, o.steps);
        assert_same_run(whole, other);
    }
}

/* The first step moves parameters by about the learning rate; gradients differ in their last digits. */
TEST(blocks_change_the_order_of_sums_alone) {
    run_options o = usual_run;
    mo_step_report r[2];
    for (int i = 0; i < 2; i++) {
        o.max_rows = i ? 7 : 0;
        training_run run = run_open(&o, folder_of(*state, i));
        mo_trainer_step(run.trainer, &r[i]);
        assert_run_ok(&run);
        run_close(&run);
    }
    if (!(fabs(r[0].loss - r[1].loss) < 1e-6) || !(fabs(r[0].gradient_norm - r[1].gradient_norm) < 1e-5))
        fail_msg(
            "loss %.9g and %.9g, norm %.9g and %.9g", r[0].loss, r[1].loss, r[0].gradient_norm, r[1].gradient_norm);
    for (int task = 0; task < MO_TASKS; task++)
        assert_true(r[0].accuracy[task] == r[1].accuracy[task]);
}

TEST(a_run_keeps_its_blocks) {
    run_options o = usual_run;
    char *folder = folder_of(*state, 0);
    o.max_rows = 7;
    run_until(&o, folder, false, 2);
    o.max_rows = 8;
    training_run run = run_open(&o, folder);
    mo_trainer_resume(run.trainer);
    assert_failed(run.ctx, MO_INVALID, PARTS("trainer.max_rows = 7", "8"));
    run_close(&run);
    HELD(mo_context) *ctx = mo_context_create(NULL);
    HELD(mo_pool) *pool = planted_pool(ctx);
    HELD(mo_model) *model = planted_model(ctx, 1);
    assert_null(mo_trainer_create(
        model, pool, &(mo_trainer_options){.steps = 1, .episodes_per_step = 1, .max_rows = -1, .out = folder}));
    assert_failed(ctx, MO_INVALID, PARTS("train: max_rows is -1, expected 0 (all) or more"));
}
