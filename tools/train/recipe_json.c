/* tools/train/recipe_json.c - the settings of a training run as the JSON object "settings" of its run.json.
 *
 * Every option of `mochi train` that is a number or a choice, with its field in the recipe, is a setting: its row in
 * train_options.c gives the key, the kind of value and its range. */
#include "tools/train/train_options.h"

#include "tools/input.h"
#include "tools/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- which options are settings ---- */

static bool is_among(const char *name, const char *list) {
    size_t n = strlen(name);
    const char *found = strstr(list, name);
    return found && (found == list || found[-1] == ' ') && (found[n] == ' ' || !found[n]);
}

/* Returns whether an option of `mochi train` is a number or a choice in the recipe, and so a setting. */
static bool is_setting(const option *row) {
    bool plain = row->kind == OPTION_INT || row->kind == OPTION_INT64 || row->kind == OPTION_REAL ||
                 row->kind == OPTION_POSITIVE || row->kind == OPTION_CHOICE || row->kind == OPTION_RANGE;
    return plain && row->field < sizeof(recipe);
}

/* Returns whether the recipe's model has the setting. headed: a head replaces the readout of `best`. */
static bool has_setting(const recipe *r, const option *row, bool headed) {
    bool best = r->number == RECIPE_BEST, own = best && !headed;
    return is_setting(row) && !(best && is_among(row->name, OPTIONS_OF_GAMLP)) &&
           !(own && is_among(row->name, OPTIONS_OF_HEADS));
}

/* Writes the key of a setting: its option's name with underscores. */
static const char *key_of(const option *row, char key[64]) {
    snprintf(key, 64, "%s", row->name);
    for (char *c = key; *c; c++)
        *c = *c == '-' ? '_' : *c;
    return key;
}

/* ---- writing ---- */

static json_t *setting_of(const recipe *r, const option *row) {
    const void *field = (const char *)r + row->field;
    const int64_t *whole = field;
    choice_list list;
    switch (row->kind) {
    case OPTION_INT:
        return json_integer(*(const int *)field);
    case OPTION_INT64:
        return json_integer(*whole);
    case OPTION_RANGE:
        return json_pack("[I, I]", (json_int_t)whole[0], (json_int_t)whole[1]);
    case OPTION_CHOICE:
        split_choices(row, &list);
        return json_string(list.word[*(const int *)field - (int)row->low]);
    default:
        return json_real(*(const double *)field);
    }
}

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
    if (!r->max_rows)
        json_object_del(o, "max_rows");
}

char *recipe_text(const recipe *r) {
    char key[64];
    bool headed = !reads_itself(r);
    json_t *o = json_object(), *pool = json_array();
    for (int i = 0; i < r->pool.count; i++)
        json_array_append_new(pool, json_string(r->pool.items[i]));
    json_object_set_new(o, "recipe", json_string(recipe_names[r->number]));
    json_object_set_new(o, "pool", pool);
    for (const option *row = train_line.table; row->kind != OPTION_END; row++)
        if (has_setting(r, row, headed))
            json_object_set_new(o, key_of(row, key), setting_of(r, row));
    json_object_set_new(o, "lr_min", json_real(r->adamw.lr_min));
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

/* Sets the setting's field. Returns whether the value is one that the option takes. */
static bool read_setting(recipe *r, const option *row, json_t *value) {
    void *field = (char *)r + row->field;
    int64_t whole = json_integer_value(value), low = (int64_t)row->low,
            high = row->high ? (int64_t)row->high : INT32_MAX;
    double real = json_number_value(value);
    json_int_t range[2];
    choice_list list;
    int choice;
    switch (row->kind) {
    case OPTION_INT:
        *(int *)field = (int)whole;
        return json_is_integer(value) && whole >= low && whole <= high;
    case OPTION_INT64:
        *(int64_t *)field = whole;
        return json_is_integer(value) && whole >= low && (!row->high || whole <= high);
    case OPTION_RANGE:
        if (json_unpack(value, "[I, I!]", &range[0], &range[1]))
            return false;
        memcpy(field, (int64_t[]){range[0], range[1]}, 2 * sizeof(int64_t));
        return 1 <= range[0] && range[0] <= range[1] && range[1] <= INT32_MAX;
    case OPTION_CHOICE:
        split_choices(row, &list);
        choice = find_name(json_string_value(value), list.word, list.n);
        *(int *)field = (int)row->low + choice;
        return choice >= 0;
    case OPTION_POSITIVE:
        *(double *)field = real;
        return json_is_number(value) && real > 0;
    default:
        *(double *)field = real;
        return json_is_number(value) && real >= row->low && real <= row->high;
    }
}

/* Reads the settings that are numbers or choices. */
static bool read_settings(recipe *r, json_t *o, json_error_t *error) {
    /* A file may lack these, which are younger than the form of the file, and max-rows, which is written if it is set.
     */
    static const char optional[] = "hops smoothing weight-decay clip hop-activation feature-norm attributes max-rows";
    bool headed = r->number != RECIPE_BEST || json_object_get(o, "head");
    char key[64];
    r->hop_activation = 1; /* of runs that are older than the two options */
    r->features.norm = MO_FEATURE_NORM_LAYER;
    r->features.attributes = MO_ATTRIBUTES_RAW;
    for (const option *row = train_line.table; row->kind != OPTION_END; row++) {
        json_t *value = has_setting(r, row, headed) ? json_object_get(o, key_of(row, key)) : NULL;
        bool needs = has_setting(r, row, headed) && (value || !is_among(row->name, optional));
        if (needs && !(value && read_setting(r, row, value))) {
            snprintf(error->text, sizeof error->text,
                value ? "%s is no value of --%s" : "%s is missing, the value of --%s", key, row->name);
            return false;
        }
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
    const char *parts = MO_ALL_PARTS, *head = NULL, *encoder = NULL;
    double *family = r->family;
    if (json_unpack_ex(o, error, 0, "{s?s, s?s, s?s, s?F, s?[F, F, F]}", "parts", &parts, "head", &head, "encoder",
            &encoder, "lr_min", &r->adamw.lr_min, "families", &family[MO_TASK_NC], &family[MO_TASK_LP],
            &family[MO_TASK_GC]))
        return false;
    if (strcmp(parts, MO_ALL_PARTS) != 0) {
        snprintf(error->text, sizeof error->text, "parts of the encoder were left out, which this version cannot do");
        return false;
    }
    if (head) {
        r->model.head = open_head(head, error->text, sizeof error->text);
        snprintf(r->head, sizeof r->head, "%s", head);
    }
    if (encoder) {
        r->encoder = open_encoder(encoder, error->text, sizeof error->text);
        snprintf(r->encoder_file, sizeof r->encoder_file, "%s", encoder);
    }
    return r->model.head && (!encoder || r->encoder);
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
    return read_settings(r, o, error) && read_others(r, o, error);
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
