/* tools/recipe.c - the settings of a training run: the paper's, the paper's with three episodes a step ("MOCHI++"),
 * those of the program its authors released, and the best we know, whose encoder does not see the basis of an SVD.
 *
 *                      paper      paper++     released                  best
 *   encoder            GAMLP, 512 wide                                  invariant, of features 256 wide
 *   episodes a step    1          3           3 (1 with 2 layers)       3
 *   k per class        U[8,32]                96                        log-uniform 4 .. 64, links 8 .. 128
 *   q per class        U[16,64]               192                       24, links and graphs 48
 *   temperature on     logits                 unit-norm embeddings      logits, one a task
 *   learning rate      3e-4                                             1e-2
 *   steps, schedule    10,000, cosine to 0    12,991, cosine to 1e-5    400, cosine to 0 */
#include "tools/recipe.h"

#include "tools/default_data.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const recipe_names[N_RECIPES] = {"paper", "paper++", "released", "best"};
const char *const temperature_names[2] = {"logit", "embed"};
const char *const combine_names[2] = {"sum", "concat"};
const char *const kernel_names[2] = {"both", "linear"};
const char *const place_names[3] = {"device", "host", "disk"};

static void make_best(recipe *r) {
    r->features.form = MO_FEATURES_OF_EXAMPLES;
    r->features.dim = 256;
    r->invariant = mo_invariant_defaults();
    r->steps = 400;
    r->adamw.lr = 1e-2;
    r->plan =
        (mo_plan_options){.k_min = 4, .k_max = 64, .q_min = 24, .q_max = 24, .max_classes = 64, .log_uniform = true};
    r->plan.k_times[MO_TASK_LP] = r->plan.q_times[MO_TASK_LP] = r->plan.q_times[MO_TASK_GC] = 2;
}

recipe recipe_defaults(int number) {
    bool released = number == RECIPE_RELEASED;
    recipe r = {
        .number = number,
        .pool = parse_names(NULL, "--pool", DEFAULT_POOL),
        .model = mo_mochi_defaults(),
        .head = "ridge",
        .features = {.hops = 3, .power_iterations = 2},
        .link_share = 0.2,
        .family = {1, 1, 1},
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
    r.features.dim = r.model.encoder.dim;
    if (number == RECIPE_BEST)
        make_best(&r);
    return r;
}

mo_model recipe_model(mo_context *ctx, const recipe *r) {
    if (r->number == RECIPE_BEST)
        return mo_invariant_create(ctx, MO_F32, &r->invariant);
    return mo_mochi_model(mo_mochi_create(ctx, MO_F32, &r->model, r->seed));
}

void require_recipe(mo_context *ctx, const mo_weights *weights, const char *file, const char *name) {
    if (weights && name && strcmp(weights->recipe, name) != 0)
        mo_fail(ctx, MO_INVALID, "%s: expected weights of the recipe %s, found %s", file, name,
            weights->recipe[0] ? weights->recipe : "none named");
}

void recipe_settle(recipe *r) {
    r->model.encoder.dim = r->features.dim;
    r->features.hops = r->number == RECIPE_BEST ? r->invariant.hops : r->model.encoder.hops;
    r->features.seed = r->plan.seed = r->seed;
    if (r->adamw.lr_min > r->adamw.lr)
        r->adamw.lr_min = r->adamw.lr;
}

/* What the encoder and the readout are made by; nothing where `best` is as it is. */
static json_t *pack_model(const recipe *r) {
    const mo_gamlp_options *encoder = &r->model.encoder;
    if (r->number == RECIPE_BEST)
        return r->invariant.linear ? json_pack("{s:s}", "kernel", kernel_names[1]) : json_object();
    return json_pack("{s:i, s:f, s:s, s:f, s:s, s:s}", "layers", encoder->layers, "dropout", encoder->dropout, "head",
        r->head, "lambda", r->model.lambda, "temperature", temperature_names[r->model.temperature], "combine",
        combine_names[r->features.combine]);
}

char *recipe_text(const recipe *r) {
    json_t *pool = json_array();
    for (int i = 0; i < r->pool.count; i++)
        json_array_append_new(pool, json_string(r->pool.items[i]));
    json_t *o = json_pack("{s:s, s:o}", "recipe", recipe_names[r->number], "pool", pool);
    json_t *model = pack_model(r);
    json_t *features = json_pack("{s:i, s:i, s:f}", "dim", r->features.dim, "power_iterations",
        r->features.power_iterations, "link_share", r->link_share);
    json_t *steps = json_pack("{s:I, s:i, s:f, s:f, s:[I, I], s:[I, I], s:I, s:I}", "steps", (json_int_t)r->steps,
        "episodes_per_step", r->episodes_per_step, "lr", r->adamw.lr, "lr_min", r->adamw.lr_min, "k",
        (json_int_t)r->plan.k_min, (json_int_t)r->plan.k_max, "q", (json_int_t)r->plan.q_min, (json_int_t)r->plan.q_max,
        "max_classes", (json_int_t)r->plan.max_classes, "seed", (json_int_t)r->seed);
    if (r->max_rows)
        json_object_set_new(steps, "max_rows", json_integer(r->max_rows));
    if (r->family[0] != 1 || r->family[1] != 1 || r->family[2] != 1)
        json_object_set_new(steps, "families",
            json_pack("[f, f, f]", r->family[MO_TASK_NC], r->family[MO_TASK_LP], r->family[MO_TASK_GC]));
    char *text = NULL;
    /* fifteen digits give back every number that was typed with as many */
    if (o && !json_object_update_new(o, model) && !json_object_update_new(o, features) &&
        !json_object_update_new(o, steps))
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

static bool unpack_best(recipe *r, json_t *o, json_error_t *error) {
    const char *kernel = kernel_names[0];
    if (json_unpack_ex(o, error, 0, "{s?s}", "kernel", &kernel))
        return false;
    int number = find_name(kernel, kernel_names, 2);
    if (number < 0)
        snprintf(error->text, sizeof error->text, "kernel is unknown");
    r->invariant.linear = number == 1;
    return number >= 0;
}

static bool unpack_model(recipe *r, json_t *o, json_error_t *error) {
    const char *head, *temperature, *combine;
    mo_gamlp_options *encoder = &r->model.encoder;
    if (json_unpack_ex(o, error, 0, "{s:i, s:F, s:s, s:F, s:s, s:s}", "layers", &encoder->layers, "dropout",
            &encoder->dropout, "head", &head, "lambda", &r->model.lambda, "temperature", &temperature, "combine",
            &combine))
        return false;
    int named[2] = {find_name(temperature, temperature_names, 2), find_name(combine, combine_names, 2)};
    if (named[0] < 0 || named[1] < 0) {
        snprintf(error->text, sizeof error->text, "temperature or combine is unknown");
        return false;
    }
    r->model.head = open_head(head, error->text, sizeof error->text);
    if (!r->model.head)
        return false;
    snprintf(r->head, sizeof r->head, "%s", head);
    r->model.temperature = (mo_temperature)named[0];
    r->features.combine = (mo_combine)named[1];
    return true;
}

/* Fills r from the object that recipe_text makes. */
static bool unpack_recipe(recipe *r, json_t *o, json_error_t *error) {
    const char *name;
    json_t *pool;
    json_int_t steps, k[2], q[2], max_classes, seed, max_rows = 0;
    if (json_unpack_ex(o, error, 0, "{s:s, s:o}", "recipe", &name, "pool", &pool))
        return false;
    int number = find_name(name, recipe_names, N_RECIPES);
    if (number < 0 || !json_array_size(pool)) {
        snprintf(error->text, sizeof error->text, "recipe or pool is unknown");
        return false;
    }
    free_names(&r->pool);
    *r = recipe_defaults(number);
    if (json_unpack_ex(o, error, 0, "{s:i, s:i, s:F, s:I, s:i, s:F, s:F, s:[I, I], s:[I, I], s:I, s:I, s?I}", "dim",
            &r->features.dim, "power_iterations", &r->features.power_iterations, "link_share", &r->link_share, "steps",
            &steps, "episodes_per_step", &r->episodes_per_step, "lr", &r->adamw.lr, "lr_min", &r->adamw.lr_min, "k",
            &k[0], &k[1], "q", &q[0], &q[1], "max_classes", &max_classes, "seed", &seed, "max_rows", &max_rows) ||
        !(number == RECIPE_BEST ? unpack_best : unpack_model)(r, o, error))
        return false;
    unpack_pool(r, pool);
    if (json_object_get(o, "families") && json_unpack_ex(o, error, 0, "{s:[F, F, F]}", "families",
                                              &r->family[MO_TASK_NC], &r->family[MO_TASK_LP], &r->family[MO_TASK_GC]))
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
