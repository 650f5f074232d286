/* train/run/checkpoint.c - checkpoint.safetensors: weights under their names, moments under adamw.m. and adamw.v., and
 * in the metadata the step, the settings and the BLAS cores. Written all or nothing; on resume everything is checked
 * before the first value is restored. A new checkpoint takes over the name of the one before, which is kept under
 * another name. */
#include "tensor/files/file.h"
#include "tensor/files/number_text.h"
#include "tensor/files/safetensors.h"
#include "tensor/library.h"
#include "tensor/platform.h"
#include "train/run/trainer.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NAME = 160 };
static const char format_name[] = "mochi checkpoint";
static const char *const prefixes[3] = {"", "adamw.m.", "adamw.v."};

static const char *path_in(mo_context *ctx, const char *folder, const char *name, char path[MO_PATH]) {
    if (snprintf(path, MO_PATH, "%s/%s", folder, name) >= MO_PATH)
        mo_fail(ctx, MO_INVALID, "train: the path of the run is longer than %d bytes", MO_PATH);
    return path;
}

const char *mo_run_path(const mo_trainer *trainer, const char *name, char *path) {
    return path_in(trainer->ctx, trainer->options.out, name, path);
}

/* One tensor per parameter. part 0: the weights; 1: first moments m; 2: second moments v. */
mo_tensor *const *mo_trainer_state(const mo_trainer *trainer, int part) {
    const mo_optimizer *o = trainer->optimizer;
    return part == 0 ? trainer->parameter : part == 1 ? o->m : o->v;
}

static void state_name(const mo_trainer *trainer, int part, int i, char name[NAME]) {
    snprintf(name, NAME, "%s%s", prefixes[part], mo_tensor_name(trainer->parameter[i]));
}

static char *encode_checkpoint_metadata(const mo_trainer *trainer) {
    char *settings = mo_json_encode(trainer->settings, JSON_COMPACT);
    char step[24];
    snprintf(step, sizeof step, "%" PRId64, trainer->step);
    json_t *metadata = settings ? json_pack("{s:s, s:s, s:s, s:s, s:s}", "format", format_name, "version", MO_VERSION,
                                      "step", step, "settings", settings, "blas_core", trainer->blas_core)
                                : NULL;
    char *text = metadata ? mo_json_encode(metadata, JSON_COMPACT) : NULL;
    json_decref(metadata);
    free(settings);
    if (!text)
        mo_fail(trainer->ctx, MO_MEMORY, "checkpoint: out of memory for its metadata");
    return text;
}

/* Appends this process's BLAS core to the list, unless the list ends with it. */
static void note_core(mo_trainer *trainer) {
    const char *core = mo_blas_core(), *last = strrchr(trainer->blas_core, ',');
    if (strcmp(last ? last + 1 : trainer->blas_core, core) == 0)
        return;
    char *longer = NULL;
    if (asprintf(&longer, "%s,%s", trainer->blas_core, core) < 0) {
        mo_fail(trainer->ctx, MO_MEMORY, "checkpoint: out of memory for the name of the BLAS core");
        return;
    }
    free(trainer->blas_core);
    trainer->blas_core = longer;
}

/* Copies the checkpoint on a file system where a file cannot have two names, as on FAT. */
static void copy_checkpoint(mo_context *ctx, const char *from, const char *to) {
    mo_file_bytes content;
    char label[MO_LABEL];
    if (mo_file_read(ctx, mo_file_label("checkpoint", from, label), from, &content)) {
        mo_file_replace(ctx, to, content.data, content.n);
        mo_file_bytes_free(ctx, &content);
    }
}

/* Gives the newest checkpoint a second name before the next checkpoint takes over its first name, so that at every
 * moment there is a checkpoint on disk. Returns whether it did, so that become_previous has a file to rename. */
static bool hold_newest(const mo_trainer *trainer, char second[MO_PATH]) {
    mo_context *ctx = trainer->ctx;
    char from[MO_PATH], to[MO_PATH];
    mo_run_path(trainer, MO_CHECKPOINT, from);
    mo_run_path(trainer, MO_PREVIOUS_CHECKPOINT, to);
    mo_run_path(trainer, ".mochi-previous.tmp", second);
    if (!mo_ok(ctx) || access(from, F_OK) < 0)
        return false;
    unlink(second);
    bool held = linkat(AT_FDCWD, from, AT_FDCWD, second, 0) == 0;
    if (!held)
        copy_checkpoint(ctx, from, to);
    return held;
}

/* After the next checkpoint is written: renames the file `second` to the name of the previous checkpoint. */
static void become_previous(const mo_trainer *trainer, const char *second) {
    mo_context *ctx = trainer->ctx;
    char to[MO_PATH];
    mo_run_path(trainer, MO_PREVIOUS_CHECKPOINT, to);
    if (mo_ok(ctx) && rename(second, to) < 0)
        mo_fail(ctx, MO_IO, "checkpoint: %s: cannot rename it to %s: %s", second, to, strerror(errno));
    unlink(second); /* rename failed, or did nothing because both names were the same file already */
}

void mo_checkpoint_write(mo_trainer *trainer) {
    mo_context *ctx = trainer->ctx;
    int64_t count = 3 * (int64_t)trainer->n;
    mo_array *items = mo_ok(ctx) ? mo_host_alloc(ctx, (size_t)count * sizeof *items) : NULL;
    char(*names)[NAME] = items ? mo_host_alloc(ctx, (size_t)count * sizeof *names) : NULL;
    char path[MO_PATH], second[MO_PATH], *metadata = names ? encode_checkpoint_metadata(trainer) : NULL;
    if (metadata) {
        if (trainer->log >= 0 && mo_file_sync(trainer->log) < 0 && errno != EINVAL)
            mo_fail(ctx, MO_IO, "log: %s/log.jsonl: cannot sync: %s", trainer->options.out, strerror(errno));
        for (int64_t j = 0; j < count; j++) {
            int part = (int)(j / trainer->n), i = (int)(j % trainer->n);
            state_name(trainer, part, i, names[j]);
            items[j] = (mo_array){.name = names[j], .tensor = mo_trainer_state(trainer, part)[i]};
        }
        mo_arrays borrowed = {.ctx = ctx, .count = count, .items = items};
        bool held = hold_newest(trainer, second);
        mo_safetensors_write(&borrowed, metadata, mo_run_path(trainer, MO_CHECKPOINT, path));
        if (held)
            become_previous(trainer, second);
    }
    free(metadata);
    mo_host_free(ctx, names, (size_t)count * sizeof *names);
    mo_host_free(ctx, items, (size_t)count * sizeof *items);
}

/* ---- reading ---- */

static const char *checkpoint_text(const json_t *metadata, const char *key) {
    return json_string_value(json_object_get(metadata, key));
}

/* Checks that every tensor fits or, if `checked`, restores the values. */
static void restore_trainer(mo_trainer *trainer, const mo_arrays *arrays, const char *path, bool checked) {
    mo_context *ctx = trainer->ctx;
    char name[NAME], want[160], got[160];
    for (int part = 0; part < 3; part++)
        for (int i = 0; i < trainer->n && mo_ok(ctx); i++) {
            mo_tensor *T = mo_trainer_state(trainer, part)[i], *X;
            state_name(trainer, part, i, name);
            X = mo_arrays_find(arrays, name);
            if (!X)
                mo_fail(ctx, MO_FORMAT, "checkpoint: %s: expected a tensor %s, found none", path, name);
            else if (!mo_same_form(X, T))
                mo_fail(ctx, MO_FORMAT, "checkpoint: %s: expected %s %s %s, found %s %s", path, name,
                    mo_shape_string(T, want, sizeof want), mo_dtype_name(T->dtype), mo_shape_string(X, got, sizeof got),
                    mo_dtype_name(X->dtype));
            else if (checked)
                mo_tensor_copy(T, X);
        }
}

/* Returns the step of a checkpoint, whose settings must equal this run's; -1 on failure. */
static int64_t check_metadata(mo_trainer *trainer, const json_t *metadata, const char *path) {
    mo_context *ctx = trainer->ctx;
    const char *step = checkpoint_text(metadata, "step"), *settings = checkpoint_text(metadata, "settings");
    const char *format = checkpoint_text(metadata, "format");
    json_t *kept = mo_json_metadata(ctx, path, settings);
    char *end = NULL;
    int64_t number = step ? strtoll(step, &end, 10) : -1;
    if (!format || strcmp(format, format_name) != 0)
        mo_fail(ctx, MO_FORMAT, "checkpoint: %s: expected \"%s\" as format in its metadata, found \"%.40s\"", path,
            format_name, format ? format : "");
    else if (!json_is_object(kept) || !checkpoint_text(metadata, "blas_core") || !end || end == step || *end ||
             number < 0)
        mo_fail(ctx, MO_FORMAT, "checkpoint: %s: expected step, settings and blas_core in its metadata", path);
    else if (mo_compare_settings(ctx, path, kept, trainer->settings, trainer->options.other_rate) == MO_OK &&
             number > trainer->options.steps)
        mo_fail(ctx, MO_FORMAT, "checkpoint: %s: expected a step of 0 to %" PRId64 ", found %" PRId64, path,
            trainer->options.steps, number);
    json_decref(kept);
    return mo_ok(ctx) ? number : -1;
}

/* Reads a checkpoint and its metadata and checks its digests; NULL on failure. */
static mo_arrays *read_whole(mo_context *ctx, const char *path, json_t **metadata) {
    mo_arrays *arrays = mo_ok(ctx) ? mo_safetensors_read(ctx, path) : NULL;
    *metadata = NULL;
    if (arrays && mo_require_digests(ctx, path, arrays->metadata)) {
        *metadata = mo_json_metadata(ctx, path, arrays->metadata);
        return arrays;
    }
    mo_arrays_release(arrays);
    return NULL;
}

/* Called when the newest checkpoint cannot be read. If the previous one is whole, names it in the error message. */
static void offer_previous(mo_context *ctx, const char *folder) {
    mo_status failure = *mo_context_status(ctx);
    char path[MO_PATH];
    json_t *metadata = NULL;
    mo_clear_error(ctx);
    path_in(ctx, folder, MO_PREVIOUS_CHECKPOINT, path);
    mo_arrays *arrays = access(path, F_OK) == 0 ? read_whole(ctx, path, &metadata) : NULL;
    const char *step = checkpoint_text(metadata, "step");
    mo_clear_error(ctx);
    if (step)
        mo_fail_at(ctx, failure.code, failure.file, failure.line,
            "%.400s; %.400s, of step %.20s, is whole: to continue from it, rename it to %s", failure.message, path,
            step, MO_CHECKPOINT);
    else
        ctx->status = failure;
    json_decref(metadata);
    mo_arrays_release(arrays);
}

/* Reads the newest checkpoint of a folder; NULL on failure, whose message names the previous one. */
static mo_arrays *read_newest(mo_context *ctx, const char *folder, char path[MO_PATH], json_t **metadata) {
    path_in(ctx, folder, MO_CHECKPOINT, path);
    if (mo_ok(ctx) && access(path, F_OK) < 0)
        mo_fail(ctx, MO_IO, "resume: %s: %s: nothing to continue from", path, strerror(errno));
    mo_arrays *arrays = read_whole(ctx, path, metadata);
    if (!arrays)
        offer_previous(ctx, folder);
    return arrays;
}

mo_code mo_run_check(mo_context *ctx, const char *folder) {
    char path[MO_PATH];
    json_t *metadata;
    if (!mo_given(ctx, "run", "the folder", folder) || mo_run_is_begun(folder))
        return mo_code_of(ctx);
    mo_arrays *arrays = read_newest(ctx, folder, path, &metadata);
    mo_arrays_release(arrays);
    json_t *kept = arrays ? mo_json_metadata(ctx, path, checkpoint_text(metadata, "settings")) : NULL;
    if (mo_ok(ctx) && !json_is_object(kept))
        mo_fail(ctx, MO_FORMAT, "checkpoint: %s: expected settings in its metadata, found none", path);
    char of_run[MO_PATH];
    json_t *run = mo_read_run(ctx, path_in(ctx, folder, "run.json", of_run));
    if (run)
        mo_compare_settings(ctx, path, kept, run, true);
    json_decref(run);
    json_decref(kept);
    json_decref(metadata);
    return mo_code_of(ctx);
}

mo_code mo_checkpoint_read(mo_trainer *trainer) {
    mo_context *ctx = trainer->ctx;
    char path[MO_PATH];
    json_t *metadata;
    mo_arrays *arrays = read_newest(ctx, trainer->options.out, path, &metadata);
    if (!arrays)
        return mo_code_of(ctx);
    int64_t step = check_metadata(trainer, metadata, path);
    restore_trainer(trainer, arrays, path, false);
    char *cores = mo_ok(ctx) ? strdup(checkpoint_text(metadata, "blas_core")) : NULL;
    if (mo_ok(ctx) && !cores)
        mo_fail(ctx, MO_MEMORY, "resume: out of memory");
    if (cores) {
        restore_trainer(trainer, arrays, path, true);
        trainer->step = trainer->optimizer->step = step;
        free(trainer->blas_core);
        trainer->blas_core = cores;
        note_core(trainer);
    }
    json_decref(metadata);
    mo_arrays_release(arrays);
    return mo_code_of(ctx);
}
