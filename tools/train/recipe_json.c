/* tools/train/recipe_json.c - the settings of a training run as the JSON object "settings" of its run.json.
 *
 * A run.json that lacks a setting was written before the setting existed: it gets the value that such a run used. */
#include "tools/train/recipe.h"

#include "tools/input.h"
#include "tools/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Packs the settings of `best`, with the head only if it replaces `best`'s own readout. */
static json_t *pack_best(const recipe *r) {
    json_t *o = json_object();
    char parts[128];
    mo_invariant_write_parts(MO_ALL_PARTS & ~r->invariant.without, parts, sizeof parts);
    json_object_set_new(o, "parts", json_string(parts));
    if (!reads_itself(r))
        json_object_update_new(o, json_pack("{s:s, s:f, s:s}", "head", r->head, "lambda", r->model.lambda,
                                      "temperature", temperature_names[r->model.temperature]));
    return o;
}

/* Returns the settings of the encoder and the readout. */
static json_t *pack_model(const recipe *r) {
    const mo_gamlp_options *encoder = &r->model.encoder;
    if (r->number == RECIPE_BEST)
        return pack_best(r);
    return json_pack("{s:i, s:f, s:s, s:f, s:s, s:s, s:s, s:s}", "layers", encoder->layers, "dropout", encoder->dropout,
        "head", r->head, "lambda", r->model.lambda, "temperature", temperature_names[r->model.temperature], "combine",
        combine_names[r->features.combine], "hop_activation", hop_activation_names[encoder->relu_hops], "feature_norm",
        feature_norm_names[r->features.norm]);
}

/* Returns the settings of the optimiser and the episodes. */
static json_t *pack_steps(const recipe *r) {
    bool best = r->number == RECIPE_BEST;
    json_t *steps = json_pack("{s:I, s:i, s:f, s:f, s:f, s:f, s:f, s:[I, I], s:[I, I], s:I, s:I}", "steps",
        (json_int_t)r->steps, "episodes_per_step", r->episodes_per_step, "lr", r->adamw.lr, "lr_min", r->adamw.lr_min,
        "weight_decay", r->adamw.weight_decay, "clip", r->adamw.clip, "smoothing",
        best ? r->invariant.smoothing : r->model.smoothing, "k", (json_int_t)r->plan.k_min, (json_int_t)r->plan.k_max,
        "q", (json_int_t)r->plan.q_min, (json_int_t)r->plan.q_max, "max_classes", (json_int_t)r->plan.max_classes,
        "seed", (json_int_t)r->seed);
    if (r->max_rows)
        json_object_set_new(steps, "max_rows", json_integer(r->max_rows));
    if (r->family[0] != 1 || r->family[1] != 1 || r->family[2] != 1)
        json_object_set_new(steps, "families",
            json_pack("[f, f, f]", r->family[MO_TASK_NC], r->family[MO_TASK_LP], r->family[MO_TASK_GC]));
    return steps;
}

/* Packs the encoder's file only if the encoder is the user's. */
static json_t *pack_encoder(const recipe *r) {
    return r->encoder ? json_pack("{s:s}", "encoder", r->encoder_file) : json_object();
}

char *recipe_text(const recipe *r) {
    json_t *pool = json_array();
    for (int i = 0; i < r->pool.count; i++)
        json_array_append_new(pool, json_string(r->pool.items[i]));
    json_t *o = json_pack("{s:s, s:o}", "recipe", recipe_names[r->number], "pool", pool);
    json_t *features = json_pack("{s:i, s:i, s:i, s:f}", "dim", r->features.dim, "hops",
        r->number == RECIPE_BEST ? r->invariant.hops : r->model.encoder.hops, "power_iterations",
        r->features.power_iterations, "link_share", r->link_share);
    char *text = NULL;
    /* fifteen digits restore every number typed with at most fifteen */
    if (o && !json_object_update_new(o, pack_model(r)) && !json_object_update_new(o, pack_encoder(r)) &&
        !json_object_update_new(o, features) && !json_object_update_new(o, pack_steps(r)))
        text = json_dumps(o, JSON_COMPACT | JSON_REAL_PRECISION(15));
    json_decref(o);
    return needed(text);
}

/* Returns the index of a name in a table; -1 if it is missing. */
static int find_name(const char *name, const char *const *table, int n) {
    for (int i = 0; i < n; i++)
        if (!strcmp(name, table[i]))
            return i;
    return -1;
}

static void unpack_pool(recipe *r, const json_t *pool) {
    size_t i;
    const json_t *name;
    free_names(&r->pool);
    json_array_foreach(pool, i, name) append_name(&r->pool, json_is_string(name) ? json_string_value(name) : "");
}

static bool unpack_head(recipe *r, const char *head, const char *temperature, json_error_t *error) {
    int number = find_name(temperature, temperature_names, 2);
    if (number < 0) {
        snprintf(error->text, sizeof error->text, "temperature is unknown");
        return false;
    }
    r->model.head = open_head(head, error->text, sizeof error->text);
    r->model.temperature = (mo_temperature)number;
    snprintf(r->head, sizeof r->head, "%s", head);
    return r->model.head;
}

static bool unpack_best(recipe *r, json_t *o, json_error_t *error) {
    const char *head = NULL, *temperature = temperature_names[0], *list = "";
    unsigned parts;
    if (json_unpack_ex(o, error, 0, "{s?s, s?s, s?F, s?s}", "parts", &list, "head", &head, "lambda", &r->model.lambda,
            "temperature", &temperature))
        return false;
    if (!mo_invariant_read_parts(list, &parts, error->text, sizeof error->text)) {
        snprintf(error->text, sizeof error->text, "parts are unknown");
        return false;
    }
    r->invariant.without = MO_ALL_PARTS & ~parts;
    return !head || unpack_head(r, head, temperature, error);
}

static bool unpack_model(recipe *r, json_t *o, json_error_t *error) {
    const char *head, *temperature, *combine, *activation = "relu", *norm = "layer";
    mo_gamlp_options *encoder = &r->model.encoder;
    if (json_unpack_ex(o, error, 0, "{s:i, s:F, s:s, s:F, s:s, s:s, s?s, s?s}", "layers", &encoder->layers, "dropout",
            &encoder->dropout, "head", &head, "lambda", &r->model.lambda, "temperature", &temperature, "combine",
            &combine, "hop_activation", &activation, "feature_norm", &norm))
        return false;
    int named[3] = {find_name(combine, combine_names, 2), find_name(activation, hop_activation_names, 2),
        find_name(norm, feature_norm_names, 2)};
    for (int i = 0; i < 3; i++)
        if (named[i] < 0) {
            snprintf(error->text, sizeof error->text, "combine, hop_activation or feature_norm is unknown");
            return false;
        }
    r->features.combine = (mo_combine)named[0];
    encoder->relu_hops = named[1] == 1;
    r->features.norm = (mo_feature_norm)named[2];
    return unpack_head(r, head, temperature, error);
}

static bool unpack_encoder(recipe *r, const json_t *o, json_error_t *error) {
    const char *file = json_string_value(json_object_get(o, "encoder"));
    if (!file)
        return true;
    r->encoder = open_encoder(file, error->text, sizeof error->text);
    snprintf(r->encoder_file, sizeof r->encoder_file, "%s", file);
    return r->encoder;
}

/* Reads the settings that the models of `best` and of the other recipes share, each in its own struct. */
static bool unpack_shared(recipe *r, json_t *o, json_error_t *error) {
    bool best = r->number == RECIPE_BEST;
    return !json_unpack_ex(o, error, 0, "{s?i, s?F}", "hops", best ? &r->invariant.hops : &r->model.encoder.hops,
        "smoothing", best ? &r->invariant.smoothing : &r->model.smoothing);
}

static bool unpack_steps(recipe *r, json_t *o, json_error_t *error) {
    json_int_t steps, k[2], q[2], max_classes, seed, max_rows = 0;
    double *family = r->family;
    if (json_unpack_ex(o, error, 0, "{s:I, s:i, s:F, s:F, s?F, s?F, s:[I, I], s:[I, I], s:I, s:I, s?I, s?[F, F, F]}",
            "steps", &steps, "episodes_per_step", &r->episodes_per_step, "lr", &r->adamw.lr, "lr_min", &r->adamw.lr_min,
            "weight_decay", &r->adamw.weight_decay, "clip", &r->adamw.clip, "k", &k[0], &k[1], "q", &q[0], &q[1],
            "max_classes", &max_classes, "seed", &seed, "max_rows", &max_rows, "families", &family[MO_TASK_NC],
            &family[MO_TASK_LP], &family[MO_TASK_GC]))
        return false;
    r->steps = steps;
    r->plan.k_min = k[0];
    r->plan.k_max = k[1];
    r->plan.q_min = q[0];
    r->plan.q_max = q[1];
    r->plan.max_classes = max_classes;
    r->seed = (uint64_t)seed;
    r->max_rows = max_rows;
    return true;
}

/* Fills r from the object that recipe_text makes. */
static bool unpack_recipe(recipe *r, json_t *o, json_error_t *error) {
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
    if (json_unpack_ex(o, error, 0, "{s:i, s:i, s:F}", "dim", &r->features.dim, "power_iterations",
            &r->features.power_iterations, "link_share", &r->link_share) ||
        !unpack_steps(r, o, error) || !unpack_shared(r, o, error))
        return false;
    unpack_pool(r, pool);
    return (number == RECIPE_BEST ? unpack_best : unpack_model)(r, o, error) && unpack_encoder(r, o, error);
}

/* Reads the math mode. run.json lacks `math` if products are float32, as before other modes existed. */
static bool unpack_math(json_t *run, mo_math *math, json_error_t *error) {
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
    bool read = settings && unpack_recipe(r, settings, &error) && unpack_math(run, math, &error);
    bool lost = access(path, F_OK) != 0; /* a file that is JSON may come from another version: it stays */
    if (!read && (run || !report_lost_settings(folder, path, lost ? NULL : error.text)))
        fprintf(stderr, "mochi: %s: %s\n", path, error.text);
    *text = read ? needed(json_dumps(settings, JSON_COMPACT | JSON_REAL_PRECISION(17))) : NULL;
    json_decref(run);
    return *text;
}
