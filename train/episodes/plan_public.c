/* train/episodes/plan_public.c - protocol "public": the division of nodes that came with the graph, on which other
 * methods report accuracy; for graphs without one, divisions drawn as in GraphAny. */
#include "tensor/library.h"
#include "train/episodes/plan_members.h"
#include "train/graphs/draw.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* Writes to the plan, in order, the nodes of a part whose class has a number, and their labels; only counts these nodes
 * while the plan has no arrays. Returns their number. */
static int64_t take_part(
    const mo_graph *graph, const uint8_t *division, mo_division part, const int64_t *number, mo_plan *plan) {
    int64_t n = 0, *node = part == MO_DIVISION_TRAIN ? plan->support[0] : plan->query[0],
            *label = part == MO_DIVISION_TRAIN ? plan->support_label : plan->query_label;
    for (int64_t i = 0; i < graph->nodes; i++) {
        if (division[i] != part || graph->label[i] < 0 || number[graph->label[i]] < 0)
            continue;
        if (node) {
            node[n] = i;
            label[n] = number[graph->label[i]];
        }
        n++;
    }
    return n;
}

/* Numbers the classes that have a training node (-1: none); sets plan->k to the number of training nodes in the
 * smallest class. */
static void number_classes(const mo_graph *graph, const uint8_t *division, int64_t *number, mo_plan *plan) {
    for (int64_t i = 0; i < graph->nodes; i++)
        if (division[i] == MO_DIVISION_TRAIN && graph->label[i] >= 0)
            number[graph->label[i]]++;
    for (int64_t c = 0; c < graph->classes; c++) {
        int64_t n = number[c];
        plan->k = n && (n < plan->k || !plan->k) ? n : plan->k;
        number[c] = n ? plan->classes++ : -1;
    }
    plan->left_out = graph->classes - plan->classes;
}

mo_code mo_plan_public(const mo_graph *graph, int64_t division, mo_plan *plan) {
    if (plan)
        *plan = (mo_plan){.task = MO_TASK_NC};
    if (!graph || !mo_given(graph->ctx, "public split", "plan", plan))
        return graph ? mo_code_of(graph->ctx) : MO_INVALID;
    mo_context *ctx = graph->ctx;
    if (mo_ok(ctx) && (!graph->division || !mo_graph_has_task(graph, MO_TASK_NC)))
        mo_fail(ctx, MO_INVALID,
            "split of graph %s: expected labelled nodes and their division, idx_train and idx_test or splits_train and "
            "splits_test of its .npz, found %s",
            graph->name, graph->division ? "no labels" : "no division");
    else if (mo_ok(ctx) && (division < 0 || division >= graph->divisions))
        mo_fail(ctx, MO_INVALID, "split of graph %s: expected one of %" PRId64 " divisions, found %" PRId64,
            graph->name, graph->divisions, division);
    int64_t *number = mo_ok(ctx) ? mo_host_array(ctx, graph->classes, sizeof *number) : NULL;
    if (!number)
        return mo_code_of(ctx);
    const uint8_t *part = graph->division + division * graph->nodes;
    number_classes(graph, part, number, plan);
    int64_t n_support = take_part(graph, part, MO_DIVISION_TRAIN, number, plan),
            n_query = take_part(graph, part, MO_DIVISION_TEST, number, plan);
    if (plan->classes < 2 || !n_query)
        mo_fail(ctx, MO_INVALID,
            "split of graph %s: expected examples of two classes or more to learn from and examples of them to test "
            "on, found "
            "%" PRId64 " of %" PRId64 " classes and %" PRId64,
            graph->name, n_support, plan->classes, n_query);
    else if (mo_plan_reserve(ctx, plan, n_support, n_query)) {
        take_part(graph, part, MO_DIVISION_TRAIN, number, plan);
        take_part(graph, part, MO_DIVISION_TEST, number, plan);
    }
    free(number);
    return mo_code_of(ctx);
}

/* ---- drawn divisions ---- */

enum { LABELS_A_CLASS = 20, DRAWN_STREAM = 1 << 20 };

/* The number of training nodes of each class: n in all, in proportion to class sizes, by largest remainders; at least
 * one per class of two members or more, and never the whole class. Returns their sum, which differs from n if the
 * classes are too small. */
static int64_t share_training(const mo_members *class, int64_t n, int64_t *train) {
    int64_t all = class->start[class->classes], given = 0;
    for (int64_t c = 0; c < class->classes; c++) {
        int64_t members = mo_members_count(class, c), least = members > 1, most = members - 1;
        train[c] = n * members / all;
        train[c] = train[c] < least ? least : train[c] > most && most > 0 ? most : train[c];
        given += train[c];
    }
    while (given < n) {
        int64_t chosen = -1;
        double largest = -INFINITY;
        for (int64_t c = 0; c < class->classes; c++) {
            int64_t members = mo_members_count(class, c);
            double missing = (double)n * (double)members / (double)all - (double)train[c];
            if (train[c] + 1 < members && missing > largest) {
                largest = missing;
                chosen = c;
            }
        }
        if (chosen < 0)
            return given;
        train[chosen]++;
        given++;
    }
    return given;
}

/* In each class the first drawn nodes are training nodes; every second of the remaining nodes is a test node. */
static void draw_division(mo_members *class, const int64_t *train, uint64_t seed, uint8_t *division) {
    int64_t other = 0;
    for (int64_t c = 0; c < class->classes; c++) {
        mo_random r = mo_random_at(seed, MO_PURPOSE_SPLIT, (uint64_t)(DRAWN_STREAM + c));
        int64_t n = mo_members_count(class, c), *member = class->member + class->start[c];
        mo_draw_front(&r, member, n, n);
        for (int64_t i = 0; i < n; i++)
            division[member[i]] = i < train[c]  ? MO_DIVISION_TRAIN
                                  : other++ % 2 ? MO_DIVISION_VALIDATION
                                                : MO_DIVISION_TEST;
    }
}

int64_t mo_graph_divide(mo_graph *graph, int64_t divisions, uint64_t seed) {
    if (!graph)
        return 0;
    mo_context *ctx = graph->ctx;
    if (mo_ok(ctx) && (graph->division || divisions < 1 || !mo_graph_has_task(graph, MO_TASK_NC)))
        mo_fail(ctx, MO_INVALID, "split of graph %s: expected labelled nodes and no division, found %s", graph->name,
            graph->division ? "a division" : "no labels");
    uint8_t *division = mo_ok(ctx) ? mo_host_array(ctx, divisions * graph->nodes, sizeof *division) : NULL;
    int64_t *train = division ? mo_host_array(ctx, graph->classes, sizeof *train) : NULL, n = 0;
    for (int64_t i = 0; train && i < divisions && mo_ok(ctx); i++) {
        mo_members class = {0};
        if (mo_members_group(graph, MO_TASK_NC, NULL, 0, &class)) {
            int64_t all = class.start[class.classes], most = all - all / 5;
            n = share_training(
                &class, LABELS_A_CLASS * graph->classes < most ? LABELS_A_CLASS * graph->classes : most, train);
            draw_division(&class, train, seed + (uint64_t)i, division + i * graph->nodes);
        }
        mo_members_release(&class);
    }
    if (train && mo_ok(ctx)) {
        graph->division = division;
        graph->divisions = divisions;
        division = NULL;
    }
    free(train);
    free(division);
    return mo_ok(ctx) ? n : 0;
}
