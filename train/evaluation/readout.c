/* train/evaluation/readout.c - a candidate's head on rows that are embedded once, one per node or graph. A link is the
 * product of its ends' rows or, if the source has rows of examples (mo_has_example_rows), the row of its pair. */
#include "models/model.h"
#include "train/episodes/episode_kernels.h"
#include "train/episodes/episode_rows.h"
#include "train/evaluation/evaluation.h"

#include <math.h>

/* The plan's examples as row numbers. */
static void plan_episode(mo_tape *t, const mo_source *source, const mo_plan *plan, mo_episode *e) {
    bool links = plan->task == MO_TASK_LP, pairs = links && mo_has_example_rows(source);
    *e = (mo_episode){.task = plan->task, .classes = plan->classes};
    for (int side = 0; side < (links && !pairs ? 2 : 1); side++) {
        e->support[side] = mo_from(t, MO_I64, 1, &plan->n_support, pairs ? plan->support_pair : plan->support[side]);
        e->query[side] = mo_from(t, MO_I64, 1, &plan->n_query, pairs ? plan->query_pair : plan->query[side]);
    }
    e->support_label = mo_from(t, MO_I64, 1, &plan->n_support, plan->support_label);
    e->support_weight = mo_plan_weight(t, plan);
    e->class_weight = mo_class_weight(t, plan->support_label, plan->n_support, plan->classes);
    e->query_label = mo_from(t, MO_I64, 1, &plan->n_query, plan->query_label);
}

/* Logits of a model that embeds the episode's rows itself. */
static mo_tensor *embed_and_read(
    mo_tape *t, const mo_source *source, mo_model *model, const mo_plan *plan, int64_t max_rows, mo_tensor **share) {
    mo_source of_readout = *source;
    mo_tensor *Zs, *Zq;
    mo_episode e;
    if (!model->reads_kernels)
        of_readout.kernels = NULL;
    if (mo_episode_build(t, &of_readout, plan, &e) != MO_OK)
        return mo_null_tensor(mo_tape_context(t));
    e.max_rows = max_rows;
    mo_model_embed(t, model, &e, NULL, &Zs, &Zq);
    return mo_model_readout(t, model, &e, Zs, Zq, share);
}

const mo_head *mo_candidate_head(const mo_candidate *c) {
    return c->model ? c->model->options.head : c->head;
}

mo_code mo_candidate_fit(
    mo_tape *t, const mo_candidate *c, const mo_episode *e, mo_tensor *Zs, bool held_out, mo_state *state) {
    mo_tensor *parameter[MO_MAX_HEAD_PARAMETERS];
    if (c->model)
        return mo_model_fit(t, c->model, e, Zs, held_out, state);
    *state = (mo_state){0};
    if (mo_head_start(
            t, c->head, mo_tensor_dtype(Zs), mo_dim(Zs, -1), c->lambda > 0 ? &c->lambda : NULL, 0, parameter) != MO_OK)
        return mo_code_of(mo_tape_context(t));
    mo_support s = mo_episode_support(t, e, c->head, Zs);
    s.held_out = held_out;
    return mo_head_fit(t, c->head, &s, parameter, state);
}

mo_tensor *mo_candidate_apply(
    mo_tape *t, const mo_candidate *c, const mo_episode *e, const mo_state *state, mo_tensor *Zq) {
    return c->model ? mo_model_apply(t, c->model, e, state, Zq) : mo_state_apply(t, state, Zq, NULL);
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
    plan_episode(t, source, plan, &e);
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

mo_tensor *mo_population_logits(
    mo_tape *t, const mo_source *source, const mo_candidate *c, const mo_population *all, const mo_plan *plan) {
    mo_episode e;
    plan_episode(t, source, plan, &e);
    if (!put_kernels_of_all(t, source, plan, &e))
        return mo_null_tensor(mo_tape_context(t));
    return mo_gather_rows(t, mo_model_transduce(t, c->model, &e, all), e.query[0]);
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
