/* train/run/run_digest.c - digests.jsonl: one JSON object per step with the XXH3-128 of everything that the step
 * computed: the episode's tensors, its loss, the gradients and the new parameters. Two runs whose lines agree have gone
 * the same way, bit for bit; the first digest that differs says where they parted.
 *
 * The digests are a flat object, "episode.0.support", "gradient.<parameter>", "parameter.<parameter>", in the order in
 * which a step computes them. */
#include "tensor/files/file.h"
#include "tensor/files/number_text.h"
#include "tensor/files/safetensors.h"
#include "train/run/trainer.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FROZEN = 256 };

/* The digest of a tensor that no tape holds, such as frozen features: read once per run. */
typedef struct frozen {
    const mo_tensor *tensor;
    char digits[MO_DIGITS + 1];
} frozen;

typedef struct run_digest {
    mo_context *ctx;
    int file;
    json_t *digests; /* of the step */
    int n;
    frozen frozen[FROZEN];
} run_digest;

/* ---- one digest ---- */

static void note_digest(run_digest *d, const char *digits, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void note_digest(run_digest *d, const char *digits, const char *format, ...) {
    char name[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(name, sizeof name, format, arguments);
    va_end(arguments);
    if (mo_ok(d->ctx) && json_object_set_new(d->digests, name, json_string(digits)))
        mo_fail(d->ctx, MO_MEMORY, "digests: out of memory");
}

/* The digest of the values of a tensor, row by row. */
static void digest_tensor(run_digest *d, const mo_tensor *T, char digits[MO_DIGITS + 1]) {
    size_t bytes = (size_t)mo_numel(T) * mo_dtype_size(T->dtype);
    void *values = mo_ok(d->ctx) ? mo_host_alloc(d->ctx, bytes + 1) : NULL;
    digits[0] = '\0';
    if (values && mo_tensor_read(T, values, bytes) == MO_OK)
        mo_safetensors_digest(values, bytes, digits);
    mo_host_free(d->ctx, values, bytes + 1);
}

/* The same of a tensor that no tape holds, which does not change during a run. */
static const char *digest_frozen(run_digest *d, const mo_tensor *T, char digits[MO_DIGITS + 1]) {
    for (int i = 0; i < d->n; i++)
        if (d->frozen[i].tensor == T)
            return d->frozen[i].digits;
    digest_tensor(d, T, digits);
    if (d->n < FROZEN && mo_ok(d->ctx)) {
        frozen *f = &d->frozen[d->n++];
        f->tensor = T;
        memcpy(f->digits, digits, sizeof f->digits);
    }
    return digits;
}

/* ---- a step ---- */

static void digest_episode(mo_trainer *trainer, void *state) {
    run_digest *d = state;
    const mo_source *source = mo_episode_source(trainer, trainer->place);
    mo_episode_input list[MO_EPISODE_INPUTS];
    char text[160], digits[MO_DIGITS + 1];
    if (!mo_ok(d->ctx))
        return;
    snprintf(text, sizeof text, "%.120s:%s", source->graph->name, mo_task_name(source->task));
    note_digest(d, text, "episode.%d.data", trainer->place);
    for (int i = 0, n = mo_episode_inputs(trainer->episode, list); i < n; i++) {
        const mo_tensor *T = *list[i].tensor;
        if (T->tape)
            digest_tensor(d, T, digits);
        note_digest(d, T->tape ? digits : digest_frozen(d, T, digits), "episode.%d.%.120s%s", trainer->place,
            list[i].name, list[i].suffix);
    }
}

static void digest_parameters(
    run_digest *d, const char *kind, mo_tensor *const *tensor, mo_tensor *const *parameter, int n) {
    char digits[MO_DIGITS + 1];
    for (int i = 0; i < n && mo_ok(d->ctx); i++) {
        digest_tensor(d, tensor[i], digits);
        note_digest(d, digits, "%s.%s", kind, mo_tensor_name(parameter[i]));
    }
}

static void digest_step(mo_trainer *trainer, void *state) {
    run_digest *d = state;
    mo_context *ctx = trainer->ctx;
    char digits[MO_DIGITS + 1];
    for (int j = 0; j < trainer->options.episodes_per_step; j++) {
        mo_safetensors_digest(&trainer->record[j].loss, sizeof trainer->record[j].loss, digits);
        note_digest(d, digits, "episode.%d.loss", j);
    }
    digest_parameters(d, "gradient", trainer->gradient, trainer->parameter, trainer->n);
    digest_parameters(d, "parameter", trainer->parameter, trainer->parameter, trainer->n);
    json_t *line =
        mo_ok(ctx) ? json_pack("{s:I, s:O}", "step", (json_int_t)trainer->step, "digests", d->digests) : NULL;
    char *text = line ? mo_json_encode(line, JSON_COMPACT) : NULL;
    if (mo_ok(ctx) && !text)
        mo_fail(ctx, MO_MEMORY, "digests: step %" PRId64 " cannot be written as JSON", trainer->step);
    if (text)
        mo_log_write(trainer, d->file, MO_DIGESTS, trainer->step, text);
    free(text);
    json_decref(line);
    json_object_clear(d->digests);
}

/* ---- the file ---- */

/* The end of the leading lines of steps before `step`. What follows is written anew. */
static size_t end_of_earlier(const mo_file_bytes *content, int64_t step) {
    size_t at = 0;
    while (at < content->n) {
        const char *line = (const char *)content->data + at, *end = memchr(line, '\n', content->n - at);
        json_error_t error;
        json_t *object = end ? mo_json_decode(line, (size_t)(end - line), JSON_REJECT_DUPLICATES, &error) : NULL;
        json_t *number = json_object_get(object, "step");
        bool earlier = json_is_integer(number) && json_integer_value(number) < step;
        json_decref(object);
        if (!earlier)
            break;
        at += (size_t)(end - line) + 1;
    }
    return at;
}

/* Opens the file for the steps that follow; lines of earlier steps are kept. */
static void open_digests(mo_trainer *trainer, void *state) {
    run_digest *d = state;
    mo_file_bytes content = {0};
    char label[MO_LABEL], path[MO_PATH];
    if (!mo_ok(d->ctx))
        return;
    mo_file_label("digests", mo_run_path(trainer, MO_DIGESTS, path), label);
    size_t end = 0;
    if (trainer->step > 0 && access(path, F_OK) == 0 && mo_file_read(d->ctx, label, path, &content)) {
        end = end_of_earlier(&content, trainer->step);
        mo_file_bytes_free(d->ctx, &content);
    }
    d->file = mo_ok(d->ctx) ? mo_file_open_own(d->ctx, label, path, O_WRONLY | O_CREAT | O_APPEND) : -1;
    if (d->file >= 0 && ftruncate(d->file, (off_t)end) != 0)
        mo_fail(d->ctx, MO_IO, "%s: cannot open: %s", label, strerror(errno));
}

static void release_digests(mo_trainer *trainer, void *state) {
    run_digest *d = state;
    (void)trainer;
    if (d->file >= 0)
        close(d->file);
    json_decref(d->digests);
    mo_host_free(d->ctx, d, sizeof *d);
}

void mo_watch_digests(mo_trainer *trainer) {
    static const mo_watcher digests = {.on = {[MO_STARTS] = open_digests,
                                           [MO_FETCHED] = digest_episode,
                                           [MO_TAKEN] = digest_step,
                                           [MO_RELEASED] = release_digests}};
    run_digest *d = mo_host_alloc(trainer->ctx, sizeof *d);
    if (!d)
        return;
    *d = (run_digest){.ctx = trainer->ctx, .file = -1, .digests = json_object()};
    if (!d->digests)
        mo_fail(trainer->ctx, MO_MEMORY, "digests: out of memory");
    mo_watch(trainer, &digests, d);
}
