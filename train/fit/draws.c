/* train/fit/draws.c - the problems that heads are compared on: planned episodes, stored side by side for batches, or
 * one split given by the user. */
#include "tensor/library.h"
#include "train/inside.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static bool reserve_draws(mo_context *ctx, mo_draws *d, int64_t n_support, int64_t n_query, int64_t episodes) {
    int64_t **arrays[] = {&d->support, &d->support_label, &d->query, &d->query_label};
    for (int i = 0; i < 4; i++) {
        int64_t numbers = 0;
        if (__builtin_mul_overflow(i < 2 ? n_support : n_query, episodes, &numbers))
            numbers = -1; /* rejected below */
        *arrays[i] = mo_host_array(ctx, numbers, sizeof **arrays[i]);
    }
    return mo_ok(ctx);
}

static void place_draw(mo_draws *d, const mo_plan *plan, int64_t e) {
    d->classes = plan->classes;
    d->n_support = plan->n_support;
    d->n_query = plan->n_query;
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
        if (mo_plan_draw(E->graph, NULL, MO_TASK_NC, (uint64_t)e, &options, &plan) == MO_OK &&
            (e > 0 || reserve_draws(ctx, draws, plan.n_support, plan.n_query, o->episodes)))
            place_draw(draws, &plan, e);
        mo_plan_release(&plan);
    }
    return mo_context_status(ctx)->code;
}

/* ---- a split given by the user ---- */

/* Raises if a row to test on has a class without rows to learn from. Sets d->most. */
static void check_split(const mo_embeddings *E, const uint8_t *part, mo_draws *d) {
    mo_context *ctx = mo_tensor_context(E->Z);
    int64_t n = mo_dim(E->Z, 0), *count = mo_host_array(ctx, E->graph->classes, sizeof *count);
    const int64_t *label = E->graph->label;
    for (int64_t i = 0; count && i < n; i++)
        if (part[i] == MO_DIVISION_TRAIN && ++count[label[i]] > d->most)
            d->most = count[label[i]];
    for (int64_t i = 0; count && i < n && mo_ok(ctx); i++)
        if (part[i] == MO_DIVISION_TEST && !count[label[i]])
            mo_fail(ctx, MO_INVALID,
                "split: expected rows to learn from of every class, found none of class %s, which row %" PRId64
                " to test on is of",
                E->name[label[i]], E->row[i]);
    free(count);
}

/* division: of the given rows. The kept rows are nodes of E->graph, and their division is a published one. */
static void make_split(const mo_embeddings *E, const uint8_t *division, mo_draws *d) {
    mo_context *ctx = mo_tensor_context(E->Z);
    int64_t n = mo_dim(E->Z, 0);
    uint8_t *part = mo_host_array(ctx, n, sizeof *part);
    mo_graph graph = *E->graph;
    mo_plan plan = {0};
    for (int64_t i = 0; part && i < n; i++)
        part[i] = division[E->row[i]];
    graph.division = part;
    graph.divisions = 1;
    if (part)
        check_split(E, part, d);
    if (mo_ok(ctx) && mo_plan_public(&graph, 0, &plan) == MO_OK &&
        reserve_draws(ctx, d, plan.n_support, plan.n_query, 1))
        place_draw(d, &plan, 0);
    d->k = plan.k;
    d->left_out = 0; /* classes without any row in the split */
    mo_plan_release(&plan);
    free(part);
}

mo_code mo_draws_read(const mo_embeddings *E, const char *train, const char *test, mo_draws *draws) {
    if (draws)
        *draws = (mo_draws){0};
    if (!E)
        return MO_INVALID;
    mo_context *ctx = mo_tensor_context(E->Z);
    if (!mo_given(ctx, "split", "draws", draws))
        return mo_code_of(ctx);
    *draws = (mo_draws){.episodes = 1, .split = true};
    int64_t given = mo_dim(E->Z, 0) + E->unlabelled;
    mo_graph *rows = mo_graph_from_edges(ctx, "rows", given, 0, NULL, NULL);
    uint8_t *division = mo_host_array(ctx, given, 1);
    if (rows && division && mo_division_read(rows, train, test, "rows", division))
        make_split(E, division, draws);
    free(division);
    mo_graph_release(rows);
    return mo_code_of(ctx);
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
