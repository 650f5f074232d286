/* train/evaluation/problems.c - few-shot figures on nodes, graphs and rows under each protocol: `split` (test part at
 * natural frequencies), `episode` (balanced), `public` (the graph's own divisions), or on a caller's own split. The
 * problems of one k are drawn once for all candidates, so that their differences are paired. */
#include "tensor/library.h"
#include "train/evaluation/evaluation.h"
#include "train/metrics.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { QUERIES = 30, MAX_CLASSES = 64 };

/* ---- the problems of one k ---- */

/* A row of a file comes from a class that has no others: a small class is divided between support and queries. */
static mo_code draw_problem(const mo_evaluation *ev, int64_t k, int64_t repeat, mo_plan *plan) {
    const mo_source *s = ev->source;
    const mo_eval_options *o = ev->options;
    if (o->protocol == MO_PROTOCOL_PUBLIC)
        return mo_plan_public(s->graph, repeat, plan);
    if (o->protocol == MO_PROTOCOL_SPLIT)
        return mo_plan_split(s->graph, s->task, k, o->seed + (uint64_t)repeat, plan);
    int64_t q = o->queries ? o->queries : QUERIES;
    mo_plan_options options = {.k_min = k,
        .k_max = k,
        .q_min = q,
        .q_max = q,
        .max_classes = o->ways ? o->ways : MAX_CLASSES,
        .seed = o->seed,
        .support_first = !s->rows};
    return mo_plan_draw(s->graph, NULL, s->task, (uint64_t)repeat, &options, plan);
}

/* Draws the problems of a shot; release them even on failure. Returns false on failure. */
static bool draw_problems(mo_evaluation *ev, int shot, mo_plan *plan) {
    const mo_eval_options *o = ev->options;
    for (int64_t i = 0; i < ev->repeats && mo_ok(ev->ctx); i++) {
        if (o->split)
            plan[i] = *o->split;
        else
            draw_problem(ev, o->shots[shot], i, &plan[i]);
        mo_eval_note(ev, shot, i, &plan[i]);
    }
    return mo_ok(ev->ctx);
}

static void release_problems(const mo_evaluation *ev, mo_plan *plan) {
    for (int64_t i = 0; plan && !ev->options->split && i < ev->repeats; i++)
        mo_plan_release(&plan[i]);
    free(plan);
}

/* ---- one candidate at one k ---- */

/* Makes a job of a candidate on the problems; release it even on failure. Returns false on failure. */
static bool open_job(mo_evaluation *ev, int c, int shot, const mo_plan *plan, mo_job *job) {
    const mo_eval_options *o = ev->options;
    int64_t queries = 0;
    *job = (mo_job){.plan = plan,
        .n = ev->repeats,
        .calibrated = ev->source->rows || ev->metrics > 1 || o->hold_out || o->tune || o->sweep,
        .hold_out = o->hold_out || o->tune || o->sweep,
        .ranks = o->ranking && ev->source->rows,
        .values = {NAN},
        .metrics = ev->metrics,
        .experts = ev->experts,
        .figure = mo_eval_values(ev, c, shot, 0),
        .failure = ev->failure[c * ev->options->n_shots + shot],
        .progress = o->progress,
        .state = o->state};
    snprintf(
        job->title, sizeof job->title, "k = %" PRId64 ", %s", plan[0].k, mo_candidate_head(&ev->candidate[c])->name);
    job->first = mo_host_array(ev->ctx, job->n, sizeof *job->first);
    for (int64_t i = 0; job->first && i < job->n; i++) {
        job->first[i] = queries;
        queries += plan[i].n_query;
    }
    job->predicted = mo_host_array(ev->ctx, queries, sizeof *job->predicted);
    job->tally = mo_host_array(ev->ctx, job->n, sizeof *job->tally);
    job->choice = mo_host_array(ev->ctx, job->n, sizeof *job->choice);
    return mo_ok(ev->ctx);
}

static void close_job(mo_job *job) {
    free(job->first);
    free(job->predicted);
    free(job->tally);
    free(job->choice);
}

/* Points the crew to a candidate. */
static void give_crew(mo_evaluation *ev, int c) {
    mo_reader *r = &ev->crew.own;
    r->candidate = ev->candidate[c];
    r->source = r->candidate.transductive == MO_TRANSDUCTIVE_NEVER ? &ev->inductive : ev->source;
    r->rows = ev->rows[c];
    r->all = &ev->all[c];
    r->max_rows = ev->options->max_rows;
}

/* The scale of the rows that penalties of the crew's candidate are tried about. */
static double scale_of_rows(mo_evaluation *ev) {
    const mo_reader *r = &ev->crew.own;
    double *scale = &ev->scale[r->candidate.scaling];
    if (*scale == 0 || r->rows != ev->source->rows)
        *scale = mo_rows_spread(r->t, r->rows, r->candidate.scaling);
    return *scale;
}

/* Adds up the figures of all problems, in order. */
static void sum_up(const mo_job *job, mo_eval_row *row) {
    mo_calibration plain = {0}, scaled = {0};
    mo_ranking ranking = {0};
    bool tempered = job->hold_out;
    for (int64_t i = 0; i < job->n; i++) {
        mo_calibration_merge(&plain, &job->tally[i].plain);
        mo_calibration_merge(&scaled, &job->tally[i].scaled);
        mo_ranking_merge(&ranking, &job->tally[i].ranking);
        tempered &= job->tally[i].tempered;
    }
    row->nll = plain.nll / (double)plain.n;
    row->brier = plain.brier / (double)plain.n;
    row->ece = mo_calibration_ece(&plain);
    row->nll_temperature = tempered ? scaled.nll / (double)scaled.n : NAN;
    row->ece_temperature = tempered ? mo_calibration_ece(&scaled) : NAN;
    row->auc = ranking.problems ? ranking.auc / (double)ranking.problems : NAN;
    row->top = ranking.n && job->plan[0].classes > 3 ? 100.0 * (double)ranking.top / (double)ranking.n : NAN;
    row->predicted = job->predicted;
    row->choice = job->choice;
}

/* Turns predictions into classes of the graph. Returns false on failure. */
static bool name_predictions(const mo_evaluation *ev, const mo_job *job) {
    const int64_t *label = ev->source->graph->label;
    int64_t *class_of = mo_host_array(ev->ctx, ev->source->graph->classes, sizeof *class_of);
    for (int64_t i = 0; class_of && i < job->n; i++) {
        const mo_plan *p = &job->plan[i];
        for (int64_t s = 0; s < p->n_support; s++)
            class_of[p->support_label[s]] = label[p->support[0][s]];
        for (int64_t q = 0; q < p->n_query; q++)
            job->predicted[job->first[i] + q] = class_of[job->predicted[job->first[i] + q]];
    }
    free(class_of);
    return class_of;
}

/* Runs a job and makes what its rows have in common; a readout without a fit gets a row with the reason. Returns false
 * on any other failure. */
static bool measure_job(mo_evaluation *ev, mo_job *job, mo_eval_row *row) {
    double start = mo_clock(CLOCK_MONOTONIC);
    *row = (mo_eval_row){.nll = NAN,
        .brier = NAN,
        .ece = NAN,
        .nll_temperature = NAN,
        .ece_temperature = NAN,
        .auc = NAN,
        .top = NAN,
        .value = NAN,
        .held_nll = NAN,
        .plans = job->plan,
        .n_plans = job->n,
        .split = ev->options->split};
    job->failed = job->n;
    job->failure[0] = 0;
    if (!mo_ok(ev->ctx) || !mo_crew_run(&ev->crew, job) || !name_predictions(ev, job))
        return false;
    if (job->failed == job->n)
        sum_up(job, row);
    row->seconds = mo_clock(CLOCK_MONOTONIC) - start;
    return true;
}

/* Measures every value that tuning tries, one row each, with the value fixed for all problems; call it after the job. A
 * value without a fit is no failure of the head. */
static void sweep_values(mo_evaluation *ev, int c, int shot, mo_job *job) {
    int64_t chosen[MO_TUNED_VALUES] = {0};
    double grid[MO_TUNED_VALUES + 1];
    int n = mo_tuned_values(ev->candidate[c].head, scale_of_rows(ev), grid);
    for (int64_t i = 0; i < job->n; i++)
        for (int v = 0; v < n; v++)
            chosen[v] += job->choice[i].value == grid[v];
    job->n_values = 0;
    for (int v = 0; v < n; v++) {
        mo_eval_row row;
        job->values[0] = grid[v];
        if (!measure_job(ev, job, &row))
            break;
        row.swept = true;
        row.value = grid[v];
        row.chosen = ev->options->tune ? chosen[v] : -1;
        row.held_nll = job->failure[0] ? NAN : 0;
        for (int64_t i = 0; i < job->n && !job->failure[0]; i++)
            row.held_nll += job->choice[i].held_nll / (double)job->n;
        mo_eval_visit_rows(ev, c, shot, &row);
    }
}

static void evaluate_candidate(mo_evaluation *ev, int c, int shot, const mo_plan *plan) {
    mo_job job;
    mo_eval_row row;
    give_crew(ev, c);
    bool opened = open_job(ev, c, shot, plan, &job);
    if (opened && ev->options->tune)
        job.n_values = mo_tuned_values(ev->candidate[c].head, scale_of_rows(ev), job.values);
    if (opened && measure_job(ev, &job, &row)) {
        mo_eval_visit_rows(ev, c, shot, &row);
        if (ev->options->sweep && !job.failure[0])
            sweep_values(ev, c, shot, &job);
    }
    close_job(&job);
}

void mo_evaluate_classes(mo_evaluation *ev) {
    for (int shot = 0; shot < ev->options->n_shots && mo_ok(ev->ctx); shot++) {
        mo_plan *plan = mo_host_array(ev->ctx, ev->repeats, sizeof *plan);
        bool drawn = plan && draw_problems(ev, shot, plan);
        for (int c = 0; drawn && c < ev->n && mo_ok(ev->ctx); c++)
            evaluate_candidate(ev, c, shot, plan);
        release_problems(ev, plan);
    }
}
