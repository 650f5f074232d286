/* train/evaluation/episode.c - one candidate on one problem: chooses a value and a temperature by the support, then
 * predicts the queries. */
#include "tensor/library.h"
#include "train/evaluation/evaluation.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Cross-entropies that differ by less than this share count as equal: a stronger penalty often only scales the logits,
 * and the temperature undoes the scaling up to rounding. */
static const double same = 1e-6;

/* The temperature from a problem's held-out rows, and their cross-entropy; NaN if there are none. */
static double temper_problem(const mo_plan *p, const double *held, mo_job_space *s, double *nll) {
    int64_t n = 0, C = p->classes;
    for (int64_t i = 0; i < p->n_support; i++)
        if (!isnan(held[i * C])) {
            memcpy(s->rows + n * C, held + i * C, (size_t)C * sizeof *held);
            s->label[n++] = p->support_label[i];
        }
    return n ? mo_fit_temperature(s->rows, s->label, n, C, mo_platt_smoothing(n, C), nll) : NAN;
}

/* Chooses the problem's value by its held-out rows; among values that do equally well, the stronger penalty; if none
 * does better than chance, whose cross-entropy log C every temperature can reach, the head's own. *held: s->held begins
 * with its cross-validation. Returns false on failure. */
static bool choose_value(
    const mo_reader *r, const mo_job *job, const mo_plan *p, mo_job_space *s, double *value, bool *held) {
    int64_t block = p->n_support * p->classes, best = -1;
    bool alone = r->candidate.head && r->candidate.head->leave_one_out && p->small_classes == 0;
    double least = INFINITY, nll = INFINITY;
    *value = job->values[job->n_values];
    *held = false;
    if (job->n_values == 0)
        return true;
    if (!(alone ? mo_leave_one_out(r, p, job->values, job->n_values, s->held)
                : mo_cross_validate(r, p, job->values, job->n_values, s->held, NULL)))
        return false;
    for (int v = 0; v < job->n_values; v++)
        if (!isnan(temper_problem(p, s->held + v * block, s, &nll)) && isfinite(nll) && nll <= least * (1 + same)) {
            least = fmin(least, nll);
            best = v;
        }
    if (best < 0 || least > log((double)p->classes) * (1 - same))
        return true;
    *value = job->values[best];
    *held = !alone;
    memmove(s->held, s->held + best * block, (size_t)block * sizeof *s->held);
    return true;
}

/* Records a problem's choice and the figures of its held-out rows at that choice. */
static mo_eval_choice describe_choice(
    const mo_plan *p, const double *held, double value, double temperature, double nll) {
    mo_eval_choice choice = {.value = value, .temperature = temperature, .held_nll = isnan(temperature) ? NAN : nll};
    for (int64_t i = 0; held && i < p->n_support; i++)
        if (!isnan(held[i * p->classes])) {
            choice.held_out++;
            choice.right += mo_first_largest(held + i * p->classes, p->classes) == p->support_label[i];
        }
    return choice;
}

/* Writes the problem's figures and predictions, and sums up its queries. Returns false without memory. */
static bool count_queries(mo_context *ctx, mo_job *job, int64_t i, const double *logits, double temperature) {
    const mo_plan *p = &job->plan[i];
    mo_tally *y = &job->tally[i];
    int64_t C = p->classes, *predicted = job->predicted + job->first[i], right = 0;
    for (int64_t q = 0; q < p->n_query; q++) {
        const double *own = logits + q * C;
        predicted[q] = mo_first_largest(own, C);
        right += predicted[q] == p->query_label[q];
    }
    if (job->ranks && !mo_ranking_add(&y->ranking, logits, p->query_label, p->n_query, C))
        return mo_fail(ctx, MO_MEMORY, "evaluate: out of memory to rank the queries");
    if (job->calibrated)
        mo_calibration_add(&y->plain, logits, p->query_label, p->n_query, C, 1);
    const double figure[MO_CLASS_METRICS] = {100.0 * (double)right / (double)p->n_query,
        100 * y->plain.nll / (double)y->plain.n, 100 * mo_calibration_ece(&y->plain)};
    for (int metric = 0; metric < job->metrics; metric++)
        job->figure[metric * job->n + i] = figure[metric];
    y->tempered = !isnan(temperature);
    if (job->hold_out)
        mo_calibration_add(&y->scaled, logits, p->query_label, p->n_query, C, y->tempered ? temperature : 1);
    return true;
}

/* Fits the candidate at a value: logits of the queries and, if `held`, of the held-out rows too. */
static bool read_problem(const mo_reader *r, mo_job *job, int64_t i, double value, bool held, mo_job_space *s) {
    const mo_plan *p = &job->plan[i];
    mo_expert_share experts[MO_MAX_EXPERTS];
    mo_tensor *share = NULL;
    bool read = held ? mo_cross_validate(r, p, &value, 1, s->held, s->logits)
                     : mo_reader_logits(r, p, value, s->logits, &share);
    for (int64_t q = 0; read && q < p->n_query * p->classes; q++)
        if (!isfinite(s->logits[q]))
            return mo_fail(r->ctx, MO_NUMERICAL, "head %s: expected finite logits of the queries, found %g",
                mo_candidate_head(&r->candidate)->name, fabs(s->logits[q]));
    int n = read && !r->candidate.transductive ? mo_shares_of(r->t, r->source, share, experts) : 0;
    for (int e = 0; e < job->experts; e++)
        job->figure[(job->metrics + e) * job->n + i] = e < n ? experts[e].share : NAN;
    return read;
}

static bool run_problem(const mo_reader *r, mo_job *job, int64_t i, mo_job_space *s) {
    const mo_plan *p = &job->plan[i];
    double value = job->values[job->n_values], nll = NAN, T = NAN;
    bool held = job->hold_out && mo_most_rows(r->ctx, p) > 1, known = false;
    if (!mo_ok(r->ctx) || (held && !choose_value(r, job, p, s, &value, &known)) ||
        !read_problem(r, job, i, value, held && !known, s))
        return false;
    if (held)
        T = temper_problem(p, s->held, s, &nll);
    job->choice[i] = describe_choice(p, held ? s->held : NULL, value, T, nll);
    return count_queries(r->ctx, job, i, s->logits, T);
}

bool mo_job_run(const mo_reader *r, mo_job *job, int64_t i, mo_job_space *s) {
    job->tally[i] = (mo_tally){0};
    for (int f = 0; f < job->metrics + job->experts; f++)
        job->figure[f * job->n + i] = NAN;
    if (run_problem(r, job, i, s))
        return true;
    if (mo_code_of(r->ctx) != MO_NUMERICAL)
        return false;
#pragma omp critical(mo_job_failure)
    if (i < job->failed) {
        job->failed = i;
        snprintf(job->failure, MO_EVAL_REASON, "%.*s", MO_EVAL_REASON - 1, mo_context_status(r->ctx)->message);
    }
    mo_clear_error(r->ctx);
    return true;
}

bool mo_job_space_create(mo_context *ctx, const mo_job *job, mo_job_space *s) {
    int64_t support = 0, query = 0, held = 0;
    *s = (mo_job_space){0};
    for (int64_t i = 0; i < job->n; i++) {
        const mo_plan *p = &job->plan[i];
        support = p->n_support > support ? p->n_support : support;
        query = p->n_query * p->classes > query ? p->n_query * p->classes : query;
        held = p->n_support * p->classes > held ? p->n_support * p->classes : held;
    }
    s->logits = mo_host_array(ctx, query, sizeof *s->logits);
    if (!job->hold_out)
        return mo_ok(ctx);
    s->held = mo_host_array(ctx, (job->n_values + 1) * held, sizeof *s->held);
    s->rows = mo_host_array(ctx, held, sizeof *s->rows);
    s->label = mo_host_array(ctx, support, sizeof *s->label);
    return mo_ok(ctx);
}

void mo_job_space_release(mo_job_space *s) {
    free(s->held);
    free(s->logits);
    free(s->rows);
    free(s->label);
    *s = (mo_job_space){0};
}
