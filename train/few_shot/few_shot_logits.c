/* train/few_shot/few_shot_logits.c - logits and probabilities of examples, in blocks, so that memory does not grow with
 * the graph. The blocks do not depend on the number of threads, so neither do the bits. */
#include "train/evaluation/evaluation.h"
#include "train/few_shot/few_shot.h"

#include "tensor/given.h"
#include "tensor/host_array.h"

#include <stdlib.h>

/* Logits of at most MO_FEW_SHOT_ROWS examples, or of any number by a transductive readout, which computes those of all.
 * zero: labels of queries, which nothing reads. */
static mo_code few_shot_block(
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
    return mo_tensor_read(mo_cast(f->t, Y, MO_F64), logits, (size_t)(n * s->classes) * sizeof *logits);
}

mo_code mo_few_shot_read(
    mo_few_shot *f, const mo_few_shot_support *s, const int64_t *query, int64_t n_query, double *logits) {
    int64_t most = n_query < MO_FEW_SHOT_ROWS || f->candidate.transductive ? n_query : MO_FEW_SHOT_ROWS;
    int64_t *zero = mo_host_array(f->ctx, most, sizeof *zero);
    for (int64_t first = 0; zero && first < n_query && mo_ok(f->ctx); first += most) {
        int64_t n = n_query - first < most ? n_query - first : most;
        few_shot_block(f, s, query + first, n, zero, logits + first * s->classes);
    }
    free(zero);
    return mo_code_of(f->ctx);
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
    return mo_few_shot_read(f, &all, id, n, logits);
}

mo_code mo_few_shot_probabilities(mo_few_shot *f, const int64_t *id, int64_t n, double *p) {
    if (mo_few_shot_logits(f, id, n, p) != MO_OK)
        return f ? mo_code_of(f->ctx) : MO_INVALID;
    for (int64_t i = 0; i < n; i++)
        mo_softmax_logits(p + i * f->classes, f->classes, f->temperature);
    return mo_code_of(f->ctx);
}
