/* tools/eval/eval_subject.c - a subject of an evaluation: its weights, if any, and its candidates. A candidate is the
 * trained encoder, the same encoder untrained, or a single hop, each with every head. Candidates with the same encoder
 * share the embeddings that it computes. */
#include "tools/eval/eval.h"

#include "tools/train/run_json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Stands for inner products of links where a head is expected. */
static const mo_head dot = {.name = "dot"};

/* The penalty of a head that is fitted: the one asked for or the weights', but a head of one's own keeps its own (0).
 */
static double lambda_of(const subject *s, const mo_head *head) {
    bool own = head != &dot && mo_head_is_own(head);
    return own && !s->lambda_given ? 0 : s->lambda;
}

static void add_candidate(subject *s, mo_candidate c) {
    c.lambda = lambda_of(s, c.head);
    s->candidates[s->n_candidates++] = c;
}

/* Adds a candidate; candidates with the same label share an encoder. */
static void add_model(subject *s, mo_model *model, const mo_head *head, const char *label) {
    if (!model)
        return;
    s->models[s->n_models++] = model;
    int encoder = strcmp(label, "random") ? TRAINED : UNTRAINED;
    add_candidate(
        s, (mo_candidate){.features = label, .model = model, .head = head, .dot = head == &dot, .encoder = encoder});
}

/* Adds candidate c again, with the suffix behind the subject's label and with another use of the unlabelled
 * examples. */
static void add_readout(subject *s, mo_candidate c, mo_transductive readout, const char *suffix, char *label) {
    memcpy(label, s->label, sizeof s->label);
    c.features = strcat(label, suffix);
    c.transductive = readout;
    s->candidates[s->n_candidates++] = c;
}

/* Adds the last model's columns that --transductive asks for. */
static void add_transductive(subject *s, mo_transductive asked) {
    const mo_candidate c = s->candidates[s->n_candidates - 1];
    if (asked == MO_TRANSDUCTIVE_ON) {
        add_readout(s, c, MO_TRANSDUCTIVE_ON, "+T", s->transductive_label[0]);
        add_readout(s, c, MO_TRANSDUCTIVE_NEVER, "-T", s->transductive_label[1]);
    } else if (asked == MO_TRANSDUCTIVE_AUTO) {
        add_readout(s, c, MO_TRANSDUCTIVE_AUTO, "+T?", s->transductive_label[0]);
    }
}

/* Creates a model with a head (NULL: its own readout) and the parameters of the weights or, if untrained, initial
 * ones. */
static mo_model *make_model(
    mo_context *ctx, const eval_options *o, const subject *s, const mo_head *head, bool untrained) {
    uint64_t seed = o->evaluation.seed;
    if (s->weights) {
        bool own = s->weights->features.form == MO_ROWS_PER_NODE;
        mo_model_choice c = {.encoder = o->encoder,
            .head = head,
            .lambda = own ? o->lambda : lambda_of(s, head),
            .untrained = untrained,
            .seed = seed};
        return mo_weights_model_as(s->weights, &c);
    }
    mo_mochi_options options = s->mochi;
    options.readout.head = head;
    options.readout.lambda = lambda_of(s, head);
    return mo_mochi_create(ctx, MO_F32, &options, seed);
}

/* The readout of the weights: a head; for the recipe `best` the mixture of ridges. */
static const mo_head *own_head(const subject *s) {
    if (!s->weights)
        return s->mochi.readout.head;
    return s->weights->head[0] ? s->weights->readout.head : &mo_head_mixture;
}

/* Adds the trained model with every head. For the first subject also adds the untrained model (except for "none") and
 * the single hops; if the readout is the mixture of the recipe `best`, a ridge reads the hops. */
static void add_candidates(mo_context *ctx, const eval_options *o, subject *s, bool first) {
    bool of_examples = s->features.form == MO_ROWS_PER_EXAMPLE, given = o->n_heads || o->dot;
    int n_heads = given ? o->n_heads : 1;
    for (int i = 0; i < n_heads + o->dot && mo_ok(ctx); i++) {
        const mo_head *head = i == n_heads ? &dot : given ? o->heads[i] : own_head(s);
        const mo_head *readout = head == &dot ? &mo_head_ridge : head;
        if (of_examples && head == &dot)
            continue;
        bool mixture = of_examples && !given && !o->encoder && head->kernels;
        if (s->weights)
            add_model(s, make_model(ctx, o, s, readout, false), head, s->label);
        if (s->weights && head->kernels && s->n_candidates)
            add_transductive(s, o->transductive);
        if (first && strcmp(s->file, "none") != 0)
            add_model(s, make_model(ctx, o, s, readout, true), head, "random");
        for (int hop = 0; hop < 2 && first; hop++)
            add_candidate(
                s, (mo_candidate){
                       .features = hop ? "hop" : "x0", .head = mixture ? &mo_head_ridge : head, .dot = head == &dot});
        if (mixture)
            s->block_head = head->name;
    }
    if (mo_ok(ctx) && !s->n_candidates)
        mo_fail(ctx, MO_UNSUPPORTED,
            "--head dot needs node embeddings; weights of the recipe best have none: use --head ridge");
}

/* Labels the columns: "trained" or, if there are several files, the recipe. */
static void choose_label(const eval_options *o, const subject *others, int n, subject *s) {
    const mo_weights *weights = s->weights;
    bool alone = o->weights.count == 1 || !weights->recipe[0];
    snprintf(s->label, sizeof s->label, "%s", alone ? "trained" : weights->recipe);
    for (int i = 0; i < n; i++)
        if (!strcmp(others[i].label, s->label))
            snprintf(s->label, sizeof s->label, "%.28s %d", alone ? "trained" : weights->recipe, n + 1);
}

static void take_settings(const eval_options *o, subject *s) {
    const mo_weights *weights = s->weights;
    s->mochi = weights ? (mo_mochi_options){weights->gamlp, weights->readout} : mo_mochi_defaults();
    s->features = weights ? weights->features : (mo_feature_options){.hops = 3, .power_iterations = 2};
    if (!weights)
        s->features.dim = s->mochi.encoder.dim = o->dim;
    s->features.attributes = o->attributes ? o->attributes : s->features.attributes;
    s->features.place = o->place;
    s->features.cache = o->cache ? o->cache : getenv("MOCHI_CACHE");
    s->lambda_given = o->lambda > 0;
    s->lambda = o->lambda > 0 ? o->lambda : weights ? weights->lambda : s->mochi.readout.lambda;
    for (int task = 0; task < MO_TASKS; task++)
        s->best_hop[task] = o->hop >= 0 ? o->hop : weights ? weights->best_hop[task] : -1;
}

void open_subject(mo_context *ctx, const eval_options *o, const char *name, const subject *others, int n, subject *s) {
    bool file = strcmp(name, "none") != 0 && strcmp(name, "random") != 0;
    mo_weights *weights = file ? mo_weights_read(ctx, name) : NULL;
    *s = (subject){.file = name, .weights = weights};
    if (weights && weights->head[0] && !mo_find_head(weights->head) && !o->n_heads)
        mo_fail(ctx, MO_UNSUPPORTED,
            "%s was trained with the head %s, which is not one of the library's; expected --head FILE.so (or another)",
            name, weights->head);
    require_recipe(ctx, weights, name, o->recipe);
    require_encoder(ctx, weights, name, o->encoder);
    if (!weights && o->encoder && mo_ok(ctx))
        mo_fail(ctx, MO_INVALID, "--encoder: expected --weights of that encoder beside it, found %s", name);
    if (!mo_ok(ctx))
        return;
    take_settings(o, s);
    if (weights)
        choose_label(o, others, n, s);
    add_candidates(ctx, o, s, n == 0);
}

void release_subject(subject *s) {
    for (int i = 0; i < s->n_models; i++)
        mo_model_release(s->models[i]);
    mo_weights_release(s->weights);
}
