/* train/few_shot/few_shot_state.c - a fit as arrays of a file: the state of the readout, the centres of a large
 * support, and the figures of the labels that were left out. Labels themselves are the caller's to keep. */
#include "tensor/library.h"
#include "train/episodes/episode_kernels.h"
#include "train/evaluation/evaluation.h"
#include "train/features/example_kernels.h"
#include "train/few_shot/few_shot.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { COUNTS = 2, REALS = 8, FIGURES = COUNTS + 1 + REALS };

/* Points to the figures of an estimate; the file has the counts first, then whether the readout is transductive. */
static void point_to_figures(mo_few_shot_estimate *e, int64_t *count[COUNTS], double *real[REALS]) {
    int64_t *const counts[COUNTS] = {&e->held_out, &e->small_classes};
    double *const reals[REALS] = {
        &e->accuracy, &e->low, &e->high, &e->baseline, &e->temperature, &e->nll, &e->other, &e->other_nll};
    memcpy(count, counts, sizeof counts);
    memcpy(real, reals, sizeof reals);
}

static void list_figures(mo_few_shot_estimate *e, double x[FIGURES]) {
    int64_t *count[COUNTS];
    double *real[REALS];
    point_to_figures(e, count, real);
    for (int i = 0; i < COUNTS; i++)
        x[i] = (double)*count[i];
    x[COUNTS] = e->transductive;
    for (int i = 0; i < REALS; i++)
        x[COUNTS + 1 + i] = *real[i];
}

/* Returns whether every count is one of at most n labels, and the temperature positive. */
static bool take_figures(mo_few_shot_estimate *e, const double x[FIGURES], int64_t n) {
    int64_t *count[COUNTS];
    double *real[REALS];
    point_to_figures(e, count, real);
    for (int i = 0; i < COUNTS; i++) {
        if (!(x[i] >= 0 && x[i] <= (double)n))
            return false;
        *count[i] = (int64_t)x[i];
    }
    e->transductive = x[COUNTS] != 0;
    for (int i = 0; i < REALS; i++)
        *real[i] = x[COUNTS + 1 + i];
    return e->temperature > 0 && isfinite(e->temperature);
}

mo_code mo_few_shot_save(mo_few_shot *f, mo_arrays *arrays) {
    if (!f)
        return MO_INVALID;
    double x[FIGURES];
    if (mo_given(f->ctx, "few-shot", "the arrays", arrays) && f->n == 0)
        mo_fail(f->ctx, MO_STATE, "few-shot: expected labels (mo_few_shot_fit) before a fit is saved, found none");
    const mo_fitted_examples *r = mo_ok(f->ctx) ? mo_few_shot_fitted(f) : NULL;
    if (!r)
        return mo_code_of(f->ctx);
    mo_state_save(&r->state, arrays);
    if (r->m && mo_ok(f->ctx))
        mo_arrays_take(arrays, "centres", mo_tensor_create_from(f->ctx, MO_I64, 1, &r->m, r->of));
    list_figures(&f->estimate, x);
    if (mo_ok(f->ctx))
        mo_arrays_take(arrays, "estimate", mo_tensor_create_from(f->ctx, MO_F64, 1, (int64_t[]){FIGURES}, x));
    if (mo_ok(f->ctx) && f->estimate.held_out)
        mo_arrays_take(arrays, "scores", mo_tensor_create_from(f->ctx, MO_F64, 1, &f->estimate.held_out, f->score));
    return mo_code_of(f->ctx);
}

static bool load_estimate(mo_few_shot *f, const mo_arrays *arrays) {
    const mo_tensor *T = mo_arrays_find(arrays, "estimate");
    double x[FIGURES] = {0};
    f->estimate = (mo_few_shot_estimate){.classes = f->classes, .labelled = f->n};
    bool fits = T && mo_tensor_dtype(T) == MO_F64 && mo_ndim(T) == 1 && mo_dim(T, 0) == FIGURES &&
                mo_tensor_read(T, x, sizeof x) == MO_OK && take_figures(&f->estimate, x, f->n);
    if (mo_ok(f->ctx) && !fits)
        mo_fail(f->ctx, MO_FORMAT,
            "few-shot: expected the array estimate, float64 [%d], with a temperature above 0 and counts of labels",
            FIGURES);
    if (!mo_ok(f->ctx))
        return false;
    f->temperature = f->estimate.temperature;
    if (f->estimate.transductive != (f->candidate.transductive == MO_TRANSDUCTIVE_ON))
        mo_fail(f->ctx, MO_FORMAT, "few-shot: the state is%s of a transductive readout",
            f->estimate.transductive ? "" : " not");
    return mo_ok(f->ctx);
}

/* Reads the scores of the labels left out, from which sets of classes are made. */
static bool load_scores(mo_few_shot *f, const mo_arrays *arrays) {
    const mo_tensor *T = mo_arrays_find(arrays, "scores");
    int64_t n = f->estimate.held_out;
    if (n == 0)
        return true;
    bool fits = T && mo_tensor_dtype(T) == MO_F64 && mo_ndim(T) == 1 && mo_dim(T, 0) == n &&
                mo_tensor_read(T, f->score, (size_t)n * sizeof *f->score) == MO_OK;
    for (int64_t i = 0; fits && i < n; i++)
        fits = f->score[i] >= (i ? f->score[i - 1] : 0) && f->score[i] <= 1;
    if (mo_ok(f->ctx) && !fits)
        mo_fail(f->ctx, MO_FORMAT,
            "few-shot: expected the array scores, float64 [%" PRId64 "], rising from 0 or more to at most 1", n);
    return mo_ok(f->ctx);
}

/* Sets the ids of the support's representatives, which are labelled examples. */
static bool load_centres(mo_few_shot *f, const mo_arrays *arrays, mo_fitted_examples *r) {
    const mo_tensor *T = mo_arrays_find(arrays, "centres");
    if (!T)
        return true;
    int64_t m = mo_ndim(T) == 1 && mo_tensor_dtype(T) == MO_I64 ? mo_dim(T, 0) : 0;
    if (m < 1 || m > MO_MOST_CENTRES)
        return mo_fail(
            f->ctx, MO_FORMAT, "few-shot: expected the array centres, int64 [m], m 1 to %d", MO_MOST_CENTRES);
    r->centre = mo_host_array(f->ctx, 2 * MO_MOST_CENTRES, sizeof *r->centre);
    r->of = r->centre ? r->centre + MO_MOST_CENTRES : NULL;
    r->m = r->of && mo_tensor_read(T, r->of, (size_t)m * sizeof *r->of) == MO_OK ? m : 0;
    return mo_few_shot_are_examples(f, r->of, r->m);
}

/* Raises unless the state reads rows like those of this model and data. */
static bool check_state(mo_few_shot *f, const mo_fitted_examples *r) {
    const mo_state *s = &r->state;
    const mo_tensor *alpha = mo_state_find(s, "alpha");
    int64_t d = f->rows ? mo_dim(f->rows, 1) : s->d, m = r->m ? r->m : r->n;
    bool kernels = f->candidate.model && f->candidate.model->reads_kernels;
    bool fits = s->classes == f->classes && s->d == d && s->axes == 2;
    if (kernels)
        fits &= alpha && mo_ndim(alpha) == 3 && mo_dim(alpha, 1) == m && mo_dim(alpha, 2) == f->classes;
    if (mo_ok(f->ctx) && !fits)
        mo_fail(f->ctx, MO_FORMAT,
            "few-shot: a state of %" PRId64 " classes on rows of %" PRId64 ", expected one of %" PRId64
            " classes, %" PRId64 " labelled examples and rows of %" PRId64,
            s->classes, s->d, f->classes, f->n, d);
    return mo_ok(f->ctx);
}

mo_code mo_few_shot_restore(
    mo_few_shot *f, const int64_t *id, const int64_t *label, int64_t n, const mo_arrays *arrays) {
    if (!f)
        return MO_INVALID;
    if (!mo_given(f->ctx, "few-shot", "the arrays", arrays) || !mo_few_shot_label(f, id, label, n))
        return mo_code_of(f->ctx);
    mo_fitted_examples *r = &f->fitted;
    r->n = n;
    r->id = mo_host_array(f->ctx, n, sizeof *r->id);
    if (r->id)
        memcpy(r->id, f->id, (size_t)n * sizeof *r->id);
    if (load_estimate(f, arrays) && load_scores(f, arrays) && load_centres(f, arrays, r) &&
        mo_state_load(f->ctx, mo_candidate_head(&f->candidate), arrays, &r->state) == MO_OK && check_state(f, r))
        mo_few_shot_reach(f);
    return mo_code_of(f->ctx);
}
