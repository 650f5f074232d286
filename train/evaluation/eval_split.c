/* train/evaluation/eval_split.c - few-shot accuracy on nodes and graphs under each protocol: `split` (test part at
 * natural frequencies), `episode` (balanced) and `public` (the graph's own divisions). Each plan is drawn once for all
 * candidates, so that their differences are paired. */
#include "tensor/library.h"
#include "train/evaluation/evaluation.h"
#include "train/metrics.h"

#include <math.h>
#include <stdlib.h>

enum { QUERIES = 30, MAX_CLASSES = 64 };

static mo_code draw_split(const mo_evaluation *ev, int64_t k, int64_t repeat, mo_plan *plan) {
    const mo_source *s = ev->source;
    uint64_t seed = ev->options->seed;
    if (ev->options->protocol == MO_PROTOCOL_PUBLIC)
        return mo_plan_public(s->graph, repeat, plan);
    if (ev->options->protocol == MO_PROTOCOL_SPLIT)
        return mo_plan_split(s->graph, s->task, k, seed + (uint64_t)repeat, plan);
    int64_t q = ev->options->queries ? ev->options->queries : QUERIES;
    mo_plan_options options = {.k_min = k,
        .k_max = k,
        .q_min = q,
        .q_max = q,
        .max_classes = MAX_CLASSES,
        .seed = seed,
        .support_first = true};
    return mo_plan_draw(s->graph, NULL, s->task, (uint64_t)repeat, &options, plan);
}

/* Cross-entropy and calibration error of the logits: the metrics that follow accuracy. */
static void put_calibration(const mo_evaluation *ev, mo_tensor *logits, const mo_plan *plan, double figure[]) {
    double *host = mo_ok(ev->ctx) ? mo_host_values(logits, MO_F64) : NULL;
    mo_calibration c = {0};
    if (host) {
        mo_calibration_add(&c, host, plan->query_label, plan->n_query, plan->classes, 1);
        figure[1] = 100 * c.nll / (double)c.n;
        figure[2] = 100 * mo_calibration_ece(&c);
    }
    free(host);
}

/* Logits of the plan's queries; share: as mo_candidate_logits. */
static mo_tensor *logits_of(mo_evaluation *ev, int c, const mo_plan *plan, mo_tensor **share) {
    const mo_candidate *candidate = &ev->candidate[c];
    const mo_source *source = ev->source;
    switch (candidate->transductive) {
    case MO_TRANSDUCTIVE_ON:
        return mo_population_logits(ev->t, source, candidate, &ev->all[c], plan);
    case MO_TRANSDUCTIVE_AUTO:
        return mo_few_shot_chosen(ev->t, source, candidate, &ev->all[c], plan);
    case MO_TRANSDUCTIVE_NEVER:
        source = &ev->inductive;
        break;
    case MO_TRANSDUCTIVE_OFF:
        break;
    }
    return mo_candidate_logits(ev->t, source, candidate, ev->rows[c], plan, ev->options->max_rows, share);
}

/* The figures of a candidate on one problem, for every metric. */
static void put_figures(mo_evaluation *ev, int c, int shot, int64_t repeat, const mo_plan *plan) {
    const mo_candidate *candidate = &ev->candidate[c];
    double figure[MO_CLASS_METRICS] = {NAN, NAN, NAN};
    mo_expert_share experts[MO_MAX_EXPERTS];
    mo_tensor *share = NULL;
    mo_tape_reset(ev->t);
    mo_tensor *logits = logits_of(ev, c, plan, &share);
    figure[0] = mo_plan_accuracy(ev->t, logits, plan);
    if (ev->options->calibration)
        put_calibration(ev, logits, plan, figure);
    for (int metric = 0; metric < ev->metrics; metric++)
        mo_eval_values(ev, c, shot, metric)[repeat] = figure[metric];
    int n = candidate->transductive ? 0 : mo_shares_of(ev->t, ev->source, share, experts);
    for (int e = 0; e < ev->experts; e++)
        mo_eval_values(ev, c, shot, ev->metrics + e)[repeat] = e < n ? experts[e].share : NAN;
}

void mo_evaluate_classes(mo_evaluation *ev) {
    for (int shot = 0; shot < ev->options->n_shots; shot++)
        for (int64_t repeat = 0; repeat < ev->repeats && mo_ok(ev->ctx); repeat++) {
            mo_plan plan = {0};
            draw_split(ev, ev->options->shots[shot], repeat, &plan);
            mo_eval_note(ev, shot, repeat, &plan);
            for (int c = 0; c < ev->n && mo_ok(ev->ctx); c++) {
                put_figures(ev, c, shot, repeat, &plan);
                mo_eval_failed(ev, c, shot); /* the value stays NaN */
            }
            mo_plan_release(&plan);
        }
}
