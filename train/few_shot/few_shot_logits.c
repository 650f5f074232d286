/* train/few_shot/few_shot_logits.c - logits and probabilities of examples, in blocks, so that memory does not grow with
 * the graph. Neither the blocks nor the bits depend on the number of threads. The model's own readout is fitted once
 * for all blocks. */
#include "train/episodes/episode_kernels.h"
#include "train/episodes/episode_rows.h"
#include "train/evaluation/evaluation.h"
#include "train/features/example_kernels.h"
#include "train/few_shot/few_shot.h"

#include "tensor/library.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Logits of n query examples: at most MO_FEW_SHOT_ROWS, or any number by a transductive readout, which computes all
 * logits anyway. zero: labels for the plan's queries, which no readout reads. */
static mo_code few_shot_head_block(
    mo_few_shot *f, const mo_few_shot_support *s, const int64_t *query, int64_t n, int64_t *zero, double *logits) {
    mo_plan plan = {.task = f->source.task,
        .classes = s->classes,
        .n_support = s->n,
        .n_query = n,
        .support = {(int64_t *)s->id, NULL},
        .query = {(int64_t *)query, NULL},
        .support_label = (int64_t *)s->label,
        .query_label = zero};
    mo_tape_reset(f->t);
    mo_tensor *Y = f->candidate.transductive
                       ? mo_population_logits(f->t, &f->source, &f->candidate, &f->all, &plan)
                       : mo_candidate_logits(f->t, &f->source, &f->candidate, f->rows, &plan, f->max_rows, NULL);
    mo_read_as(Y, MO_F64, logits);
    return mo_code_of(f->ctx);
}

/* ---- a readout of the model's own ---- */

/* The support's embeddings, the readout's solution, and the centres that stand for a large support; owned. */
typedef struct fitted {
    mo_tensor *Zs, *alpha;
    int64_t m, *centre, *id; /* [m]: positions and ids of the centres; m = 0: the support needs none */
} fitted;

static bool few_shot_choose_centres(mo_few_shot *f, const mo_few_shot_support *s, fitted *r) {
    r->centre = mo_host_array(f->ctx, 2 * MO_MOST_CENTRES, sizeof *r->centre);
    if (!r->centre)
        return false;
    r->id = r->centre + MO_MOST_CENTRES;
    r->m = mo_choose_centres(f->ctx, s->id, s->label, s->n, s->classes, r->centre);
    for (int64_t i = 0; i < r->m; i++)
        r->id[i] = s->id[r->centre[i]];
    return mo_ok(f->ctx);
}

static mo_kernel_examples few_shot_examples(
    const mo_few_shot_support *s, const fitted *r, const int64_t *query, int64_t n) {
    return (mo_kernel_examples){s->id, query, r->m ? r->id : s->id, s->n, n, r->m ? r->m : s->n};
}

/* Embeddings [n, d] of examples, the support of an episode. */
static mo_tensor *few_shot_embed(
    mo_few_shot *f, const int64_t *id, const int64_t *label, int64_t n, int64_t classes, mo_episode *e) {
    mo_tensor *Z, *none;
    *e = (mo_episode){.task = f->source.task, .classes = classes, .max_rows = f->max_rows};
    e->support_label = mo_from(f->t, MO_I64, 1, &n, label);
    e->class_weight = mo_class_weight(f->t, label, n, classes);
    mo_example_tensors(f->t, &f->source, id, n, NULL, e);
    mo_model_embed(f->t, f->candidate.model, e, NULL, &Z, &none);
    return Z;
}

static bool few_shot_learn(mo_few_shot *f, const mo_few_shot_support *s, fitted *r) {
    const mo_model *m = f->candidate.model;
    mo_tensor *share = NULL;
    mo_episode e;
    mo_tape_reset(f->t);
    if (!few_shot_choose_centres(f, s, r))
        return false;
    const mo_kernel_examples of = few_shot_examples(s, r, NULL, 0);
    mo_tensor *Zs = few_shot_embed(f, s->id, s->label, s->n, s->classes, &e);
    e.centres = r->m ? mo_from(f->t, MO_I64, 1, &r->m, r->centre) : NULL;
    mo_put_kernels(f->t, &f->source, &of, &e);
    mo_tensor *alpha = mo_ok(f->ctx) ? m->readout->learn(f->t, m, &e, Zs, &share) : mo_null_tensor(f->ctx);
    r->Zs = mo_tensor_clone(f->ctx, Zs);
    r->alpha = mo_tensor_clone(f->ctx, alpha);
    f->n_experts = mo_shares_of(f->t, &f->source, share, f->expert);
    return mo_ok(f->ctx);
}

/* As few_shot_head_block. */
static mo_code few_shot_own_block(mo_few_shot *f, const fitted *r, const mo_few_shot_support *s, const int64_t *query,
    int64_t n, int64_t *zero, double *logits) {
    const mo_model *m = f->candidate.model;
    const mo_kernel_examples of = few_shot_examples(s, r, query, n);
    mo_episode e;
    mo_tape_reset(f->t);
    mo_tensor *Zq = few_shot_embed(f, query, zero, n, s->classes, &e);
    e.centres = r->m ? mo_from(f->t, MO_I64, 1, &r->m, r->centre) : NULL;
    mo_put_query_kernels(f->t, &f->source, &of, &e);
    mo_tensor *Y = mo_ok(f->ctx) ? m->readout->apply(f->t, m, &e, r->Zs, r->alpha, Zq) : mo_null_tensor(f->ctx);
    mo_read_as(Y, MO_F64, logits);
    return mo_code_of(f->ctx);
}

/* ---- without some of the support ---- */

struct mo_few_shot_whole {
    mo_tensor *inverted[2]; /* owned */
};

bool mo_few_shot_mixes_kernels(const mo_few_shot *f) {
    const mo_model *m = f->candidate.model;
    return m && m->readout && !f->candidate.transductive;
}

bool mo_few_shot_reads_centres(const mo_few_shot *f) {
    return mo_few_shot_mixes_kernels(f) && f->n > MO_MOST_CENTRES;
}

mo_few_shot_whole *mo_few_shot_fit_whole(mo_few_shot *f) {
    const mo_model *m = f->candidate.model;
    bool able = mo_few_shot_mixes_kernels(f) && f->n <= MO_MOST_CENTRES;
    mo_few_shot_whole *whole = able ? mo_host_array(f->ctx, 1, sizeof *whole) : NULL;
    const mo_kernel_examples of = {f->id, NULL, f->id, f->n, 0, f->n};
    mo_tensor *inverted[2];
    mo_episode e;
    if (!whole)
        return NULL;
    mo_tape_reset(f->t);
    mo_tensor *Zs = few_shot_embed(f, f->id, f->label, f->n, f->classes, &e);
    mo_put_kernels(f->t, &f->source, &of, &e);
    if (mo_ok(f->ctx))
        m->readout->invert(f->t, m, &e, Zs, inverted);
    for (int i = 0; i < 2 && mo_ok(f->ctx); i++)
        whole->inverted[i] = mo_tensor_clone(f->ctx, inverted[i]);
    if (mo_ok(f->ctx))
        return whole;
    mo_few_shot_whole_release(whole);
    return NULL;
}

/* The index of the expert on H, the features two hops away; -1: there is none. */
static int find_hop(const mo_few_shot *f) {
    int e = mo_expert_count(&f->source) - 1;
    while (e >= 0 && strcmp(mo_expert_name(&f->source, e), "H") != 0)
        e--;
    return e;
}

/* Writes the logits [n, classes] of one expert under the middle penalty, taken from the logits `each` [E, R, n,
 * classes]. */
static void read_expert(mo_few_shot *f, mo_tensor *each, int expert, int64_t n, double *logits) {
    for (int64_t i = 0; i < n * f->classes; i++)
        logits[i] = NAN;
    if (expert < 0 || !mo_ok(f->ctx))
        return;
    int64_t middle = mo_dim(each, 1) / 2;
    mo_tensor *own =
        mo_slice(f->t, mo_slice(f->t, each, MO_AXIS(0), expert, expert + 1), MO_AXIS(1), middle, middle + 1);
    mo_read_as(own, MO_F64, logits);
}

mo_code mo_few_shot_without(
    mo_few_shot *f, const mo_few_shot_whole *whole, const int64_t *at, int64_t n, double *logits, double *hop) {
    const mo_model *m = f->candidate.model;
    mo_tensor *each = NULL;
    mo_episode e = {.task = f->source.task,
        .classes = f->classes,
        .inductive = f->source.inductive,
        .assortativity = mo_example_kernels_assortativity(f->source.kernels)};
    mo_tape_reset(f->t);
    e.support_label = mo_from(f->t, MO_I64, 1, &f->n, f->label);
    e.class_weight = mo_class_weight(f->t, f->label, f->n, f->classes);
    mo_tensor *Y =
        mo_ok(f->ctx) ? m->readout->without(f->t, m, &e, whole->inverted, at, n, &each) : mo_null_tensor(f->ctx);
    read_expert(f, each, find_hop(f), n, hop);
    mo_read_as(Y, MO_F64, logits);
    return mo_code_of(f->ctx);
}

void mo_few_shot_whole_release(mo_few_shot_whole *whole) {
    for (int i = 0; whole && i < 2; i++)
        mo_tensor_release(whole->inverted[i]);
    free(whole);
}

/* ---- all blocks ---- */

static void forget_fitted(fitted *r) {
    mo_tensor_release(r->Zs);
    mo_tensor_release(r->alpha);
    free(r->centre);
}

/* Sets the experts' shares for a transductive readout, which does not report them: few_shot_learn fits the same experts
 * to the support and notes their shares; the rest of its fit is dropped. */
static void few_shot_find_shares(mo_few_shot *f, const mo_few_shot_support *s) {
    fitted r = {0};
    few_shot_learn(f, s, &r);
    forget_fitted(&r);
}

mo_code mo_few_shot_read(
    mo_few_shot *f, const mo_few_shot_support *s, const int64_t *query, int64_t n_query, double *logits) {
    const mo_candidate *c = &f->candidate;
    int64_t most = n_query < MO_FEW_SHOT_ROWS || c->transductive ? n_query : MO_FEW_SHOT_ROWS;
    int64_t *zero = mo_host_array(f->ctx, most, sizeof *zero);
    bool own = mo_few_shot_mixes_kernels(f);
    fitted r = {0};
    f->n_experts = 0;
    bool fine = zero && (!own || few_shot_learn(f, s, &r));
    for (int64_t first = 0; fine && first < n_query && mo_ok(f->ctx); first += most) {
        int64_t n = n_query - first < most ? n_query - first : most;
        if (own)
            few_shot_own_block(f, &r, s, query + first, n, zero, logits + first * s->classes);
        else
            few_shot_head_block(f, s, query + first, n, zero, logits + first * s->classes);
    }
    forget_fitted(&r);
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
    if (!mo_ok(f->ctx) || !mo_few_shot_are_examples(f, id, n))
        return mo_code_of(f->ctx);
    mo_few_shot_support all = {f->id, f->label, f->n, f->classes};
    if (mo_few_shot_read(f, &all, id, n, logits) == MO_OK && f->candidate.transductive)
        few_shot_find_shares(f, &all);
    return mo_code_of(f->ctx);
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
