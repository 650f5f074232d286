/* train/run/run_files.c - the files of a run: run.json, log, checkpoints and weights.
 *
 * No file is written before a run starts (at its first step, or when it is resumed), and the folder must be new, empty,
 * or the run's own. A run makes and locks its log, then writes run.json, then its first checkpoint. A log without lines
 * says nothing: a folder that has nothing else is as an empty one, and if there is only run.json beside it, no step has
 * been taken: the run resumes from its beginning.
 *
 * log.jsonl has one JSON object per step, each written by one call to a file opened for appending. The process that has
 * the log open holds a lock on it, from before it writes any other file: two processes in one folder would mix their
 * files and steps. The system releases the lock whenever the process ends. */
#include "tensor/files/file.h"
#include "tensor/files/number_text.h"
#include "tensor/library.h"
#include "tensor/platform.h"
#include "train/run/trainer.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
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

/* Removes temporary files that a killed process left in the folder. This process holds the log's lock, so no other one
 * writes a file there. */
static void tidy_folder(const char *folder) {
    DIR *listing = opendir(folder);
    for (struct dirent *entry; listing && (entry = readdir(listing));)
        if (mo_is_temporary(entry->d_name))
            unlinkat(dirfd(listing), entry->d_name, 0);
    if (listing)
        closedir(listing);
}

/* Whether a file of the folder is a log without lines. */
static bool is_empty_log(const char *folder, const char *name) {
    char path[MO_PATH];
    struct stat st;
    return strcmp(name, "log.jsonl") == 0 && snprintf(path, sizeof path, "%s/%s", folder, name) < MO_PATH &&
           lstat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_size == 0;
}

/* Raises if the folder is not empty: its files may be valuable. */
static void require_empty(mo_context *ctx, const char *folder) {
    DIR *listing = opendir(folder);
    if (!listing) {
        mo_fail(ctx, MO_IO, "train: cannot open the folder %s: %s", folder, strerror(errno));
        return;
    }
    for (struct dirent *entry; mo_ok(ctx) && (entry = readdir(listing));)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 && !mo_is_temporary(entry->d_name) &&
            !is_empty_log(folder, entry->d_name))
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
    return mo_code_of(ctx);
}

bool mo_run_is_begun(const char *folder) {
    static const char *const later[] = {MO_CHECKPOINT, MO_PREVIOUS_CHECKPOINT, "log.jsonl", "weights.safetensors"};
    char path[MO_PATH];
    for (size_t i = 0; i < sizeof later / sizeof *later; i++)
        if (snprintf(path, sizeof path, "%s/%s", folder, later[i]) >= MO_PATH ||
            (access(path, F_OK) == 0 && !is_empty_log(folder, later[i])))
            return false;
    return snprintf(path, sizeof path, "%s/run.json", folder) < MO_PATH && access(path, F_OK) == 0;
}

/* ---- the log ---- */

/* Returns whether a line is the JSON object of that step; lack of memory raises. */
static bool is_step(mo_context *ctx, const char *label, const char *line, size_t n, int64_t step) {
    json_error_t error;
    json_t *object = mo_json_decode(line, n, JSON_REJECT_DUPLICATES, &error);
    if (!object && mo_json_code(&error) == MO_MEMORY)
        mo_fail(ctx, MO_MEMORY, "%s: out of memory for step %" PRId64, label, step);
    json_t *number = json_object_get(object, "step");
    bool found = json_is_integer(number) && json_integer_value(number) == step;
    json_decref(object);
    return found;
}

/* The offset behind the lines of the first `steps` steps; -1 if they are incomplete. */
static int64_t end_of_steps(mo_context *ctx, const char *path, int64_t steps) {
    mo_file_bytes content;
    char label[MO_LABEL];
    if (steps == 0)
        return 0;
    mo_file_label("log", path, label);
    if (!mo_file_read_checked(ctx, label, path, mo_file_check_text, &content))
        return -1;
    size_t at = 0;
    for (int64_t step = 0; step < steps; step++) {
        const char *line = (const char *)content.data + at, *end = memchr(line, '\n', content.n - at);
        if (!end || !is_step(ctx, label, line, (size_t)(end - line), step)) {
            mo_fail(ctx, MO_FORMAT, "%s: expected step %" PRId64 " in line %" PRId64 ", found %s", label, step,
                step + 1, at < content.n ? "another text" : "the end of the file");
            break;
        }
        at += (size_t)(end - line) + 1;
    }
    mo_file_bytes_free(ctx, &content);
    return mo_ok(ctx) ? (int64_t)at : -1;
}

/* Locks the log. A file system without locks only causes a notice. */
static bool lock_log(const mo_trainer *trainer, int log, const char *path) {
    const mo_feature_options *o = &trainer->pool->options;
    int code;
    do
        code = flock(log, LOCK_EX | LOCK_NB);
    while (code < 0 && errno == EINTR);
    if (code == 0)
        return true;
    char text[MO_LABEL + 160], shown[320];
    bool held = errno == EWOULDBLOCK;
    mo_quote(path, strlen(path), shown, sizeof shown);
    if (held)
        mo_fail(trainer->ctx, MO_STATE,
            "log: %s: another process begins or continues this run: wait for its end, or end it", shown);
    snprintf(text, sizeof text, "log: %s: cannot be locked: %s; start no other process that continues this run", shown,
        strerror(errno));
    if (!held && o->notice)
        o->notice(text, o->notice_state);
    return !held;
}

/* Opens the log for appending and locks it against other processes that would start or continue a run here, unless this
 * process has the log open already. If `make` is false, opens only a log that exists. */
static void open_log(mo_trainer *trainer, bool make) {
    char path[MO_PATH], label[MO_LABEL];
    mo_run_path(trainer, "log.jsonl", path);
    if (trainer->log >= 0 || !mo_ok(trainer->ctx) || (!make && access(path, F_OK) < 0))
        return;
    int flags = O_WRONLY | O_APPEND | (make ? O_CREAT : 0);
    int log = mo_file_open_own(trainer->ctx, mo_file_label("log", path, label), path, flags);
    if (log >= 0 && lock_log(trainer, log, path))
        trainer->log = log;
    else if (log >= 0)
        close(log);
}

void mo_files_close(mo_trainer *trainer) {
    if (trainer->log >= 0)
        close(trainer->log);
    trainer->log = -1;
}

/* Cuts the log to the lines of the steps taken, which must exist. */
static void cut_log(const mo_trainer *trainer) {
    char path[MO_PATH];
    mo_run_path(trainer, "log.jsonl", path);
    int64_t end = mo_ok(trainer->ctx) ? end_of_steps(trainer->ctx, path, trainer->step) : -1;
    if (end >= 0 && ftruncate(trainer->log, end) < 0)
        mo_fail(trainer->ctx, MO_IO, "log: %s: cannot cut it to %" PRId64 " steps: %s", path, trainer->step,
            strerror(errno));
}

/* Nine digits distinguish all float32 values. */
static char *encode_log_line(const mo_trainer *trainer) {
    const mo_step_report *r = &trainer->report;
    json_t *accuracy = json_object(), *sources = json_array();
    bool whole = true;
    for (int task = 0; task < MO_TASKS; task++)
        if (!isnan(r->accuracy[task]))
            whole &= !json_object_set_new(accuracy, mo_task_name((mo_task)task), json_real(r->accuracy[task]));
    for (int i = 0; i < trainer->options.episodes_per_step; i++) {
        const mo_source *data = mo_episode_source(trainer, i);
        whole &= !json_array_append_new(sources, json_pack("s++", data->graph->name, ":", mo_task_name(data->task)));
    }
    json_t *line = json_pack("{s:I, s:f, s:f, s:f, s:o, s:o, s:f}", "step", (json_int_t)r->step, "loss", r->loss, "lr",
        r->lr, "gradient_norm", r->gradient_norm, "accuracy", accuracy, "data", sources, "seconds", r->seconds);
    char *text = line && whole ? mo_json_encode(line, JSON_COMPACT | JSON_REAL_PRECISION(9)) : NULL;
    json_decref(line);
    return text;
}

/* Writes text and a line feed, which replaces the terminating zero. */
static void write_log_line(const mo_trainer *trainer, char *text) {
    size_t length = strlen(text);
    text[length] = '\n';
    if (mo_write_all(trainer->log, text, length + 1) <= length)
        mo_fail(trainer->ctx, MO_IO, "log: %s/log.jsonl: cannot write step %" PRId64 ": %s", trainer->options.out,
            trainer->report.step, strerror(errno));
}

/* Writes the step's line to the log, unbuffered. */
void mo_files_log(mo_trainer *trainer) {
    char *text = encode_log_line(trainer);
    if (text)
        write_log_line(trainer, text);
    else
        mo_fail(trainer->ctx, MO_MEMORY, "log: step %" PRId64 " cannot be written as JSON", trainer->report.step);
    free(text);
}

/* ---- a run ---- */

static void restore(mo_trainer *trainer) {
    /* Takes the log's lock, so that no other process writes a checkpoint. A run that has begun may lack a log. */
    open_log(trainer, mo_run_is_begun(trainer->options.out));
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

/* Makes the folder and takes the log's lock; what another process has done in between makes the folder not empty. */
static void start_folder(mo_trainer *trainer) {
    mo_context *ctx = trainer->ctx;
    if (mo_ok(ctx))
        mo_run_folder(ctx, trainer->options.out);
    open_log(trainer, true);
    if (mo_ok(ctx))
        require_empty(ctx, trainer->options.out);
}

void mo_files_start(mo_trainer *trainer) {
    mo_context *ctx = trainer->ctx;
    if (trainer->resumed)
        restore(trainer);
    else
        start_folder(trainer);
    if (!mo_ok(ctx)) {
        mo_files_close(trainer);
        return;
    }
    mo_write_run(trainer); /* before the checkpoint: a run that has only run.json resumes at step 0 */
    if (!trainer->restored)
        mo_checkpoint_write(trainer); /* from now on a run can resume from a checkpoint */
    open_log(trainer, true);
    cut_log(trainer);
    if (mo_ok(ctx))
        tidy_folder(trainer->options.out);
}

/* The candidate that reads single hops, under the model's head or, without one, the ridge. */
static mo_candidate hop_candidate(const mo_model *model) {
    const mo_readout_options *o = &model->options;
    return (mo_candidate){
        .head = o->head ? o->head : &mo_head_ridge, .lambda = o->head && o->lambda > 0 ? o->lambda : MO_HOP_LAMBDA};
}

void mo_files_finish(mo_trainer *trainer) {
    mo_context *ctx = trainer->ctx;
    char path[MO_PATH];
    int best_hop[MO_TASKS];
    mo_candidate hop = hop_candidate(trainer->model);
    for (int task = 0; task < MO_TASKS; task++)
        best_hop[task] =
            mo_best_hop(ctx, trainer->pool, (mo_task)task, hop.head, hop.lambda, trainer->options.plan.seed);
    const json_t *recipe = json_object_get(json_object_get(trainer->settings, "settings"), "recipe");
    mo_weights_about about = {&trainer->pool->options, best_hop, hop.lambda, json_string_value(recipe), trainer->pool};
    if (mo_ok(ctx))
        mo_weights_write(ctx, trainer->model, &about, mo_run_path(trainer, "weights.safetensors", path));
}
