/* train/episodes/plan_public.c - protocol "public": the division of the nodes that came with the graph, as other
 * methods report their accuracy on it. Nothing is drawn. */
#include "tensor/given.h"
#include "train/episodes/plan_members.h"

#include <inttypes.h>

static int64_t count_part(const mo_graph *graph, mo_division part) {
    int64_t n = 0;
    for (int64_t i = 0; i < graph->nodes; i++)
        n += graph->division[i] == part && graph->label[i] >= 0;
    return n;
}

static void take_part(const mo_graph *graph, mo_division part, int64_t *node, int64_t *label) {
    int64_t at = 0;
    for (int64_t i = 0; i < graph->nodes; i++)
        if (graph->division[i] == part && graph->label[i] >= 0) {
            node[at] = i;
            label[at++] = graph->label[i];
        }
}

/* The number of support examples in the smallest class; raises if it is 0. */
static int64_t smallest_class(const mo_graph *graph, const mo_plan *plan) {
    int64_t smallest = plan->n_support;
    for (int64_t c = 0; c < graph->classes; c++) {
        int64_t n = 0;
        for (int64_t i = 0; i < plan->n_support; i++)
            n += plan->support_label[i] == c;
        if (n == 0 && mo_ok(graph->ctx))
            mo_fail(graph->ctx, MO_INVALID,
                "split of graph %s: expected a training node of every class, found none of class %" PRId64, graph->name,
                c);
        smallest = n < smallest ? n : smallest;
    }
    return smallest;
}

mo_code mo_plan_public(const mo_graph *graph, mo_plan *plan) {
    if (plan)
        *plan = (mo_plan){.task = MO_TASK_NC};
    if (!graph || !mo_given(graph->ctx, "public split", "plan", plan))
        return graph ? mo_code_of(graph->ctx) : MO_INVALID;
    mo_context *ctx = graph->ctx;
    if (mo_ok(ctx) && (!graph->division || !mo_graph_has_task(graph, MO_TASK_NC)))
        mo_fail(ctx, MO_INVALID,
            "split of graph %s: expected labelled nodes and their division, idx_train and idx_test of its .npz, "
            "found %s",
            graph->name, graph->division ? "no labels" : "no division");
    int64_t n_support = mo_ok(ctx) ? count_part(graph, MO_DIVISION_TRAIN) : 0,
            n_query = mo_ok(ctx) ? count_part(graph, MO_DIVISION_TEST) : 0;
    if (mo_ok(ctx) && (!n_support || !n_query))
        mo_fail(ctx, MO_INVALID,
            "split of graph %s: expected labelled nodes to learn from and to test on, found %" PRId64 " and %" PRId64,
            graph->name, n_support, n_query);
    if (!mo_ok(ctx) || !mo_plan_reserve(ctx, plan, n_support, n_query))
        return mo_context_status(ctx)->code;
    plan->classes = graph->classes;
    take_part(graph, MO_DIVISION_TRAIN, plan->support[0], plan->support_label);
    take_part(graph, MO_DIVISION_TEST, plan->query[0], plan->query_label);
    plan->k = smallest_class(graph, plan);
    if (!mo_ok(ctx))
        mo_plan_release(plan);
    return mo_context_status(ctx)->code;
}
