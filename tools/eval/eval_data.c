/* tools/eval/eval_data.c - evaluates data sets one after another: opens each, runs the candidates of every subject on
 * it, collects the figures and prints its table or lines. */
#include "tools/cli/memory.h"
#include "tools/data/default_data.h"
#include "tools/eval/eval.h"

#include <math.h>
#include <stb/stb_ds.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* With more than CHEAP_LINKS test links, evaluates FEW_SEEDS splits: each split computes its own features. */
enum { CHEAP_LINKS = 5000, FEW_SEEDS = 3 };
enum { DRAWN_DIVISIONS = 3 }; /* number of divisions that are drawn for a graph without one, under protocol `public` */

static bool is_wanted(const evaluation *e, const mo_eval_row *r) {
    int metric = 0;
    while (metric < N_METRICS - 1 && strcmp(metric_name(metric), r->metric) != 0)
        metric++;
    return !e->options->metrics || e->options->metrics >> metric & 1;
}

/* Returns whether the weights of a row were trained on the row's graph; MO_UNSEEN for baselines, which have no
 * weights. */
static mo_seen seen_of(const evaluation *e, const mo_eval_row *r) {
    for (const subject *s = e->subjects; s < e->subjects + e->n_subjects; s++)
        for (int i = 0; i < s->n_candidates; i++)
            if (s->candidates[i].encoder == TRAINED && !strcmp(s->candidates[i].features, r->features))
                return s->seen;
    return MO_UNSEEN;
}

static void take_eval_row(const mo_eval_row *r, void *state) {
    evaluation *e = state;
    if (!is_wanted(e, r))
        return;
    if (r->failure && !e->options->quiet)
        fprintf(stderr, "no figure: %s %s, %s head on %s, k = %lld: %s\n", r->data, r->task, r->head, r->features,
            (long long)r->k, r->failure);
    const char *block = e->subjects[0].block_head ? e->subjects[0].block_head : r->head;
    const mo_seen seen = seen_of(e, r);
    add_figure(&e->rows, r, block, eval_protocol_name(e->options, r->task), seen);
    if (e->options->json && !e->lost_output)
        e->lost_output = !print_json(eval_cell(e, r, block, seen));
}

static void print_eval_notice(const char *line, void *state) {
    const evaluation *e = state;
    if (!e->options->quiet)
        fprintf(stderr, "%s\n", line);
}

/* ---- evaluation ---- */

/* Chooses the hop that is best for a task on the pool, unless the weights or the user give it. */
static void choose_hop(evaluation *e, subject *s, mo_task task) {
    const eval_options *o = e->options;
    if (s->best_hop[task] >= 0)
        return;
    mo_pool *pool = mo_pool_open(e->ctx, (const char *const *)o->pool.items, o->pool.count, &s->features,
        MO_EVAL_LINK_SHARE, print_eval_notice, e);
    for (int i = 0; pool && i < MO_TASKS; i++)
        if (s->best_hop[i] < 0)
            s->best_hop[i] =
                mo_best_hop(e->ctx, pool, (mo_task)i, s->candidates[0].head, s->lambda, o->evaluation.seed);
    mo_pool_release(pool);
    if (s->best_hop[task] < 0 && mo_ok(e->ctx)) {
        s->best_hop[task] = 2;
        print_eval_notice("the pool has no graph for this task: hop 2 stands for the best hop", e);
    }
}

/* Returns whether a candidate can do a task. Inner products do links only, transductive readouts nodes and graphs,
 * inductive readouts (-T) graphs only. */
static bool can_do(const mo_candidate *c, mo_task task) {
    return !(c->transductive && task == MO_TASK_LP) &&
           !(c->transductive == MO_TRANSDUCTIVE_NEVER && task != MO_TASK_GC) && !(c->dot && task != MO_TASK_LP);
}

/* For protocol `public`, draws divisions into training and test nodes if the graph's file has none. */
static void divide_nodes(evaluation *e, mo_graph *graph, bool first) {
    const eval_options *o = e->options;
    if (o->evaluation.protocol != MO_PROTOCOL_PUBLIC || graph->division)
        return;
    char line[200];
    int64_t n = mo_graph_divide(graph, DRAWN_DIVISIONS, o->evaluation.seed);
    snprintf(line, sizeof line,
        "%.100s: comes without a division; %d are drawn, each with %lld training nodes in proportion", graph->name,
        DRAWN_DIVISIONS, (long long)n);
    if (n && first)
        print_eval_notice(line, e);
}

/* Lists the candidates of a subject that can do a source's task. Returns their number. */
static int choose_candidates(const subject *s, const mo_source *source, mo_candidate able[MAX_CANDIDATES]) {
    int n = 0;
    for (int i = 0; i < s->n_candidates; i++) {
        if (!can_do(&s->candidates[i], source->task))
            continue;
        able[n] = s->candidates[i];
        if (!strcmp(able[n].features, "hop"))
            able[n].hop = s->best_hop[source->task];
        n++;
    }
    return n;
}

static void evaluate_source(evaluation *e, subject *s, const mo_source *source) {
    const eval_options *o = e->options;
    mo_eval_options options = o->evaluation;
    mo_candidate able[MAX_CANDIDATES];
    if (o->draws) {
        options.on_plan = write_draw;
        options.state = (void *)o->draws;
    }
    if (source->task == MO_TASK_LP && !o->seeds_said && source->links->n_positive > CHEAP_LINKS)
        options.seeds = FEW_SEEDS;
    if (o->metrics && !(o->metrics & metrics_of(source->task)))
        return;
    divide_nodes(e, source->graph, s == e->subjects);
    if (s == e->subjects && mo_ok(e->ctx)) {
        choose_hop(e, s, source->task);
        e->lost_output |= e->options->json && mo_ok(e->ctx) && !print_eval_data(source);
    }
    if (mo_ok(e->ctx) && s->weights) {
        s->seen = mo_weights_seen(s->weights, source->graph);
        note_seen(e->seen, source->graph->name, s->seen);
    }
    int n = choose_candidates(s, source, able);
    mo_evaluate(e->ctx, source, able, n, &options, take_eval_row, e);
}

/* The real targets beside a graph, [examples], NaN: unknown; owned. NULL on failure. */
static double *own_targets(const mo_graph *graph) {
    char path[4096];
    mo_targets y = {0};
    if (mo_ok(graph->ctx) && !mo_targets_find(graph, path, sizeof path))
        mo_fail(graph->ctx, MO_INVALID,
            "%s: expected real targets beside the data (targets.csv of the folder, or the graph attributes of a TU set "
            "without classes), found none",
            graph->name);
    if (!mo_ok(graph->ctx) || !mo_targets_read(graph, path, &y))
        return NULL;
    double *target = needed(malloc((size_t)mo_graph_examples(graph) * sizeof *target));
    for (int64_t i = 0; i < mo_graph_examples(graph); i++)
        target[i] = NAN;
    for (int64_t i = 0; i < y.n; i++)
        target[y.id[i]] = y.value[i];
    mo_targets_release(&y);
    return target;
}

/* Evaluates a subject on the real targets of a graph. */
static void evaluate_targets(evaluation *e, subject *s, const char *name) {
    mo_eval_options o = e->options->evaluation;
    mo_candidate able[MAX_CANDIDATES];
    mo_task task = (mo_task)e->options->task;
    mo_graph *graph = mo_graph_open(e->ctx, name);
    double *target = graph ? own_targets(graph) : NULL;
    if (target && mo_ok(e->ctx) && (task == MO_TASK_GC) != (graph->graphs > 1))
        mo_fail(e->ctx, MO_INVALID, "%s: expected --task %s", name, graph->graphs > 1 ? "gr" : "nr");
    mo_source source = {.graph = mo_ok(e->ctx) ? mo_graph_scale(graph, &s->features) : NULL, .task = task};
    if (source.graph)
        source.features = mo_task_features_open(source.graph, task, NULL, &s->features);
    if (source.features && mo_ok(e->ctx)) {
        choose_hop(e, s, task);
        s->seen = s->weights ? mo_weights_seen(s->weights, source.graph) : MO_UNSEEN;
        note_seen(e->seen, source.graph->name, s->seen);
        e->lost_output |= s == e->subjects && e->options->json && !print_eval_data(&source);
        int n = choose_candidates(s, &source, able);
        for (int i = 0; i < n; i++)
            if (!able[i].model) { /* baselines: the same readout on rows */
                able[i].head = &mo_head_mixture;
                able[i].lambda = 0;
            }
        o.target = target;
        mo_evaluate(e->ctx, &source, able, n, &o, take_eval_row, e);
    }
    mo_features_release(source.features);
    mo_graph_release(source.graph);
    mo_graph_release(graph);
    free(target);
}

/* Every subject opens its own pool, as its form of features can differ. */
void evaluate_name(evaluation *e, const char *name, int task) {
    char restricted[4096];
    const char *item = task >= 0 ? restricted : name;
    const int first = (int)arrlen(e->rows);
    if (task >= 0)
        snprintf(restricted, sizeof restricted, "%s:%s", name, mo_task_name((mo_task)task));
    for (int j = 0; j < e->n_subjects && mo_ok(e->ctx) && !e->lost_output; j++) {
        subject *s = &e->subjects[j];
        if (e->options->targets) {
            evaluate_targets(e, s, name);
            continue;
        }
        mo_pool *pool = mo_pool_create(e->ctx, &s->features, MO_EVAL_LINK_SHARE, print_eval_notice, e);
        mo_pool_set_near(pool, e->options->negatives);
        mo_pool_add_name(pool, item);
        for (int i = 0; pool && i < mo_pool_size(pool) && mo_ok(e->ctx) && !e->lost_output; i++)
            evaluate_source(e, s, mo_pool_source(pool, i));
        mo_pool_release(pool);
    }
    const int n = (int)arrlen(e->rows) - first;
    if (mo_ok(e->ctx) && n > 0 && !e->options->json)
        print_eval_tables(e->rows + first, n, e->subjects[0].label);
}

void report_absent(evaluation *e, const mo_suite_task *t) {
    char line[200];
    snprintf(line, sizeof line, "%.150s %s", t->data, mo_task_name(t->task));
    append_name(&e->absent, line);
    if (e->options->json)
        e->lost_output |= !print_eval_absent(t);
}

void evaluate_data(evaluation *e) {
    const eval_options *o = e->options;
    bool chosen = is_given(&o->given, "data") || o->evaluation.protocol != MO_PROTOCOL_PUBLIC;
    for (int i = 0; i < o->data.count && mo_ok(e->ctx) && !e->lost_output; i++) {
        char *name = o->data.items[i];
        if (chosen || mo_graph_exists(name))
            evaluate_name(e, name, o->task);
        else
            report_absent(e, &(mo_suite_task){.data = name, .task = MO_TASK_NC});
    }
}
