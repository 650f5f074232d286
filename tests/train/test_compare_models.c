/* tests/train/test_compare_models.c - compares two models on the same episodes: figures by task, finding the worse
 * model, episodes that training never draws. */
#include "tests/copies.h"

static mo_plan_options plans(void) {
    return (mo_plan_options){.k_min = 4, .k_max = 4, .q_min = 8, .q_max = 8, .max_classes = 8, .seed = 5};
}

TEST_OF(equal_models_do_not_differ, scratch *s) {
    HELD(mo_pool) *pool = pool_of_copies(s->ctx, NULL);
    mo_model *models[2] = {mo_invariant_create(s->ctx, MO_F32, NULL), mo_invariant_create(s->ctx, MO_F32, NULL)};
    mo_plan_options o = plans();
    mo_paired f[MO_TASKS];
    assert_int_equal(mo_compare_models(pool, models, &o, (uint64_t)1 << 40, 6, f), MO_OK);
    for (int task = 0; task <= MO_TASK_LP; task++) {
        assert_int_equal(f[task].n, 6);
        assert_true(f[task].mean[0] == f[task].mean[1] && f[task].mean[0] > 100.0 / 3);
        assert_true(f[task].difference == 0 && f[task].ci95 == 0);
    }
    assert_true(f[MO_TASK_GC].n == 0 && isnan(f[MO_TASK_GC].difference));
    assert_int_equal(mo_compare_models(pool, models, &o, 0, 0, f), MO_INVALID);
    assert_failed(s->ctx, MO_INVALID, PARTS("compare: 0 episodes"));
    mo_model_release(models[0]);
    mo_model_release(models[1]);
}

/* With structure and attributes switched off (weights e^-30), only degrees remain, which say less about the classes. */
TEST_OF(a_spoiled_model_is_below, scratch *s) {
    HELD(mo_pool) *pool = pool_of_copies(s->ctx, NULL);
    mo_model *models[2] = {mo_invariant_create(s->ctx, MO_F32, NULL), mo_invariant_create(s->ctx, MO_F32, NULL)};
    mo_plan_options o = plans();
    mo_paired f[MO_TASKS];
    float weight[MO_TASKS][3] = {{-30, -30, 0}, {-30, -30, 0}};
    mo_tensor_write(mo_model_parameter(models[0], 2), weight, sizeof weight);
    assert_string_equal(mo_tensor_name(mo_model_parameter(models[0], 2)), "encoder.log_weight");
    assert_int_equal(mo_compare_models(pool, models, &o, (uint64_t)1 << 40, 60, f), MO_OK);
    assert_true(f[MO_TASK_NC].difference + f[MO_TASK_NC].ci95 < 0);
    assert_true(fabs(f[MO_TASK_NC].mean[0] - f[MO_TASK_NC].mean[1] - f[MO_TASK_NC].difference) < 1e-9);
    mo_model_release(models[0]);
    mo_model_release(models[1]);
}
