/* train/fit/fit_episodes.c - runs one head on an episode, which chooses a value and a temperature by its support, then
 * predicts its queries. */
#include "models/model.h"
#include "tensor/library.h"
#include "train/episodes/episode_rows.h"
#include "train/fit/fit_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- a call of a head ---- */

mo_tensor *mo_fit_rows(const mo_fitting *f, const int64_t *row, int64_t m) {
    return mo_gather_rows(f->t, f->Z, mo_from(f->t, MO_I64, 1, &m, row));
}

mo_tensor *mo_fit_one_hot(const mo_fitting *f, const int64_t *label, int64_t m) {
    return mo_one_hot(f->t, mo_from(f->t, MO_I64, 1, &m, label), f->classes, mo_tensor_dtype(f->Z));
}

bool mo_fit_parameters(const mo_fitting *f, double value, mo_tensor **parameters) {
    mo_dtype real = mo_tensor_dtype(f->Z);
    mo_tape_reset(f->t);
    mo_head_start(f->t, f->head, real, mo_dim(f->Z, 1), f->lambda, f->seed, parameters);
    if (f->tuned >= 0 && !isnan(value))
        parameters[f->tuned] = mo_scalar(f->t, real, value);
    return mo_ok(f->ctx);
}

/* ---- rows scaled by the support alone, so that no query depends on another ---- */

void mo_fit_measure(mo_tape *t, mo_scaling scaling, mo_tensor *Zs, mo_tensor **mean, mo_tensor **spread) {
    bool centred = scaling == MO_SCALING_CENTRE || scaling == MO_SCALING_STANDARDISE;
    *mean = centred ? mo_mean(t, Zs, MO_AXIS(0), MO_KEEP_AXES) : NULL;
    *spread = scaling == MO_SCALING_STANDARDISE
                  ? mo_sqrt(t, mo_mean(t, mo_square(t, mo_sub(t, Zs, *mean)), MO_AXIS(0), MO_KEEP_AXES))
                  : NULL;
}

/* A zero row stays zero; so does a column that is constant in the support, which carries no information. */
mo_tensor *mo_fit_rescale(mo_tape *t, mo_scaling scaling, mo_tensor *mean, mo_tensor *spread, mo_tensor *Z) {
    if (scaling == MO_SCALING_NORMALISE)
        return mo_div_or_zero(t, Z, mo_row_norm(t, Z));
    Z = mean ? mo_sub(t, Z, mean) : Z;
    return spread ? mo_div_or_zero(t, Z, spread) : Z;
}

void mo_fit_scale(const mo_fitting *f, mo_tensor **Zs, mo_tensor **Zq) {
    mo_tensor *mean, *spread;
    mo_fit_measure(f->t, f->scaling, *Zs, &mean, &spread);
    *Zs = mo_fit_rescale(f->t, f->scaling, mean, spread, *Zs);
    if (Zq)
        *Zq = mo_fit_rescale(f->t, f->scaling, mean, spread, *Zq);
}

/* Writes the variances and the mean squares of the d columns of Z, by blocks of rows. Returns false on failure. */
static bool measure_columns(const mo_fitting *f, double *mean, double *variance, double *square) {
    enum { BLOCK = 16384 };
    mo_tape *t = f->t;
    int64_t n = mo_dim(f->Z, 0), d = mo_dim(f->Z, 1);
    mo_read_as(mo_mean(t, f->Z, MO_AXIS(0), MO_DROP_AXES), MO_F64, mean);
    for (int64_t first = 0; first < n && mo_ok(f->ctx); first += BLOCK) {
        mo_tape_reset(t);
        mo_tensor *M = mo_cast(t, mo_from(t, MO_F64, 1, &d, mean), mo_tensor_dtype(f->Z));
        mo_tensor *X = mo_sub(t, mo_slice(t, f->Z, MO_AXIS(0), first, first + BLOCK < n ? first + BLOCK : n), M);
        mo_read_as(mo_sum(t, mo_square(t, X), MO_AXIS(0), MO_DROP_AXES), MO_F64, square);
        for (int64_t j = 0; j < d; j++)
            variance[j] += square[j] / (double)n;
    }
    for (int64_t j = 0; j < d; j++)
        square[j] = mean[j] * mean[j] + variance[j];
    mo_tape_reset(t);
    return mo_ok(f->ctx);
}

static int compare_numbers(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double mo_fit_spread(const mo_fitting *f) {
    static const double rounding = 1e-12, most = 100;
    int64_t d = mo_dim(f->Z, 1), varying = 0;
    if (f->scaling == MO_SCALING_NORMALISE || f->scaling == MO_SCALING_STANDARDISE)
        return f->scaling == MO_SCALING_NORMALISE ? 1 : (double)d;
    double *mean = mo_host_array(f->ctx, 3 * d, sizeof *mean), sum = 0;
    double *variance = mean ? mean + d : NULL, *sorted = mean ? mean + 2 * d : NULL;
    for (int64_t j = 0; mean && j < 2 * d; j++)
        mean[j] = 0;
    if (mean && measure_columns(f, mean, variance, sorted)) {
        for (int64_t j = 0; j < d; j++)
            if (variance[j] > rounding * sorted[j])
                sorted[varying++] = variance[j];
        qsort(sorted, (size_t)varying, sizeof *sorted, compare_numbers);
        double bound = varying ? most * sorted[(varying - 1) / 2] : 0;
        for (int64_t j = 0; j < d; j++)
            sum += fmin(variance[j], bound);
    }
    free(mean);
    return sum > 0 ? sum : 1;
}

bool mo_fit_logits(const mo_fitting *f, const mo_fit_problem *p, double value, double *logits) {
    mo_tensor *parameters[MO_MAX_HEAD_PARAMETERS];
    if (!mo_fit_parameters(f, value, parameters))
        return false;
    mo_tensor *Zs = mo_fit_rows(f, p->support, p->n_s), *Zq = mo_fit_rows(f, p->query, p->n_q);
    mo_tensor *Ys = mo_fit_one_hot(f, p->support_label, p->n_s);
    mo_fit_scale(f, &Zs, &Zq);
    mo_support s = {.Zs = Zs, .Ys = Ys};
    mo_state state;
    if (f->head->leaves_out)
        s.weight = mo_support_weight(f->t, p->support, p->n_s);
    s.weight = s.weight ? mo_cast(f->t, s.weight, mo_tensor_dtype(Zs)) : NULL;
    return mo_ok(f->ctx) && mo_head_fit(f->t, f->head, &s, parameters, &state) == MO_OK &&
           mo_read_as(mo_state_apply(f->t, &state, Zq, NULL), MO_F64, logits);
}

bool mo_fit_quarters(const mo_fitting *f, uint8_t *part) {
    int64_t n = mo_dim(f->Z, 0);
    double *norm = mo_host_array(f->ctx, 2 * n, sizeof *norm), *sorted = norm ? norm + n : NULL;
    mo_tensor *N = norm ? mo_row_norm(f->t, f->Z) : NULL;
    if (norm && mo_read_as(N, MO_F64, norm) && mo_read_as(mo_sort(f->t, N, MO_AXIS(0)), MO_F64, sorted)) {
        for (int64_t i = 0; i < n; i++) {
            part[i] = 0;
            for (int quarter = 1; quarter < MO_NORM_PARTS; quarter++)
                part[i] = (uint8_t)(part[i] + (norm[i] >= sorted[n - 1 - n * quarter / MO_NORM_PARTS]));
        }
    }
    mo_tape_reset(f->t);
    free(norm);
    return mo_ok(f->ctx);
}

/* ---- episodes ---- */

/* Cross-entropies that differ by less than this share count as equal: a stronger penalty often only scales the logits,
 * and the temperature undoes the scaling up to rounding. */
static const double same = 1e-6;

/* The temperature from an episode's held-out rows, and their cross-entropy; NaN if there are none. */
static double temper_draw(const mo_draws *d, const int64_t *label, const double *held, mo_fit_space *s, double *nll) {
    int64_t n = 0, C = d->classes;
    for (int64_t i = 0; i < d->n_support; i++)
        if (!isnan(held[i * C])) {
            memcpy(s->rows + n * C, held + i * C, (size_t)C * sizeof *held);
            s->label[n++] = label[i];
        }
    return n ? mo_fit_temperature(s->rows, s->label, n, C, mo_platt_smoothing(n, C), nll) : NAN;
}

/* Chooses the episode's value by its held-out rows; among values that do equally well, the stronger penalty; if none
 * does better than chance, whose cross-entropy log C every temperature can reach, the head's own. Returns false on
 * failure. */
static bool choose_value(
    const mo_fitting *f, const mo_fit_job *job, const mo_fit_problem *p, mo_fit_space *s, double *value) {
    const mo_draws *d = job->draws;
    bool repeated = d->small_classes > 0, alone = f->head->leave_one_out && !repeated;
    double least = INFINITY, nll = INFINITY;
    *value = job->values[job->n_values];
    if (job->n_values == 0 || d->most < 2)
        return true;
    if (!(alone ? mo_leave_one_out(f, p, job->values, job->n_values, s->held)
                : mo_cross_validate(f, p, d->most, repeated, job->values, job->n_values, s->held, NULL)))
        return false;
    for (int v = 0; v < job->n_values; v++)
        if (!isnan(temper_draw(d, p->support_label, s->held + v * d->n_support * d->classes, s, &nll)) &&
            isfinite(nll) && nll <= least * (1 + same)) {
            least = fmin(least, nll);
            *value = job->values[v];
        }
    if (least > log((double)d->classes) * (1 - same))
        *value = job->values[job->n_values];
    return true;
}

/* Records an episode's choice and the figures of its held-out rows at that choice. */
static mo_fit_choice describe_choice(
    const mo_draws *d, const int64_t *label, const double *held, double value, double temperature, double nll) {
    mo_fit_choice choice = {.value = value, .temperature = temperature, .held_nll = isnan(temperature) ? NAN : nll};
    for (int64_t i = 0; d->most > 1 && i < d->n_support; i++)
        if (!isnan(held[i * d->classes])) {
            choice.held_out++;
            choice.right += mo_first_largest(held + i * d->classes, d->classes) == label[i];
        }
    return choice;
}

static void count_queries(const mo_fit_job *job, int64_t e, const double *logits, double temperature, mo_fit_tally *y) {
    const mo_draws *d = job->draws;
    const int64_t *label = d->query_label + e * d->n_query, *row = d->query + e * d->n_query;
    double T = isnan(temperature) ? 1 : temperature;
    int64_t right = 0, *predicted = job->predicted + e * d->n_query;
    for (int64_t i = 0; i < d->n_query; i++)
        predicted[i] = mo_first_largest(logits + i * d->classes, d->classes);
    for (int64_t i = 0; i < d->n_query; i++)
        mo_calibration_add(&y->by_norm[job->part[row[i]]], logits + i * d->classes, label + i, 1, d->classes, 1);
    for (int part = 0; part < MO_NORM_PARTS; part++)
        right += y->by_norm[part].right;
    job->accuracy[e] = 100.0 * (double)right / (double)d->n_query;
    y->tempered = !isnan(temperature);
    mo_calibration_add(&y->scaled, logits, label, d->n_query, d->classes, T);
    mo_ranking_add(&y->ranking, logits, label, d->n_query, d->classes);
}

bool mo_fit_episode(const mo_fitting *f, const mo_fit_job *job, int64_t e, mo_fit_space *s) {
    const mo_draws *d = job->draws;
    const mo_fit_problem p = {d->n_support, d->n_query, d->support + e * d->n_support,
        d->support_label + e * d->n_support, d->query + e * d->n_query};
    double value, nll = NAN, T = NAN;
    job->tally[e] = (mo_fit_tally){0};
    if (!choose_value(f, job, &p, s, &value))
        return false;
    if (!(d->most > 1 ? mo_cross_validate(f, &p, d->most, d->small_classes > 0, &value, 1, s->held, s->logits)
                      : mo_fit_logits(f, &p, value, s->logits)))
        return false;
    for (int64_t i = 0; i < d->n_query * d->classes; i++)
        if (!isfinite(s->logits[i]))
            return mo_fail(f->ctx, MO_NUMERICAL, "head %s: expected finite logits of the queries, found %g",
                f->head->name, fabs(s->logits[i]));
    if (d->most > 1)
        T = temper_draw(d, p.support_label, s->held, s, &nll);
    job->choice[e] = describe_choice(d, p.support_label, s->held, value, T, nll);
    count_queries(job, e, s->logits, T, &job->tally[e]);
    return true;
}

bool mo_fit_space_create(mo_context *ctx, const mo_fit_job *job, mo_fit_space *s) {
    int64_t n_s = job->draws->n_support, n_q = job->draws->n_query, C = job->draws->classes;
    *s = (mo_fit_space){0};
    s->held = mo_host_array(ctx, (job->n_values + 1) * n_s * C, sizeof *s->held);
    s->logits = mo_host_array(ctx, n_q * C, sizeof *s->logits);
    s->rows = mo_host_array(ctx, n_s * C, sizeof *s->rows);
    s->label = mo_host_array(ctx, n_s, sizeof *s->label);
    return mo_ok(ctx);
}

void mo_fit_space_release(mo_fit_space *s) {
    free(s->held);
    free(s->logits);
    free(s->rows);
    free(s->label);
    *s = (mo_fit_space){0};
}
