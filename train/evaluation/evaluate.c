/* train/evaluation/evaluate.c - evaluation of candidates on one source: each candidate encodes every node or graph once
 * (a model of rows of examples only those of each plan; rows of a file are encoded already), then its head is fitted on
 * these rows, with the same plans for all. */
#include "tensor/library.h"
#include "train/evaluation/evaluation.h"

#include "train/features/example_kernels.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

bool mo_eval_failed(mo_evaluation *ev, int candidate, int shot) {
    const mo_status *status = mo_context_status(ev->ctx);
    char *failure = ev->failure[candidate * ev->options->n_shots + shot];
    if (status->code != MO_NUMERICAL)
        return false;
    if (!failure[0])
        snprintf(failure, MO_EVAL_REASON, "%.*s", MO_EVAL_REASON - 1, status->message);
    mo_clear_error(ev->ctx);
    return true;
}

const char *mo_protocol_name(mo_protocol protocol) {
    static const char *const names[MO_PROTOCOLS] = {"split", "episode", "public"};
    return (unsigned)protocol < MO_PROTOCOLS ? names[protocol] : NULL;
}

const char *mo_class_metric_name(int i) {
    static const char *const names[MO_CLASS_METRICS] = {"accuracy", "nll", "ece"};
    return i >= 0 && i < MO_CLASS_METRICS ? names[i] : NULL;
}

const char *mo_link_metric_name(int i) {
    static const char *const names[MO_LINK_METRICS] = {"auc", "ap", "mrr", "hits_rank", "hits_ogb", "hits_pooled"};
    return i >= 0 && i < MO_LINK_METRICS ? names[i] : NULL;
}

double *mo_eval_values(const mo_evaluation *ev, int candidate, int shot, int metric) {
    int64_t at = ((int64_t)candidate * ev->options->n_shots + shot) * (ev->metrics + ev->experts) + metric;
    return ev->value + at * ev->repeats;
}

static bool check_evaluation(
    mo_context *ctx, const mo_source *source, const mo_candidate *c, int n, const mo_eval_options *o) {
    bool links = source->task == MO_TASK_LP, episodes = !links && o->protocol == MO_PROTOCOL_EPISODE;
    bool public = o->protocol == MO_PROTOCOL_PUBLIC, chooses = o->hold_out || o->tune || o->sweep;
    int64_t repeats = episodes ? o->episodes : o->seeds;
    if (public && (source->task != MO_TASK_NC || o->n_shots != 1))
        mo_fail(ctx, MO_INVALID, "evaluate: protocol public of %s %s and %d numbers of shots, expected nodes and one",
            source->graph->name, mo_task_name(source->task), o->n_shots);
    else if (o->split && (o->n_shots != 1 || links || source->task == MO_TASK_GC || o->split->n_support < 1))
        mo_fail(ctx, MO_INVALID, "evaluate: a split of %s %s and %d numbers of shots, expected nodes or rows and one",
            source->graph->name, mo_task_name(source->task), o->n_shots);
    else if (o->target && (!episodes || o->split || chooses || o->calibration))
        mo_fail(ctx, MO_INVALID, "evaluate: real targets of %s %s, expected nodes or graphs and protocol episode",
            source->graph->name, mo_task_name(source->task));
    else if (repeats < 1 && !public && !o->split)
        mo_fail(ctx, MO_INVALID, "evaluate: %s is %" PRId64 ", expected 1 or more", episodes ? "episodes" : "seeds",
            repeats);
    for (int i = 0; i < o->n_shots && mo_ok(ctx); i++)
        if (o->shots[i] < 1 || o->shots[i] > 1 << 20)
            mo_fail(ctx, MO_INVALID, "evaluate: k is %" PRId64 ", expected 1 to %d", o->shots[i], 1 << 20);
    for (int i = 0; i < n && mo_ok(ctx); i++)
        if (!c[i].model && !c[i].head)
            mo_fail(ctx, MO_INVALID, "evaluate: candidate %d has neither a model nor a head", i);
        else if (!c[i].model && !c[i].dot && !mo_head_validate(ctx, c[i].head))
            break;
        else if (c[i].model && (source->rows || o->tune || o->sweep))
            mo_fail(ctx, MO_INVALID, "evaluate: candidate %d is a model, expected a head alone %s", i,
                source->rows ? "on rows that are embeddings already" : "whose regularisation is tuned");
        else if (chooses && (c[i].transductive || links))
            mo_fail(ctx, MO_INVALID, "evaluate: candidate %d holds no rows of its support out %s", i,
                links ? "of links" : "as it is transductive");
        else if ((unsigned)c[i].scaling >= MO_SCALINGS)
            mo_fail(ctx, MO_INVALID, "evaluate: scaling is %d, expected 0 to %d", (int)c[i].scaling, MO_SCALINGS - 1);
        else if (!c[i].model && c[i].transductive)
            mo_fail(ctx, MO_INVALID, "evaluate: candidate %d is transductive and has no model", i);
        else if (c[i].transductive == MO_TRANSDUCTIVE_NEVER &&
                 (!c[i].model->reads_kernels || source->task != MO_TASK_GC))
            mo_fail(ctx, MO_INVALID,
                "evaluate: candidate %d is inductive, expected a model with a readout of its own, and graphs", i);
    for (int i = 0; i < n && mo_ok(ctx); i++)
        if (c[i].dot && (!links || mo_has_example_rows(source)))
            mo_fail(ctx, MO_INVALID, "evaluate: inner products score links by rows of nodes; %s %s has none",
                source->graph->name, mo_task_name(source->task));
    if (mo_ok(ctx) && ((!source->features && !source->rows) || (links && !source->links)))
        mo_fail(ctx, MO_INVALID, "evaluate: %s lacks %s", source->graph->name,
            source->features ? "held-out links" : "features");
    return mo_ok(ctx);
}

void mo_eval_note(mo_evaluation *ev, int shot, int64_t repeat, const mo_plan *plan) {
    const mo_eval_options *o = ev->options;
    ev->n_test = plan->n_query;
    ev->classes = plan->classes;
    ev->left_out = plan->left_out > ev->left_out ? plan->left_out : ev->left_out;
    ev->small[shot] = plan->small_classes > ev->small[shot] ? plan->small_classes : ev->small[shot];
    if (o->protocol == MO_PROTOCOL_PUBLIC && (!ev->public_k || plan->k < ev->public_k))
        ev->public_k = plan->k;
    if (o->on_plan && mo_ok(ev->ctx))
        o->on_plan(ev->source, plan, plan->k, repeat, o->state);
}

static void require_example_rows(const mo_evaluation *ev) {
    if (!mo_has_example_rows(ev->source))
        mo_fail(ev->ctx, MO_INVALID, "evaluate: %s has rows of nodes, the model reads rows of examples",
            ev->source->graph->name);
}

static bool same_rows(const mo_candidate *a, const mo_candidate *b) {
    if (a->transductive || b->transductive)
        return false; /* a transductive readout reads a population or other kernels */
    if (a->model && b->model)
        return a->encoder > 0 && a->encoder == b->encoder;
    return !a->model && !b->model && a->hop == b->hop;
}

mo_tensor *mo_eval_known_rows(const mo_evaluation *ev, mo_tensor *const *rows, int c) {
    for (int i = 0; i < c; i++)
        if (rows[i] && same_rows(&ev->candidate[i], &ev->candidate[c]))
            return rows[i];
    return NULL;
}

void mo_eval_release_rows(mo_tensor **rows, int n) {
    for (int i = 0; rows && i < n; i++) {
        for (int j = i + 1; j < n; j++)
            if (rows[j] == rows[i])
                rows[j] = NULL;
        mo_tensor_release(rows[i]);
    }
}

/* Makes the kernels of the source's nodes or graphs, if a readout reads them. */
static void open_kernels(mo_evaluation *ev) {
    bool read = false;
    for (int i = 0; i < ev->n; i++)
        read |= ev->candidate[i].model && ev->candidate[i].model->reads_kernels;
    read &= ev->own.task != MO_TASK_LP;
    if (read && !ev->own.kernels)
        ev->kernels = ev->own.kernels = mo_example_kernels_create(&ev->own);
    ev->experts = read && !ev->options->target && mo_ok(ev->ctx) ? mo_expert_count(&ev->own) : 0;
    ev->inductive = ev->own;
    ev->inductive.inductive = true;
    ev->inductive.kernels = NULL;
    for (int i = 0; i < ev->n; i++)
        if (ev->candidate[i].transductive == MO_TRANSDUCTIVE_NEVER && !ev->inductive.kernels)
            ev->inductive.kernels = mo_example_kernels_create(&ev->inductive);
}

static bool prepare_evaluation(mo_evaluation *ev) {
    bool links = ev->source->task == MO_TASK_LP;
    bool targets = ev->options->target;
    ev->metrics = targets                    ? MO_TARGET_METRICS
                  : links                    ? MO_LINK_METRICS
                  : ev->options->calibration ? MO_CLASS_METRICS
                                             : 1;
    ev->repeats = ev->options->split ? 1 : ev->options->seeds;
    if (!links && !ev->options->split && ev->options->protocol != MO_PROTOCOL_SPLIT)
        ev->repeats = ev->options->protocol == MO_PROTOCOL_EPISODE ? ev->options->episodes
                      : ev->source->graph->divisions > 1           ? ev->source->graph->divisions
                                                                   : 1;
    open_kernels(ev);
    int64_t cells = (int64_t)ev->n * ev->options->n_shots;
    ev->rows = mo_host_array(ev->ctx, ev->n, sizeof *ev->rows);
    ev->all = mo_host_array(ev->ctx, ev->n, sizeof *ev->all);
    ev->value = mo_host_array(ev->ctx, cells * (ev->metrics + ev->experts) * ev->repeats, sizeof *ev->value);
    ev->small = mo_host_array(ev->ctx, ev->options->n_shots, sizeof *ev->small);
    ev->failure = mo_host_array(ev->ctx, cells, sizeof *ev->failure);
    ev->t = mo_crew_create(ev->ctx, &ev->crew) ? ev->crew.own.t : NULL;
    for (int i = 0; i < ev->n && mo_ok(ev->ctx); i++) {
        const mo_candidate *c = &ev->candidate[i];
        ev->rows[i] = mo_eval_known_rows(ev, ev->rows, i);
        if (ev->rows[i])
            continue;
        if (ev->source->rows) {
            ev->rows[i] = ev->source->rows;
            continue;
        }
        if (c->transductive && c->transductive != MO_TRANSDUCTIVE_NEVER)
            ev->all[i] = mo_embed_population(c->model, ev->source, ev->options->max_rows);
        else if (c->model && c->model->encoder.of_examples)
            require_example_rows(ev);
        else if (c->model)
            ev->rows[i] = mo_embed_all(c->model, ev->source, ev->options->max_rows);
        else
            ev->rows[i] = mo_embed_hop(ev->source, c->hop);
    }
    return mo_ok(ev->ctx);
}

static void finish_evaluation(mo_evaluation *ev) {
    if (!ev->source->rows)
        mo_eval_release_rows(ev->rows, ev->n);
    for (int i = 0; ev->all && i < ev->n; i++) {
        mo_tensor_release(ev->all[i].Z);
        mo_tensor_release(ev->all[i].gram);
    }
    mo_crew_release(&ev->crew);
    mo_example_kernels_release(ev->kernels);
    mo_example_kernels_release(ev->inductive.kernels);
    free(ev->rows);
    free(ev->all);
    free(ev->value);
    free(ev->small);
    free(ev->failure);
}

/* Mean shares of a candidate's experts at a shot; returns their number, 0 if its readout has none. */
static int mean_shares(const mo_evaluation *ev, int c, int shot, mo_expert_share out[MO_MAX_EXPERTS]) {
    const mo_candidate *candidate = &ev->candidate[c];
    if (!candidate->model || !candidate->model->reads_kernels || candidate->transductive)
        return 0;
    for (int e = 0; e < ev->experts; e++) {
        out[e].name = mo_expert_name(&ev->own, e);
        out[e].share = mo_summarize(mo_eval_values(ev, c, shot, ev->metrics + e), ev->repeats).mean;
    }
    return ev->experts;
}

/* The figures of the queries of a caller's split, 100 or 0 each; NULL on failure. */
static double *split_outcomes(const mo_evaluation *ev, const mo_eval_row *row) {
    const mo_plan *p = row->plans;
    double *outcome = mo_host_array(ev->ctx, p->n_query, sizeof *outcome);
    for (int64_t i = 0; outcome && i < p->n_query; i++)
        outcome[i] = row->predicted[i] == ev->source->graph->label[p->query[0][i]] ? 100 : 0;
    return outcome;
}

/* Sets the interval and the values of the accuracy on a caller's split; they are those of its queries. */
static void put_outcomes(const double *outcome, mo_eval_row *row) {
    double interval[2];
    row->n = row->plans->n_query;
    row->values = outcome;
    mo_wilson(row->mean / 100, (double)row->n, interval);
    row->ci95 = 50 * (interval[1] - interval[0]);
}

void mo_eval_visit_rows(const mo_evaluation *ev, int c, int shot, const mo_eval_row *more) {
    const mo_source *s = ev->source;
    const mo_candidate *candidate = &ev->candidate[c];
    const mo_eval_options *o = ev->options;
    const char *why = ev->failure[c * o->n_shots + shot];
    mo_expert_share experts[MO_MAX_EXPERTS];
    double *outcome = more->split && more->predicted ? split_outcomes(ev, more) : NULL;
    bool links = s->task == MO_TASK_LP;
    for (int metric = 0; metric < ev->metrics && mo_ok(ev->ctx); metric++) {
        mo_eval_row row = *more;
        row.data = s->graph->name;
        row.task = o->target ? (s->task == MO_TASK_NC ? "nr" : "gr") : mo_task_name(s->task);
        row.head = candidate->head ? candidate->head->name : candidate->model->encoder.name;
        row.features = candidate->features;
        row.k = candidate->dot ? 0 : o->split ? o->split->k : ev->public_k ? ev->public_k : o->shots[shot];
        row.metric = o->target ? mo_target_metric_name(metric)
                     : links   ? mo_link_metric_name(metric)
                               : mo_class_metric_name(metric);
        row.values = mo_eval_values(ev, c, shot, metric);
        mo_summary summary = mo_summarize(row.values, ev->repeats);
        row.mean = summary.mean;
        row.ci95 = summary.ci95;
        row.sd = summary.sd;
        row.n = summary.n;
        row.n_test = ev->n_test;
        row.classes = ev->classes;
        row.small_classes = candidate->dot ? 0 : ev->small[shot];
        row.left_out = ev->left_out;
        row.n_experts = mean_shares(ev, c, shot, experts);
        row.experts = experts;
        row.failure = why[0] ? why : NULL;
        if (outcome && metric == 0)
            put_outcomes(outcome, &row);
        ev->visit(&row, ev->state);
    }
    free(outcome);
}

mo_code mo_evaluate(mo_context *ctx, const mo_source *source, const mo_candidate *candidates, int n,
    const mo_eval_options *options, mo_eval_visit visit, void *state) {
    mo_evaluation ev = {
        .ctx = ctx, .candidate = candidates, .n = n, .options = options, .visit = visit, .state = state};
    if (!mo_given(ctx, "evaluate", "the source", source) || !mo_given(ctx, "evaluate", "its graph", source->graph) ||
        !mo_given(ctx, "evaluate", "options", options) || !mo_given(ctx, "evaluate", "candidates", candidates) ||
        !check_evaluation(ctx, source, candidates, n, options))
        return mo_code_of(ctx);
    ev.own = *source;
    ev.source = &ev.own;
    mo_hold_errors(ctx);
    if (prepare_evaluation(&ev)) {
        if (options->target)
            mo_evaluate_targets(&ev);
        else if (source->task == MO_TASK_LP)
            mo_evaluate_links(&ev);
        else
            mo_evaluate_classes(&ev);
    }
    finish_evaluation(&ev);
    mo_release_errors(ctx);
    return mo_context_status(ctx)->code;
}
