/* train/fit/fit_episodes.c - runs one head on a batch of episodes, whose rows are gathered into a leading batch axis:
 * each episode chooses a value and a temperature by its support, then predicts its queries. */
#include "models/model.h"
#include "tensor/hidden.h"
#include "train/episodes/episode_rows.h"
#include "train/fit/fit_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- one call of a head for many episodes ---- */

mo_tensor *mo_fit_rows(const mo_fitting *f, const int64_t *row, int64_t B, int64_t m) {
    mo_tensor *index = mo_from(f->t, MO_I64, 1, (int64_t[]){B * m}, row);
    return mo_reshape(f->t, mo_gather_rows(f->t, f->Z, index), 3, (int64_t[]){B, m, mo_dim(f->Z, 1)});
}

mo_tensor *mo_fit_one_hot(const mo_fitting *f, const int64_t *label, int64_t B, int64_t m) {
    mo_tensor *y = mo_from(f->t, MO_I64, 2, (int64_t[]){B, m}, label);
    return mo_one_hot(f->t, y, f->classes, mo_tensor_dtype(f->Z));
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

/* z / |z|; a zero row stays zero. */
static mo_tensor *scale_normalise(mo_tape *t, mo_tensor *Z) {
    return mo_div_or_zero(t, Z, mo_row_norm(t, Z));
}

void mo_fit_scale(const mo_fitting *f, mo_tensor **Zs, mo_tensor **Zq) {
    mo_tape *t = f->t;
    if (f->scaling == MO_SCALING_NONE)
        return;
    if (f->scaling == MO_SCALING_NORMALISE) {
        *Zs = scale_normalise(t, *Zs);
        if (Zq)
            *Zq = scale_normalise(t, *Zq);
        return;
    }
    mo_tensor *mean = mo_mean(t, *Zs, MO_AXIS(1), MO_KEEP_AXES);
    *Zs = mo_sub(t, *Zs, mean);
    if (Zq)
        *Zq = mo_sub(t, *Zq, mean);
    if (f->scaling == MO_SCALING_CENTRE)
        return;
    mo_tensor *spread = mo_sqrt(t, mo_mean(t, mo_square(t, *Zs), MO_AXIS(1), MO_KEEP_AXES));
    *Zs = mo_div_or_zero(t, *Zs, spread); /* a column that is constant in the support carries no information */
    if (Zq)
        *Zq = mo_div_or_zero(t, *Zq, spread);
}

double mo_fit_scaled_norm(const mo_fitting *f, double row_scale) {
    double d = (double)mo_dim(f->Z, 1);
    return f->scaling == MO_SCALING_NORMALISE ? 2 : f->scaling == MO_SCALING_STANDARDISE ? d + 1 : row_scale;
}

/* ---- the call ---- */

bool mo_fit_logits(const mo_fitting *f, const mo_fit_batch *b, double value, double *logits) {
    mo_tensor *parameters[MO_MAX_HEAD_PARAMETERS];
    if (!mo_fit_parameters(f, value, parameters))
        return false;
    mo_tensor *Zs = mo_fit_rows(f, b->support, b->B, b->n_s), *Zq = mo_fit_rows(f, b->query, b->B, b->n_q);
    mo_tensor *Ys = mo_fit_one_hot(f, b->support_label, b->B, b->n_s);
    mo_fit_scale(f, &Zs, &Zq);
    mo_tensor *weight = mo_support_weight(f->t, b->support, b->B, b->n_s);
    return mo_ok(f->ctx) &&
           mo_read_as(mo_head_apply_weighted(f->t, f->head, Zs, Ys, weight, Zq, parameters), MO_F64, logits);
}

bool mo_fit_quarters(const mo_fitting *f, uint8_t *part, double *row_scale) {
    int64_t n = mo_dim(f->Z, 0);
    double *norm = mo_host_array(f->ctx, 2 * n, sizeof *norm), *sorted = norm ? norm + n : NULL;
    *row_scale = 0;
    mo_tensor *N = norm ? mo_row_norm(f->t, f->Z) : NULL;
    if (norm && mo_read_as(N, MO_F64, norm) && mo_read_as(mo_sort(f->t, N, MO_AXIS(0)), MO_F64, sorted)) {
        for (int64_t i = 0; i < n; i++) {
            part[i] = 0;
            for (int quarter = 1; quarter < MO_NORM_PARTS; quarter++)
                part[i] = (uint8_t)(part[i] + (norm[i] >= sorted[n - 1 - n * quarter / MO_NORM_PARTS]));
            *row_scale += (norm[i] * norm[i] + 1) / (double)n;
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

/* The temperature of one episode from its held-out rows, and their cross-entropy; NaN if there are none. */
static double temper_draw(const mo_draws *d, const int64_t *label, const double *held, mo_fit_space *s, double *nll) {
    int64_t n = 0, C = d->classes;
    for (int64_t i = 0; i < d->n_support; i++)
        if (!isnan(held[i * C])) {
            memcpy(s->rows + n * C, held + i * C, (size_t)C * sizeof *held);
            s->label[n++] = label[i];
        }
    return n ? mo_fit_temperature(s->rows, s->label, n, C, mo_platt_smoothing(n, C), nll) : NAN;
}

/* Chooses the value of each episode from `first` on by its held-out rows; among values that do equally well, the
 * stronger penalty. */
static bool choose_for_episodes(const mo_fitting *f, const mo_fit_job *job, int64_t first, int64_t B, mo_fit_space *s) {
    const mo_draws *d = job->draws;
    for (int64_t e = 0; e < B; e++)
        s->choice[e] = job->n_values;
    if (job->n_values == 0 || d->most < 2)
        return true;
    const int64_t *label = d->support_label + first * d->n_support;
    mo_fit_batch all = {B, d->n_support, 0, d->support + first * d->n_support, label, NULL};
    bool repeated = d->small_classes > 0, ridge = f->head == &mo_head_ridge && !repeated;
    if (!(ridge ? mo_leave_one_out(f, &all, job->values, job->n_values, s->held)
                : mo_cross_validate(f, &all, d->most, repeated, job->values, job->n_values, s->held, NULL)))
        return false;
    for (int64_t e = 0; e < B; e++) {
        double least = INFINITY, nll = INFINITY;
        for (int v = 0; v < job->n_values; v++) {
            const double *held = s->held + (v * B + e) * d->n_support * d->classes;
            if (!isnan(temper_draw(d, label + e * d->n_support, held, s, &nll)) && isfinite(nll) &&
                nll <= least * (1 + same)) {
                least = fmin(least, nll);
                s->choice[e] = v;
            }
        }
    }
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
    for (int part = 0; part < MO_NORM_PARTS; part++)
        right -= y->by_norm[part].right;
    for (int64_t i = 0; i < d->n_query; i++)
        mo_calibration_add(&y->by_norm[job->part[row[i]]], logits + i * d->classes, label + i, 1, d->classes, 1);
    for (int part = 0; part < MO_NORM_PARTS; part++)
        right += y->by_norm[part].right;
    job->accuracy[e] = 100.0 * (double)right / (double)d->n_query;
    y->tempered &= !isnan(temperature);
    mo_calibration_add(&y->scaled, logits, label, d->n_query, d->classes, T);
}

/* The episodes of a batch that chose the same value, side by side. */
static mo_fit_batch gather_choice(const mo_draws *d, int64_t first, int64_t B, int choice, mo_fit_space *s) {
    mo_fit_batch chosen = {0, d->n_support, d->n_query, s->support, s->support_label, s->query};
    size_t n_s = (size_t)d->n_support, n_q = (size_t)d->n_query;
    for (int64_t e = 0; e < B; e++)
        if (s->choice[e] == choice) {
            size_t at = (size_t)chosen.B, from = (size_t)(first + e);
            memcpy(s->support + at * n_s, d->support + from * n_s, n_s * sizeof *s->support);
            memcpy(s->support_label + at * n_s, d->support_label + from * n_s, n_s * sizeof *s->support_label);
            memcpy(s->query + at * n_q, d->query + from * n_q, n_q * sizeof *s->query);
            s->episode[chosen.B++] = first + e;
        }
    return chosen;
}

/* Fits the episodes that chose one value: finds temperatures by cross-validation, then predicts the queries. */
static bool fit_choice(
    const mo_fitting *f, const mo_fit_job *job, const mo_fit_batch *chosen, const double *value, mo_fit_space *s) {
    const mo_draws *d = job->draws;
    bool fine = d->most > 1 ? mo_cross_validate(f, chosen, d->most, d->small_classes > 0, value, 1, s->held, s->logits)
                            : mo_fit_logits(f, chosen, *value, s->logits);
    for (int64_t i = 0; fine && i < chosen->B * d->n_query * d->classes; i++)
        if (!isfinite(s->logits[i])) {
            mo_fail(f->ctx, MO_NUMERICAL, "head %s: expected finite logits of the queries, found %g", f->head->name,
                fabs(s->logits[i]));
            fine = false;
        }
    return fine;
}

bool mo_fit_episodes(const mo_fitting *f, const mo_fit_job *job, int64_t number, mo_fit_space *s) {
    const mo_draws *d = job->draws;
    int64_t first = number * job->B, B = d->episodes - first < job->B ? d->episodes - first : job->B;
    mo_fit_tally *y = &job->tally[number];
    *y = (mo_fit_tally){.tempered = true};
    if (!choose_for_episodes(f, job, first, B, s))
        return false;
    for (int v = 0; v <= job->n_values; v++) {
        mo_fit_batch chosen = gather_choice(d, first, B, v, s);
        if (chosen.B > 0 && !fit_choice(f, job, &chosen, &job->values[v], s))
            return false;
        for (int64_t i = 0; i < chosen.B; i++) {
            const double *held = s->held + i * d->n_support * d->classes;
            const int64_t *label = chosen.support_label + i * d->n_support;
            double nll = NAN, T = d->most > 1 ? temper_draw(d, label, held, s, &nll) : NAN;
            job->choice[s->episode[i]] = describe_choice(d, label, held, job->values[v], T, nll);
            count_queries(job, s->episode[i], s->logits + i * d->n_query * d->classes, T, y);
        }
    }
    return true;
}

bool mo_fit_space_create(mo_context *ctx, const mo_fit_job *job, mo_fit_space *s) {
    int64_t n_s = job->draws->n_support, n_q = job->draws->n_query, C = job->draws->classes, B = job->B;
    *s = (mo_fit_space){0};
    s->held = mo_host_array(ctx, (job->n_values + 1) * B * n_s * C, sizeof *s->held);
    s->logits = mo_host_array(ctx, B * n_q * C, sizeof *s->logits);
    s->rows = mo_host_array(ctx, n_s * C, sizeof *s->rows);
    s->label = mo_host_array(ctx, n_s, sizeof *s->label);
    s->support = mo_host_array(ctx, B * n_s, sizeof *s->support);
    s->support_label = mo_host_array(ctx, B * n_s, sizeof *s->support_label);
    s->query = mo_host_array(ctx, B * n_q, sizeof *s->query);
    s->episode = mo_host_array(ctx, B, sizeof *s->episode);
    s->choice = mo_host_array(ctx, B, sizeof *s->choice);
    return mo_ok(ctx);
}

void mo_fit_space_release(mo_fit_space *s) {
    void *arrays[] = {
        s->held, s->logits, s->rows, s->label, s->support, s->support_label, s->query, s->episode, s->choice};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        free(arrays[i]);
    *s = (mo_fit_space){0};
}
