/* train/few_shot/few_shot_targets.c - real targets in place of classes: the fit, what targets left out in turn show,
 * and intervals.
 *
 * The fit leaves each target out in closed form (models/heads/mixture_targets.c): prediction p_i, standard deviation
 * s_i. Targets of widely different sizes are fitted as logarithms, if the left-out targets then have the larger
 * density, log p(y) = sum_i log N(g(y_i); p_i, s_i^2) + log g'(y_i),  g(y) = y or log y, where all are above 0. An
 * interval of coverage P is p(q) +- s(q) times the ceil((n + 1) P)-th smallest of |g(y_i) - p_i| / s_i (conformal by
 * left-out fits: Barber et al. 2021; normalised: Lei et al. 2018); with fewer than P / (1 - P) targets left out there
 * is none. As the shares of the experts are chosen from the same targets, it may be too narrow by a little. */
#include "tensor/library.h"
#include "tensor/objects.h"
#include "train/episodes/plan_members.h"
#include "train/evaluation/evaluation.h"
#include "train/features/example_kernels.h"
#include "train/few_shot/few_shot.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char name[] = "few-shot";
/* By how much the logarithm of the density of all left-out targets must grow for logarithms to be chosen. */
static const double clearly = 2;

/* Raises unless the readout reads real targets. */
static bool reads_targets(mo_few_shot *f) {
    const mo_head *head = mo_candidate_head(&f->candidate);
    if (f->candidate.model ? !f->candidate.model->reads_kernels : !(head->targets && head->kernels))
        mo_fail(f->ctx, MO_UNSUPPORTED,
            "%s: real targets are read by the weights' own readout, or by the head mixture on rows, not by the head %s",
            name, head->name);
    else if (f->candidate.transductive && !f->chooses)
        mo_fail(f->ctx, MO_UNSUPPORTED, "%s: real targets have no transductive readout", name);
    else if (f->source.inductive)
        mo_fail(f->ctx, MO_UNSUPPORTED, "%s: real targets have no inductive kernels", name);
    return mo_ok(f->ctx);
}

static bool check_targets(mo_few_shot *f, const int64_t *id, const double *y, int64_t n, mo_target_transform how) {
    bool varies = false;
    int64_t *times = mo_few_shot_are_examples(f, id, n) ? mo_host_array(f->ctx, 3 * n, sizeof *times) : NULL;
    if (times)
        mo_count_repeats(id, n, times + n, times);
    for (int64_t i = 0; times && i < n && mo_ok(f->ctx); i++) {
        varies |= y[i] != y[0];
        if (times[i] == 0)
            mo_fail(f->ctx, MO_INVALID, "%s: example %" PRId64 " has two targets", name, id[i]);
        else if (!isfinite(y[i]))
            mo_fail(f->ctx, MO_INVALID, "%s: the target of example %" PRId64 " is %g, expected a finite number", name,
                id[i], y[i]);
        else if (how == MO_TRANSFORM_LOG && y[i] <= 0)
            mo_fail(f->ctx, MO_INVALID,
                "%s: the target of example %" PRId64 " is %g, expected one above 0 for the transform log", name, id[i],
                y[i]);
    }
    free(times);
    if (mo_ok(f->ctx) && n < MO_LEAST_TARGETS)
        mo_fail(f->ctx, MO_INVALID, "%s: expected %d targets or more, found %" PRId64, name, MO_LEAST_TARGETS, n);
    else if (mo_ok(f->ctx) && !varies)
        mo_fail(f->ctx, MO_INVALID, "%s: expected targets that differ, found %g for all %" PRId64 " examples", name,
            y[0], n);
    return mo_ok(f->ctx);
}

/* The left-out predictions of a fit: [n] rows. */
typedef struct left_out {
    double *prediction, *spread, *target;
    int64_t n;
} left_out;

static bool read_left_out(mo_few_shot *f, left_out *out) {
    const mo_fitted_examples *r = &f->fitted;
    out->n = r->m ? r->m : r->n;
    mo_tape_reset(f->t);
    mo_read_as(mo_state_get(f->t, &r->state, "left out"), MO_F64, out->prediction);
    mo_read_as(mo_state_get(f->t, &r->state, "left spread"), MO_F64, out->spread);
    for (int64_t i = 0; i < out->n; i++)
        out->target[i] = f->target[r->m ? r->centre[i] : i];
    return mo_ok(f->ctx);
}

/* The mean logarithm of the density of the left-out targets, in their own unit. */
static double mean_density(const left_out *o, bool log_of) {
    double sum = 0;
    for (int64_t i = 0; i < o->n; i++) {
        double off = (o->target[i] - o->prediction[i]) / o->spread[i];
        sum -= 0.5 * off * off + log(o->spread[i]) + 0.5 * log(2 * acos(-1)) + (log_of ? o->target[i] : 0);
    }
    return sum / (double)o->n;
}

static double in_unit(const mo_few_shot *f, double x) {
    return f->told.log ? exp(x) : x;
}

/* Sets the estimate and the scores from the left-out predictions. */
static void judge(mo_few_shot *f, const left_out *o) {
    double mean = 0, errors = 0, squares = 0, all = 0;
    for (int64_t i = 0; i < o->n; i++)
        mean += in_unit(f, o->target[i]) / (double)o->n;
    for (int64_t i = 0; i < o->n; i++) {
        double y = in_unit(f, o->target[i]), off = y - in_unit(f, o->prediction[i]);
        errors += fabs(off);
        squares += off * off;
        all += (y - mean) * (y - mean);
        f->score[i] = fabs(o->target[i] - o->prediction[i]) / o->spread[i];
    }
    mo_sort_numbers(f->score, o->n);
    f->told.labelled = f->n;
    f->told.held_out = o->n;
    f->told.mae = errors / (double)o->n;
    f->told.r2 = all > 0 ? 1 - squares / all : NAN;
}

/* Fits the targets, or their logarithms, and reads what was left out. */
static bool fit_as(mo_few_shot *f, const double *y, bool log_of, left_out *o) {
    mo_few_shot_forget_fit(f);
    for (int64_t i = 0; i < f->n; i++)
        f->target[i] = log_of ? log(y[i]) : y[i];
    if (!mo_few_shot_fitted(f) || !read_left_out(f, o))
        return false;
    f->told.density[log_of] = mean_density(o, log_of);
    f->told.log = log_of;
    return true;
}

static bool fit_targets(mo_few_shot *f, const double *y, mo_target_transform how, left_out *o) {
    bool positive = true;
    for (int64_t i = 0; i < f->n; i++)
        positive &= y[i] > 0;
    f->told = (mo_target_estimate){.density = {NAN, NAN}};
    bool both = how == MO_TRANSFORM_AUTO && positive;
    if (!fit_as(f, y, how == MO_TRANSFORM_LOG, o) || (both && !fit_as(f, y, true, o)))
        return false;
    double gain = (double)o->n * (f->told.density[1] - f->told.density[0]);
    if (both && !(gain > clearly) && !fit_as(f, y, false, o))
        return false;
    judge(f, o);
    return true;
}

bool mo_few_shot_take_targets(
    mo_few_shot *f, const int64_t *id, const double *target, int64_t n, mo_target_transform transform) {
    if (!reads_targets(f) || !check_targets(f, id, target, n, transform))
        return false;
    mo_few_shot_forget(f);
    f->candidate.transductive = MO_TRANSDUCTIVE_OFF;
    mo_example_kernels_for_targets(f->source.kernels, true);
    f->id = mo_host_array(f->ctx, n, sizeof *f->id);
    f->label = mo_host_array(f->ctx, n, sizeof *f->label); /* zeros */
    f->target = mo_host_array(f->ctx, n, sizeof *f->target);
    f->score = mo_host_array(f->ctx, n, sizeof *f->score);
    if (mo_ok(f->ctx)) {
        memcpy(f->id, id, (size_t)n * sizeof *id);
        memcpy(f->target, target, (size_t)n * sizeof *target);
        f->n = n;
        f->classes = 1;
    }
    return mo_ok(f->ctx);
}

mo_code mo_few_shot_fit_targets(
    mo_few_shot *f, const int64_t *id, const double *target, int64_t n, mo_target_transform transform) {
    if (!f)
        return MO_INVALID;
    if (!mo_given(f->ctx, name, "ids", id) || !mo_given(f->ctx, name, "targets", target))
        return mo_code_of(f->ctx);
    double *host = mo_host_array(f->ctx, 3 * n, sizeof *host);
    left_out o = {host, host ? host + n : NULL, host ? host + 2 * n : NULL, 0};
    if (host && mo_few_shot_take_targets(f, id, target, n, transform) && !fit_targets(f, target, transform, &o))
        mo_few_shot_forget(f);
    free(host);
    return mo_code_of(f->ctx);
}

mo_target_estimate mo_few_shot_expect_targets(const mo_few_shot *f) {
    return f && f->target ? f->told : (mo_target_estimate){0};
}

mo_code mo_few_shot_predict_targets(
    mo_few_shot *f, const int64_t *id, int64_t n, double coverage, double *prediction, double *low, double *high) {
    if (!f)
        return MO_INVALID;
    if (!mo_given(f->ctx, name, "ids", id) || !mo_given(f->ctx, name, "predictions", prediction))
        return mo_code_of(f->ctx);
    if (mo_ok(f->ctx) && !f->target)
        mo_fail(f->ctx, MO_STATE, "%s: expected a fit of real targets (mo_few_shot_fit_targets), found none", name);
    if (mo_ok(f->ctx) && low && !(coverage > 0 && coverage < 1))
        mo_fail(f->ctx, MO_INVALID, "%s: an interval of coverage %g, expected one between 0 and 1", name, coverage);
    double rank = ceil((double)(f->told.held_out + 1) * coverage - 1e-9);
    double *spread = low && high && mo_ok(f->ctx) ? mo_host_array(f->ctx, n, sizeof *spread) : NULL;
    if (!mo_ok(f->ctx) || !mo_few_shot_are_examples(f, id, n) ||
        mo_few_shot_read_targets(f, id, n, prediction, spread) != MO_OK) {
        free(spread);
        return mo_code_of(f->ctx);
    }
    double times = !spread || rank > (double)f->told.held_out ? NAN : f->score[(int64_t)fmax(rank, 1) - 1];
    for (int64_t i = 0; i < n; i++) {
        if (spread) {
            low[i] = in_unit(f, prediction[i] - times * spread[i]);
            high[i] = in_unit(f, prediction[i] + times * spread[i]);
        }
        prediction[i] = in_unit(f, prediction[i]);
    }
    free(spread);
    return MO_OK;
}
