/* tools/eval/eval.c - `mochi eval`: evaluates trained weights and the baselines on graphs outside the training pool,
 * named one by one or by a suite. */
#include "tools/eval/aggregate.h"
#include "tools/eval/eval_average.h"
#include "tools/eval/eval_effect.h"
#include "tools/eval/eval_run.h"

#include <stb/stb_ds.h>
#include <stdio.h>
#include <string.h>

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
    bool public = e->options->evaluation.protocol == MO_PROTOCOL_PUBLIC;
    printf("\n%s; hop is hop %d (nc), %d (lp), %d (gc), -1 where not needed\n",
        public ? "one split, plain accuracy" : "± is the half width of the 95% interval over n", hop[MO_TASK_NC],
        hop[MO_TASK_LP], hop[MO_TASK_GC]);
    if (e->options->average)
        printf("average: the mean over %d weights; ± is the standard deviation between them\n", e->n_subjects);
    if (e->in_paper && public)
        puts("other methods as their sources give them (public.json among the embedded data)");
    else if (e->in_paper)
        puts("paper: its tables of node, link and graph results under that head, best of all its methods; ± is one "
             "standard deviation over 3 seeds");
    for (int i = 0; i < e->seen.count; i++)
        printf("%s%s%s", i ? ", " : "the weights best were trained on: ", e->seen.items[i],
            i == e->seen.count - 1 ? "\n" : "");
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
    if (o->average && mo_ok(e->ctx))
        require_one_recipe(e);
    if (o->json && mo_ok(e->ctx))
        e->lost_output = !print_eval_run(o, weights, n_weights);
    if (e->suite && mo_ok(e->ctx))
        evaluate_suite(e);
    else if (mo_ok(e->ctx))
        evaluate_data(e);
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
        bool public = o.evaluation.protocol == MO_PROTOCOL_PUBLIC;
        if (!o.json && !results_read(&e.paper, public ? "public" : "paper", why, sizeof why))
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
        free_names(&e.seen);
        mo_suite_release(e.suite);
        for (int j = 0; j < e.n_subjects; j++)
            release_subject(&e.subjects[j]);
        mo_context_release(ctx);
    }
    free_eval_options(&o);
    return code;
}
