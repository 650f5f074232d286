/* train/fit/draws.c - the episodes that heads are compared on: plans of embeddings, laid side by side for batches. */
#include "tensor/host_array.h"
#include "train/inside.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static bool reserve_draws(mo_context *ctx, mo_draws *d, const mo_plan *plan, int64_t episodes) {
    d->classes = plan->classes;
    d->n_support = plan->n_support;
    d->n_query = plan->n_query;
    int64_t **arrays[] = {&d->support, &d->support_label, &d->query, &d->query_label};
    for (int i = 0; i < 4; i++) {
        int64_t rows = i < 2 ? d->n_support : d->n_query, numbers = 0;
        if (__builtin_mul_overflow(rows, episodes, &numbers))
            numbers = -1; /* rejected below */
        *arrays[i] = mo_host_array(ctx, numbers, sizeof **arrays[i]);
    }
    return mo_ok(ctx);
}

static void place_draw(mo_draws *d, const mo_plan *plan, int64_t e) {
    size_t support = (size_t)d->n_support * sizeof *d->support, query = (size_t)d->n_query * sizeof *d->query;
    memcpy(d->support + e * d->n_support, plan->support[0], support);
    memcpy(d->support_label + e * d->n_support, plan->support_label, support);
    memcpy(d->query + e * d->n_query, plan->query[0], query);
    memcpy(d->query_label + e * d->n_query, plan->query_label, query);
    d->small_classes = plan->small_classes > d->small_classes ? plan->small_classes : d->small_classes;
    d->left_out = plan->left_out;
}

mo_code mo_draws_create(const mo_embeddings *E, int64_t k, const mo_fit_options *o, mo_draws *draws) {
    if (draws)
        *draws = (mo_draws){0};
    if (!E)
        return MO_INVALID;
    if (!mo_given(mo_tensor_context(E->Z), "draws", "options", o) ||
        !mo_given(mo_tensor_context(E->Z), "draws", "draws", draws))
        return mo_code_of(mo_tensor_context(E->Z));
    mo_context *ctx = mo_tensor_context(E->Z);
    *draws = (mo_draws){.k = k, .most = k, .episodes = o->episodes};
    if (mo_ok(ctx) && o->episodes < 1)
        mo_fail(ctx, MO_INVALID, "fit: episodes is %" PRId64 ", expected 1 or more", o->episodes);
    mo_plan_options options = {
        .k_min = k, .k_max = k, .q_min = o->queries, .q_max = o->queries, .max_classes = o->ways, .seed = o->seed};
    for (int64_t e = 0; mo_ok(ctx) && e < o->episodes; e++) {
        mo_plan plan = {0};
        if (mo_plan_draw(E->graph, NULL, MO_TASK_NC, (uint64_t)e, &options, NULL, 0, &plan) == MO_OK &&
            (e > 0 || reserve_draws(ctx, draws, &plan, o->episodes)))
            place_draw(draws, &plan, e);
        mo_plan_release(&plan);
    }
    return mo_context_status(ctx)->code;
}

void mo_draws_release(mo_draws *draws) {
    if (!draws)
        return;
    free(draws->support);
    free(draws->support_label);
    free(draws->query);
    free(draws->query_label);
    *draws = (mo_draws){0};
}
