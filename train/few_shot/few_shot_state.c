/* train/few_shot/few_shot_state.c - a fit as arrays of a file: the state of the readout, the centres of a large
 * support, and the figures of the labels that were left out. Labels themselves are the caller's to keep. */
#include "tensor/library.h"
#include "train/episodes/episode_kernels.h"
#include "train/evaluation/evaluation.h"
#include "train/features/example_kernels.h"
#include "train/few_shot/few_shot.h"
#include "train/graphs/graph_build.h"
#include "train/saved_readout.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { COUNTS = 2, REALS = 8, FIGURES = COUNTS + 1 + REALS, TOLD = 6 /* figures of targets */ };

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
    int64_t figures = f->target ? TOLD : FIGURES, held_out = f->target ? f->told.held_out : f->estimate.held_out;
    if (f->target) {
        const mo_target_estimate *e = &f->told;
        const double told[TOLD] = {(double)e->held_out, e->r2, e->mae, e->log, e->density[0], e->density[1]};
        memcpy(x, told, sizeof told);
        mo_arrays_take(arrays, "target", mo_tensor_create_from(f->ctx, MO_F64, 1, &f->n, f->target));
    } else
        list_figures(&f->estimate, x);
    if (mo_ok(f->ctx))
        mo_arrays_take(arrays, "estimate", mo_tensor_create_from(f->ctx, MO_F64, 1, &figures, x));
    if (mo_ok(f->ctx) && held_out)
        mo_arrays_take(arrays, "scores", mo_tensor_create_from(f->ctx, MO_F64, 1, &held_out, f->score));
    if (mo_ok(f->ctx) && f->candidate.model)
        mo_graph_keep(f->source.graph, arrays);
    return mo_code_of(f->ctx);
}

/* Reads float64 [n] of that name; false if the array is missing or of another form. */
static bool read_figures(const mo_arrays *arrays, const char *name, int64_t n, double *x) {
    const mo_tensor *T = mo_arrays_find(arrays, name);
    return T && mo_tensor_dtype(T) == MO_F64 && mo_ndim(T) == 1 && mo_dim(T, 0) == n &&
           mo_tensor_read(T, x, (size_t)n * sizeof *x) == MO_OK;
}

static bool load_told(mo_few_shot *f, const mo_arrays *arrays) {
    double x[TOLD] = {0};
    bool fits = read_figures(arrays, "estimate", TOLD, x) && x[0] >= MO_LEAST_TARGETS && x[0] <= (double)f->n;
    if (mo_ok(f->ctx) && !fits)
        mo_fail(f->ctx, MO_FORMAT,
            "few-shot: expected the array estimate, float64 [%d], with how many of %" PRId64 " targets were left out",
            TOLD, f->n);
    f->told = (mo_target_estimate){f->n, (int64_t)x[0], x[1], x[2], x[3] != 0, {x[4], x[5]}};
    return mo_ok(f->ctx);
}

static bool load_estimate(mo_few_shot *f, const mo_arrays *arrays, bool elsewhere) {
    double x[FIGURES] = {0};
    f->estimate = (mo_few_shot_estimate){.classes = f->classes, .labelled = f->n};
    bool fits = read_figures(arrays, "estimate", FIGURES, x) && take_figures(&f->estimate, x, f->n);
    if (mo_ok(f->ctx) && !fits)
        mo_fail(f->ctx, MO_FORMAT,
            "few-shot: expected the array estimate, float64 [%d], with a temperature above 0 and counts of labels",
            FIGURES);
    if (!mo_ok(f->ctx))
        return false;
    f->temperature = f->estimate.temperature;
    if (!elsewhere && f->estimate.transductive != (f->candidate.transductive == MO_TRANSDUCTIVE_ON))
        mo_fail(f->ctx, MO_FORMAT, "few-shot: the state is%s of a transductive readout",
            f->estimate.transductive ? "" : " not");
    return mo_ok(f->ctx);
}

/* Reads the scores of the labels left out, from which sets of classes are made, or of the targets, for intervals. */
static bool load_scores(mo_few_shot *f, const mo_arrays *arrays) {
    int64_t n = f->target ? f->told.held_out : f->estimate.held_out;
    if (n == 0)
        return true;
    bool fits = read_figures(arrays, "scores", n, f->score);
    for (int64_t i = 0; fits && i < n; i++)
        fits = f->score[i] >= (i ? f->score[i - 1] : 0) && f->score[i] <= (f->target ? HUGE_VAL : 1);
    if (mo_ok(f->ctx) && !fits)
        mo_fail(f->ctx, MO_FORMAT,
            "few-shot: expected the array scores, float64 [%" PRId64 "], rising from 0 or more%s", n,
            f->target ? "" : " to at most 1");
    return mo_ok(f->ctx);
}

/* Sets the ids of the support's representatives, which are labelled examples: id[i], if the file calls them old[i]
 * (NULL: as here). */
static bool load_centres(
    mo_few_shot *f, const mo_arrays *arrays, mo_fitted_examples *r, const int64_t *old, const int64_t *id) {
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
    for (int64_t i = 0; old && i < r->m; i++) {
        int64_t at = 0;
        while (at < r->n && old[at] != r->of[i])
            at++;
        r->of[i] = at < r->n ? id[at] : -1;
    }
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

static bool take_targets(mo_few_shot *f, const int64_t *id, int64_t n, const mo_arrays *arrays) {
    double *target = mo_host_array(f->ctx, n, sizeof *target);
    bool fits = target && read_figures(arrays, "target", n, target);
    if (mo_ok(f->ctx) && !fits)
        mo_fail(f->ctx, MO_FORMAT, "few-shot: expected the array target, float64 [%" PRId64 "]", n);
    fits = mo_ok(f->ctx) && mo_few_shot_take_targets(f, id, target, n, MO_TRANSFORM_NONE);
    free(target);
    return fits;
}

/* Raises if a state cannot be applied to another graph than its own. */
static bool check_moves(mo_few_shot *f, const mo_fitted_examples *r) {
    const mo_tensor *alpha = mo_state_find(&r->state, "alpha");
    if (!mo_few_shot_mixes_kernels(f) || !alpha)
        return mo_fail(f->ctx, MO_UNSUPPORTED,
            "few-shot: a readout of the head %s reads coordinates that another graph does not have; fit it anew, or "
            "fit the weights' own readout",
            mo_candidate_head(&f->candidate)->name);
    int64_t E = mo_own_experts(f->source.task, f->source.inductive, NULL) + mo_example_kernels_count(f->source.kernels);
    E += f->target && E > 1; /* the mean kernel */
    if (mo_dim(alpha, 0) != E)
        return mo_fail(f->ctx, MO_INVALID,
            "few-shot: the readout compares examples by %" PRId64 " kernels, and this graph has %" PRId64
            " (one of the two has no edges, or no attributes that differ); fit it anew",
            mo_dim(alpha, 0), E);
    return true;
}

/* The state's rows become those of its labelled examples in this graph, whose features are other ones; what a refit on
 * all examples of the old graph has found is not read. */
static bool renew_rows(mo_few_shot *f, mo_fitted_examples *r) {
    mo_state *s = &r->state;
    if (!check_moves(f, r))
        return false;
    int64_t n = 0, *zero = mo_host_array(f->ctx, f->n, sizeof *zero);
    for (int i = 0; i < s->n; i++) {
        bool old = !strcmp(s->name[i], "rows") || !strcmp(s->name[i], "population") || !strcmp(s->name[i], "refitted");
        if (old) {
            mo_tensor_release(s->tensor[i]);
            continue;
        }
        memmove(s->name[n], s->name[i], MO_STATE_NAME);
        s->tensor[n++] = s->tensor[i];
    }
    s->n = (int)n;
    mo_tape_reset(f->t);
    mo_tensor *Z = zero ? mo_few_shot_rows_of(f, r->m ? r->of : r->id, zero, r->m ? r->m : r->n, f->classes) : NULL;
    if (Z && mo_ok(f->ctx)) {
        s->d = mo_dim(Z, 1);
        mo_state_put(s, "rows", mo_tensor_clone(f->ctx, mo_cast(f->t, Z, s->real)));
    }
    free(zero);
    return mo_ok(f->ctx);
}

mo_code mo_few_shot_take(mo_few_shot *f, const mo_saved_readout *saved) {
    if (!f)
        return MO_INVALID;
    if (!mo_given(f->ctx, "few-shot", "the readout", saved) ||
        !mo_given(f->ctx, "few-shot", "the arrays", saved->arrays))
        return mo_code_of(f->ctx);
    const mo_labels *known = &saved->known;
    const mo_arrays *arrays = saved->arrays;
    if (!mo_given(f->ctx, "few-shot", "ids", known->id) ||
        !(known->label ? mo_few_shot_label(f, known->id, known->label, known->n)
                       : take_targets(f, known->id, known->n, arrays)))
        return mo_code_of(f->ctx);
    if (known->label && f->classes != known->classes)
        mo_fail(f->ctx, MO_FORMAT, "few-shot: labels of %" PRId64 " classes, expected %" PRId64 " as it has names",
            f->classes, known->classes);
    mo_fitted_examples *r = &f->fitted;
    r->n = known->n;
    r->id = mo_host_array(f->ctx, r->n, sizeof *r->id);
    if (r->id)
        memcpy(r->id, f->id, (size_t)r->n * sizeof *r->id);
    if (mo_ok(f->ctx) && (known->label ? load_estimate(f, arrays, saved->old) : load_told(f, arrays)) &&
        load_scores(f, arrays) && load_centres(f, arrays, r, saved->old, known->id) &&
        mo_state_load(f->ctx, mo_candidate_head(&f->candidate), arrays, &r->state) == MO_OK &&
        (!saved->old || renew_rows(f, r)) && check_state(f, r) && known->label && !saved->old)
        mo_few_shot_reach(f);
    return mo_code_of(f->ctx);
}
