/* train/run/run_files.c - the watcher that writes the files of a run: run.json, log, checkpoints and weights.
 *
 * No file is written before the first step, and the folder must be new, empty, or the run's own. A run writes run.json,
 * then its first checkpoint, then opens the log. If there is only run.json, no step has been taken: the run resumes
 * from its beginning. */
#include "tensor/files/file.h"
#include "tensor/hidden.h"
#include "train/run/trainer.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the folder ---- */

static void make_folder(mo_context *ctx, const char *folder) {
    char path[MO_PATH];
    snprintf(path, sizeof path, "%s", folder);
    for (char *at = path + 1; mo_ok(ctx); at++) {
        if (*at && *at != '/')
            continue;
        bool last = !*at;
        *at = 0;
        if (mkdir(path, 0777) < 0 && errno != EEXIST)
            mo_fail(ctx, MO_IO, "train: cannot make the folder %s: %s", path, strerror(errno));
        if (last)
            break;
        *at = '/';
    }
}

/* Whether the process that writes a temporary file, .mochi-PID-N.tmp, may still run; true without /proc. */
static bool is_being_written(const char *name) {
    char path[64];
    long process = strtol(name + strlen(".mochi-"), NULL, 10);
    snprintf(path, sizeof path, "/proc/%ld", process);
    return process > 0 && process != (long)getpid() && (access(path, F_OK) == 0 || access("/proc/self", F_OK) != 0);
}

/* Removes temporary files that a killed process left in the folder. */
static void tidy_folder(const char *folder) {
    DIR *listing = opendir(folder);
    for (struct dirent *entry; listing && (entry = readdir(listing));)
        if (mo_is_temporary(entry->d_name) && !is_being_written(entry->d_name))
            unlinkat(dirfd(listing), entry->d_name, 0);
    if (listing)
        closedir(listing);
}

/* Raises if the folder is not empty: its files may be valuable. */
static void require_empty(mo_context *ctx, const char *folder) {
    DIR *listing = opendir(folder);
    if (!listing) {
        mo_fail(ctx, MO_IO, "train: cannot open the folder %s: %s", folder, strerror(errno));
        return;
    }
    for (struct dirent *entry; mo_ok(ctx) && (entry = readdir(listing));)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 && !mo_is_temporary(entry->d_name))
            mo_fail(ctx, MO_STATE,
                "train: the folder %s holds %s already: continue its run with --resume or name another folder", folder,
                entry->d_name);
    closedir(listing);
}

mo_code mo_run_folder(mo_context *ctx, const char *folder) {
    if (!mo_given(ctx, "run", "the folder", folder))
        return mo_code_of(ctx);
    make_folder(ctx, folder);
    if (mo_ok(ctx))
        require_empty(ctx, folder);
    return mo_context_status(ctx)->code;
}

bool mo_run_is_begun(const char *folder) {
    static const char *const later[] = {MO_CHECKPOINT, MO_PREVIOUS_CHECKPOINT, "log.jsonl", "weights.safetensors"};
    char path[MO_PATH];
    for (size_t i = 0; i < sizeof later / sizeof *later; i++)
        if (snprintf(path, sizeof path, "%s/%s", folder, later[i]) >= MO_PATH || access(path, F_OK) == 0)
            return false;
    return snprintf(path, sizeof path, "%s/run.json", folder) < MO_PATH && access(path, F_OK) == 0;
}

/* ---- the watcher ---- */

/* Opens and locks the log, unless this process has done so. */
static void open_log(mo_trainer *trainer, bool make) {
    char path[MO_PATH];
    mo_run_path(trainer, "log.jsonl", path);
    if (trainer->log < 0)
        trainer->log =
            mo_log_open(trainer->ctx, path, make, trainer->pool->options.notice, trainer->pool->options.notice_state);
}

static void restore(mo_trainer *trainer) {
    open_log(trainer, false); /* takes the log's lock, so that no other process writes a checkpoint */
    char path[MO_PATH];
    if (!mo_ok(trainer->ctx))
        return;
    if (!mo_run_is_begun(trainer->options.out)) {
        trainer->restored = mo_checkpoint_read(trainer) == MO_OK;
        return;
    }
    json_t *run = mo_read_run(trainer->ctx, mo_run_path(trainer, "run.json", path));
    if (run)
        mo_compare_settings(trainer->ctx, path, run, trainer->settings, trainer->options.other_rate);
    json_decref(run);
}

static void start_files(mo_trainer *trainer, void *state) {
    mo_context *ctx = trainer->ctx;
    char path[MO_PATH];
    (void)state;
    if (trainer->resumed)
        restore(trainer);
    else if (mo_ok(ctx))
        mo_run_folder(ctx, trainer->options.out);
    if (!mo_ok(ctx))
        return;
    tidy_folder(trainer->options.out);
    mo_write_run(trainer); /* before the checkpoint: a run that has only run.json resumes at step 0 */
    if (!trainer->restored)
        mo_checkpoint_write(trainer); /* from now on a run can resume from a checkpoint */
    open_log(trainer, true);
    mo_log_cut(ctx, trainer->log, mo_run_path(trainer, "log.jsonl", path), trainer->step);
}

static void log_step(mo_trainer *trainer, void *state) {
    (void)state;
    mo_log_step(trainer, &trainer->report);
}

static void save(mo_trainer *trainer, void *state) {
    (void)state;
    mo_checkpoint_write(trainer);
}

/* The candidate that reads single hops, under the model's head or, without one, the ridge. */
static mo_candidate hop_candidate(mo_model *model) {
    mo_setting list[MO_MAX_SETTINGS];
    const mo_head *head = NULL;
    double lambda = mo_model_setting(model, "lambda");
    for (int i = mo_model_settings(model, list) - 1; i >= 0; i--)
        if (list[i].word && !strcmp(list[i].key, "head"))
            head = mo_find_head(list[i].word);
    return (mo_candidate){.head = head ? head : &mo_head_ridge, .lambda = lambda > 0 ? lambda : MO_HOP_LAMBDA};
}

static void write_weights(mo_trainer *trainer, void *state) {
    mo_context *ctx = trainer->ctx;
    char path[MO_PATH];
    int best_hop[MO_TASKS];
    mo_candidate hop = hop_candidate(trainer->model);
    (void)state;
    for (int task = 0; task < MO_TASKS; task++)
        best_hop[task] =
            mo_best_hop(ctx, trainer->pool, (mo_task)task, hop.head, hop.lambda, trainer->options.plan.seed);
    const json_t *recipe = json_object_get(json_object_get(trainer->settings, "settings"), "recipe");
    mo_weights_about about = {&trainer->pool->options, best_hop, hop.lambda, json_string_value(recipe), trainer->pool};
    if (mo_ok(ctx))
        mo_weights_write(ctx, trainer->model, &about, mo_run_path(trainer, "weights.safetensors", path));
}

static void close_log(mo_trainer *trainer, void *state) {
    (void)state;
    if (trainer->log >= 0)
        close(trainer->log);
}

const mo_watcher mo_run_files = {.on = {[MO_STARTS] = start_files,
                                     [MO_TAKEN] = log_step,
                                     [MO_SAVES] = save,
                                     [MO_FINISHES] = write_weights,
                                     [MO_RELEASED] = close_log}};
