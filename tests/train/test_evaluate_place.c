/* tests/train/test_evaluate_place.c - an evaluation gives the same figures for features on the device, in host memory
 * and on disk; and if the pool changes during a run, episodes planned ahead change too. Runs on the device of
 * MOCHI_DEVICE. */
#include "tests/device.h"
#include "tests/train/eval_table.h"
#include "tests/training_run.h"

static mo_pool *pool_at(mo_context *ctx, mo_feature_form form, mo_feature_place place, const char *cache) {
    mo_feature_options o = planted_features();
    o.form = form;
    o.place = place;
    o.cache = place == MO_FEATURES_ON_DISK ? cache : NULL;
    return planted_pool_of(ctx, &o);
}

static table evaluate(mo_context *ctx, const mo_source *source, mo_model *model) {
    const mo_candidate candidates[] = {{.features = "random", .model = model, .head = &mo_head_ridge},
        {.features = "hop", .hop = 2, .head = &mo_head_ridge, .lambda = 1}};
    const int64_t shots[] = {3};
    mo_eval_options o = {.n_shots = 1, .shots = shots, .seeds = 2, .seed = 3, .max_rows = 50};
    table f = {0};
    mo_evaluate(ctx, source, candidates, 2, &o, keep_row, &f);
    expect_ok(ctx);
    return f;
}

/* Fails unless a block of rows equals that part of the whole. */
static bool expect_block(mo_tape *t, mo_tensor *rows, int64_t first, int64_t examples, void *state) {
    assert_int_equal(examples, mo_dim(state, 0));
    assert_equal_bits(rows, mo_contiguous(t, mo_slice(t, state, MO_AXIS(0), first, first + mo_dim(rows, 0))));
    return true;
}

/* Compares embeddings, hops and figures of every task. */
static void compare_sources(mo_context *ctx, mo_pool *here, mo_pool *there, mo_model *model) {
    for (int i = 0; i < mo_pool_size(here); i++) {
        const mo_source *a = mo_pool_source(here, i), *b = mo_pool_source(there, i);
        for (int64_t max_rows = 0; max_rows <= 40; max_rows += 40) {
            HELD(mo_tensor) *X = mo_embed_all(model, a, max_rows), *Y = mo_embed_all(model, b, max_rows);
            assert_equal_bits(X, Y);
        }
        for (int hop = 0; hop <= PLANTED_HOPS; hop++) {
            HELD(mo_tensor) *X = mo_embed_hop(a, hop), *Y = mo_embed_hop(b, hop);
            assert_equal_bits(X, Y);
            if (b->task != MO_TASK_GC && !mo_has_example_rows(b))
                assert_int_equal(mo_embed_hop_each(b, hop, 40, expect_block, X), MO_OK);
        }
        table f = evaluate(ctx, a, model), g = evaluate(ctx, b, model);
        assert_same_means(&f, &g);
    }
}

/* Compares the best hops for several seeds, which draw different episodes. Returns how many were not hop 0. */
static int compare_best_hops(mo_context *ctx, const mo_pool *here, const mo_pool *there) {
    int others = 0;
    for (int task = 0; task < MO_TASKS; task++)
        for (uint64_t seed = 1; seed <= 6; seed++) {
            int hop = mo_best_hop(ctx, here, (mo_task)task, &mo_head_ridge, 1, seed);
            assert_int_equal(mo_best_hop(ctx, there, (mo_task)task, &mo_head_ridge, 1, seed), hop);
            assert_true(hop >= 0);
            others += hop > 0;
        }
    return others;
}

/* The CPU reads host memory in place; to a device, rows are copied from memory and from disk. */
TEST_OF(rows_on_disk_evaluate_as_those_in_memory, scratch *s) {
    const char *cache = scratch_folder(s, "cache");
    HELD(mo_context) *ctx = device_context(test_device());
    int others = 0;
    for (int form = MO_ROWS_PER_NODE; form <= MO_ROWS_PER_EXAMPLE; form++) {
        HELD(mo_pool) *host = pool_at(ctx, (mo_feature_form)form, MO_FEATURES_ON_HOST, cache);
        HELD(mo_pool) *disk = pool_at(ctx, (mo_feature_form)form, MO_FEATURES_ON_DISK, cache);
        HELD(mo_model) *model =
            form == MO_ROWS_PER_EXAMPLE ? mo_invariant_create(ctx, MO_F32, NULL) : planted_model(ctx, 1);
        compare_sources(ctx, host, disk, model);
        others += compare_best_hops(ctx, host, disk);
    }
    print_message("%d best hops are not hop 0\n", others);
    assert_true(others > 0);
}

TEST_OF(a_pool_that_changes_is_planned_anew, scratch *s) {
    mo_step_report r;
    double lone[MO_TASKS] = {[MO_TASK_NC] = 1}, all[MO_TASKS] = {1, 1, 1};
    const char *folder = scratch_folder(s, "run");
    run_options o = usual_run;
    o.device = test_device();
    o.episodes = 1;
    o.steps = 12;
    HELD(training_run) run = run_open(&o, folder);
    mo_pool_set_families(run.pool, lone);
    for (int step = 0; step < 6; step++) {
        if (step == 3) /* adding graphs moves the pool's sources in memory */
            for (uint64_t seed = 5; seed < 25; seed++)
                mo_pool_add(run.pool, planted_graph(run.ctx, "more", 40, 2, 0.3, 0.1, seed), 1u << MO_TASK_NC);
        assert_int_equal(mo_trainer_step(run.trainer, &r), MO_OK);
        assert_false(isnan(r.accuracy[MO_TASK_NC]));
    }
    lone[MO_TASK_NC] = 0;
    lone[MO_TASK_GC] = 1;
    mo_pool_set_families(run.pool, lone);
    assert_int_equal(mo_trainer_step(run.trainer, &r), MO_OK); /* the episode planned before is dropped */
    assert_false(isnan(r.accuracy[MO_TASK_GC]));
    mo_pool_set_families(run.pool, all);
    while (run.trainer->step < o.steps)
        assert_int_equal(mo_trainer_step(run.trainer, &r), MO_OK);
}

/* The math mode rounds the model's products, not those that make features. */
TEST(features_are_made_in_full_precision) {
    if (test_device() != MO_CUDA)
        skip("the math modes of features are tried on a GPU");
    HELD(mo_context) *full = device_context(MO_CUDA);
    HELD(mo_context) *rounded =
        mo_context_create(&(mo_context_options){.device = MO_CUDA, .threads = 1, .math = MO_MATH_BF16});
    for (int form = MO_ROWS_PER_NODE; form <= MO_ROWS_PER_EXAMPLE; form++) {
        HELD(mo_pool) *a = pool_at(full, (mo_feature_form)form, MO_FEATURES_ON_DEVICE, NULL);
        HELD(mo_pool) *b = pool_at(rounded, (mo_feature_form)form, MO_FEATURES_ON_DEVICE, NULL);
        for (int i = 0; i < mo_pool_size(a); i++) {
            const mo_arrays *x = mo_pool_source(a, i)->features->arrays, *y = mo_pool_source(b, i)->features->arrays;
            for (int64_t k = 0; k < x->count; k++)
                assert_equal_bits(x->items[k].tensor, y->items[k].tensor);
        }
    }
}

int main(void) {
    mo_context_release(device_context(test_device()));
    return run_suite();
}
