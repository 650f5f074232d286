/* tools/train/repeat_run.c - takes the last steps of a run again: from the checkpoint before the newest one, or from
 * step 0, to the newest one. The repetition is stopped halfway and resumed by a new trainer. The folder of the run is
 * only read. */
#include "tools/train/repeat_run.h"

#include "tools/input.h"
#include "tools/interrupt.h"
#include "tools/memory.h"

#include <errno.h>
#include <ftw.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char newest_name[] = "checkpoint.safetensors", previous_name[] = "checkpoint.previous.safetensors";

/* The step of a checkpoint; -1 where there is none or it cannot be read. */
static int64_t checkpoint_step(mo_context *ctx, const char *folder, const char *name) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    mo_arrays *arrays = access(path, F_OK) == 0 ? mo_safetensors_read(ctx, path) : NULL;
    json_t *metadata = arrays ? json_loads(arrays->metadata, 0, NULL) : NULL;
    const char *step = json_string_value(json_object_get(metadata, "step"));
    int64_t number = step ? strtoll(step, NULL, 10) : -1;
    json_decref(metadata);
    mo_arrays_release(arrays);
    return number;
}

static void copy_file(mo_context *ctx, const char *from, const char *name, const char *to, const char *as) {
    char path[4096];
    size_t n;
    snprintf(path, sizeof path, "%s/%s", from, name);
    char *content = mo_ok(ctx) ? read_text_file(path, &n) : NULL;
    if (mo_ok(ctx) && !content)
        mo_fail(ctx, MO_IO, "verify-resume: %s: cannot read: %s", path, strerror(errno));
    snprintf(path, sizeof path, "%s/%s", to, as);
    FILE *file = content ? fopen(path, "wb") : NULL;
    bool written = file && fwrite(content, 1, n, file) == n;
    if (file && fclose(file) != 0)
        written = false;
    if (content && !written)
        mo_fail(ctx, MO_IO, "verify-resume: %s: cannot write: %s", path, strerror(errno));
    free(content);
}

static void make_repeat_folder(mo_context *ctx, repeat *r) {
    const char *parent = getenv("TMPDIR");
    snprintf(r->folder, sizeof r->folder, "%s/mochi-repeat-XXXXXX", parent ? parent : "/tmp");
    if (mo_ok(ctx) && !mkdtemp(r->folder))
        mo_fail(ctx, MO_IO, "verify-resume: %s: cannot make a folder: %s", r->folder, strerror(errno));
    if (!mo_ok(ctx))
        r->folder[0] = '\0';
}

/* Whether a line of the run's log has the health of its solves. */
static bool logs_solves(const char *run) {
    char path[4096];
    size_t n;
    snprintf(path, sizeof path, "%s/log.jsonl", run);
    char *text = read_text_file(path, &n);
    bool found = text && strstr(text, "\"solves\":") != NULL;
    free(text);
    return found;
}

mo_code repeat_prepare(mo_context *ctx, repeat *r, int64_t most) {
    char path[4096];
    if (mo_run_check(ctx, r->run) != MO_OK)
        return mo_context_status(ctx)->code;
    r->newest = checkpoint_step(ctx, r->run, newest_name);
    if (mo_ok(ctx) && r->newest <= 0) {
        mo_fail(ctx, MO_STATE, "verify-resume: %s: no step has been taken, so that there is none to repeat", r->run);
        return mo_context_status(ctx)->code;
    }
    int64_t previous = mo_ok(ctx) ? checkpoint_step(ctx, r->run, previous_name) : -1;
    r->from_start = previous < 0 || previous >= r->newest;
    r->from = r->from_start ? 0 : previous;
    r->end = most && r->from + most < r->newest ? r->from + most : r->newest;
    snprintf(path, sizeof path, "%s/digests.jsonl", r->run);
    r->digest = access(path, F_OK) == 0;
    r->solves = logs_solves(r->run);
    return mo_context_status(ctx)->code;
}

int64_t repeat_stop(const repeat *r) {
    return r->from + (r->end - r->from) / 2;
}

static bool goes_on(const mo_step_report *report, void *end) {
    return report->step + 1 < *(const int64_t *)end && !*interruption();
}

/* Steps until `end` by a new trainer. */
static void take_part(mo_context *ctx, const repeat *r, bool resume, int64_t end) {
    mo_trainer_options options = recipe_training(&r->recipe);
    options.digest = r->digest;
    options.solves = r->solves;
    options.out = r->folder;
    options.settings = r->settings;
    mo_model model = recipe_model(ctx, &r->recipe, r->pool);
    mo_trainer *trainer = model.table ? mo_trainer_create(model, r->pool, &options) : NULL;
    if (trainer && (!resume || mo_trainer_resume(trainer) == MO_OK))
        mo_trainer_run(trainer, goes_on, &end);
    mo_trainer_release(trainer);
    mo_model_release(model);
}

mo_code repeat_steps(mo_context *ctx, repeat *r) {
    int64_t stop = repeat_stop(r);
    catch_interrupts(SA_RESTART);
    make_repeat_folder(ctx, r);
    if (mo_ok(ctx) && !r->from_start) {
        copy_file(ctx, r->run, "run.json", r->folder, "run.json");
        copy_file(ctx, r->run, "log.jsonl", r->folder, "log.jsonl");
        copy_file(ctx, r->run, previous_name, r->folder, newest_name);
    }
    if (mo_ok(ctx) && stop > r->from)
        take_part(ctx, r, !r->from_start, stop);
    if (mo_ok(ctx) && !*interruption())
        take_part(ctx, r, !r->from_start || stop > r->from, r->end);
    return mo_context_status(ctx)->code;
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *at) {
    (void)status, (void)kind, (void)at;
    return remove(path);
}

void repeat_release(repeat *r) {
    if (r->folder[0])
        nftw(r->folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    mo_pool_release(r->pool);
    free_names(&r->recipe.pool);
    free(r->settings);
}
