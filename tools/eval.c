/* tools/eval.c - `mochi eval`: trained weights and the baselines on graphs that were not trained on. */
#include "tools/eval_json.h"
#include "tools/eval_table.h"

#include <stdio.h>
#include <string.h>

enum { MAX_CANDIDATES = 5 * MAX_HEADS };

/* Weights, or none, and the candidates that read the same features. */
typedef struct subject {
    char label[40], transductive_label[44];
    mo_feature_options features;
    mo_mochi_options mochi;
    double lambda; /* of heads on single hops */
    int best_hop[MO_TASKS];
    mo_model models[2 * MAX_HEADS]; /* trained and random of each head */
    mo_candidate candidates[MAX_CANDIDATES];
    int n_models, n_candidates;
} subject;

/* What is evaluated, and where its rows go. */
typedef struct evaluation {
    mo_context *ctx;
    const eval_options *options;
    subject subjects[MAX_WEIGHTS]; /* the first one has the baselines */
    int n_subjects;
    eval_table table;
    eval_weights weights[MAX_WEIGHTS];
    int n_weights;
    bool lost_output, in_paper;
} evaluation;

static mo_task task_of(const mo_eval_row *r) {
    int task = 0;
    while (task < MO_TASKS - 1 && strcmp(r->task, mo_task_name((mo_task)task)) != 0)
        task++;
    return (mo_task)task;
}

static void on_row(const mo_eval_row *r, void *state) {
    evaluation *e = state;
    if (!e->options->json)
        eval_table_add(&e->table, r);
    else if (!e->lost_output)
        e->lost_output = !print_eval_cell(e->options, r, e->subjects[0].best_hop[task_of(r)]);
}

static void on_notice(const char *line, void *state) {
    const evaluation *e = state;
    if (!e->options->quiet)
        fprintf(stderr, "%s\n", line);
}

/* ---- candidates ---- */

static void add_model(subject *s, mo_model model, const mo_head *head, const char *label) {
    if (!model.table)
        return;
    s->models[s->n_models++] = model;
    s->candidates[s->n_candidates++] =
        (mo_candidate){.features = label, .model = model, .head = head, .lambda = s->lambda};
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

static void add_hop(subject *s, const mo_head *head, const char *label) {
    s->candidates[s->n_candidates++] = (mo_candidate){.features = label, .head = head, .lambda = s->lambda};
}

/* MOCHI under a head: with the weights' parameters, or (NULL) its own first ones. */
static mo_model make_mochi(const evaluation *e, const subject *s, const mo_head *head, const mo_weights *weights) {
    mo_mochi_options options = s->mochi;
    options.head = head;
    if (e->options->lambda > 0)
        options.lambda = e->options->lambda;
    mo_model model = mo_mochi_model(mo_mochi_create(e->ctx, MO_F32, &options, e->options->evaluation.seed));
    if (model.table && weights)
        mo_model_load(model, weights->arrays);
    return model;
}

/* Trained and untrained models under every head, and what needs neither. */
static void add_candidates(evaluation *e, subject *s, const mo_weights *weights, bool baselines, bool untrained) {
    const eval_options *o = e->options;
    bool own_readout = s->features.form == MO_FEATURES_OF_EXAMPLES;
    for (int i = 0; i < (o->n_heads ? o->n_heads : 1) && mo_ok(e->ctx); i++) {
        const mo_head *head = o->n_heads ? o->heads[i] : own_readout ? &mo_head_ridge : s->mochi.head;
        if (own_readout && i == 0) {
            add_model(s, mo_weights_model(weights), head, s->label);
            if (o->transductive)
                add_transductive(s);
            if (untrained && baselines)
                add_model(s, mo_invariant_create(e->ctx, MO_F32, &weights->invariant), head, "random");
        } else if (!own_readout) {
            if (weights)
                add_model(s, make_mochi(e, s, head, weights), head, s->label);
            if (untrained && baselines)
                add_model(s, make_mochi(e, s, head, NULL), head, "random");
        }
        if (baselines) {
            add_hop(s, head, "x0");
            add_hop(s, head, "hop");
        }
    }
}

/* A file's recipe names its column where there are several. */
static void choose_label(const evaluation *e, subject *s, const mo_weights *weights) {
    bool alone = e->options->weights.count == 1 || !weights->recipe[0];
    snprintf(s->label, sizeof s->label, "%s", alone ? "trained" : weights->recipe);
    for (int i = 0; i < e->n_subjects; i++)
        if (!strcmp(e->subjects[i].label, s->label))
            snprintf(s->label, sizeof s->label, "%.28s %d", alone ? "trained" : weights->recipe, e->n_subjects + 1);
}

/* Settings of the weights, or the defaults, and the candidates under them. */
static void add_subject(evaluation *e, const char *name) {
    const eval_options *o = e->options;
    bool none = !strcmp(name, "none"), file = !none && strcmp(name, "random") != 0;
    subject *s = &e->subjects[e->n_subjects];
    mo_weights *weights = file ? mo_weights_read(e->ctx, name) : NULL;
    if (weights && weights->features.form == MO_FEATURES_OF_NODES && !weights->mochi.head && !o->n_heads)
        mo_fail(e->ctx, MO_UNSUPPORTED,
            "%s was trained with the head %s, which is not one of the library's; expected --head FILE.so (or another)",
            name, weights->head);
    if (!mo_ok(e->ctx)) {
        mo_weights_release(weights);
        return;
    }
    s->mochi = weights ? weights->mochi : mo_mochi_defaults();
    s->features = weights ? weights->features : (mo_feature_options){.hops = 3, .power_iterations = 2};
    if (!weights)
        s->features.dim = s->mochi.encoder.dim = o->dim;
    s->features.cache = o->cache;
    s->lambda = o->lambda > 0 ? o->lambda : weights ? weights->lambda : s->mochi.lambda;
    for (int task = 0; task < MO_TASKS; task++)
        s->best_hop[task] = o->hop >= 0 ? o->hop : weights ? weights->best_hop[task] : -1;
    if (weights) {
        choose_label(e, s, weights);
        eval_weights *w = &e->weights[e->n_weights++];
        *w = (eval_weights){.label = s->label, .file = name, .hash = {weights->hash[0], weights->hash[1]}};
        snprintf(w->recipe, sizeof w->recipe, "%s", weights->recipe);
    }
    add_candidates(e, s, weights, e->n_subjects == 0, !none);
    e->n_subjects++;
    mo_weights_release(weights);
}

static bool any_transductive(const evaluation *e) {
    bool any = false;
    for (int j = 0; j < e->n_subjects; j++)
        for (int i = 0; i < e->subjects[j].n_candidates; i++)
            any |= e->subjects[j].candidates[i].transductive;
    return any;
}

/* ---- evaluation ---- */

/* The hop that serves a task best on the pool, where neither the weights nor the user say. */
static void choose_hop(evaluation *e, subject *s, mo_task task) {
    const eval_options *o = e->options;
    if (s->best_hop[task] >= 0)
        return;
    mo_pool *pool = mo_pool_open(
        e->ctx, (const char *const *)o->pool.items, o->pool.count, &s->features, MO_EVAL_LINK_SHARE, on_notice, e);
    for (int i = 0; pool && i < MO_TASKS; i++)
        if (s->best_hop[i] < 0)
            s->best_hop[i] =
                mo_best_hop(e->ctx, pool, (mo_task)i, s->candidates[0].head, s->lambda, o->evaluation.seed);
    mo_pool_release(pool);
    if (s->best_hop[task] < 0 && mo_ok(e->ctx)) {
        s->best_hop[task] = 2;
        on_notice("the pool has no graph for this task: hop 2 stands for the best hop", e);
    }
}

static void evaluate_source(evaluation *e, subject *s, const mo_source *source) {
    mo_eval_options options = e->options->evaluation;
    mo_candidate able[MAX_CANDIDATES]; /* to do the task */
    int n = 0;
    if (s == e->subjects) {
        choose_hop(e, s, source->task);
        e->lost_output |= e->options->json && mo_ok(e->ctx) && !print_eval_data(source);
    }
    for (int i = 0; i < s->n_candidates; i++) {
        if (s->candidates[i].transductive && source->task != MO_TASK_NC)
            continue;
        able[n] = s->candidates[i];
        if (!strcmp(able[n].features, "hop"))
            able[n].hop = s->best_hop[source->task];
        n++;
    }
    mo_evaluate(e->ctx, source, able, n, &options, on_row, e);
}

/* Every data set is opened, evaluated and released before the next, once for each form of features. */
static void evaluate_name(evaluation *e, const char *name) {
    const eval_options *o = e->options;
    char restricted[4096];
    const char *item = restricted;
    if (o->task >= 0)
        snprintf(restricted, sizeof restricted, "%s:%s", name, mo_task_name((mo_task)o->task));
    else
        item = name;
    for (int j = 0; j < e->n_subjects && mo_ok(e->ctx); j++) {
        subject *s = &e->subjects[j];
        mo_pool *pool = mo_pool_open(e->ctx, &item, 1, &s->features, MO_EVAL_LINK_SHARE, on_notice, e);
        for (int i = 0; pool && i < mo_pool_size(pool) && mo_ok(e->ctx) && !e->lost_output; i++)
            evaluate_source(e, s, mo_pool_source(pool, i));
        mo_pool_release(pool);
    }
    if (mo_ok(e->ctx) && !o->json)
        e->in_paper |= eval_table_print(&e->table);
}

static void print_legend(const evaluation *e) {
    const int *hop = e->subjects[0].best_hop;
    if (e->options->json)
        return;
    printf("\n± is the half width of the 95%% interval; hop is hop %d (nc), %d (lp), %d (gc), -1 where not needed\n",
        hop[MO_TASK_NC], hop[MO_TASK_LP], hop[MO_TASK_GC]);
    if (e->in_paper)
        puts("paper: its tables of node, link and graph results, ridge head; ± is one standard deviation over 3 seeds");
}

int eval_command(int argc, char **argv) {
    eval_options o;
    parse_eval_options(&o, argc, argv);
    o.device.threads = o.threads;
    mo_context *ctx = open_context_on(o.device);
    int code = EXIT_FAILED;
    if (ctx) {
        evaluation e = {.ctx = ctx, .options = &o};
        for (int i = 0; i < o.weights.count && mo_ok(ctx); i++)
            add_subject(&e, o.weights.items[i]);
        if (o.transductive && !any_transductive(&e))
            mo_fail(ctx, MO_UNSUPPORTED, "--transductive: expected weights of the recipe best");
        if (o.json && mo_ok(ctx))
            e.lost_output = !print_eval_run(&o, e.weights, e.n_weights);
        for (int i = 0; i < o.data.count && mo_ok(ctx) && !e.lost_output; i++)
            evaluate_name(&e, o.data.items[i]);
        code = mo_ok(ctx) ? e.lost_output ? EXIT_FAILED : EXIT_FINE : report_failure(ctx);
        if (code == EXIT_FINE)
            print_legend(&e);
        eval_table_free(&e.table);
        for (int j = 0; j < e.n_subjects; j++)
            for (int i = 0; i < e.subjects[j].n_models; i++)
                mo_model_release(e.subjects[j].models[i]);
        mo_context_release(ctx);
    }
    free_eval_options(&o);
    return code;
}
