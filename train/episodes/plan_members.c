/* train/episodes/plan_members.c - the classes of a few-shot problem, their examples, and the memory of a plan. */
#include "train/episodes/plan_members.h"
#include "tensor/hidden.h"

#include <stdlib.h>

void mo_members_release(mo_members *members) {
    free(members->start);
    free(members->member);
    *members = (mo_members){0};
}

/* Raises if an id is out of range or repeated. A repeated example could be drawn for both support and query. */
static bool check_examples(const mo_graph *graph, mo_task task, const int64_t *example, int64_t n) {
    bool *listed = mo_host_array(graph->ctx, graph->n_labels, sizeof *listed);
    for (int64_t i = 0; listed && i < n; i++) {
        if (example[i] < 0 || example[i] >= graph->n_labels || listed[example[i]]) {
            mo_fail(graph->ctx, MO_INVALID,
                "plan of graph %s (%s): expected distinct candidates in 0..%lld, found %lld%s", graph->name,
                mo_task_name(task), (long long)graph->n_labels - 1, (long long)example[i],
                example[i] >= 0 && example[i] < graph->n_labels ? " twice" : "");
            break;
        }
        listed[example[i]] = true;
    }
    free(listed);
    return mo_ok(graph->ctx);
}

bool mo_members_group(const mo_graph *graph, mo_task task, const int64_t *example, int64_t n, mo_members *members) {
    *members = (mo_members){.classes = graph->classes};
    if ((task != MO_TASK_NC && task != MO_TASK_GC) || !mo_graph_has_task(graph, task))
        return mo_fail(graph->ctx, MO_INVALID,
            "plan of graph %s: expected a graph for the task %s, found %lld graphs, %lld labels, %lld classes",
            graph->name, mo_task_name(task), (long long)graph->graphs, (long long)graph->n_labels,
            (long long)graph->classes);
    if (example && !check_examples(graph, task, example, n))
        return false;
    n = example ? n : graph->n_labels;
    members->start = mo_host_array(graph->ctx, graph->classes + 1, sizeof *members->start);
    members->member = mo_host_array(graph->ctx, n, sizeof *members->member);
    int64_t *next = mo_host_array(graph->ctx, graph->classes, sizeof *next);
    for (int64_t i = 0; next && members->start && members->member && i < n; i++) {
        int64_t label = graph->label[example ? example[i] : i];
        if (label >= 0)
            members->start[label + 1]++;
    }
    for (int64_t c = 0; next && members->start && members->member && c < graph->classes; c++) {
        next[c] = members->start[c];
        members->start[c + 1] += members->start[c];
    }
    for (int64_t i = 0; next && members->start && members->member && i < n; i++) {
        int64_t id = example ? example[i] : i;
        if (graph->label[id] >= 0)
            members->member[next[graph->label[id]]++] = id;
    }
    free(next);
    return mo_ok(graph->ctx);
}

bool mo_members_of_links(const mo_graph *graph, const mo_links *links, mo_members *members) {
    *members = (mo_members){.classes = 2};
    if (!links)
        return mo_fail(graph->ctx, MO_INVALID,
            "plan of graph %s: the task lp needs links (mo_links_create), found none", graph->name);
    int64_t n = links->n_negative + links->n_positive;
    members->start = mo_host_array(graph->ctx, 3, sizeof *members->start);
    members->member = mo_host_array(graph->ctx, n, sizeof *members->member);
    if (!members->start || !members->member)
        return false;
    members->start[1] = links->n_negative;
    members->start[2] = n;
    for (int64_t i = 0; i < n; i++)
        members->member[i] = i < links->n_negative ? i : i - links->n_negative;
    return true;
}

bool mo_plan_reserve(mo_context *ctx, mo_plan *plan, int64_t n_support, int64_t n_query) {
    int ends = plan->task == MO_TASK_LP ? 2 : 1;
    for (int end = 0; end < ends; end++) {
        plan->support[end] = mo_host_array(ctx, n_support, sizeof **plan->support);
        plan->query[end] = mo_host_array(ctx, n_query, sizeof **plan->query);
    }
    plan->support_label = mo_host_array(ctx, n_support, sizeof *plan->support_label);
    plan->query_label = mo_host_array(ctx, n_query, sizeof *plan->query_label);
    if (plan->task == MO_TASK_LP) {
        plan->support_pair = mo_host_array(ctx, n_support, sizeof *plan->support_pair);
        plan->query_pair = mo_host_array(ctx, n_query, sizeof *plan->query_pair);
    }
    if (!mo_ok(ctx)) {
        mo_plan_release(plan);
        return false;
    }
    plan->n_support = n_support;
    plan->n_query = n_query;
    return true;
}

void mo_plan_release(mo_plan *plan) {
    if (!plan)
        return;
    for (int end = 0; end < 2; end++) {
        free(plan->support[end]);
        free(plan->query[end]);
    }
    free(plan->support_label);
    free(plan->query_label);
    free(plan->support_pair);
    free(plan->query_pair);
    *plan = (mo_plan){0};
}
