/* tools/train/recipe_json.c - the settings of a training run as the JSON object "settings" of its run.json: the members
 * that recipe_fields (recipe.c) lists with a meaning, which are options of `mochi train` too. */
#include "tools/train/train_options.h"

#include "tools/cli/input.h"
#include "tools/cli/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- which members are settings ---- */

/* The name of a setting's option: its key with dashes. */
static const char *option_of(const char *key, char option[64]) {
    snprintf(option, 64, "%s", key);
    for (char *c = option; *c; c++)
        *c = *c == '_' ? '-' : *c;
    return option;
}

/* Whether the recipe's model has the setting of that key. headed: a head replaces the readout of `best`. */
static bool has_setting(const recipe *r, const char *key, bool headed) {
    char text[64];
    const char *option = option_of(key, text);
    bool best = r->number == RECIPE_BEST, own = best && !headed;
    return !(best && is_among(option, OPTIONS_OF_GAMLP)) && !(own && is_among(option, OPTIONS_OF_HEADS));
}

/* ---- writing ---- */

/* Adds what is no number or choice, where it is not the recipe's own. */
static void write_others(const recipe *r, json_t *o, bool headed) {
    const double *family = r->family;
    if (headed)
        json_object_set_new(o, "head", json_string(r->head));
    if (r->encoder)
        json_object_set_new(o, "encoder", json_string(r->encoder_file));
    if (family[0] != 1 || family[1] != 1 || family[2] != 1)
        json_object_set_new(
            o, "families", json_pack("[f, f, f]", family[MO_TASK_NC], family[MO_TASK_LP], family[MO_TASK_GC]));
}

/* Adds the settings among the members of a struct. */
static void write_settings(const recipe *r, const mo_field *f, const void *options, bool headed, json_t *o) {
    for (; f->kind; f++)
        if (f->kind == MO_FIELD_STRUCT)
            write_settings(r, f->table, (const char *)options + f->at, headed, o);
        else if (f->help && has_setting(r, f->key, headed))
            mo_fields_write((mo_field[]){*f, {MO_FIELDS_END}}, options, o, false);
}

char *recipe_text(const recipe *r) {
    bool headed = !reads_itself(r);
    json_t *o = json_object(), *pool = json_array();
    for (int i = 0; i < r->pool.count; i++)
        json_array_append_new(pool, json_string(r->pool.items[i]));
    json_object_set_new(o, "recipe", json_string(recipe_names[r->number]));
    json_object_set_new(o, "pool", pool);
    write_settings(r, recipe_fields, r, headed, o);
    write_others(r, o, headed);
    /* fifteen digits restore every number typed with at most fifteen */
    char *text = json_dumps(o, JSON_COMPACT | JSON_REAL_PRECISION(15));
    json_decref(o);
    return needed(text);
}

/* ---- reading ---- */

/* Returns the index of a name in a table; -1 if it is missing. */
static int find_name(const char *name, const char *const *table, int n) {
    for (int i = 0; name && i < n; i++)
        if (!strcmp(name, table[i]))
            return i;
    return -1;
}

bool recipe_set(recipe *r, const char *key, const char *value, char expected[256]) {
    size_t outer = 0;
    const mo_field *f = mo_field_find(recipe_fields, key, &outer);
    json_t *given = json_loads(value, JSON_DECODE_ANY, NULL);
    bool setting = f && f->help, read = setting && mo_field_read(f, given, (char *)r + outer);
    expected[0] = 0;
    if (setting)
        mo_field_expected(f, expected, 256);
    json_decref(given);
    return read;
}

/* Reads the settings among the members of a struct. */
static bool read_settings(
    const recipe *r, const mo_field *f, void *options, const json_t *o, bool headed, json_error_t *error) {
    char option[64];
    for (bool read = true; f->kind; f++) {
        const json_t *value = json_object_get(o, f->key);
        if (f->kind == MO_FIELD_STRUCT)
            read = read_settings(r, f->table, (char *)options + f->at, o, headed, error);
        else if (f->help && has_setting(r, f->key, headed) && !(read = mo_field_read(f, value, options)))
            snprintf(error->text, sizeof error->text,
                value ? "%s is no value of --%s" : "%s is missing, the value of --%s", f->key,
                option_of(f->key, option));
        if (!read)
            return false;
    }
    return true;
}

static void read_pool(recipe *r, const json_t *pool) {
    size_t i;
    const json_t *name;
    free_names(&r->pool);
    json_array_foreach(pool, i, name) append_name(&r->pool, json_is_string(name) ? json_string_value(name) : "");
}

/* Reads what is no number or choice. */
static bool read_others(recipe *r, json_t *o, json_error_t *error) {
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

/* Fills r from the object that recipe_text makes. */
static bool read_recipe(recipe *r, json_t *o, json_error_t *error) {
    const char *name;
    json_t *pool;
    if (json_unpack_ex(o, error, 0, "{s:s, s:o}", "recipe", &name, "pool", &pool))
        return false;
    int number = find_name(name, recipe_names, N_RECIPES);
    if (number < 0 || !json_array_size(pool)) {
        snprintf(error->text, sizeof error->text, "recipe or pool is unknown");
        return false;
    }
    free_names(&r->pool);
    *r = recipe_defaults(number);
    read_pool(r, pool);
    bool headed = number != RECIPE_BEST || json_object_get(o, "head");
    return read_settings(r, recipe_fields, r, o, headed, error) && read_others(r, o, error);
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

bool recipe_read(recipe *r, const char *folder, char **text, mo_math *math) {
    char path[4096];
    json_error_t error;
    snprintf(path, sizeof path, "%s/run.json", folder);
    json_t *run = read_json_file(path, JSON_REJECT_DUPLICATES, &error), *settings = json_object_get(run, "settings");
    if (run && !settings)
        snprintf(error.text, sizeof error.text, "no object \"settings\"");
    bool read = settings && read_recipe(r, settings, &error) && read_math(run, math, &error);
    bool lost = access(path, F_OK) != 0; /* a file that is JSON may come from another version: it stays */
    if (!read && (run || !report_lost_settings(folder, path, lost ? NULL : error.text)))
        fprintf(stderr, "mochi: %s: %s\n", path, error.text);
    *text = read ? needed(json_dumps(settings, JSON_COMPACT | JSON_REAL_PRECISION(17))) : NULL;
    json_decref(run);
    return *text;
}
