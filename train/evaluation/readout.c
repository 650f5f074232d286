/* train/evaluation/readout.c - a candidate's head on rows that are embedded once, one per node or graph. A link is the
 * product of its ends' rows or, if the source has rows of examples (mo_has_example_rows), the row of its pair. */
#include "models/model.h"
#include "train/episodes/episode_kernels.h"
#include "train/episodes/episode_rows.h"
#include "train/evaluation/evaluation.h"

#include <math.h>
#include <string.h>

const mo_head *mo_candidate_head(const mo_candidate *c) {
    return c->model ? c->model->options.head : c->head;
}

/* The plan's examples as row numbers, with what the candidate's head reads of them. */
static void plan_episode(
    mo_tape *t, const mo_source *source, const mo_candidate *c, const mo_plan *plan, mo_episode *e) {
    bool links = plan->task == MO_TASK_LP, pairs = links && mo_has_example_rows(source);
    *e = (mo_episode){.task = plan->task, .classes = plan->classes};
    for (int side = 0; side < (links && !pairs ? 2 : 1); side++) {
        e->support[side] = mo_from(t, MO_I64, 1, &plan->n_support, pairs ? plan->support_pair : plan->support[side]);
        e->query[side] = mo_from(t, MO_I64, 1, &plan->n_query, pairs ? plan->query_pair : plan->query[side]);
    }
    e->support_label = mo_from(t, MO_I64, 1, &plan->n_support, plan->support_label);
    if (mo_candidate_head(c)->leaves_out)
        e->support_weight = mo_plan_weight(t, plan);
    if (c->model)
        e->class_weight = mo_class_weight(t, plan->support_label, plan->n_support, plan->classes);
}

/* Logits of a model that embeds the episode's rows itself. */
static mo_tensor *embed_and_read(
    mo_tape *t, const mo_source *source, mo_model *model, const mo_plan *plan, int64_t max_rows, mo_tensor **share) {
    mo_source of_readout = *source;
    mo_tensor *Zs, *Zq;
    mo_episode e;
    if (!model->reads_kernels)
        of_readout.kernels = NULL;
    of_readout.similarities = model->reads_kernels;
    if (mo_episode_build(t, &of_readout, plan, &e) != MO_OK)
        return mo_null_tensor(mo_tape_context(t));
    e.max_rows = max_rows;
    mo_model_embed(t, model, &e, NULL, &Zs, &Zq);
    return mo_model_readout(t, model, &e, Zs, Zq, share);
}

static const char row_mean[] = "rows.mean", row_spread[] = "rows.spread";

/* Fits a head to rows as the candidate's scaling gives them; what scales other rows is kept with its state. */
static mo_code fit_head(
    mo_tape *t, const mo_candidate *c, const mo_episode *e, mo_tensor *Zs, bool held_out, mo_state *state) {
    mo_tensor *parameter[MO_MAX_HEAD_PARAMETERS], *mean, *spread;
    mo_dtype real = mo_tensor_dtype(Zs);
    int fixed = c->fixed ? mo_regularisation(c->head) : -1;
    bool share = fixed >= 0 && strcmp(c->head->parameters[fixed].name, "lambda") != 0;
    const double *lambda = fixed >= 0 && !share ? &c->value : c->lambda > 0 ? &c->lambda : NULL;
    if (mo_head_start(t, c->head, real, mo_dim(Zs, -1), lambda, c->seed, parameter) != MO_OK)
        return mo_code_of(mo_tape_context(t));
    if (share)
        parameter[fixed] = mo_scalar(t, real, c->value);
    mo_scaling_measure(t, c->scaling, Zs, &mean, &spread);
    mo_support s = mo_episode_support(t, e, c->head, mo_scaling_apply(t, c->scaling, mean, spread, Zs));
    s.held_out = held_out;
    if (mo_head_fit(t, c->head, &s, parameter, state) != MO_OK)
        return mo_code_of(mo_tape_context(t));
    if (mean)
        mo_state_put(state, row_mean, mean);
    if (spread)
        mo_state_put(state, row_spread, spread);
    return mo_code_of(mo_tape_context(t));
}

mo_code mo_candidate_fit(
    mo_tape *t, const mo_candidate *c, const mo_episode *e, mo_tensor *Zs, bool held_out, mo_state *state) {
    *state = (mo_state){0};
    return c->model ? mo_model_fit(t, c->model, e, Zs, held_out, state) : fit_head(t, c, e, Zs, held_out, state);
}

mo_tensor *mo_candidate_apply(
    mo_tape *t, const mo_candidate *c, const mo_episode *e, const mo_state *state, mo_tensor *Zq) {
    if (c->model)
        return mo_model_apply(t, c->model, e, state, Zq);
    Zq = mo_scaling_apply(t, c->scaling, mo_state_find(state, row_mean), mo_state_find(state, row_spread), Zq);
    return mo_state_apply(t, state, Zq, NULL);
}

mo_tensor *mo_candidate_held_out(
    mo_tape *t, const mo_candidate *c, const mo_state *state, const int64_t *row, int64_t groups, int64_t h) {
    return c->model ? mo_model_held_out(t, c->model, state, row, groups, h)
                    : mo_state_held_out(t, state, row, groups, h);
}

mo_tensor *mo_episode_logits(
    mo_tape *t, const mo_candidate *c, const mo_episode *e, mo_tensor *rows, mo_tensor **share) {
    mo_tensor *Zs, *Zq;
    mo_state state;
    mo_episode_examples(t, e, rows, false, &Zs, &Zq);
    if (c->model)
        return mo_model_readout(t, c->model, e, Zs, Zq, share);
    if (mo_candidate_fit(t, c, e, Zs, false, &state) != MO_OK)
        return mo_null_tensor(mo_tape_context(t));
    return mo_candidate_apply(t, c, e, &state, Zq);
}

mo_tensor *mo_candidate_logits(mo_tape *t, const mo_source *source, const mo_candidate *c, mo_tensor *rows,
    const mo_plan *plan, int64_t max_rows, mo_tensor **share) {
    mo_context *ctx = mo_tape_context(t);
    mo_episode e;
    if (share)
        *share = NULL;
    if (!mo_ok(ctx))
        return mo_null_tensor(ctx);
    if (!rows)
        return embed_and_read(t, source, c->model, plan, max_rows, share);
    plan_episode(t, source, c, plan, &e);
    return mo_episode_logits(t, c, &e, rows, share);
}

/* Adds to the episode the kernels between the support and all examples. */
static bool put_kernels_of_all(mo_tape *t, const mo_source *source, const mo_plan *plan, mo_episode *e) {
    int64_t N = mo_graph_examples(source->graph), *all = mo_tape_scratch(t, N, sizeof *all);
    for (int64_t i = 0; all && i < N; i++)
        all[i] = i;
    if (all)
        mo_put_plan_kernels(t, source, plan, all, N, e);
    return mo_ok(mo_tape_context(t));
}

mo_tensor *mo_population_logits(mo_tape *t, const mo_source *source, const mo_candidate *c, const mo_population *all,
    const mo_plan *plan, mo_state *state) {
    mo_episode e;
    plan_episode(t, source, c, plan, &e);
    if (!put_kernels_of_all(t, source, plan, &e))
        return mo_null_tensor(mo_tape_context(t));
    return mo_gather_rows(t, mo_model_transduce(t, c->model, &e, all, state), e.query[0]);
}

/* ---- a reader's candidate on one problem ---- */

/* The candidate at a value of its head's regularisation; NaN: as it is. */
static mo_candidate candidate_at(const mo_reader *r, double value) {
    mo_candidate c = r->candidate;
    if (!isnan(value)) {
        c.value = value;
        c.fixed = true;
    }
    return c;
}

static mo_tensor *queries_of(const mo_reader *r, const mo_candidate *c, const mo_plan *plan, mo_tensor **share) {
    if (c->transductive == MO_TRANSDUCTIVE_ON)
        return mo_population_logits(r->t, r->source, c, r->all, plan, NULL);
    if (c->transductive == MO_TRANSDUCTIVE_AUTO)
        return mo_few_shot_chosen(r->t, r->source, c, r->all, plan);
    return mo_candidate_logits(r->t, r->source, c, r->rows, plan, r->max_rows, share);
}

bool mo_reader_logits(const mo_reader *r, const mo_plan *plan, double value, double *logits, mo_tensor **share) {
    const mo_candidate c = candidate_at(r, value);
    mo_tape_reset(r->t);
    return mo_ok(r->ctx) && mo_read_as(queries_of(r, &c, plan, share), MO_F64, logits);
}

bool mo_reader_fit(
    const mo_reader *r, const mo_plan *plan, double value, bool held_out, mo_tensor **Zq, mo_state *state) {
    const mo_candidate c = candidate_at(r, value);
    mo_episode e;
    mo_tape_reset(r->t);
    if (!mo_ok(r->ctx))
        return false;
    plan_episode(r->t, r->source, &c, plan, &e);
    mo_tensor *Zs = mo_gather_rows(r->t, r->rows, e.support[0]);
    if (Zq)
        *Zq = mo_gather_rows(r->t, r->rows, e.query[0]);
    return mo_candidate_fit(r->t, &c, &e, Zs, held_out, state) == MO_OK;
}

/* Counts a row as (argmax - label)^2, clamped to 1. Labels are exact in float64, so the square is 0 or at least 1. */
mo_tensor *mo_count_wrong(mo_tape *t, mo_tensor *logits, mo_tensor *label) {
    mo_tensor *guess = mo_cast(t, mo_argmax(t, mo_stop_gradient(t, logits), MO_AXIS(-1)), MO_F64);
    mo_tensor *distance = mo_sub(t, guess, mo_cast(t, label, MO_F64));
    return mo_sum(t, mo_clamp(t, mo_square(t, distance), 0, 1), MO_ALL, MO_DROP_AXES);
}

double mo_plan_accuracy(mo_tape *t, mo_tensor *logits, const mo_plan *plan) {
    mo_tensor *label = mo_from(t, MO_I64, 1, &plan->n_query, plan->query_label);
    double n = (double)plan->n_query, wrong = mo_item(mo_count_wrong(t, logits, label));
    return 100.0 * (n - wrong) / n;
}
