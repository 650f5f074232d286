/* train/readout.c - a candidate's head on example rows that were embedded once: rows of nodes or graphs, and products
 * of two rows for links. */
#include "train/evaluation.h"

#include <math.h>

static mo_tensor *examples(mo_tape *t, mo_tensor *rows, mo_tensor *const index[2]) {
    mo_tensor *X = mo_gather_rows(t, rows, index[0]);
    return index[1] ? mo_mul(t, X, mo_gather_rows(t, rows, index[1])) : X;
}

mo_tensor *mo_candidate_logits(mo_tape *t, const mo_candidate *c, mo_tensor *rows, const mo_episode *e) {
    mo_context *ctx = mo_tape_context(t);
    if (!mo_ok(ctx))
        return mo_null_tensor(ctx);
    mo_tensor *Zs = examples(t, rows, e->support), *Zq = examples(t, rows, e->query);
    if (c->model)
        return mo_mochi_readout(t, c->model, e, Zs, Zq);
    mo_tensor *parameter[MO_MAX_HEAD_PARAMETERS];
    mo_dtype real = mo_tensor_dtype(rows);
    if (mo_head_start(t, c->head, real, mo_dim(rows, -1), c->lambda, 0, parameter) != MO_OK)
        return mo_null_tensor(ctx);
    return mo_head_apply(t, c->head, Zs, mo_one_hot(t, e->support_label, e->classes, real), Zq, parameter);
}

void mo_plan_episode(mo_tape *t, const mo_plan *plan, mo_episode *e) {
    *e = (mo_episode){.task = plan->task, .classes = plan->classes};
    for (int side = 0; side < (plan->task == MO_TASK_LP ? 2 : 1); side++) {
        e->support[side] = mo_from(t, MO_I64, 1, &plan->n_support, plan->support[side]);
        e->query[side] = mo_from(t, MO_I64, 1, &plan->n_query, plan->query[side]);
    }
    e->support_label = mo_from(t, MO_I64, 1, &plan->n_support, plan->support_label);
    e->query_label = mo_from(t, MO_I64, 1, &plan->n_query, plan->query_label);
}

double mo_plan_accuracy(mo_tape *t, const mo_candidate *candidate, mo_tensor *rows, const mo_plan *plan) {
    mo_episode e;
    mo_tape_reset(t);
    mo_plan_episode(t, plan, &e);
    int64_t right = mo_count_right(t, mo_candidate_logits(t, candidate, rows, &e), e.query_label);
    return right < 0 ? NAN : 100.0 * (double)right / (double)plan->n_query;
}
