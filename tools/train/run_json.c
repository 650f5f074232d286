/* tools/train/run_json.c - reads the settings of a run from its run.json; and what weights a recipe asks for. */
#include "tools/train/run_json.h"

#include "tools/cli/input.h"
#include "tools/cli/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void require_recipe(mo_context *ctx, const mo_weights *weights, const char *file, const char *name) {
    if (weights && name && strcmp(weights->recipe, name) != 0)
        mo_fail(ctx, MO_INVALID,
            "%s: expected weights of the recipe %s, found %s: leave out --recipe, or name other weights", file, name,
            weights->recipe[0] ? weights->recipe : "none named");
}

void require_encoder(mo_context *ctx, const mo_weights *weights, const char *file, const mo_encoder *encoder) {
    static const char *const own[] = {"mochi", "invariant"};
    bool ours = weights && (!strcmp(weights->kind, own[0]) || !strcmp(weights->kind, own[1]));
    if (!weights || !mo_ok(ctx) || (ours && !encoder) || (encoder && !strcmp(weights->kind, encoder->name)))
        return;
    mo_fail(ctx, MO_UNSUPPORTED, "%s: they are weights of the encoder %s; expected %s", file, weights->kind,
        ours ? "no --encoder" : "--encoder FILE.so with it");
}

/* ---- run.json ---- */

/* Returns the index of a name in a table; -1 if it is missing. */
static int find_name(const char *name, const char *const *table, int n) {
    for (int i = 0; name && i < n; i++)
        if (!strcmp(name, table[i]))
            return i;
    return -1;
}

static void read_pool(names *list, const json_t *pool) {
    size_t i;
    const json_t *name;
    free_names(list);
    json_array_foreach(pool, i, name) append_name(list, json_is_string(name) ? json_string_value(name) : "");
}

/* Reads what is no number or choice. */
static bool read_others(mo_recipe *r, json_t *o, json_error_t *error) {
    const char *head = NULL, *encoder = NULL;
    double *family = r->family;
    if (json_unpack_ex(o, error, 0, "{s?s, s?s, s?[F, F, F]}", "head", &head, "encoder", &encoder, "families",
            &family[MO_TASK_NC], &family[MO_TASK_LP], &family[MO_TASK_GC]))
        return false;
    if (head) {
        r->model.readout.head = open_head(head, error->text, sizeof error->text);
        snprintf(r->head, sizeof r->head, "%s", head);
    }
    if (encoder) {
        r->encoder = open_encoder(encoder, error->text, sizeof error->text);
        snprintf(r->encoder_file, sizeof r->encoder_file, "%s", encoder);
    }
    return r->model.readout.head && (!encoder || r->encoder);
}

/* Fills r from the object that mo_recipe_text makes. */
static bool read_recipe(mo_recipe *r, names *list, json_t *o, json_error_t *error) {
    const char *name;
    json_t *pool;
    if (json_unpack_ex(o, error, 0, "{s:s, s:o}", "recipe", &name, "pool", &pool))
        return false;
    int number = 0;
    while (number < MO_RECIPES && strcmp(name, mo_recipe_name(number)) != 0)
        number++;
    if (number == MO_RECIPES || !json_array_size(pool)) {
        snprintf(error->text, sizeof error->text, "recipe or pool is unknown");
        return false;
    }
    *r = mo_recipe_defaults(number);
    read_pool(list, pool);
    bool headed = number != MO_RECIPE_BEST || json_object_get(o, "head");
    return mo_recipe_read(r, o, headed, error->text, sizeof error->text) && read_others(r, o, error);
}

/* Reads the math mode. run.json lacks `math` if products are float32, as before other modes existed. */
static bool read_math(json_t *run, mo_math *math, json_error_t *error) {
    const char *name = math_names[MO_MATH_FP32];
    if (json_unpack_ex(run, error, 0, "{s?s}", "math", &name))
        return false;
    int number = find_name(name, math_names, 3);
    *math = (mo_math)number;
    if (number < 0)
        snprintf(error->text, sizeof error->text, "math is \"%.40s\", expected fp32, tf32 or bf16", name);
    return number >= 0;
}

/* Reports that run.json is lost or damaged (error: what is wrong with it; NULL: lost), what the checkpoint still
 * contains and what the user can do. */
static bool report_lost_settings(const char *folder, const char *path, const char *error) {
    char checkpoint[4096], log[4096];
    snprintf(checkpoint, sizeof checkpoint, "%s/checkpoint.safetensors", folder);
    snprintf(log, sizeof log, "%s/log.jsonl", folder);
    if (access(checkpoint, F_OK) != 0)
        return false;
    fprintf(stderr, "mochi: %s%s%s; ", path, error ? ": " : " is not there", error ? error : "");
    if (access(log, F_OK) == 0)
        fprintf(stderr,
            "write into it the metadata.settings that `mochi data info --json %s` prints, and --resume goes on\n",
            checkpoint);
    else
        fprintf(stderr,
            "without it and log.jsonl a checkpoint is not continued: train again, in another folder, with the settings "
            "that `mochi data info %s` prints\n",
            checkpoint);
    return true;
}

bool recipe_read(mo_recipe *r, names *pool, const char *folder, char **text, mo_math *math) {
    char path[4096];
    json_error_t error;
    snprintf(path, sizeof path, "%s/run.json", folder);
    json_t *run = read_json_file(path, JSON_REJECT_DUPLICATES, &error), *settings = json_object_get(run, "settings");
    if (run && !settings)
        snprintf(error.text, sizeof error.text, "no object \"settings\"");
    bool read = settings && read_recipe(r, pool, settings, &error) && read_math(run, math, &error);
    bool lost = access(path, F_OK) != 0; /* a file that is JSON may come from another version: it stays */
    if (!read && (run || !report_lost_settings(folder, path, lost ? NULL : error.text)))
        fprintf(stderr, "mochi: %s: %s\n", path, error.text);
    *text = read ? needed(json_dumps(settings, JSON_COMPACT | JSON_REAL_PRECISION(17))) : NULL;
    json_decref(run);
    return *text;
}
