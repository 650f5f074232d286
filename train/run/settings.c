/* train/run/settings.c - everything that decides the result of a run as one JSON object, and how two such objects
 * differ. */
#include "train/run/trainer.h"

#include "tensor/cpu/fast/blas_core.h"
#include "tensor/files/file.h"
#include "tensor/files/foreign_text.h"
#include "tensor/files/number_text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *mo_blas_core(void) {
    const char *core = blas_core();
    return core ? core : "unknown";
}

const char *mo_hash_digits(const mo_graph *graph, char digits[40]) {
    snprintf(digits, 40, "%016" PRIx64 "%016" PRIx64, graph->hash[1], graph->hash[0]);
    return digits;
}

static json_t *describe_model(const mo_model *model) {
    mo_description all = mo_description_of(json_object());
    all.whole = all.whole && mo_model_describe(model, all.object, false);
    return mo_description_end(&all);
}

static json_t *describe_features(const mo_pool *pool) {
    mo_description all = mo_description_of(
        json_pack("{s:s, s:f}", "form", mo_feature_form_name(pool->options.form), "link_share", pool->link_share));
    all.whole = all.whole && mo_fields_write(mo_feature_fields, &pool->options, all.object, false);
    return mo_description_end(&all);
}

static json_t *describe_pool(const mo_pool *pool) {
    mo_description list = mo_description_of(json_array());
    char hash[40];
    for (int i = 0; i < pool->n; i++) {
        const mo_graph *graph = pool->source[i].graph;
        mo_describe(&list, NULL,
            json_pack("{s:s, s:s, s:I, s:I, s:s}", "data", graph->name, "task", mo_task_name(pool->source[i].task),
                "nodes", (json_int_t)graph->nodes, "edges", (json_int_t)(graph->nnz / 2), "hash",
                mo_hash_digits(graph, hash)));
    }
    return mo_description_end(&list);
}

static json_t *describe_trainer(const mo_trainer_options *options) {
    mo_description all = mo_description_of(json_object());
    all.whole = all.whole && mo_fields_write(mo_trainer_fields, options, all.object, false);
    return mo_description_end(&all);
}

/* fp32 is not written: a run.json without the member, also of an older version, means fp32. */
static const char *const math_names[] = {[MO_MATH_FP32] = "fp32", [MO_MATH_TF32] = "tf32", [MO_MATH_BF16] = "bf16"};

json_t *mo_run_settings(mo_context *ctx, mo_model *model, const mo_pool *pool, const mo_trainer_options *options) {
    json_error_t error = {.text = "out of memory"};
    json_t *own = options->settings
                      ? mo_json_decode(options->settings, strlen(options->settings), JSON_REJECT_DUPLICATES, &error)
                      : json_object();
    if (!json_is_object(own)) {
        bool lacked = !own && (!options->settings || mo_json_code(&error) == MO_MEMORY);
        mo_fail(ctx, lacked ? MO_MEMORY : MO_INVALID, "train: expected the settings as a JSON object, found %s",
            own ? "another value" : error.text);
        json_decref(own);
        return NULL;
    }
    mo_description all =
        mo_description_of(json_pack("{s:o, s:o, s:o, s:o, s:o}", "settings", own, "model", describe_model(model),
            "features", describe_features(pool), "trainer", describe_trainer(options), "pool", describe_pool(pool)));
    if (ctx->math != MO_MATH_FP32)
        mo_describe(&all, "math", json_string(math_names[ctx->math]));
    json_t *settings = mo_description_end(&all);
    if (!settings)
        mo_fail(ctx, MO_MEMORY, "train: cannot describe the settings in JSON (names must be UTF-8)");
    return settings;
}

/* ---- differences ---- */

static bool is_rate(const char *path) {
    static const char *const rates[] = {"trainer.adamw.lr", "trainer.adamw.lr_min", "settings.lr", "settings.lr_min"};
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++)
        if (!strcmp(path, rates[i]))
            return true;
    return false;
}

/* Compares the two members of that key and everything below them. Returns whether they differ. */
static bool differ_below(mo_difference *d, const char *key, const json_t *kept, const json_t *now) {
    size_t length = strlen(d->path);
    snprintf(d->path + length, sizeof d->path - length, "%s%s", length ? "." : "", key);
    if (!(d->other_rate && is_rate(d->path)) && mo_settings_differ(d, kept, now))
        return true;
    d->path[length] = 0;
    return false;
}

bool mo_settings_differ(mo_difference *d, const json_t *kept, const json_t *now) {
    const char *key;
    json_t *value;
    d->kept = kept;
    d->now = now;
    if (json_is_object(kept) && json_is_object(now)) {
        json_object_foreach(
            (json_t *)kept, key, value) if (differ_below(d, key, value, json_object_get(now, key))) return true;
        json_object_foreach((json_t *)now, key,
            value) if (!json_object_get(kept, key) && differ_below(d, key, NULL, value)) return true;
        return false;
    }
    if (json_is_array(kept) && json_is_array(now)) {
        size_t n = json_array_size(kept) > json_array_size(now) ? json_array_size(kept) : json_array_size(now);
        for (size_t i = 0; i < n; i++) {
            char number[24];
            snprintf(number, sizeof number, "%zu", i);
            if (differ_below(d, number, json_array_get(kept, i), json_array_get(now, i)))
                return true;
        }
        return false;
    }
    return !kept || !now || !json_equal(kept, now);
}

char *mo_setting_text(const json_t *value) {
    return value ? mo_json_encode(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(17)) : NULL;
}

mo_code mo_compare_settings(
    mo_context *ctx, const char *label, const json_t *kept, const json_t *now, bool other_rate) {
    mo_difference d = {.other_rate = other_rate};
    if (!mo_settings_differ(&d, kept, now))
        return mo_code_of(ctx);
    char *before = mo_setting_text(d.kept), *after = mo_setting_text(d.now);
    mo_fail(ctx, MO_INVALID, "resume: %s was written with %s = %.200s, this run has %.200s", label, d.path,
        before ? before : "nothing", after ? after : "nothing");
    free(before);
    free(after);
    return mo_code_of(ctx);
}

mo_code mo_write_run(const mo_trainer *trainer) {
    mo_context *ctx = trainer->ctx;
    char path[MO_PATH];
    json_t *run = json_copy(trainer->settings);
    bool whole = !json_object_set_new(run, "version", json_string(MO_VERSION)) &&
                 !json_object_set_new(run, "blas_core", json_string(trainer->blas_core)) &&
                 (!trainer->beside || !json_object_update(run, trainer->beside));
    char *text = whole ? mo_json_encode(run, JSON_INDENT(2) | JSON_REAL_PRECISION(17)) : NULL;
    if (text) {
        size_t length = strlen(text);
        text[length] = '\n'; /* in the file, a line feed takes the place of the zero */
        mo_file_replace(ctx, mo_run_path(trainer, "run.json", path), text, length + 1);
    } else {
        mo_fail(ctx, MO_MEMORY, "train: out of memory for run.json");
    }
    free(text);
    json_decref(run);
    return mo_code_of(ctx);
}

json_t *mo_read_run(mo_context *ctx, const char *path) {
    static const char *const beside[] = {"version", "blas_core", "ranks"}; /* what does not decide the result */
    char label[MO_LABEL], quoted[256], why[JSON_ERROR_TEXT_LENGTH];
    json_error_t error;
    mo_file_bytes bytes;
    if (!mo_file_read_checked(ctx, mo_file_label("run", path, label), path, mo_file_check_text, &bytes))
        return NULL;
    json_t *settings = mo_json_decode((const char *)bytes.data, bytes.n, JSON_REJECT_DUPLICATES, &error);
    mo_file_bytes_free(ctx, &bytes);
    mo_quote(path, strlen(path), quoted, sizeof quoted);
    if (!settings)
        mo_fail(ctx, mo_json_code(&error), "%s:%d:%d: %s", quoted, error.line, error.column,
            mo_quote(error.text, strlen(error.text), why, sizeof why));
    else if (!json_is_object(settings))
        mo_fail(ctx, MO_FORMAT, "%s: expected an object", quoted);
    if (!mo_ok(ctx)) {
        json_decref(settings);
        return NULL;
    }
    for (size_t i = 0; i < sizeof beside / sizeof *beside; i++)
        json_object_del(settings, beside[i]);
    return settings;
}
