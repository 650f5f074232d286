/* tools/eval/eval.c - `mochi eval`: evaluates trained weights and the baselines on graphs outside the training pool,
 * named one by one or by a suite. */
#include "tools/eval/eval.h"

#include <stb/stb_ds.h>
#include <stdio.h>
#include <string.h>

/* ---- suites ---- */

/* Copies the suite's settings to the options, except those that the command line gives. */
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
        evaluate_name(e, t->data, t->task);
    }
}

/* ---- the end ---- */

/* Returns whether there is a figure with these features and this task (NULL: any task). */
static bool has_figure(const evaluation *e, const char *features, const char *task) {
    for (int i = 0; i < arrlen(e->rows); i++)
        if (!strcmp(e->rows[i].features, features) && (!task || !strcmp(e->rows[i].task, task)))
            return true;
    return false;
}

/* Explains each baseline in the tables. */
static void print_baselines(const evaluation *e) {
    if (has_figure(e, "random", NULL))
        puts("untrained: the encoder before its first step");
    if (has_figure(e, "x0", NULL))
        puts("raw features: the readout without an encoder, on the SVD of attributes and graph");
    if (!has_figure(e, "hop", NULL))
        return;
    printf("best hop: the readout on one hop of these features:");
    for (int i = 0, said = 0; i < MO_TASKS; i++)
        if (has_figure(e, "hop", mo_task_name((mo_task)i)) || (e->options->targets && i == e->options->task))
            printf("%s %d (%s)", said++ ? "," : " hop", e->subjects[0].best_hop[i], mo_task_name((mo_task)i));
    putchar('\n');
}

static void print_legend(const evaluation *e) {
    bool several = e->options->evaluation.protocol != MO_PROTOCOL_PUBLIC;
    for (int i = 0; i < arrlen(e->rows); i++)
        several |= e->rows[i].n > 1;
    printf("\n%s\n",
        !several ? "one split, plain accuracy"
                 : "± is the half width of the 95% interval over n; * marks a difference whose interval leaves out 0");
    print_baselines(e);
    print_seen(e->seen);
    for (int i = 0; i < e->absent.count; i++)
        printf("%s%s%s", i ? ", " : "not run, as the data are not there: ", e->absent.items[i],
            i == e->absent.count - 1 ? "\n" : "");
}

static void evaluate_choices(evaluation *e) {
    eval_options *o = e->options;
    for (int i = 0; i < o->weights.count && mo_ok(e->ctx); i++, e->n_subjects++)
        open_subject(e->ctx, o, o->weights.items[i], e->subjects, i, &e->subjects[i]);
    if (!mo_ok(e->ctx))
        return;
    refuse_eval_options(o, e->subjects, e->n_subjects, e->suite);
    if (o->json && mo_ok(e->ctx))
        e->lost_output = !print_eval_run(o, e->subjects, e->n_subjects);
    if (!mo_ok(e->ctx) || e->lost_output)
        return;
    if (e->suite)
        evaluate_suite(e);
    else
        evaluate_data(e);
}

static int end_evaluation(evaluation *e) {
    if (mo_ok(e->ctx) && !e->lost_output && !e->options->json)
        print_legend(e);
    return !mo_ok(e->ctx) ? report_failure(e->ctx) : e->lost_output ? EXIT_FAILED : EXIT_FINE;
}

static int evaluate_in_context(evaluation *e) {
    const eval_options *o = e->options;
    if (o->suite && mo_ok(e->ctx))
        take_suite(e);
    evaluate_choices(e);
    int code = end_evaluation(e);
    free_figures(e->rows);
    free_names(&e->absent);
    free_seen(e->seen);
    mo_suite_release(e->suite);
    for (int j = 0; j < e->n_subjects; j++)
        release_subject(&e->subjects[j]);
    return code;
}

int eval_command(int argc, char **argv) {
    eval_options o;
    evaluation e = {.options = &o};
    int code = EXIT_FAILED;
    parse_eval_options(&o, argc, argv);
    e.ctx = open_context_on(o.device);
    if (e.ctx) {
        code = evaluate_in_context(&e);
        mo_context_release(e.ctx);
    }
    free_eval_options(&o);
    return code;
}
