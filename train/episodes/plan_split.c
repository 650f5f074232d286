/* train/episodes/plan_split.c - protocol "split": a test part at natural frequencies, the support from the rest.
 *
 * The test part is a tenth of the labelled examples, independent of class and k. In each class the support for k is the
 * beginning of the support for any larger k; a class with fewer than k training members uses all of them, then repeats
 * some. */
#include "tensor/library.h"
#include "train/episodes/plan_members.h"
#include "train/graphs/draw.h"

#include <math.h>
#include <stdlib.h>

#define TEST_SHARE 0.1

/* Streams of MO_PURPOSE_SPLIT: 0 for the test part, 1 + c for the support of class c. */
static mo_random split_stream(uint64_t seed, int64_t number) {
    return mo_random_at(seed, MO_PURPOSE_SPLIT, (uint64_t)number);
}

/* The labelled examples, the test part first. Returns NULL after raising. */
static int64_t *draw_test(const mo_graph *graph, uint64_t seed, int64_t *n, int64_t *n_test) {
    int64_t *example = mo_host_array(graph->ctx, graph->n_labels, sizeof *example);
    *n = 0;
    for (int64_t i = 0; example && i < graph->n_labels; i++)
        if (graph->label[i] >= 0)
            example[(*n)++] = i;
    *n_test = *n > 0 ? llround(TEST_SHARE * (double)*n) : 0;
    *n_test = *n_test < 1 && *n > 0 ? 1 : *n_test;
    if (example) {
        mo_random r = split_stream(seed, 0);
        mo_draw_front(&r, example, *n, *n_test);
    }
    return example;
}

/* New labels 0.. for the classes that can take part: those with a training member and at least two members in all; -1
 * for the other classes. Returns NULL after raising. */
static int64_t *number_split_classes(
    const mo_graph *graph, const mo_members *train, const int64_t *test, int64_t n_test, mo_plan *plan) {
    int64_t *number = mo_host_array(graph->ctx, graph->classes, sizeof *number); /* first counts test members */
    for (int64_t i = 0; number && i < n_test; i++)
        number[graph->label[test[i]]]++;
    for (int64_t c = 0; number && c < graph->classes; c++) {
        int64_t in_train = mo_members_count(train, c), in_all = in_train + number[c];
        bool usable = in_train > 0 && in_all > 1;
        plan->left_out += in_all > 0 && !usable;
        number[c] = usable ? plan->classes++ : -1;
    }
    return number;
}

static void draw_support(mo_members *train, const int64_t *number, uint64_t seed, mo_plan *plan) {
    int64_t at = 0;
    for (int64_t c = 0; c < train->classes; c++) {
        int64_t n = mo_members_count(train, c), *member = train->member + train->start[c];
        if (number[c] < 0)
            continue;
        bool small = n < plan->k;
        mo_random r = split_stream(seed, 1 + c);
        plan->small_classes += small;
        mo_draw_front(&r, member, n, small ? n : plan->k);
        for (int64_t i = 0; i < plan->k; i++, at++) {
            plan->support[0][at] = member[i < n ? i : mo_random_below(&r, n)];
            plan->support_label[at] = number[c];
        }
    }
}

static void fill_plan(const mo_graph *graph, mo_members *train, const int64_t *test, int64_t n_test,
    const int64_t *number, uint64_t seed, mo_plan *plan) {
    int64_t n_query = 0;
    for (int64_t i = 0; i < n_test; i++)
        n_query += number[graph->label[test[i]]] >= 0;
    if (plan->classes < 2 || n_query == 0) {
        mo_fail(graph->ctx, MO_INVALID,
            "split of graph %s (%s): expected two classes with training examples and a test example, found %lld and "
            "%lld",
            graph->name, mo_task_name(plan->task), (long long)plan->classes, (long long)n_query);
        return;
    }
    if (!mo_plan_reserve(graph->ctx, plan, plan->classes * plan->k, n_query))
        return;
    draw_support(train, number, seed, plan);
    for (int64_t i = 0, at = 0; i < n_test; i++) {
        int64_t label = number[graph->label[test[i]]];
        if (label >= 0) {
            plan->query[0][at] = test[i];
            plan->query_label[at++] = label;
        }
    }
}

mo_code mo_plan_split(const mo_graph *graph, mo_task task, int64_t k, uint64_t seed, mo_plan *plan) {
    if (plan)
        *plan = (mo_plan){.task = task, .k = k};
    if (!graph || !mo_given(graph->ctx, "split", "plan", plan))
        return graph ? mo_code_of(graph->ctx) : MO_INVALID;
    mo_context *ctx = graph->ctx;
    if (!mo_ok(ctx))
        return mo_code_of(ctx);
    if (k < 1 || k >= INT32_MAX) {
        mo_fail(ctx, MO_INVALID, "split of graph %s: expected k >= 1, found %lld", graph->name, (long long)k);
        return MO_INVALID;
    }
    int64_t n = 0, n_test = 0, *number = NULL;
    mo_members train = {0};
    int64_t *example = draw_test(graph, seed, &n, &n_test);
    if (example && mo_members_group(graph, task, example + n_test, n - n_test, &train))
        number = number_split_classes(graph, &train, example, n_test, plan);
    if (number)
        fill_plan(graph, &train, example, n_test, number, seed, plan);
    free(number);
    free(example);
    mo_members_release(&train);
    if (!mo_ok(ctx))
        mo_plan_release(plan);
    return mo_code_of(ctx);
}
