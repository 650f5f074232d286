/* tools/train/recipe.c - the settings of a training run: the paper's, the paper's with three episodes per step
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
#include "tools/train/recipe.h"

#include "tools/cli/options.h"
#include "tools/data/default_data.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AT(member) offsetof(recipe, member)
const mo_field recipe_fields[] = {
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

const char *const recipe_names[N_RECIPES] = {"paper", "paper++", "released", "best"};

static void make_best(recipe *r) {
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

recipe recipe_defaults(int number) {
    bool released = number == RECIPE_RELEASED;
    recipe r = {
        .number = number,
        .pool = parse_names(NULL, "--pool", DEFAULT_POOL),
        .model = mo_mochi_defaults(),
        .head = "ridge",
        .features = {.hops = 3, .power_iterations = 2, .attributes = MO_ATTRIBUTES_RAW},
        .link_share = 0.2,
        .family = {1, 1, 1},
        .training = {.steps = released ? 12991 : 10000,
            .episodes_per_step = number == RECIPE_PAPER ? 1 : 3,
            .adamw = {.lr = 3e-4, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8, .weight_decay = 1e-4, .clip = 1},
            .plan = {.k_min = 8, .k_max = 32, .q_min = 16, .q_max = 64, .max_classes = 64}},
    };
    if (number == RECIPE_PAPER || number == RECIPE_PAPER_PLUS) {
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
    if (number == RECIPE_BEST)
        make_best(&r);
    return r;
}

bool reads_itself(const recipe *r) {
    return r->number == RECIPE_BEST && !r->encoder && r->model.readout.head->kernels;
}

const char *recipe_refuses(const recipe *r, const char *option) {
    bool of_gamlp = is_among(option, OPTIONS_OF_GAMLP), lambda = !strcmp(option, "lambda");
    if (r->encoder && is_among(option, "layers hop-activation dropout"))
        return "expected no --encoder: it replaces the recipe's";
    if (r->encoder && of_gamlp && r->encoder->of_examples)
        return "the encoder reads rows of examples, which always keep structure and attributes separate";
    if (!r->encoder && of_gamlp && r->number == RECIPE_BEST)
        return "the recipe best has its own encoder; name another --recipe";
    if (is_among(option, OPTIONS_OF_HEADS) && reads_itself(r))
        return "the recipe best's own readout, mixture, has its own; name another --head or --recipe";
    if (lambda && !head_has(r->model.readout.head, "lambda"))
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
mo_model *recipe_model(mo_context *ctx, const recipe *r, const mo_pool *pool) {
    mo_encoder_rows rows = {r->features.hops, r->features.dim};
    mo_readout_options ridge = {.smoothing = 0}, o = r->model.readout;
    if (!r->encoder && r->number != RECIPE_BEST)
        return mo_mochi_create(ctx, MO_F32, &r->model, r->seed);
    mo_model *model = r->encoder ? mo_encoder_create(ctx, MO_F32, r->encoder, rows, &ridge, r->seed)
                                 : mo_invariant_create(ctx, MO_F32, &r->invariant);
    if (reads_itself(r) || !model)
        return model;
    measure_embeddings(model, pool, o.width);
    return mo_model_under_head(model, &o, r->seed);
}

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

void recipe_settle(recipe *r) {
    if (r->encoder)
        r->features.form = r->encoder->of_examples ? MO_ROWS_PER_EXAMPLE : MO_ROWS_PER_NODE;
    r->model.encoder.dim = r->features.dim;
    r->model.encoder.hops = r->invariant.hops = r->features.hops;
    r->invariant.smoothing = r->model.readout.smoothing;
    r->features.seed = r->training.plan.seed = r->seed;
    if (r->training.adamw.lr_min > r->training.adamw.lr)
        r->training.adamw.lr_min = r->training.adamw.lr;
}
