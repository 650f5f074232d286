/* tools/recipe.c - the settings of a training run: the paper's, the paper's with three episodes a step ("MOCHI++"), and
 * those of the program its authors released.
 *
 *                      paper      paper++     released
 *   episodes a step    1          3           3 (1 with 2 layers)
 *   k, q per class     U[8,32], U[16,64]      96, 192
 *   temperature on     logits                 unit-norm embeddings
 *   steps, schedule    10,000, cosine to 0    12,991, cosine to 1e-5 */
#include "tools/recipe.h"

#include "tools/default_data.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const recipe_names[N_RECIPES] = {"paper", "paper++", "released"};
const char *const temperature_names[2] = {"logit", "embed"};
const char *const combine_names[2] = {"sum", "concat"};

recipe recipe_defaults(int number) {
    bool released = number == RECIPE_RELEASED;
    recipe r = {
        .number = number,
        .pool = parse_names(NULL, "--pool", DEFAULT_POOL),
        .model = mo_mochi_defaults(),
        .head = "ridge",
        .features = {.hops = 3, .power_iterations = 2},
        .link_share = 0.2,
        .steps = released ? 12991 : 10000,
        .episodes_per_step = number == RECIPE_PAPER ? 1 : 3,
        .adamw = {.lr = 3e-4, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8, .weight_decay = 1e-4, .clip = 1},
        .plan = {.k_min = 8, .k_max = 32, .q_min = 16, .q_max = 64, .max_classes = 64},
    };
    if (released) {
        r.model.temperature = MO_TEMPERATURE_EMBED;
        r.adamw.lr_min = 1e-5;
        r.plan.k_min = r.plan.k_max = 96;
        r.plan.q_min = r.plan.q_max = 192;
    }
    return r;
}

void recipe_settle(recipe *r) {
    r->features.dim = r->model.encoder.dim;
    r->features.hops = r->model.encoder.hops;
    r->features.seed = r->plan.seed = r->seed;
    if (r->adamw.lr_min > r->adamw.lr)
        r->adamw.lr_min = r->adamw.lr;
}

char *recipe_text(const recipe *r) {
    json_t *pool = json_array();
    for (int i = 0; i < r->pool.count; i++)
        json_array_append_new(pool, json_string(r->pool.items[i]));
    const mo_gamlp_options *encoder = &r->model.encoder;
    json_t *o = json_pack("{s:s, s:o, s:i, s:f, s:s, s:f, s:s}", "recipe", recipe_names[r->number], "pool", pool,
        "layers", encoder->layers, "dropout", encoder->dropout, "head", r->head, "lambda", r->model.lambda,
        "temperature", temperature_names[r->model.temperature]);
    json_t *features =
        json_pack("{s:i, s:s, s:i, s:f}", "dim", encoder->dim, "combine", combine_names[r->features.combine],
            "power_iterations", r->features.power_iterations, "link_share", r->link_share);
    json_t *steps = json_pack("{s:I, s:i, s:f, s:f, s:[I, I], s:[I, I], s:I, s:I}", "steps", (json_int_t)r->steps,
        "episodes_per_step", r->episodes_per_step, "lr", r->adamw.lr, "lr_min", r->adamw.lr_min, "k",
        (json_int_t)r->plan.k_min, (json_int_t)r->plan.k_max, "q", (json_int_t)r->plan.q_min, (json_int_t)r->plan.q_max,
        "max_classes", (json_int_t)r->plan.max_classes, "seed", (json_int_t)r->seed);
    char *text = NULL;
    /* fifteen digits give back every number that was typed with as many */
    if (o && !json_object_update_new(o, features) && !json_object_update_new(o, steps))
        text = json_dumps(o, JSON_COMPACT | JSON_REAL_PRECISION(15));
    json_decref(o);
    return text;
}

/* The number of a name in a table; -1 where it is not there. */
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

/* Fills r from the object that recipe_text makes. */
static bool unpack_recipe(recipe *r, json_t *o, json_error_t *error) {
    const char *number, *head, *temperature, *combine;
    json_t *pool;
    json_int_t steps, k[2], q[2], max_classes, seed;
    mo_gamlp_options *encoder = &r->model.encoder;
    if (json_unpack_ex(o, error, 0, "{s:s, s:o, s:i, s:F, s:s, s:F, s:s, s:i, s:s, s:i, s:F}", "recipe", &number,
            "pool", &pool, "layers", &encoder->layers, "dropout", &encoder->dropout, "head", &head, "lambda",
            &r->model.lambda, "temperature", &temperature, "dim", &encoder->dim, "combine", &combine,
            "power_iterations", &r->features.power_iterations, "link_share", &r->link_share) ||
        json_unpack_ex(o, error, 0, "{s:I, s:i, s:F, s:F, s:[I, I], s:[I, I], s:I, s:I}", "steps", &steps,
            "episodes_per_step", &r->episodes_per_step, "lr", &r->adamw.lr, "lr_min", &r->adamw.lr_min, "k", &k[0],
            &k[1], "q", &q[0], &q[1], "max_classes", &max_classes, "seed", &seed))
        return false;
    int named[3] = {find_name(number, recipe_names, N_RECIPES), find_name(temperature, temperature_names, 2),
        find_name(combine, combine_names, 2)};
    if (named[0] < 0 || named[1] < 0 || named[2] < 0 || !json_array_size(pool)) {
        snprintf(error->text, sizeof error->text, "recipe, temperature, combine or pool is unknown");
        return false;
    }
    r->model.head = open_head(head, error->text, sizeof error->text);
    if (!r->model.head)
        return false;
    snprintf(r->head, sizeof r->head, "%s", head);
    unpack_pool(r, pool);
    r->number = named[0];
    r->model.temperature = (mo_temperature)named[1];
    r->features.combine = (mo_combine)named[2];
    r->steps = steps;
    r->plan = (mo_plan_options){.k_min = k[0], .k_max = k[1], .q_min = q[0], .q_max = q[1], .max_classes = max_classes};
    r->seed = (uint64_t)seed;
    return true;
}

bool recipe_read(recipe *r, const char *folder) {
    char path[4096];
    json_error_t error;
    snprintf(path, sizeof path, "%s/run.json", folder);
    json_t *run = json_load_file(path, JSON_REJECT_DUPLICATES, &error), *settings = json_object_get(run, "settings");
    if (run && !settings)
        snprintf(error.text, sizeof error.text, "no object \"settings\"");
    bool read = settings && unpack_recipe(r, settings, &error);
    if (!read)
        fprintf(stderr, "mochi: %s: %s\n", path, error.text);
    json_decref(run);
    return read;
}
