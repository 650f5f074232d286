/* tests/train/test_replay.c - a run whose steps are replayed as graphs has the bits of a run without replay: losses,
 * norms and weights, with every kind of change between steps. Skipped if there is no CUDA device. */
#include "tests/device.h"
#include "tests/training_run.h"

enum { STEPS = 10 };

typedef struct trace {
    double loss[STEPS], norm[STEPS];
    int replayed; /* episodes */
} trace;

/* Changes a run before a step. */
typedef void (*event)(training_run *run, int64_t step);

/* Options of a run whose episodes have `shots` support examples and queries (0: as in planted_plans). The features'
 * options are valid until the next call. */
static run_options replayed_run(mo_feature_form form, mo_feature_place place, int episodes, int shots) {
    static mo_feature_options features;
    run_options o = usual_run;
    features = planted_features();
    features.form = form;
    features.place = place;
    o.device = MO_CUDA;
    o.features = &features;
    o.episodes = episodes;
    o.shots = shots;
    o.replay = true;
    o.steps = STEPS;
    o.checkpoint_every = 4;
    return o;
}

static run_options example_run(int episodes) {
    return replayed_run(MO_ROWS_PER_EXAMPLE, MO_FEATURES_ON_DEVICE, episodes, 3);
}

static void take_steps(const run_options *o, const char *folder, event before, trace *at) {
    HELD(training_run) run = run_open(o, folder);
    mo_step_report r;
    *at = (trace){0};
    for (int64_t step = 0; step < o->steps; step++) {
        if (before)
            before(&run, step);
        if (mo_trainer_step(run.trainer, &r) != MO_OK)
            fail_msg("%s", mo_context_status(run.ctx)->message);
        at->loss[step] = r.loss;
        at->norm[step] = r.gradient_norm;
        at->replayed += r.replayed;
        if ((step + 1) % o->checkpoint_every == 0)
            mo_trainer_checkpoint(run.trainer);
    }
    mo_trainer_finish(run.trainer);
    assert_run_ok(&run);
}

/* Takes the steps with and without replay. Returns how many episodes were replayed. */
static int compare(scratch *s, run_options o, event before) {
    static trace taken, replayed;
    const char *plain = scratch_folder(s, "plain");
    const char *graphs = scratch_folder(s, "graphs");
    o.replay = false;
    take_steps(&o, plain, NULL, &taken);
    o.replay = true;
    take_steps(&o, graphs, before, &replayed);
    assert_int_equal(taken.replayed, 0);
    assert_memory_equal(taken.loss, replayed.loss, sizeof taken.loss);
    assert_memory_equal(taken.norm, replayed.norm, sizeof taken.norm);
    assert_same_run(plain, graphs);
    return replayed.replayed;
}

/* With rows of examples every family has one shape, which is recorded at its third episode. */
TEST(one_shape_is_replayed_from_its_third_episode_on) {
    for (int place = MO_FEATURES_ON_DEVICE; place <= MO_FEATURES_ON_HOST; place++) {
        run_options o = replayed_run(MO_ROWS_PER_EXAMPLE, (mo_feature_place)place, 3, 3);
        assert_int_equal(compare(*state, o, NULL), 3 * (STEPS - 2));
    }
}

/* 30 graphs per class, of which 32 are asked for: the weights of copies are inputs of the replay too. */
TEST(supports_with_copies_are_replayed) {
    run_options o = replayed_run(MO_ROWS_PER_EXAMPLE, MO_FEATURES_ON_DEVICE, 3, 16);
    o.steps = 5;
    assert_int_equal(compare(*state, o, NULL), 3 * (5 - 2));
}

/* With rows of nodes, episodes of links and graphs have a new number of rows each time, and are run directly. */
TEST(shapes_that_change_are_computed_as_they_are) {
    static const mo_feature_place place[] = {MO_FEATURES_ON_DEVICE, MO_FEATURES_ON_HOST};
    for (int i = 0; i < 2; i++) {
        run_options o = replayed_run(MO_ROWS_PER_NODE, place[i], 2 * i + 1, 3);
        int replayed = compare(*state, o, NULL);
        assert_true(replayed > 0 && replayed < o.episodes * (STEPS - 2));
        o.shots = 0;
        assert_true(compare(*state, o, NULL) < replayed);
    }
}

TEST(blocks_of_rows_are_replayed_too) {
    run_options o = example_run(3);
    o.max_rows = 5;
    assert_int_equal(compare(*state, o, NULL), 3 * (STEPS - 2));
}

static void give_memory_back(training_run *run, int64_t step) {
    if (step % 5 == 4)
        mo_tensor_release(mo_tensor_create(run->ctx, MO_F32, 1, (int64_t[]){10}));
}

TEST(a_stale_capture_is_made_anew) {
    run_options o = example_run(1);
    int quiet = compare(*state, o, NULL);
    assert_int_equal(compare(*state, o, give_memory_back), quiet);
}

static void refuse_captures(training_run *run, int64_t step) {
    if (step == 0)
        setenv("MOCHI_CUDA_HOST_FAIL", "seam_capture_end", 1);
}

TEST(what_cannot_be_recorded_is_computed_as_it_is) {
    run_options o = example_run(3);
    char text[256];
    mo_device_describe(MO_CUDA, text, sizeof text);
    if (!strstr(text, "emulated"))
        skip("only the emulated device refuses a capture as planned");
    int replayed = compare(*state, o, refuse_captures);
    unsetenv("MOCHI_CUDA_HOST_FAIL");
    assert_int_equal(replayed, 0);
}

TEST_OF(a_failing_replay_names_its_step_and_changes_nothing, scratch *s) {
    float before[64], after[64];
    const char *folder = scratch_folder(s, "bad");
    run_options o = example_run(1);
    HELD(training_run) run = run_open(&o, folder);
    mo_step_report r = {0};
    int64_t step = 0;
    while (step < STEPS && !r.replayed) {
        assert_int_equal(mo_trainer_step(run.trainer, &r), MO_OK);
        step++;
    }
    int n = mo_model_n_parameters(run.model);
    for (int i = 0; i < n; i++) {
        mo_tensor *P = mo_model_parameter(run.model, i);
        if (strstr(mo_tensor_name(P), "log_weight")) /* weights of the rows' parts, which every readout reads */
            mo_tensor_fill(P, NAN);
    }
    mo_tensor *first = mo_model_parameter(run.model, 0);
    size_t bytes = (size_t)mo_numel(first) * sizeof *before;
    assert_true(bytes <= sizeof before);
    mo_tensor_read(first, before, bytes);
    char named[64];
    snprintf(named, sizeof named, "step %lld", (long long)step);
    assert_int_not_equal(mo_trainer_step(run.trainer, &r), MO_OK);
    assert_failed(run.ctx, MO_NUMERICAL, PARTS("train: ", named));
    mo_tensor_read(first, after, bytes);
    assert_memory_equal(before, after, bytes);
}

TEST_OF(a_device_that_records_nothing_is_an_error, scratch *s) {
    HELD(mo_context) *ctx = mo_context_create(NULL);
    HELD(mo_pool) *pool = planted_pool(ctx);
    HELD(mo_model) *model = planted_model(ctx, 1);
    mo_trainer_options o = planted_steps(1, 1, 1, scratch_path(s, "never"));
    o.replay = true;
    assert_null(mo_trainer_create(model, pool, &o));
    assert_failed(
        ctx, MO_UNSUPPORTED, PARTS("train: the device cpu does its work at once, there is nothing to capture"));
    assert_int_equal(access(o.out, F_OK), -1);
}

int main(void) {
    mo_context_release(device_context(MO_CUDA));
    return run_suite();
}
