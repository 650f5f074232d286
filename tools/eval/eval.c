/* tools/eval/eval.c - `mochi eval`: evaluates trained weights and the baselines on graphs outside the training pool,
 * named one by one or by a suite. */
#include "tools/eval/aggregate.h"
#include "tools/eval/eval_draws.h"
#include "tools/eval/eval_effect.h"
#include "tools/eval/eval_table.h"
#include "tools/eval/pairs.h"

#include <stb/stb_ds.h>
#include <stdio.h>
#include <string.h>

/* The number of splits of links if more than CHEAP_LINKS are held out, as each split computes rows of its own. */
enum { CHEAP_LINKS = 5000, FEW_SEEDS = 3 };

/* The subjects of an evaluation and its results. */
typedef struct evaluation {
    mo_context *ctx;
    eval_options *options;
    subject subjects[MAX_WEIGHTS]; /* the first has the baselines */
    int n_subjects;
    mo_suite *suite;
    unsigned metrics;    /* bits: the metrics of links that the suite names; 0: all */
    results rows, paper; /* all rows so far */
    names absent;        /* "cs nc" */
    bool lost_output, in_paper;
} evaluation;

static mo_task task_of(const mo_eval_row *r) {
    int task = 0;
    while (task < MO_TASKS - 1 && strcmp(r->task, mo_task_name((mo_task)task)) != 0)
        task++;
    return (mo_task)task;
}

static bool is_wanted(const evaluation *e, const mo_eval_row *r) {
    int metric = METRIC_ACCURACY;
    for (int i = 0; i < MO_LINK_METRICS; i++)
        if (!strcmp(mo_link_metric_name(i), r->metric))
            metric = i;
    if (e->options->metrics)
        return e->options->metrics >> metric & 1;
    return metric == METRIC_ACCURACY || !e->metrics || e->metrics >> metric & 1;
}

/* The head under whose name a figure is shown if another head made it; NULL: its own. */
static const char *eval_block_of(const evaluation *e, const mo_eval_row *r) {
    const char *head = e->subjects[0].block_head;
    return head && strcmp(head, r->head) != 0 ? head : NULL;
}

static void take_eval_row(const mo_eval_row *r, void *state) {
    evaluation *e = state;
    if (!is_wanted(e, r))
        return;
    if (r->failure && !e->options->quiet)
        fprintf(stderr, "no figure: %s %s, %s head on %s, k = %lld: %s\n", r->data, r->task, r->head, r->features,
            (long long)r->k, r->failure);
    results_add_row(&e->rows, r, mo_protocol_name(e->options->evaluation.protocol));
    const char *block = eval_block_of(e, r);
    if (block)
        snprintf(arrlast(e->rows.items).block, sizeof arrlast(e->rows.items).block, "%s", block);
    if (e->options->json && !e->lost_output)
        e->lost_output = !print_eval_cell(e->options, r, e->subjects[0].best_hop[task_of(r)], block);
}

static void print_eval_notice(const char *line, void *state) {
    const evaluation *e = state;
    if (!e->options->quiet)
        fprintf(stderr, "%s\n", line);
}

/* ---- evaluation ---- */

/* Chooses the hop that is best for a task on the pool, unless the weights or the user name one. */
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

/* Whether a candidate can do a task: inner products need links between rows of nodes, the readout of all nodes needs
 * nodes. */
static bool can_do(const mo_candidate *c, mo_task task) {
    return !(c->transductive && task != MO_TASK_NC) && !(c->dot && task != MO_TASK_LP);
}

static void evaluate_source(evaluation *e, subject *s, const mo_source *source) {
    const eval_options *o = e->options;
    mo_eval_options options = o->evaluation;
    mo_candidate able[MAX_CANDIDATES];
    int n = 0;
    if (o->draws) {
        options.on_plan = write_draw;
        options.state = (void *)o->draws;
    }
    if (source->task == MO_TASK_LP && !o->seeds_said && source->links->n_positive > CHEAP_LINKS)
        options.seeds = FEW_SEEDS;
    if (o->metrics && !(o->metrics & metrics_of(source->task)))
        return;
    if (s == e->subjects) {
        choose_hop(e, s, source->task);
        e->lost_output |= e->options->json && mo_ok(e->ctx) && !print_eval_data(source);
    }
    for (int i = 0; i < s->n_candidates; i++) {
        if (!can_do(&s->candidates[i], source->task))
            continue;
        able[n] = s->candidates[i];
        if (!strcmp(able[n].features, "hop"))
            able[n].hop = s->best_hop[source->task];
        n++;
    }
    mo_evaluate(e->ctx, source, able, n, &options, take_eval_row, e);
}

/* Every data set is opened, evaluated and released before the next, once for each form of features. */
static void evaluate_name(evaluation *e, const char *name, int task) {
    char restricted[4096];
    const char *item = task >= 0 ? restricted : name;
    int first = (int)arrlen(e->rows.items);
    if (task >= 0)
        snprintf(restricted, sizeof restricted, "%s:%s", name, mo_task_name((mo_task)task));
    for (int j = 0; j < e->n_subjects && mo_ok(e->ctx); j++) {
        subject *s = &e->subjects[j];
        mo_pool *pool = mo_pool_open(e->ctx, &item, 1, &s->features, MO_EVAL_LINK_SHARE, print_eval_notice, e);
        for (int i = 0; pool && i < mo_pool_size(pool) && mo_ok(e->ctx) && !e->lost_output; i++)
            evaluate_source(e, s, mo_pool_source(pool, i));
        mo_pool_release(pool);
    }
    if (mo_ok(e->ctx) && e->options->json && !e->lost_output)
        e->lost_output = !print_pairs_json(&e->rows, first, NULL, NULL);
    if (mo_ok(e->ctx) && !e->options->json)
        e->in_paper |= print_eval_table(&e->rows, first, &e->paper, e->subjects[0].label);
}

/* ---- suites ---- */

/* Takes from the suite the settings that the command line does not give. */
static void take_suite(evaluation *e) {
    eval_options *o = e->options;
    e->suite = mo_suite_read(e->ctx, o->suite);
    if (!e->suite)
        return;
    if (!is_given(&o->given, "protocol"))
        o->evaluation.protocol = e->suite->episodes ? MO_PROTOCOL_EPISODE : MO_PROTOCOL_SPLIT;
    if (e->suite->seeds && e->suite->episodes) {
        if (!is_given(&o->given, "episodes"))
            o->evaluation.episodes = e->suite->seeds;
    } else if (e->suite->seeds && !o->seeds_said) {
        o->evaluation.seeds = e->suite->seeds;
        o->seeds_said = true;
    }
    for (int i = 0; i < e->suite->n_heads && !is_given(&o->given, "head"); i++)
        if (!strcmp(e->suite->head[i], "dot"))
            o->dot = true;
        else if (o->n_heads < MAX_HEADS)
            o->heads[o->n_heads++] = mo_find_head(e->suite->head[i]);
}

static void report_absent(evaluation *e, const mo_suite_task *t) {
    char line[200];
    snprintf(line, sizeof line, "%.150s %s", t->data, mo_task_name(t->task));
    append_name(&e->absent, line);
    if (e->options->json)
        e->lost_output |= !print_eval_absent(t);
}

static void evaluate_suite(evaluation *e) {
    for (int i = 0; i < e->suite->n && mo_ok(e->ctx) && !e->lost_output; i++) {
        const mo_suite_task *t = &e->suite->task[i];
        if (!mo_graph_exists(t->data)) {
            report_absent(e, t);
            continue;
        }
        if (!is_given(&e->options->given, "shots")) {
            e->options->evaluation.n_shots = t->n_shots;
            e->options->evaluation.shots = t->shots;
        }
        e->metrics = t->metrics;
        evaluate_name(e, t->data, t->task);
    }
}

/* ---- the end ---- */

static void print_legend(const evaluation *e) {
    const int *hop = e->subjects[0].best_hop;
    printf("\n± is the half width of the 95%% interval over n; hop is hop %d (nc), %d (lp), %d (gc), -1 where not "
           "needed\n",
        hop[MO_TASK_NC], hop[MO_TASK_LP], hop[MO_TASK_GC]);
    if (e->in_paper)
        puts("paper: its tables of node, link and graph results under that head, best of all its methods; ± is one "
             "standard deviation over 3 seeds");
    for (int i = 0; i < e->absent.count; i++)
        printf("%s%s%s", i ? ", " : "not run, as the data are not there: ", e->absent.items[i],
            i == e->absent.count - 1 ? "\n" : "");
}

static void print_eval_end(evaluation *e) {
    aggregate *scores = e->suite ? aggregate_results((const results *const[]){&e->rows}, 1) : NULL;
    if (e->options->json) {
        for (int i = 0; i < arrlen(scores) && !e->lost_output; i++)
            e->lost_output = !print_aggregate(&scores[i]);
    } else {
        print_aggregates(scores);
        print_legend(e);
    }
    arrfree(scores);
}

static void evaluate_choices(evaluation *e) {
    eval_options *o = e->options;
    eval_weights weights[MAX_WEIGHTS];
    int n_weights = 0;
    for (int i = 0; i < o->weights.count && mo_ok(e->ctx); i++, e->n_subjects++) {
        subject *s = &e->subjects[i];
        open_subject(e->ctx, o, o->weights.items[i], e->subjects, i, s);
        if (s->has_weights) {
            weights[n_weights] = s->weights;
            weights[n_weights++].label = s->label;
        }
    }
    if (mo_ok(e->ctx))
        refuse_eval_options(o, e->subjects, e->n_subjects, e->suite);
    if (o->json && mo_ok(e->ctx))
        e->lost_output = !print_eval_run(o, weights, n_weights);
    if (e->suite && mo_ok(e->ctx))
        evaluate_suite(e);
    for (int i = 0; !e->suite && i < o->data.count && mo_ok(e->ctx) && !e->lost_output; i++)
        evaluate_name(e, o->data.items[i], o->task);
}

int eval_command(int argc, char **argv) {
    eval_options o;
    char why[256];
    parse_eval_options(&o, argc, argv);
    o.device.threads = o.threads;
    mo_context *ctx = open_context_on(o.device);
    int code = EXIT_FAILED;
    if (ctx) {
        evaluation e = {.ctx = ctx, .options = &o};
        if (!o.json && !results_read(&e.paper, "paper", why, sizeof why))
            mo_fail(ctx, MO_FORMAT, "%s", why);
        if (o.suite && mo_ok(ctx))
            take_suite(&e);
        if (mo_ok(ctx))
            evaluate_choices(&e);
        if (mo_ok(ctx) && !e.lost_output)
            print_eval_end(&e);
        code = mo_ok(ctx) ? e.lost_output ? EXIT_FAILED : EXIT_FINE : report_failure(ctx);
        results_free(&e.rows);
        results_free(&e.paper);
        free_names(&e.absent);
        mo_suite_release(e.suite);
        for (int j = 0; j < e.n_subjects; j++)
            release_subject(&e.subjects[j]);
        mo_context_release(ctx);
    }
    free_eval_options(&o);
    return code;
}
