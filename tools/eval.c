/* tools/eval.c - `mochi eval`: trained weights and the baselines on graphs that were not trained on. */
#include "tools/eval_options.h"
#include "tools/eval_table.h"

#include <stdio.h>
#include <string.h>

enum { MAX_CANDIDATES = 4 * MAX_HEADS };

/* What is evaluated, and where its rows go. */
typedef struct evaluation {
    mo_context *ctx;
    const eval_options *options;
    mo_mochi_options model; /* of the weights, or the defaults */
    mo_feature_options features;
    int best_hop[MO_TASKS];
    mo_mochi *models[2 * MAX_HEADS]; /* trained and random of each head */
    mo_candidate candidates[MAX_CANDIDATES];
    int n_models, n_candidates;
    eval_table table;
    bool lost_output, in_paper;
} evaluation;

static void on_row(const mo_eval_row *r, void *state) {
    evaluation *e = state;
    if (!e->options->json)
        eval_table_add(&e->table, r);
    else if (!e->lost_output)
        e->lost_output = !print_json(json_pack("{s:s, s:s, s:s, s:s, s:I, s:s, s:o, s:o, s:o}", "data", r->data, "task",
            r->task, "head", r->head, "features", r->features, "k", (json_int_t)r->k, "metric", r->metric, "mean",
            json_number(r->mean), "ci95", json_number(r->ci95), "sd", json_number(r->sd)));
}

static void on_notice(const char *line, void *state) {
    const evaluation *e = state;
    if (!e->options->quiet)
        fprintf(stderr, "%s\n", line);
}

/* A model as a candidate, with the weights' parameters or (NULL) its own first ones. */
static void add_model(evaluation *e, const mo_head *head, const mo_weights *weights) {
    mo_mochi_options options = e->model;
    options.head = head;
    mo_mochi *model = mo_mochi_create(e->ctx, MO_F32, &options, e->options->evaluation.seed);
    if (!model)
        return;
    e->models[e->n_models++] = model;
    if (weights)
        mo_mochi_load(model, weights->arrays);
    e->candidates[e->n_candidates++] = (mo_candidate){
        .features = weights ? "trained" : "random", .model = model, .head = head, .lambda = options.lambda};
}

static void add_rows(evaluation *e, const mo_head *head, const char *label) {
    e->candidates[e->n_candidates++] = (mo_candidate){.features = label, .head = head, .lambda = e->model.lambda};
}

/* Settings of the weights, or the defaults; then the candidates of every head. False on failure. */
static bool choose_candidates(evaluation *e) {
    const eval_options *o = e->options;
    bool none = !strcmp(o->weights, "none"), file = !none && strcmp(o->weights, "random");
    mo_weights *weights = file ? mo_weights_read(e->ctx, o->weights) : NULL;
    if (weights && !weights->model.head && !o->n_heads)
        mo_fail(e->ctx, MO_UNSUPPORTED,
            "%s was trained with the head %s, which is not one of the library's; expected --head FILE.so (or another)",
            o->weights, weights->head);
    e->model = weights ? weights->model : mo_mochi_defaults();
    e->features = weights ? weights->features : (mo_feature_options){.hops = 3, .power_iterations = 2};
    if (!weights)
        e->features.dim = e->model.encoder.dim = o->dim;
    e->features.cache = o->cache;
    if (o->lambda > 0)
        e->model.lambda = o->lambda;
    for (int task = 0; task < MO_TASKS; task++)
        e->best_hop[task] = o->hop >= 0 ? o->hop : weights ? weights->best_hop[task] : -1;
    for (int i = 0; i < (o->n_heads ? o->n_heads : 1) && mo_ok(e->ctx); i++) {
        const mo_head *head = o->n_heads ? o->heads[i] : e->model.head;
        if (weights)
            add_model(e, head, weights);
        if (!none)
            add_model(e, head, NULL);
        add_rows(e, head, "x0");
        add_rows(e, head, "hop");
    }
    mo_weights_release(weights);
    return mo_ok(e->ctx);
}

/* The hop that serves a task best on the pool, where neither the weights nor the user say. */
static void choose_hop(evaluation *e, mo_task task) {
    const eval_options *o = e->options;
    if (e->best_hop[task] >= 0)
        return;
    mo_pool *pool = mo_pool_open(
        e->ctx, (const char *const *)o->pool.items, o->pool.count, &e->features, MO_EVAL_LINK_SHARE, on_notice, e);
    for (int i = 0; pool && i < MO_TASKS; i++)
        if (e->best_hop[i] < 0)
            e->best_hop[i] =
                mo_best_hop(e->ctx, pool, (mo_task)i, e->candidates[0].head, e->model.lambda, o->evaluation.seed);
    mo_pool_release(pool);
    if (e->best_hop[task] < 0 && mo_ok(e->ctx)) {
        e->best_hop[task] = 2;
        on_notice("the pool has no graph for this task: hop 2 stands for the best hop", e);
    }
}

static void evaluate_source(evaluation *e, const mo_source *source) {
    choose_hop(e, source->task);
    mo_eval_options options = e->options->evaluation;
    for (int i = 0; i < e->n_candidates; i++)
        if (!strcmp(e->candidates[i].features, "hop"))
            e->candidates[i].hop = e->best_hop[source->task];
    if (mo_evaluate(e->ctx, source, e->candidates, e->n_candidates, &options, on_row, e) == MO_OK && !e->options->json)
        e->in_paper |= eval_table_print(&e->table);
}

/* Every data set is opened, evaluated and released before the next. */
static void evaluate_name(evaluation *e, const char *name) {
    const eval_options *o = e->options;
    char restricted[4096];
    const char *item = restricted;
    if (o->task >= 0)
        snprintf(restricted, sizeof restricted, "%s:%s", name, mo_task_name((mo_task)o->task));
    else
        item = name;
    mo_pool *pool = mo_pool_open(e->ctx, &item, 1, &e->features, MO_EVAL_LINK_SHARE, on_notice, e);
    for (int i = 0; pool && i < mo_pool_size(pool) && mo_ok(e->ctx) && !e->lost_output; i++)
        evaluate_source(e, mo_pool_source(pool, i));
    mo_pool_release(pool);
}

static void print_legend(const evaluation *e) {
    if (e->options->json)
        return;
    printf("\n± is the half width of the 95%% interval; hop is hop %d (nc), %d (lp), %d (gc), -1 where not needed\n",
        e->best_hop[MO_TASK_NC], e->best_hop[MO_TASK_LP], e->best_hop[MO_TASK_GC]);
    if (e->in_paper)
        puts("paper: its tables of node, link and graph results, ridge head; ± is one standard deviation over 3 seeds");
}

int eval_command(int argc, char **argv) {
    eval_options o;
    parse_eval_options(&o, argc, argv);
    mo_context *ctx = open_context(o.threads);
    int code = EXIT_FAILED;
    if (ctx) {
        evaluation e = {.ctx = ctx, .options = &o};
        if (choose_candidates(&e))
            for (int i = 0; i < o.data.count && mo_ok(ctx) && !e.lost_output; i++)
                evaluate_name(&e, o.data.items[i]);
        code = mo_ok(ctx) ? e.lost_output ? EXIT_FAILED : EXIT_FINE : report_failure(ctx);
        if (code == EXIT_FINE)
            print_legend(&e);
        eval_table_free(&e.table);
        for (int i = 0; i < e.n_models; i++)
            mo_mochi_release(e.models[i]);
        mo_context_release(ctx);
    }
    free_eval_options(&o);
    return code;
}
