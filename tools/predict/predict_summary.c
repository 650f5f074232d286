/* tools/predict/predict_summary.c - the summary of predictions on standard error: the labels, and the expected
 * accuracy. */
#include "tools/cli/memory.h"
#include "tools/predict/predict.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns the number of labels of each class [classes]; owned. */
static int64_t *count_labels(const mo_labels *known) {
    int64_t *count = needed(calloc((size_t)known->classes + 1, sizeof *count));
    for (int64_t i = 0; i < known->n; i++)
        count[known->label[i]]++;
    return count;
}

/* Prints the number of labels, and how many the smallest and the largest class have. Returns the smallest class's
 * number of labels. */
static int64_t print_counts(const mo_labels *known, const int64_t *count) {
    int64_t least = INT64_MAX, most = 0;
    for (int64_t c = 0; c < known->classes; c++) {
        least = count[c] < least ? count[c] : least;
        most = count[c] > most ? count[c] : most;
    }
    fprintf(stderr, "%" PRId64 " labels of %" PRId64 " classes, ", known->n, known->classes);
    if (least == most)
        fprintf(stderr, "%" PRId64 " per class\n", least);
    else
        fprintf(stderr, "%" PRId64 " to %" PRId64 " per class\n", least, most);
    return least;
}

enum { MOST_NAMED = 6 }; /* classes that a line names */

/* Prints "class a has", or "classes a, b and 3 more have". */
static void print_classes(const names *list) {
    fputs(list->count == 1 ? "class" : "classes", stderr);
    for (int i = 0; i < list->count && i < MOST_NAMED; i++)
        fprintf(stderr, "%s %s", i ? "," : "", make_printable(list->items[i]));
    if (list->count > MOST_NAMED)
        fprintf(stderr, " and %d more", list->count - MOST_NAMED);
    fputs(list->count == 1 ? " has" : " have", stderr);
}

/* Names the classes with one label. */
static void print_single(const mo_labels *known, const int64_t *count) {
    names single = {0};
    for (int64_t c = 0; c < known->classes; c++)
        if (count[c] == 1)
            append_name(&single, known->name[c]);
    if (single.count) {
        print_classes(&single);
        fprintf(stderr, " one label%s, which cannot be left out to test the others\n", single.count > 1 ? " each" : "");
    }
    free_names(&single);
}

/* Names classes that differ in case alone. */
static void print_alike(const mo_labels *known) {
    for (int64_t a = 0; a < known->classes; a++)
        for (int64_t b = a + 1; b < known->classes; b++)
            if (!strcasecmp(known->name[a], known->name[b])) {
                names pair = {0};
                append_name(&pair, known->name[a]);
                append_name(&pair, known->name[b]);
                print_classes(&pair);
                fputs(" spellings that differ in case alone\n", stderr);
                free_names(&pair);
            }
}

/* Names the data's own classes that have no label among the known ones. */
static void print_never_predicted(const predictions *p) {
    const mo_graph *graph = p->graph;
    int64_t members = 0, *match = p->truth != TRUTH_NONE ? match_classes(graph, p->truth, p->known) : NULL;
    names missing = {0};
    char number[24];
    for (int64_t c = 0; match && c < graph->classes; c++)
        if (match[c] < 0)
            append_name(&missing, class_text(graph, p->truth, c, number));
    for (int64_t i = 0; match && i < graph->n_labels; i++)
        members += graph->label[i] >= 0 && match[graph->label[i]] < 0;
    free(match);
    if (missing.count) {
        print_classes(&missing);
        fprintf(stderr, " no label: %s never predicted (%" PRId64 " %s%s of the data)\n",
            missing.count == 1 ? "it is" : "they are", members, p->what, members == 1 ? "" : "s");
    }
    free_names(&missing);
}

/* Counts the predictions that the data's own labels can check; returns how many of these are right. */
static int64_t count_right(const predictions *p, int64_t *checked) {
    int64_t right = 0, n = 0;
    for (int64_t i = 0; i < p->n; i++) {
        char number[24];
        const char *truth = true_class(p, p->id[i], number);
        n += truth != NULL;
        right += truth && !strcmp(p->name[predicted_example(p, i).best], truth);
    }
    *checked = n;
    return right;
}

/* The mean number of classes in a set and, of the examples whose label the data know, the share whose set has it (NaN:
 * none). */
static double set_size(const predictions *p, double *held) {
    int64_t size = 0, right = 0, n = 0;
    for (int64_t i = 0; i < p->n; i++) {
        const double *row = p->probability + i * p->classes;
        char number[24];
        const char *truth = true_class(p, p->id[i], number);
        n += truth != NULL;
        for (int64_t c = 0; c < p->classes; c++)
            if (is_in_set(p, p->id[i], row, c)) {
                size++;
                right += truth && !strcmp(p->name[c], truth);
            }
    }
    *held = n ? (double)right / (double)n : NAN;
    return p->n ? (double)size / (double)p->n : NAN;
}

static void print_sets(const predictions *p, int64_t held_out) {
    double held, size = set_size(p, &held);
    if (p->bound <= 0) {
        fprintf(stderr, "sets of %.3g%%: every class, as it takes %.0f labels left out in turn, found %" PRId64 "\n",
            100 * p->coverage, ceil(p->coverage / (1 - p->coverage) - 1e-9), held_out);
        return;
    }
    fprintf(stderr, "sets of %.3g%%: %.2f classes on average", 100 * p->coverage, size);
    if (!isnan(held))
        fprintf(stderr, "; %.1f%% have the data's own label", 100 * held);
    putc('\n', stderr);
}

static void print_truth(const predictions *p) {
    int64_t n, right = count_right(p, &n);
    if (n > 0)
        fprintf(stderr, "of the data's own labels %" PRId64 " of %" PRId64 " are as predicted: %.1f%%\n", right, n,
            100.0 * (double)right / (double)n);
}

/* Prints how many of the other examples lie far from every label: farther than nine of ten labels do from the
 * others. */
static void print_cover(const mo_few_shot_cover *c, const char *what) {
    bool fine = c->far <= c->most;
    if (c->labelled > 0)
        fprintf(stderr, "coverage: %s (%.1f%% of the other %ss lie far from every label; up to %.0f%% is usual)%s\n",
            fine ? "fine" : "poor", 100 * c->far, what, 100 * c->most,
            fine ? "" : "; `mochi suggest` says which to label next");
}

/* Prints whether the readout was fitted again on its predictions, and how that did on labels left out. */
static void print_refit(const mo_few_shot_estimate *e) {
    double with = e->transductive ? e->accuracy : e->other, without = e->transductive ? e->other : e->accuracy;
    if (!isnan(e->other))
        fprintf(stderr, "refit on its own predictions: %s (labels left out: %.1f%% right with it, %.1f%% without)\n",
            e->transductive ? "used" : "not used", 100 * with, 100 * without);
    else if (isnan(e->accuracy) && e->transductive)
        fputs("refit on its own predictions: used (no label can be left out to test it)\n", stderr);
}

/* Prints the experts' shares in the predictions of a mixture. tested: labels were left out, by which they were weighed.
 */
static void print_experts(const mo_few_shot *f, bool tested) {
    mo_expert_share share[MO_MAX_EXPERTS];
    char text[512];
    int n = mo_few_shot_experts(f, share);
    mo_describe_shares(share, n, text, sizeof text);
    if (n)
        fprintf(
            stderr, "decided by: %s%s\n", text, tested ? "" : " (assumed before any label, as none can be left out)");
}

void print_number_of_predictions(const predictions *p) {
    int64_t unsure = 0;
    for (int64_t i = 0; i < p->n; i++)
        unsure += !predicted_example(p, i).label;
    fprintf(stderr, "%" PRId64 " predictions", p->n);
    if (unsure)
        fprintf(stderr, ", %" PRId64 " of them below %g and left without a label", unsure, p->least);
    fputc('\n', stderr);
    if (p->unreached)
        fprintf(stderr,
            "no label reaches %" PRId64
            " %s%s, by edges or by attributes that tell the classes apart: nothing is known "
            "of them, and each gets the classes' shares of the labels (column reached: no)\n",
            p->unreached, p->what, p->unreached == 1 ? "" : "s");
}

void print_summary(const mo_labels *known, const mo_few_shot *f, const mo_few_shot_cover *cover, const predictions *p) {
    mo_few_shot_estimate e = mo_few_shot_expect(f);
    int64_t *count = count_labels(known);
    print_not_data("", p->graph->left_out, p->graph->headers);
    print_not_data("", known->left_out, known->headers);
    if (p->graph->recoded)
        fprintf(stderr, "attributes: %s\n", p->graph->recoded);
    int64_t least = print_counts(known, count);
    print_alike(known);
    print_never_predicted(p);
    print_single(known, count);
    free(count);
    if (isnan(e.accuracy))
        fprintf(stderr, "expected accuracy: unknown; it takes two labels of a class\n");
    else
        fprintf(stderr,
            "expected accuracy, mean over classes: %.1f%% (95%%: %.1f to %.1f), from %" PRId64
            " labels left out in turn\n",
            100 * e.accuracy, 100 * e.low, 100 * e.high, e.held_out);
    print_refit(&e);
    if (!isnan(e.baseline))
        fprintf(stderr, "features two hops away alone, tested in the same way: %.1f%%\n", 100 * e.baseline);
    if (least < LEAST_CALIBRATED)
        fputs(ROUGH_PROBABILITIES "\n", stderr);
    print_experts(f, !isnan(e.accuracy));
    print_cover(cover, p->what);
    if (p->coverage > 0)
        print_sets(p, e.held_out);
    print_number_of_predictions(p);
    print_truth(p);
}

bool print_summary_object(
    const mo_labels *known, const mo_few_shot *f, const mo_few_shot_cover *cover, const predictions *p) {
    mo_few_shot_estimate e = mo_few_shot_expect(f);
    mo_expert_share share[MO_MAX_EXPERTS];
    int n = mo_few_shot_experts(f, share);
    int64_t checked, right = count_right(p, &checked), *count = count_labels(known);
    json_t *labels = json_object(), *shares = json_object();
    for (int64_t c = 0; c < known->classes; c++)
        json_object_set_new(labels, known->name[c], json_integer(count[c]));
    for (int i = 0; i < n; i++)
        json_object_set_new(shares, mo_expert_words(share[i].name), json_number(share[i].share));
    free(count);
    double held = NAN, size = p->coverage > 0 ? set_size(p, &held) : NAN;
    return print_json(json_pack("{s:s, s:o, s:o, s:o, s:o, s:I, s:b, s:o, s:o, s:o, s:o, s:o, s:I, s:I, s:I, s:o, s:o}",
        "kind", "predict", "labels", labels, "expected_accuracy", json_number(e.accuracy), "low", json_number(e.low),
        "high", json_number(e.high), "held_out", (json_int_t)e.held_out, "refit", e.transductive, "other_accuracy",
        json_number(e.other), "baseline", json_number(e.baseline), "experts", shares, "far",
        cover->labelled > 0 ? json_number(cover->far) : json_null(), "far_usual",
        cover->labelled > 0 ? json_number(cover->most) : json_null(), "predictions", (json_int_t)p->n, "checked",
        (json_int_t)checked, "right", (json_int_t)right, "set_size", json_number(size), "set_coverage",
        json_number(held)));
}
