/* tests/training_run.h - a whole training run on the planted pool, in its own context, and its files. */
#ifndef TRAINING_RUN_H
#define TRAINING_RUN_H

#include "tests/folder.h"
#include "tests/planted.h"
#include "train/run/trainer.h"

typedef struct training_run {
    mo_context *ctx;
    mo_pool *pool;
    mo_model *model;
    mo_trainer *trainer;
} training_run;

/* Options in which runs differ. */
typedef struct run_options {
    int threads, episodes;
    int64_t steps, checkpoint_every, max_rows;
    uint64_t seed;
    double lr;
    const char *settings;
    mo_device device;
    int index; /* index of the device */
    int shots; /* number of support examples and of queries, all 3 classes together; 0: as in planted_plans */
    bool replay;
    const mo_feature_options *features; /* NULL: planted_features; rows of examples make the run use the invariant
                                         * model */
} run_options;

static const run_options usual_run = {
    .threads = 1, .episodes = 3, .steps = 8, .checkpoint_every = 3, .seed = 1, .lr = 1e-2};

static inline training_run run_open(const run_options *o, const char *folder) {
    training_run run = {
        .ctx = mo_context_create(&(mo_context_options){.device = o->device, .index = o->index, .threads = o->threads})};
    mo_feature_options features = o->features ? *o->features : planted_features();
    run.pool = planted_pool_of(run.ctx, &features);
    run.model = features.form == MO_ROWS_PER_EXAMPLE ? mo_invariant_create(run.ctx, MO_F32, NULL)
                                                     : planted_model(run.ctx, o->seed);
    mo_trainer_options options = planted_steps(o->steps, o->episodes, o->lr, folder);
    options.adamw.weight_decay = 1e-4;
    options.plan.seed = o->seed;
    options.max_rows = o->max_rows;
    options.checkpoint_every = o->checkpoint_every;
    options.replay = o->replay;
    options.settings = o->settings;
    if (o->shots)
        options.plan.k_min = options.plan.k_max = options.plan.q_min = options.plan.q_max = o->shots;
    run.trainer = mo_trainer_create(run.model, run.pool, &options);
    if (!run.trainer)
        fail_msg("%s", mo_context_status(run.ctx)->message);
    return run;
}

/* Fails if anything of the run is still held. */
static inline void run_close(training_run *run) {
    mo_trainer_release(run->trainer);
    mo_model_release(run->model);
    mo_pool_release(run->pool);
    run->ctx->backend->close(run->ctx); /* frees the backend's own memory */
    assert_int_equal(mo_context_counters(run->ctx).bytes_live, 0);
    mo_context_release(run->ctx);
    *run = (training_run){0};
}

static inline void held_training_run(training_run *run) {
    run_close(run);
}

static inline void assert_run_ok(const training_run *run) {
    expect_ok(run->ctx);
}

static bool stop_at(const mo_step_report *r, void *state) {
    return r->step + 1 < *(const int64_t *)state;
}

/* Runs from the start, or from the checkpoint, until `steps` steps are taken; finishes the run if these are all. */
static inline void run_until(const run_options *o, const char *folder, bool resume, int64_t steps) {
    training_run run = run_open(o, folder);
    if (resume)
        mo_trainer_resume(run.trainer);
    mo_trainer_run(run.trainer, stop_at, &steps);
    if (steps >= o->steps)
        mo_trainer_finish(run.trainer);
    assert_run_ok(&run);
    run_close(&run);
}

static inline bytes run_file(const char *folder, const char *name) {
    char path[600];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return read_bytes(path);
}

/* Removes all files of a run but run.json, as for a run whose first save was cut short. */
static inline void leave_run_json(const char *folder) {
    static const char *const later[] = {"log.jsonl", "checkpoint.safetensors", "checkpoint.previous.safetensors"};
    char path[600];
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, later[i]);
        assert_int_equal(unlink(path), 0);
    }
}

/* The log without its times. */
static inline bytes run_log(const char *folder) {
    bytes log = run_file(folder, "log.jsonl"), timeless = {0};
    for (size_t at = 0; at < log.n;) {
        const char *line = (const char *)log.data + at, *end = memchr(line, '\n', log.n - at);
        assert_non_null(end);
        json_t *object = json_loadb(line, (size_t)(end - line), JSON_REJECT_DUPLICATES, NULL);
        assert_non_null(object);
        assert_int_equal(json_object_del(object, "seconds"), 0);
        char *text = json_dumps(object, JSON_COMPACT);
        bytes_append(&timeless, text, strlen(text));
        free(text);
        json_decref(object);
        at += (size_t)(end - line) + 1;
    }
    bytes_release(&log);
    return timeless;
}

static inline void assert_same_bytes(bytes a, bytes b) {
    assert_int_equal(a.n, b.n);
    assert_true(a.n > 0);
    assert_memory_equal(a.data, b.data, a.n);
    bytes_release(&a);
    bytes_release(&b);
}

/* Fails unless two runs took the same steps and ended with the same weights. */
static inline void assert_same_weights(const char *a, const char *b) {
    assert_same_bytes(run_file(a, "weights.safetensors"), run_file(b, "weights.safetensors"));
    assert_same_bytes(run_log(a), run_log(b));
}

/* As assert_same_weights, and compares the checkpoints: each run could continue the other. */
static inline void assert_same_run(const char *a, const char *b) {
    assert_same_weights(a, b);
    assert_same_bytes(run_file(a, "checkpoint.safetensors"), run_file(b, "checkpoint.safetensors"));
}

#endif
