/* train/episodes/plan_members.c - the classes of a few-shot problem, their examples, and the memory of a plan. */
#include "train/episodes/plan_members.h"
#include "tensor/library.h"

#include <stdlib.h>
#include <string.h>

void mo_members_release(mo_members *members) {
    free(members->start);
    free(members->member);
    *members = (mo_members){0};
}

int64_t mo_count_repeats(const int64_t *id, int64_t n, int64_t *scratch, int64_t *times) {
    int64_t *sorted = scratch, *count = scratch + n;
    memcpy(sorted, id, (size_t)n * sizeof *sorted);
    int64_t distinct = mo_sort_distinct(sorted, n);
    for (int64_t i = 0; i < n; i++)
        count[mo_find_sorted(sorted, distinct, id[i])]++;
    for (int64_t i = 0; i < n; i++) {
        int64_t *left = &count[mo_find_sorted(sorted, distinct, id[i])];
        times[i] = *left;
        *left = 0;
    }
    return distinct;
}

bool mo_members_of_labels(mo_context *ctx, const int64_t *label, int64_t n, int64_t classes, mo_members *members) {
    int64_t *start = mo_host_array(ctx, classes + 2, sizeof *start);
    *members = (mo_members){classes, start, mo_host_array(ctx, n, sizeof *members->member)};
    if (!mo_ok(ctx))
        return false;
    for (int64_t i = 0; i < n; i++)
        if (label[i] >= 0)
            start[label[i] + 2]++;
    for (int64_t c = 0; c < classes; c++)
        start[c + 2] += start[c + 1];
    for (int64_t i = 0; i < n; i++) /* start[c + 1] goes from the first place of class c to its end */
        if (label[i] >= 0)
            members->member[start[label[i] + 1]++] = i;
    return true;
}

bool mo_members_group(const mo_graph *graph, mo_task task, const int64_t *example, int64_t n, mo_members *members) {
    *members = (mo_members){.classes = graph->classes};
    if ((task != MO_TASK_NC && task != MO_TASK_GC) || !mo_graph_has_task(graph, task))
        return mo_fail(graph->ctx, MO_INVALID,
            "plan of graph %s: expected a graph for the task %s, found %lld graphs, %lld labels, %lld classes",
            graph->name, mo_task_name(task), (long long)graph->graphs, (long long)graph->n_labels,
            (long long)graph->classes);
    if (!example)
        return mo_members_of_labels(graph->ctx, graph->label, graph->n_labels, graph->classes, members);
    int64_t *label = mo_host_array(graph->ctx, n, sizeof *label);
    for (int64_t i = 0; label && i < n; i++)
        label[i] = graph->label[example[i]];
    bool grouped = label && mo_members_of_labels(graph->ctx, label, n, graph->classes, members);
    for (int64_t i = 0; grouped && i < members->start[graph->classes]; i++)
        members->member[i] = example[members->member[i]];
    free(label);
    return grouped;
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
