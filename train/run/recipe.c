/* train/run/recipe.c - the settings of a training run: the paper's, the paper's with three episodes per step
 * ("MOCHI++"), the settings of the authors' released program, and the best we know, whose encoder does not depend on
 * the basis of an SVD.
 *
 *                      paper      paper++     released                  best
 *   encoder            GAMLP, 512 wide                                  invariant, of features 256 wide
 *   two SVDs           side by side           summed                    apart
 *   attributes         as they are                                      on one scale
 *   before the hops    nothing                LayerNorm                 the mean row norm divided out
 *   hop layers         linear                 linear, ReLU              none
 *   episodes per step  1          3           3 (1 with 2 layers)       3
 *   k per class        U[8,32]                96                        log-uniform 4 .. 64, links 8 .. 128
 *   q per class        U[16,64]               192                       24, links and graphs 48
 *   temperature on     logits                 unit-norm embeddings      logits, chosen by leave-one-out
 *   learning rate      3e-4                                             1e-2
 *   steps, schedule    10,000, cosine to 0    12,991, cosine to 1e-5    400, cosine to 0
 *
 * Side by side each SVD has half of the width, as the hop layers are square: d/2 columns of structure, then d/2 of
 * attributes, which are 0 if a graph has none. Dropout is 0: the article gives no rate. tests/cli/article.json lists
 * what the article gives and omits. */
#include "train/recipe.h"

#include "models/model.h"
#include "tensor/files/fields.h"
#include "tensor/files/number_text.h"
#include "tensor/library.h"
#include "train/evaluation/evaluation.h"
#include "train/run/trainer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AT(member) offsetof(mo_recipe, member)
const mo_field mo_recipe_fields[] = {
    {MO_FIELD_REAL, "link_share", "S", AT(link_share),
        "share of each graph's edges that link episodes predict and its features do not use", 0.001, 0.9},
    {MO_FIELD_SEED, "seed", "S", AT(seed), "seed of all random numbers; equal seeds give equal weights"},
    {MO_FIELD_STRUCT, "features", NULL, AT(features), "The features", .table = mo_feature_fields},
    {MO_FIELD_STRUCT, "encoder", NULL, AT(model.encoder), "The encoder", .table = mo_gamlp_fields},
    {MO_FIELD_STRUCT, "readout", NULL, AT(model.readout), "The readout", .table = mo_readout_fields},
    {MO_FIELD_STRUCT, "training", NULL, AT(training), "The steps", .table = mo_trainer_fields},
    {MO_FIELDS_END},
};
#undef AT

const char *mo_recipe_name(int number) {
    static const char *const names[MO_RECIPES] = {"paper", "paper++", "released", "best"};
    return number >= 0 && number < MO_RECIPES ? names[number] : NULL;
}

static void make_best(mo_recipe *r) {
    r->features.form = MO_ROWS_PER_EXAMPLE;
    r->features.dim = 256;
    r->features.attributes = MO_ATTRIBUTES_SCALED;
    r->invariant = mo_invariant_defaults();
    r->model.readout.head = &mo_head_mixture;
    snprintf(r->head, sizeof r->head, "%s", r->model.readout.head->name);
    r->model.readout.lambda = 3; /* rows have unit norm, as for the ridge on single hops */
    r->training.steps = 400;
    r->training.adamw.lr = 1e-2;
    r->training.plan =
        (mo_plan_options){.k_min = 4, .k_max = 64, .q_min = 24, .q_max = 24, .max_classes = 64, .log_uniform = true};
    int *k_times = r->training.plan.k_times, *q_times = r->training.plan.q_times;
    k_times[MO_TASK_LP] = q_times[MO_TASK_LP] = q_times[MO_TASK_GC] = 2;
}

mo_recipe mo_recipe_defaults(int number) {
    bool released = number == MO_RECIPE_RELEASED;
    mo_recipe r = {
        .number = number,
        .model = mo_mochi_defaults(),
        .head = "ridge",
        .features = {.hops = 3, .power_iterations = 2, .attributes = MO_ATTRIBUTES_RAW},
        .link_share = 0.2,
        .family = {1, 1, 1},
        .training = {.steps = released ? 12991 : 10000,
            .episodes_per_step = number == MO_RECIPE_PAPER ? 1 : 3,
            .adamw = {.lr = 3e-4, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8, .weight_decay = 1e-4, .clip = 1},
            .plan = {.k_min = 8, .k_max = 32, .q_min = 16, .q_max = 64, .max_classes = 64}},
    };
    if (number == MO_RECIPE_PAPER || number == MO_RECIPE_PAPER_PLUS) {
        r.features.combine = MO_COMBINE_CONCAT;
        r.features.norm = MO_FEATURE_NORM_NONE;
    }
    if (released) {
        r.model.readout.temperature = MO_TEMPERATURE_EMBED;
        r.training.adamw.lr_min = 1e-5;
        r.training.plan.k_min = r.training.plan.k_max = 96;
        r.training.plan.q_min = r.training.plan.q_max = 192;
    }
    r.features.dim = r.model.encoder.dim;
    r.model.encoder.relu_hops = released;
    if (number == MO_RECIPE_BEST)
        make_best(&r);
    return r;
}

bool mo_recipe_reads_itself(const mo_recipe *r) {
    return r && r->number == MO_RECIPE_BEST && !r->encoder && r->model.readout.head->kernels;
}

/* Whether a list of options, separated by blanks, has this one. */
static bool is_among(const char *option, const char *list) {
    size_t n = strlen(option);
    for (; *list; list += strcspn(list, " "), list += *list == ' ')
        if (strcspn(list, " ") == n && !strncmp(list, option, n))
            return true;
    return false;
}

const char *mo_recipe_refuses(const mo_recipe *r, const char *option) {
    if (!r || !option)
        return NULL;
    bool of_gamlp = is_among(option, MO_RECIPE_OF_GAMLP), lambda = !strcmp(option, "lambda");
    if (r->encoder && is_among(option, "layers hop-activation dropout"))
        return "expected no --encoder: it replaces the recipe's";
    if (r->encoder && of_gamlp && r->encoder->of_examples)
        return "the encoder reads rows of examples, which always keep structure and attributes separate";
    if (!r->encoder && of_gamlp && r->number == MO_RECIPE_BEST)
        return "the recipe best has its own encoder; name another --recipe";
    if (is_among(option, "lambda temperature") && mo_recipe_reads_itself(r))
        return "the recipe best's own readout, mixture, has its own; name another --head or --recipe";
    if (lambda && !mo_head_has(r->model.readout.head, "lambda"))
        return "the head of --head has no parameter of that name";
    if (lambda && r->model.readout.lambda == 0)
        return "expected a number above 0, found '0'";
    if (!strcmp(option, "lr-min") && r->training.adamw.lr_min > r->training.adamw.lr)
        return "expected at most the rate of --lr";
    return NULL;
}

/* Sets width[task] to the width of the task's embeddings, by encoding one example. */
static void measure_embeddings(mo_model *encoder, const mo_pool *pool, int64_t width[MO_TASKS]) {
    for (int i = 0; i < mo_pool_size(pool); i++) {
        const mo_source *source = mo_pool_source(pool, i);
        if (width[source->task] == 0)
            width[source->task] = mo_embedding_width(encoder, source);
    }
}

/* For a head over the user's encoder, or over the encoder of `best`, first measures the width of the embeddings: the
 * head's tensors have that size. */
mo_model *mo_recipe_model(mo_context *ctx, const mo_recipe *r, const mo_pool *pool) {
    if (!mo_given(ctx, "recipe", "the recipe", r) || !mo_given(ctx, "recipe", "the pool", pool))
        return NULL;
    mo_encoder_rows rows = {r->features.hops, r->features.dim};
    mo_readout_options ridge = {.smoothing = 0}, o = r->model.readout;
    if (!r->encoder && r->number != MO_RECIPE_BEST)
        return mo_mochi_create(ctx, MO_F32, &r->model, r->seed);
    mo_model *model = r->encoder ? mo_encoder_create(ctx, MO_F32, r->encoder, rows, &ridge, r->seed)
                                 : mo_invariant_create(ctx, MO_F32, &r->invariant);
    if (mo_recipe_reads_itself(r) || !model)
        return model;
    measure_embeddings(model, pool, o.width);
    return mo_model_under_head(model, &o, r->seed);
}

void mo_recipe_settle(mo_recipe *r) {
    if (!r)
        return;
    if (r->encoder)
        r->features.form = r->encoder->of_examples ? MO_ROWS_PER_EXAMPLE : MO_ROWS_PER_NODE;
    r->model.encoder.dim = r->features.dim;
    r->model.encoder.hops = r->invariant.hops = r->features.hops;
    r->invariant.smoothing = r->model.readout.smoothing;
    r->features.seed = r->training.plan.seed = r->seed;
    if (r->training.adamw.lr_min > r->training.adamw.lr)
        r->training.adamw.lr_min = r->training.adamw.lr;
}

/* ---- the object "settings" of run.json ---- */

/* The name of a setting's option: its key with dashes. */
static const char *option_of(const char *key, char option[64]) {
    snprintf(option, 64, "%s", key);
    for (char *c = option; *c; c++)
        *c = *c == '_' ? '-' : *c;
    return option;
}

/* Whether the recipe's model has the setting of that key. headed: a head replaces the readout of `best`. */
static bool has_setting(const mo_recipe *r, const char *key, bool headed) {
    char text[64];
    const char *option = option_of(key, text);
    bool best = r->number == MO_RECIPE_BEST, own = best && !headed;
    return !(best && is_among(option, MO_RECIPE_OF_GAMLP)) && !(own && is_among(option, "lambda temperature"));
}

/* Adds what is no number or choice, where it is not the recipe's own. */
static void write_others(const mo_recipe *r, mo_description *all, bool headed) {
    const double *family = r->family;
    if (headed)
        mo_describe(all, "head", json_string(r->head));
    if (r->encoder)
        mo_describe(all, "encoder", json_string(r->encoder_file));
    if (family[0] != 1 || family[1] != 1 || family[2] != 1)
        mo_describe(
            all, "families", json_pack("[f, f, f]", family[MO_TASK_NC], family[MO_TASK_LP], family[MO_TASK_GC]));
}

/* Adds the settings among the members of a struct. Returns false if out of memory. */
static bool write_settings(const mo_recipe *r, const mo_field *f, const void *options, bool headed, json_t *o) {
    bool written = true;
    for (; f->kind && written; f++)
        if (f->kind == MO_FIELD_STRUCT)
            written = write_settings(r, f->table, (const char *)options + f->at, headed, o);
        else if (f->help && has_setting(r, f->key, headed))
            written = mo_fields_write((mo_field[]){*f, {MO_FIELDS_END}}, options, o, false);
    return written;
}

char *mo_recipe_text(const mo_recipe *r, const char *const *pool, int n) {
    if (!r || (!pool && n))
        return NULL;
    bool headed = !mo_recipe_reads_itself(r);
    mo_description all = mo_description_of(json_object()), names = mo_description_of(json_array());
    for (int i = 0; i < n; i++)
        mo_describe(&names, NULL, json_string(pool[i]));
    mo_describe(&all, "recipe", json_string(mo_recipe_name(r->number)));
    mo_describe(&all, "pool", mo_description_end(&names));
    all.whole = all.whole && write_settings(r, mo_recipe_fields, r, headed, all.object);
    write_others(r, &all, headed);
    json_t *object = mo_description_end(&all);
    /* fifteen digits restore every number typed with at most fifteen */
    char *text = object ? mo_json_encode(object, JSON_COMPACT | JSON_REAL_PRECISION(15)) : NULL;
    json_decref(object);
    return text;
}

bool mo_recipe_set(mo_recipe *r, const char *key, const char *value, char expected[256]) {
    if (!r || !key || !value || !expected)
        return false;
    size_t outer = 0;
    const mo_field *f = mo_field_find(mo_recipe_fields, key, &outer);
    json_t *given = mo_json_decode(value, strlen(value), JSON_DECODE_ANY, NULL);
    bool setting = f && f->help, read = setting && mo_field_read(f, given, (char *)r + outer);
    expected[0] = 0;
    if (setting)
        mo_field_expected(f, expected, 256);
    json_decref(given);
    return read;
}

/* Reads the settings among the members of a struct. */
static bool read_settings(
    const mo_recipe *r, const mo_field *f, void *options, const json_t *o, bool headed, char *why, size_t bytes) {
    char option[64];
    for (bool read = true; f->kind; f++) {
        const json_t *value = json_object_get(o, f->key);
        if (f->kind == MO_FIELD_STRUCT)
            read = read_settings(r, f->table, (char *)options + f->at, o, headed, why, bytes);
        else if (f->help && has_setting(r, f->key, headed) && !(read = mo_field_read(f, value, options)))
            snprintf(why, bytes, value ? "%s is no value of --%s" : "%s is missing, the value of --%s", f->key,
                option_of(f->key, option));
        if (!read)
            return false;
    }
    return true;
}

bool mo_recipe_read(mo_recipe *r, const json_t *settings, bool headed, char *why, size_t bytes) {
    return r && settings && why && read_settings(r, mo_recipe_fields, r, settings, headed, why, bytes);
}
