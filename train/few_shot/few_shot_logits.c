/* train/few_shot/few_shot_logits.c - logits and probabilities of examples, in blocks, so that memory does not grow with
 * the graph. Neither the blocks nor the bits depend on the number of threads. A readout is fitted once for all
 * blocks, and the one of all labelled examples once for all calls. */
#include "train/episodes/episode_kernels.h"
#include "train/episodes/episode_rows.h"
#include "train/evaluation/evaluation.h"
#include "train/features/example_kernels.h"
#include "train/few_shot/few_shot.h"

#include "tensor/library.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Whether the head reads the kernels of the source. */
static bool reads_kernels(const mo_few_shot *f) {
    return f->candidate.model && f->candidate.model->reads_kernels;
}

bool mo_few_shot_mixes_kernels(const mo_few_shot *f) {
    return reads_kernels(f) && !f->candidate.transductive;
}

bool mo_few_shot_reads_centres(const mo_few_shot *f) {
    return mo_few_shot_mixes_kernels(f) && f->n > MO_MOST_CENTRES;
}

/* ---- a readout fitted on a support ---- */

static bool few_shot_choose_centres(mo_few_shot *f, const mo_few_shot_support *s, mo_fitted_examples *r) {
    r->n = s->n;
    r->id = mo_host_array(f->ctx, s->n, sizeof *r->id);
    if (!r->id)
        return false;
    memcpy(r->id, s->id, (size_t)s->n * sizeof *r->id);
    if (!reads_kernels(f))
        return true;
    r->centre = mo_host_array(f->ctx, 2 * MO_MOST_CENTRES, sizeof *r->centre);
    if (!r->centre)
        return false;
    r->of = r->centre + MO_MOST_CENTRES;
    r->m = mo_choose_centres(f->ctx, s->id, s->label, s->n, s->classes, r->centre);
    for (int64_t i = 0; i < r->m; i++)
        r->of[i] = s->id[r->centre[i]];
    return mo_ok(f->ctx);
}

static void release_fitted(mo_fitted_examples *r) {
    mo_state_release(&r->state);
    free(r->id);
    free(r->centre);
    *r = (mo_fitted_examples){0};
}

static mo_kernel_examples few_shot_examples(const mo_fitted_examples *r, const int64_t *query, int64_t n) {
    return (mo_kernel_examples){r->id, query, r->m ? r->of : r->id, r->n, n, r->m ? r->m : r->n};
}

/* Embeddings [n, d] of examples, as the support of an episode. */
static mo_tensor *few_shot_embed(
    mo_few_shot *f, const int64_t *id, const int64_t *label, int64_t n, int64_t classes, mo_episode *e) {
    mo_tensor *Z, *none;
    *e = (mo_episode){.task = f->source.task, .classes = classes, .max_rows = f->max_rows};
    e->support_label = mo_from(f->t, MO_I64, 1, &n, label);
    if (f->rows)
        return mo_gather_rows(f->t, f->rows, mo_from(f->t, MO_I64, 1, &n, id));
    e->class_weight = mo_class_weight(f->t, label, n, classes);
    mo_example_tensors(f->t, &f->source, id, n, NULL, e);
    mo_model_embed(f->t, f->candidate.model, e, NULL, &Z, &none);
    return Z;
}

mo_tensor *mo_few_shot_rows_of(mo_few_shot *f, const int64_t *id, const int64_t *label, int64_t n, int64_t classes) {
    mo_episode e;
    return few_shot_embed(f, id, label, n, classes, &e);
}

/* A problem of the support, whose query is its first example. zero: one label, which no readout reads. */
static mo_plan few_shot_plan(const mo_few_shot *f, const mo_few_shot_support *s, int64_t *zero) {
    return (mo_plan){.task = f->source.task,
        .classes = s->classes,
        .n_support = s->n,
        .n_query = 1,
        .support = {(int64_t *)s->id, NULL},
        .query = {(int64_t *)s->id, NULL},
        .support_label = (int64_t *)s->label,
        .query_label = zero};
}

static bool few_shot_learn(mo_few_shot *f, const mo_few_shot_support *s, bool held_out, mo_fitted_examples *r) {
    mo_episode e;
    mo_state state = {0};
    mo_tape_reset(f->t);
    if (!few_shot_choose_centres(f, s, r))
        return false;
    if (f->candidate.transductive) {
        const mo_plan plan = few_shot_plan(f, s, &(int64_t){0});
        mo_population_logits(f->t, &f->source, &f->candidate, &f->all, &plan, &state);
    } else {
        const mo_kernel_examples of = few_shot_examples(r, NULL, 0);
        mo_tensor *Zs = few_shot_embed(f, s->id, s->label, s->n, s->classes, &e);
        if (reads_kernels(f)) {
            e.centres = r->m ? mo_from(f->t, MO_I64, 1, &r->m, r->centre) : NULL;
            mo_put_kernels(f->t, &f->source, &of, &e);
        }
        if (f->target) {
            e.support_target = mo_from(f->t, MO_F64, 2, (int64_t[]){s->n, 1}, f->target);
            e.class_weight = NULL;
        }
        if (mo_ok(f->ctx))
            mo_candidate_fit(f->t, &f->candidate, &e, Zs, held_out, &state);
    }
    if (mo_ok(f->ctx))
        mo_state_clone(f->ctx, &state, &r->state);
    return mo_ok(f->ctx);
}

/* Reads the experts' shares from a fit. */
static void read_shares(mo_few_shot *f, const mo_fitted_examples *r) {
    mo_tape_reset(f->t);
    f->n_experts = mo_shares_of(f->t, &f->source, mo_state_find(&r->state, "share"), f->expert);
}

/* Fits all labelled examples, if they are not fitted yet. */
static bool few_shot_fit_all(mo_few_shot *f, bool held_out) {
    const mo_few_shot_support all = {f->id, f->label, f->n, f->classes};
    return f->fitted.state.n || few_shot_learn(f, &all, held_out, &f->fitted);
}

const mo_fitted_examples *mo_few_shot_fitted(mo_few_shot *f) {
    return few_shot_fit_all(f, false) ? &f->fitted : NULL;
}

void mo_few_shot_forget_fit(mo_few_shot *f) {
    release_fitted(&f->fitted);
}

/* Logits of n queries by a state fitted on the examples of r; zero [n]: labels, which no readout reads. spread [n]: the
 * standard deviations of targets, or NULL. */
static mo_code few_shot_apply(mo_few_shot *f, const mo_fitted_examples *r, const mo_state *state, const int64_t *query,
    int64_t n, const int64_t *zero, double *logits, double *spread) {
    const mo_kernel_examples of = few_shot_examples(r, query, n);
    mo_episode e;
    mo_tape_reset(f->t);
    bool all = f->candidate.transductive;
    mo_tensor *Zq = NULL;
    if (all) {
        e = (mo_episode){.task = f->source.task, .classes = r->state.classes};
        Zq = mo_gather_rows(f->t, f->all.Z, mo_from(f->t, MO_I64, 1, &n, query));
    } else
        Zq = few_shot_embed(f, query, zero, n, r->state.classes, &e);
    if (reads_kernels(f))
        mo_put_query_kernels(f->t, &f->source, &of, &e);
    if (mo_ok(f->ctx))
        mo_read_as(all ? mo_model_apply_transduced(f->t, f->candidate.model, &e, state, Zq)
                       : mo_candidate_apply(f->t, &f->candidate, &e, state, Zq),
            MO_F64, logits);
    if (mo_ok(f->ctx) && spread)
        mo_read_as(f->candidate.model ? mo_model_spread(f->t, f->candidate.model, &e, state, Zq)
                                      : mo_mixture_spread(f->t, state, Zq, NULL, NULL),
            MO_F64, spread);
    return mo_code_of(f->ctx);
}

mo_code mo_few_shot_apply_state(mo_few_shot *f, const mo_state *state, int64_t example, double *logits) {
    static const int64_t none = 0;
    if (few_shot_fit_all(f, false) && logits)
        few_shot_apply(f, &f->fitted, state ? state : &f->fitted.state, &example, 1, &none, logits, NULL);
    return mo_code_of(f->ctx);
}

/* ---- without some of the labelled examples ---- */

bool mo_few_shot_fit_whole(mo_few_shot *f) {
    if (f->candidate.transductive || mo_few_shot_reads_centres(f) || !mo_candidate_head(&f->candidate)->held_out)
        return false;
    mo_few_shot_forget_fit(f);
    return few_shot_fit_all(f, true);
}

/* The index of the expert on H, the features two hops away; -1: there is none. */
static int find_hop(const mo_few_shot *f) {
    int e = mo_few_shot_mixes_kernels(f) ? mo_expert_count(&f->source) - 1 : -1;
    while (e >= 0 && strcmp(mo_expert_name(&f->source, e), "H") != 0)
        e--;
    return e;
}

mo_code mo_few_shot_without(mo_few_shot *f, const int64_t *at, int64_t n, double *logits, double *hop) {
    const mo_state *s = &f->fitted.state;
    int expert = find_hop(f);
    mo_tape_reset(f->t);
    mo_read_as(mo_candidate_held_out(f->t, &f->candidate, s, at, 1, n), MO_F64, logits);
    for (int64_t i = 0; i < n * f->classes; i++)
        hop[i] = NAN;
    if (expert >= 0 && mo_ok(f->ctx)) {
        int64_t middle = mo_dim(mo_state_find(s, "share"), 1) / 2;
        mo_read_as(mo_expert_without(f->t, s, expert, middle, at, n), MO_F64, hop);
    }
    return mo_code_of(f->ctx);
}

/* ---- all queries ---- */

/* By the readout that is fitted, block by block. */
static mo_code few_shot_apply_blocks(mo_few_shot *f, const mo_fitted_examples *r, const int64_t *query, int64_t n_query,
    const int64_t *zero, double *logits, double *spread) {
    for (int64_t first = 0; first < n_query && mo_ok(f->ctx); first += MO_FEW_SHOT_ROWS) {
        int64_t n = n_query - first < MO_FEW_SHOT_ROWS ? n_query - first : MO_FEW_SHOT_ROWS;
        few_shot_apply(
            f, r, &r->state, query + first, n, zero, logits + first * r->state.classes, spread ? spread + first : NULL);
    }
    return mo_code_of(f->ctx);
}

mo_code mo_few_shot_read(
    mo_few_shot *f, const mo_few_shot_support *s, const int64_t *query, int64_t n_query, double *logits) {
    int64_t *zero = mo_host_array(f->ctx, n_query, sizeof *zero);
    bool all = s->id == f->id && s->n == f->n;
    mo_fitted_examples own = {0}, *r = all ? &f->fitted : &own;
    f->n_experts = 0;
    if (zero && (all ? few_shot_fit_all(f, false) : few_shot_learn(f, s, false, r)))
        few_shot_apply_blocks(f, r, query, n_query, zero, logits, NULL);
    if (zero && mo_ok(f->ctx) && reads_kernels(f) && (!all || few_shot_fit_all(f, false)))
        read_shares(f, r);
    release_fitted(&own);
    free(zero);
    return mo_code_of(f->ctx);
}

mo_code mo_few_shot_read_targets(mo_few_shot *f, const int64_t *query, int64_t n, double *prediction, double *spread) {
    int64_t *zero = mo_host_array(f->ctx, n, sizeof *zero);
    if (zero && few_shot_fit_all(f, false) &&
        few_shot_apply_blocks(f, &f->fitted, query, n, zero, prediction, spread) == MO_OK && reads_kernels(f))
        read_shares(f, &f->fitted);
    free(zero);
    return mo_code_of(f->ctx);
}

int mo_few_shot_experts(const mo_few_shot *f, mo_expert_share out[MO_MAX_EXPERTS]) {
    for (int i = 0; f && i < f->n_experts; i++)
        out[i] = f->expert[i];
    return f ? f->n_experts : 0;
}

mo_code mo_few_shot_logits(mo_few_shot *f, const int64_t *id, int64_t n, double *logits) {
    if (!f)
        return MO_INVALID;
    if (!mo_given(f->ctx, "few-shot", "ids", id) || !mo_given(f->ctx, "few-shot", "logits", logits))
        return mo_code_of(f->ctx);
    if (mo_ok(f->ctx) && f->n == 0)
        mo_fail(f->ctx, MO_STATE, "few-shot: expected labels (mo_few_shot_fit) before predictions, found none");
    if (mo_ok(f->ctx) && f->target)
        mo_fail(f->ctx, MO_STATE,
            "few-shot: expected labels of classes, found a fit of real targets, which has predictions and no "
            "probabilities");
    if (!mo_ok(f->ctx) || !mo_few_shot_are_examples(f, id, n))
        return mo_code_of(f->ctx);
    mo_few_shot_support all = {f->id, f->label, f->n, f->classes};
    return mo_few_shot_read(f, &all, id, n, logits);
}

mo_code mo_few_shot_probabilities(mo_few_shot *f, const int64_t *id, int64_t n, double *p) {
    if (mo_few_shot_logits(f, id, n, p) != MO_OK)
        return f ? mo_code_of(f->ctx) : MO_INVALID;
    for (int64_t i = 0; i < n; i++)
        if (mo_few_shot_reaches(f, id[i]))
            mo_softmax_logits(p + i * f->classes, f->classes, f->temperature);
        else
            mo_few_shot_prior(f, p + i * f->classes);
    return mo_code_of(f->ctx);
}
