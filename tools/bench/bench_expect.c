/* tools/bench/bench_expect.c - `mochi bench expect`: does the accuracy that a few-shot object expects
 * (mo_few_shot_expect) hold on the examples that it has not seen?
 *
 * A case NAME:K draws K labels of each class o->runs times, fits on them, and compares the expected accuracy and its
 * interval with the accuracy on all other examples, mean over classes. `covered` is the share of draws whose interval
 * holds that accuracy, `width` the mean width of the interval over that of Wilson's for as many labels. */
#include "tools/bench/bench.h"
#include "tools/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct expect_figures {
    int64_t draws, covered, below, above; /* below: the accuracy is lower than the interval */
    double expected, accuracy, width;     /* sums over the draws */
} expect_figures;

/* Cuts ":K" off the name; returns 0 if the name has none. */
static int64_t cut_shots(char *name) {
    char *colon = strrchr(name, ':'), *end;
    long long k = colon ? strtoll(colon + 1, &end, 10) : 0;
    if (k < 1 || k > 100000 || *end)
        return 0;
    *colon = 0;
    return k;
}

bool bench_expect_knows(const char *text) {
    char name[4096];
    snprintf(name, sizeof name, "%s", text);
    return cut_shots(name) > 0;
}

/* Accuracy on the examples outside of the support, mean over classes, from probabilities [n, classes]. */
static double balanced_accuracy(
    const double *probability, const int64_t *id, int64_t n, const int64_t *label, int64_t classes) {
    int64_t *right = needed(calloc(2 * (size_t)classes, sizeof *right)), *count = right + classes, present = 0;
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t c = label[id[i]];
        count[c]++;
        right[c] += mo_first_largest(probability + i * classes, classes) == c;
    }
    for (int64_t c = 0; c < classes; c++) {
        present += count[c] > 0;
        sum += count[c] ? (double)right[c] / (double)count[c] : 0;
    }
    free(right);
    return sum / (double)present;
}

/* The labelled examples that the support lacks; returns how many. support: distinct ids, n of them. */
static int64_t list_others(const mo_graph *graph, const int64_t *support, int64_t n, int64_t *id) {
    int64_t examples = mo_graph_examples(graph), others = 0;
    char *seen = needed(calloc((size_t)examples + 1, 1));
    for (int64_t i = 0; i < n; i++)
        seen[support[i]] = 1;
    for (int64_t i = 0; i < examples; i++)
        if (!seen[i] && graph->label[i] >= 0)
            id[others++] = i;
    free(seen);
    return others;
}

/* Leaves each id once, as a class smaller than its share repeats its examples, with the graph's own numbers of the
 * classes, since an episode numbers them anew. Returns how many remain. */
static int64_t drop_repeats(const mo_graph *graph, mo_plan *plan) {
    int64_t n = 0;
    for (int64_t i = 0; i < plan->n_support; i++) {
        int64_t at = 0;
        while (at < n && plan->support[0][at] != plan->support[0][i])
            at++;
        if (at < n)
            continue;
        plan->support[0][n] = plan->support[0][i];
        plan->support_label[n++] = graph->label[plan->support[0][i]];
    }
    return n;
}

static void tally(expect_figures *t, mo_few_shot_estimate e, double accuracy) {
    double wilson[2];
    mo_wilson(e.accuracy, (double)e.labelled, wilson);
    t->draws++;
    t->below += accuracy < e.low;
    t->above += accuracy > e.high;
    t->covered += accuracy >= e.low && accuracy <= e.high;
    t->expected += e.accuracy;
    t->accuracy += accuracy;
    t->width += (e.high - e.low) / (wilson[1] - wilson[0]);
}

static void judge_draw(mo_few_shot *f, const mo_graph *graph, mo_plan *plan, expect_figures *t) {
    int64_t n = drop_repeats(graph, plan);
    int64_t *id = needed(calloc((size_t)mo_graph_examples(graph) + 1, sizeof *id));
    int64_t others = list_others(graph, plan->support[0], n, id);
    double *probability = needed(calloc((size_t)(others * graph->classes) + 1, sizeof *probability));
    mo_few_shot_fit(f, plan->support[0], plan->support_label, n);
    if (mo_few_shot_probabilities(f, id, others, probability) == MO_OK)
        tally(t, mo_few_shot_expect(f), balanced_accuracy(probability, id, others, graph->label, graph->classes));
    free(probability);
    free(id);
}

static bool print_figures(const bench_options *o, const char *name, int64_t k, const expect_figures *t) {
    double n = (double)t->draws;
    if (o->json)
        return print_json(json_pack("{s:s, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o}", "case", name, "k", (json_int_t)k,
            "draws", (json_int_t)t->draws, "expected", json_number(t->expected / n), "accuracy",
            json_number(t->accuracy / n), "covered", json_number((double)t->covered / n), "below",
            json_number((double)t->below / n), "above", json_number((double)t->above / n), "width",
            json_number(t->width / n)));
    printf("%-12s %5" PRId64 " labels per class  %4" PRId64
           " draws  expected %5.1f%%  accuracy %5.1f%%  covered %5.1f%% "
           "(below %.1f%%, above %.1f%%)  width %.2f of Wilson's\n",
        name, k, t->draws, 100 * t->expected / n, 100 * t->accuracy / n, 100 * (double)t->covered / n,
        100 * (double)t->below / n, 100 * (double)t->above / n, t->width / n);
    return fflush(stdout) == 0;
}

static bool run_expect_case(mo_context *ctx, const bench_options *o, const char *text) {
    char name[4096];
    snprintf(name, sizeof name, "%s", text);
    int64_t k = cut_shots(name);
    expect_figures t = {0};
    mo_graph *graph = mo_graph_open(ctx, name);
    mo_task task = graph && graph->graphs > 1 ? MO_TASK_GC : MO_TASK_NC;
    if (graph && !mo_graph_has_task(graph, task))
        mo_fail(ctx, MO_INVALID, "bench expect: %s has no labels", name);
    mo_few_shot *f = mo_ok(ctx) ? mo_few_shot_open(graph, task, NULL) : NULL;
    mo_plan_options p = {.k_min = k, .k_max = k, .q_min = 1, .q_max = 1, .max_classes = 1000, .support_first = true};
    for (int i = 0; f && i < o->runs && mo_ok(ctx); i++) {
        mo_plan plan = {0};
        if (mo_plan_draw(graph, NULL, task, (uint64_t)i, &p, NULL, 0, &plan) == MO_OK)
            judge_draw(f, graph, &plan, &t);
        mo_plan_release(&plan);
    }
    bool fine = mo_ok(ctx) && print_figures(o, name, k, &t);
    mo_few_shot_release(f);
    mo_graph_release(graph);
    return fine;
}

bool bench_expect(mo_context *ctx, const bench_options *o) {
    static const char *const usual[] = {"cora:4", "cora:16", "cora:64", "mutag:4", "mutag:16"};
    int n = o->cases.count ? o->cases.count : (int)(sizeof usual / sizeof *usual);
    for (int i = 0; i < n; i++)
        if (!run_expect_case(ctx, o, o->cases.count ? o->cases.items[i] : usual[i]))
            return false;
    return true;
}
