/* tools/eval_subject.c - weights, or none, and the candidates of an evaluation: the trained encoder, the same encoder
 * untrained, and single hops, each under every head. Candidates of one encoder share its rows. */
#include "tools/eval_subject.h"

#include "tools/recipe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The name of scoring by inner products in the place of a head's. */
static const mo_head dot = {.name = "dot"};

static void add_candidate(subject *s, mo_candidate c) {
    c.lambda = s->lambda;
    s->candidates[s->n_candidates++] = c;
}

/* The heads of a label share its encoder. */
static void add_model(subject *s, mo_model model, const mo_head *head, const char *label) {
    if (!model.table)
        return;
    s->models[s->n_models++] = model;
    int encoder = strcmp(label, "random") ? 1 : 2;
    add_candidate(
        s, (mo_candidate){.features = label, .model = model, .head = head, .dot = head == &dot, .encoder = encoder});
}

/* The model added last, by its readout of all nodes. */
static void add_transductive(subject *s) {
    if (!s->n_candidates)
        return;
    mo_candidate c = s->candidates[s->n_candidates - 1];
    memcpy(s->transductive_label, s->label, sizeof s->label);
    strcat(s->transductive_label, "+T");
    c.features = s->transductive_label;
    c.transductive = true;
    s->candidates[s->n_candidates++] = c;
}

/* MOCHI under a head: with the weights' parameters, or (NULL) its own first ones. */
static mo_model make_mochi(
    mo_context *ctx, const eval_options *o, const subject *s, const mo_head *head, const mo_weights *weights) {
    mo_mochi_options options = s->mochi;
    options.head = head == &dot ? &mo_head_ridge : head;
    if (o->lambda > 0)
        options.lambda = o->lambda;
    mo_model model = mo_mochi_model(mo_mochi_create(ctx, MO_F32, &options, o->evaluation.seed));
    if (model.table && weights)
        mo_model_load(model, weights->arrays);
    return model;
}

/* What is asked for of one head. */
typedef struct wanted {
    const mo_weights *weights;
    bool baselines, untrained;
} wanted;

/* Rows of nodes take any head. */
static void add_of_nodes(mo_context *ctx, const eval_options *o, subject *s, const mo_head *head, wanted w) {
    if (w.weights)
        add_model(s, make_mochi(ctx, o, s, head, w.weights), head, s->label);
    if (w.untrained && w.baselines)
        add_model(s, make_mochi(ctx, o, s, head, NULL), head, "random");
}

/* Rows of examples are read out by their model alone. */
static void add_of_examples(mo_context *ctx, const eval_options *o, subject *s, const mo_head *head, wanted w) {
    add_model(s, mo_weights_model(w.weights), head, s->label);
    if (o->transductive)
        add_transductive(s);
    if (w.untrained && w.baselines)
        add_model(s, mo_invariant_create(ctx, MO_F32, &w.weights->invariant), head, "random");
}

/* Trained and untrained models under every head, and what needs neither. */
static void add_candidates(mo_context *ctx, const eval_options *o, subject *s, wanted w) {
    bool of_examples = s->features.form == MO_FEATURES_OF_EXAMPLES;
    int n_heads = o->n_heads || o->dot ? o->n_heads : 1;
    for (int i = 0; i < n_heads + o->dot && mo_ok(ctx); i++) {
        const mo_head *head = i == n_heads  ? &dot
                              : o->n_heads  ? o->heads[i]
                              : of_examples ? &mo_head_ridge
                                            : s->mochi.head;
        if (of_examples && i == 0)
            add_of_examples(ctx, o, s, &mo_head_ridge, w);
        else if (!of_examples)
            add_of_nodes(ctx, o, s, head, w);
        if (w.baselines && !(of_examples && head == &dot)) {
            add_candidate(s, (mo_candidate){.features = "x0", .head = head, .dot = head == &dot});
            add_candidate(s, (mo_candidate){.features = "hop", .head = head, .dot = head == &dot});
        }
    }
    if (mo_ok(ctx) && !s->n_candidates)
        mo_fail(ctx, MO_UNSUPPORTED, "--head dot: expected rows of nodes, which the recipe best has not; name a head");
}

/* A file's recipe names its column where there are several. */
static void choose_label(const eval_options *o, const subject *others, int n, subject *s, const mo_weights *weights) {
    bool alone = o->weights.count == 1 || !weights->recipe[0];
    snprintf(s->label, sizeof s->label, "%s", alone ? "trained" : weights->recipe);
    for (int i = 0; i < n; i++)
        if (!strcmp(others[i].label, s->label))
            snprintf(s->label, sizeof s->label, "%.28s %d", alone ? "trained" : weights->recipe, n + 1);
}

static void take_settings(const eval_options *o, const mo_weights *weights, subject *s) {
    s->mochi = weights ? weights->mochi : mo_mochi_defaults();
    s->features = weights ? weights->features : (mo_feature_options){.hops = 3, .power_iterations = 2};
    if (!weights)
        s->features.dim = s->mochi.encoder.dim = o->dim;
    s->features.memory = o->memory;
    s->features.place = o->place;
    s->features.stack = o->stack;
    s->features.cache = o->cache ? o->cache : getenv("MOCHI_CACHE");
    s->lambda = o->lambda > 0 ? o->lambda : weights ? weights->lambda : s->mochi.lambda;
    for (int task = 0; task < MO_TASKS; task++)
        s->best_hop[task] = o->hop >= 0 ? o->hop : weights ? weights->best_hop[task] : -1;
}

void open_subject(mo_context *ctx, const eval_options *o, const char *name, const subject *others, int n, subject *s) {
    bool none = !strcmp(name, "none"), file = !none && strcmp(name, "random") != 0;
    mo_weights *weights = file ? mo_weights_read(ctx, name) : NULL;
    *s = (subject){.has_weights = weights};
    if (weights && weights->features.form == MO_FEATURES_OF_NODES && !weights->mochi.head && !o->n_heads)
        mo_fail(ctx, MO_UNSUPPORTED,
            "%s was trained with the head %s, which is not one of the library's; expected --head FILE.so (or another)",
            name, weights->head);
    require_recipe(ctx, weights, name, o->recipe);
    if (mo_ok(ctx)) {
        take_settings(o, weights, s);
        if (weights) {
            choose_label(o, others, n, s, weights);
            s->weights = (eval_weights){.file = name, .hash = {weights->hash[0], weights->hash[1]}};
            snprintf(s->weights.recipe, sizeof s->weights.recipe, "%s", weights->recipe);
        }
        add_candidates(ctx, o, s, (wanted){weights, n == 0, !none});
    }
    mo_weights_release(weights);
}

void release_subject(subject *s) {
    for (int i = 0; i < s->n_models; i++)
        mo_model_release(s->models[i]);
}
