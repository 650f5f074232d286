/* train/run/run_files.c - the files of a run, as one watcher: run.json, log, checkpoints and weights.
 *
 * No file is written before the first step, and then only into a folder that is new, empty, or the run's own. */
#include "train/run/trainer.h"

#include <string.h>
#include <unistd.h>

/* Holds the run, unless this process does already. */
static void open_log(mo_trainer *trainer, bool make) {
    char path[MO_PATH];
    mo_run_path(trainer, "log.jsonl", path);
    if (trainer->log < 0)
        trainer->log =
            mo_log_open(trainer->ctx, path, make, trainer->pool->options.notice, trainer->pool->options.notice_state);
}

static void restore(mo_trainer *trainer) {
    open_log(trainer, false); /* before the checkpoint is read: none is written in between */
    bool begun = mo_ok(trainer->ctx) && mo_run_is_begun(trainer->options.out);
    if (begun)
        mo_compare_run(trainer);
    else if (mo_ok(trainer->ctx))
        trainer->restored = mo_checkpoint_read(trainer) == MO_OK;
}

static void start_files(mo_trainer *trainer, void *state, int j, const mo_episode *e) {
    mo_context *ctx = trainer->ctx;
    char path[MO_PATH];
    (void)state, (void)j, (void)e;
    if (trainer->resumed)
        restore(trainer);
    else if (mo_ok(ctx))
        mo_run_folder(ctx, trainer->options.out);
    if (!mo_ok(ctx))
        return;
    mo_run_tidy(trainer->options.out);
    mo_write_run(trainer); /* first: a folder with run.json alone can be resumed, from step 0 */
    if (!trainer->restored)
        mo_checkpoint_write(trainer); /* from now on there is a checkpoint to resume from */
    open_log(trainer, true);
    mo_log_cut(ctx, trainer->log, mo_run_path(trainer, "log.jsonl", path), trainer->step);
}

static void log_step(mo_trainer *trainer, void *state, int j, const mo_episode *e) {
    (void)state, (void)j, (void)e;
    mo_log_step(trainer, &trainer->report);
}

static void save(mo_trainer *trainer, void *state, int j, const mo_episode *e) {
    (void)state, (void)j, (void)e;
    mo_checkpoint_write(trainer);
}

/* The candidate that reads single hops: with the model's own head, or the ridge. */
static mo_candidate hop_candidate(mo_model *model) {
    mo_setting list[MO_MAX_SETTINGS];
    const mo_head *head = NULL;
    double lambda = mo_model_setting(model, "lambda");
    for (int i = mo_model_settings(model, list) - 1; i >= 0; i--)
        if (list[i].word && !strcmp(list[i].key, "head"))
            head = mo_find_head(list[i].word);
    return (mo_candidate){.head = head ? head : &mo_head_ridge, .lambda = lambda > 0 ? lambda : MO_HOP_LAMBDA};
}

static void write_weights(mo_trainer *trainer, void *state, int j, const mo_episode *e) {
    mo_context *ctx = trainer->ctx;
    char path[MO_PATH];
    int best_hop[MO_TASKS];
    mo_candidate hop = hop_candidate(trainer->model);
    (void)state, (void)j, (void)e;
    for (int task = 0; task < MO_TASKS; task++)
        best_hop[task] =
            mo_best_hop(ctx, trainer->pool, (mo_task)task, hop.head, hop.lambda, trainer->options.plan.seed);
    const json_t *recipe = json_object_get(json_object_get(trainer->settings, "settings"), "recipe");
    mo_weights_about about = {&trainer->pool->options, best_hop, hop.lambda, json_string_value(recipe), trainer->pool};
    if (mo_ok(ctx))
        mo_weights_write(ctx, trainer->model, &about, mo_run_path(trainer, "weights.safetensors", path));
}

static void close_log(mo_trainer *trainer, void *state, int j, const mo_episode *e) {
    (void)state, (void)j, (void)e;
    if (trainer->log >= 0)
        close(trainer->log);
}

const mo_watcher mo_run_files = {.on = {[MO_STARTS] = start_files,
                                     [MO_TAKEN] = log_step,
                                     [MO_SAVES] = save,
                                     [MO_FINISHES] = write_weights,
                                     [MO_RELEASED] = close_log}};
