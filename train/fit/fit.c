/* train/fit/fit.c - heads side by side on the same episodes of labelled embeddings: measures accuracy and calibration,
 * also after regularisation and temperature are fitted to the support alone. */
#include "tensor/library.h"
#include "train/fit/fit_parts.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct run {
    const mo_embeddings *E;
    const mo_fit_options *options;
    mo_fit_crew crew;
    uint8_t *part;   /* [n] quarter of |z| */
    double scale;    /* of the rows: mo_fit_spread; 0 if nothing is tuned */
    mo_status first; /* the error of the first head that had no fit */
} run;

/* ---- a head's regularisation and the values to try ---- */

/* Returns whether a parameter is a share: a scalar between 0 and 1, such as a shrinkage. */
static bool is_share(const mo_head_parameter *p) {
    return p->ndim == 0 && p->low >= 0 && p->low < p->high && p->high <= 1;
}

int mo_fit_regularisation(const mo_head *head) {
    int share = -1;
    for (int i = head->n_parameters - 1; i >= 0; i--) {
        const mo_head_parameter *p = &head->parameters[i];
        if (p->ndim == 0 && !strcmp(p->name, "lambda"))
            return i;
        if (is_share(p))
            share = i;
    }
    return share;
}

/* Sets the values that tuning tries, ascending. For a share: a fixed grid. For a penalty: six decades about the scale
 * of the rows, in finer steps for a head that leaves rows out in closed form. */
static void choose_values(const run *r, bool tune, mo_fit_job *job) {
    static const double shares[] = {0.01, 0.03, 0.1, 0.2, 0.35, 0.5, 0.7, 0.9};
    const mo_head_parameter *p = r->crew.own.tuned >= 0 ? &r->crew.own.head->parameters[r->crew.own.tuned] : NULL;
    bool share = p && is_share(p);
    job->n_values = 0;
    int step = r->crew.own.head->leave_one_out || share ? 1 : 2;
    for (int i = 0; tune && p && i < (share ? 8 : 13); i += step) {
        double value = share ? p->low + shares[i] * (p->high - p->low) : r->scale * pow(10, 0.5 * i - 4);
        if (!(p->low < p->high) || (value >= p->low && value <= p->high))
            job->values[job->n_values++] = value;
    }
    job->values[job->n_values] = NAN;
}

/* ---- one head at one k ---- */

/* A head without a fit ends only its own row: moves the context's failure to *status, and copies the first such failure
 * to *first. */
static bool set_aside(mo_context *ctx, mo_status *first, mo_status *status) {
    *status = *mo_context_status(ctx);
    if (status->code != MO_NUMERICAL)
        return false;
    if (first->code == MO_OK)
        *first = *status;
    mo_clear_error(ctx);
    return true;
}

/* Adds up the figures of all episodes, in order. */
static void sum_up_fit(const mo_fit_job *job, mo_fit_row *row) {
    mo_calibration plain = {0}, scaled = {0};
    mo_ranking ranking = {0};
    bool tempered = true;
    for (int64_t i = 0; i < job->draws->episodes; i++) {
        const mo_fit_tally *y = &job->tally[i];
        for (int part = 0; part < MO_NORM_PARTS; part++)
            mo_calibration_merge(&row->by_norm[part], &y->by_norm[part]);
        mo_calibration_merge(&scaled, &y->scaled);
        mo_ranking_merge(&ranking, &y->ranking);
        tempered &= y->tempered;
    }
    for (int part = 0; part < MO_NORM_PARTS; part++)
        mo_calibration_merge(&plain, &row->by_norm[part]);
    mo_summary accuracy = mo_summarize(job->accuracy, job->draws->episodes);
    row->accuracy = accuracy.mean;
    row->ci95 = accuracy.ci95;
    if (job->draws->split) {
        double interval[2];
        mo_wilson((double)plain.right / (double)plain.n, (double)plain.n, interval);
        row->ci95 = 50 * (interval[1] - interval[0]);
    }
    row->nll = plain.nll / (double)plain.n;
    row->brier = plain.brier / (double)plain.n;
    row->ece = mo_calibration_ece(&plain);
    row->auc = ranking.problems ? ranking.auc / (double)ranking.problems : NAN;
    row->top = 100.0 * (double)ranking.top / (double)ranking.n;
    row->ece_temperature = tempered ? mo_calibration_ece(&scaled) : NAN;
}

/* Writes row->outcome, by which heads are compared pairwise, and turns predictions into classes of E. outcome
 * [n_query]: its memory if the problem is a split. */
static void name_predictions(
    const mo_embeddings *E, const mo_fit_job *job, double *outcome, int64_t *class_of, mo_fit_row *row) {
    const mo_draws *d = job->draws;
    for (int64_t e = 0; e < d->episodes; e++) {
        int64_t *predicted = job->predicted + e * d->n_query;
        for (int64_t i = e * d->n_support; i < (e + 1) * d->n_support; i++)
            class_of[d->support_label[i]] = E->graph->label[d->support[i]];
        for (int64_t i = 0; i < d->n_query; i++) {
            if (d->split)
                outcome[i] = predicted[i] == d->query_label[i] ? 100 : 0;
            predicted[i] = class_of[predicted[i]];
        }
    }
    row->predicted = job->predicted;
    row->choice = job->choice;
    row->outcome = d->split ? outcome : job->accuracy;
    row->n_outcomes = d->split ? d->n_query : d->episodes;
}

/* Buffers for the rows of one head at one k. */
typedef struct head_space {
    double *outcome;   /* [n_query] of a split */
    int64_t *class_of; /* [classes] */
    mo_status status;
} head_space;

/* Runs a job and fills its row; a head without a fit gets a row with the reason. Returns false on any other failure. */
static bool measure_job(run *r, mo_fit_job *job, head_space *s, mo_fit_row *row) {
    double start = mo_clock(CLOCK_MONOTONIC);
    *row = (mo_fit_row){.head = r->crew.own.head->name,
        .k = job->draws->k,
        .accuracy = NAN,
        .ci95 = NAN,
        .nll = NAN,
        .brier = NAN,
        .ece = NAN,
        .ece_temperature = NAN,
        .auc = NAN,
        .top = NAN,
        .value = NAN,
        .held_nll = NAN,
        .draws = job->draws};
    bool fine = mo_ok(r->crew.own.ctx) && mo_fit_crew_run(&r->crew, job);
    bool unfit = !fine && set_aside(r->crew.own.ctx, &r->first, &s->status);
    row->failure = unfit ? s->status.message : NULL;
    if (fine) {
        sum_up_fit(job, row);
        name_predictions(r->E, job, s->outcome, s->class_of, row);
    }
    row->seconds = mo_clock(CLOCK_MONOTONIC) - start;
    return fine || unfit;
}

/* Measures every value that tuning tries, one row each, with the value fixed for all episodes; call it after the job. A
 * value without a fit is no failure of the head. */
static void sweep_head(run *r, mo_fit_job *job, head_space *s, mo_fit_visit visit, void *state) {
    mo_status first = r->first;
    int64_t chosen[MO_FIT_VALUES] = {0}, episodes = job->draws->episodes;
    double grid[MO_FIT_VALUES + 1];
    choose_values(r, true, job);
    int n = job->n_values;
    memcpy(grid, job->values, sizeof grid);
    for (int64_t e = 0; e < episodes; e++)
        for (int v = 0; v < n; v++)
            chosen[v] += job->choice[e].value == grid[v];
    job->n_values = 0;
    for (int v = 0; v < n; v++) {
        mo_fit_row row;
        job->values[0] = grid[v];
        if (!measure_job(r, job, s, &row))
            break;
        row.swept = true;
        row.value = grid[v];
        row.chosen = r->options->tune ? chosen[v] : -1;
        row.held_nll = row.failure ? NAN : 0;
        for (int64_t e = 0; e < episodes && !row.failure; e++)
            row.held_nll += job->choice[e].held_nll / (double)episodes;
        visit(&row, state);
    }
    r->first = first;
}

static void fit_head(run *r, const mo_head *head, const mo_draws *d, mo_fit_visit visit, void *state) {
    mo_context *ctx = r->crew.own.ctx;
    r->crew.own.head = head;
    r->crew.own.classes = d->classes;
    r->crew.own.tuned = mo_fit_regularisation(head);
    mo_fit_job job = {.draws = d, .part = r->part, .progress = r->options->progress, .state = r->options->state};
    snprintf(job.title, sizeof job.title, "k = %" PRId64 ", %s", d->k, head->name);
    int64_t dim = mo_dim(r->E->Z, 1);
    job.numbers = d->n_support * (d->n_support > dim ? d->n_support : dim) + d->n_query * dim;
    choose_values(r, r->options->tune, &job);
    job.accuracy = mo_host_array(ctx, d->episodes, sizeof *job.accuracy);
    job.choice = mo_host_array(ctx, d->episodes, sizeof *job.choice);
    job.predicted = mo_host_array(ctx, d->episodes * d->n_query, sizeof *job.predicted);
    job.tally = mo_host_array(ctx, d->episodes, sizeof *job.tally);
    head_space s = {.outcome = mo_host_array(ctx, d->split ? d->n_query : 0, sizeof *s.outcome),
        .class_of = mo_host_array(ctx, d->classes, sizeof *s.class_of)};
    mo_fit_row row;
    if (measure_job(r, &job, &s, &row)) {
        visit(&row, state);
        if (r->options->sweep && !row.failure)
            sweep_head(r, &job, &s, visit, state);
    }
    free(job.accuracy);
    free(job.predicted);
    free(job.choice);
    free(job.tally);
    free(s.outcome);
    free(s.class_of);
}

static bool check_fit_options(mo_context *ctx, const mo_head *const *heads, int n, const mo_fit_options *o) {
    for (int i = 0; i < n; i++)
        mo_head_validate(ctx, heads[i]);
    if (mo_ok(ctx) && (o->scaling < 0 || o->scaling >= MO_SCALINGS))
        mo_fail(ctx, MO_INVALID, "fit: scaling is %d, expected 0 to %d", (int)o->scaling, MO_SCALINGS - 1);
    for (int i = 0; i < o->n_shots && mo_ok(ctx); i++)
        if (o->shots[i] < 1 || o->shots[i] > 1 << 20)
            mo_fail(ctx, MO_INVALID, "fit: k is %" PRId64 ", expected 1 to %d", o->shots[i], 1 << 20);
    return mo_ok(ctx);
}

mo_code mo_fit(const mo_embeddings *E, const mo_head *const *heads, int n, const mo_fit_options *options,
    mo_fit_visit visit, void *state) {
    if (!E)
        return MO_INVALID;
    if (!mo_given(mo_tensor_context(E->Z), "fit", "options", options) ||
        !mo_given(mo_tensor_context(E->Z), "fit", "the list of heads", heads))
        return mo_code_of(mo_tensor_context(E->Z));
    mo_context *ctx = mo_tensor_context(E->Z);
    if (!mo_ok(ctx) || !check_fit_options(ctx, heads, n, options))
        return mo_context_status(ctx)->code;
    run r = {.E = E, .options = options};
    r.part = mo_host_array(ctx, mo_dim(E->Z, 0), sizeof *r.part);
    bool ready = mo_fit_crew_create(E->Z, &r.crew) && r.part && mo_fit_quarters(&r.crew.own, r.part);
    r.crew.own.lambda = options->lambda;
    r.crew.own.scaling = options->scaling;
    r.scale = ready && (options->tune || options->sweep) ? mo_fit_spread(&r.crew.own) : 0;
    r.crew.own.seed = options->seed;
    for (int h = 0; ready && options->split && h < n && mo_ok(ctx); h++)
        fit_head(&r, heads[h], options->split, visit, state);
    for (int shot = 0; ready && !options->split && shot < options->n_shots && mo_ok(ctx); shot++) {
        mo_draws draws;
        mo_draws_create(E, options->shots[shot], options, &draws);
        for (int h = 0; h < n && mo_ok(ctx); h++)
            fit_head(&r, heads[h], &draws, visit, state);
        mo_draws_release(&draws);
    }
    if (r.first.code != MO_OK && mo_ok(ctx))
        mo_fail(ctx, r.first.code, "%s", r.first.message);
    mo_fit_crew_release(&r.crew);
    free(r.part);
    return mo_context_status(ctx)->code;
}
