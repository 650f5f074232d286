/* tools/predict/predict_summary.c - the summary of predictions on standard error: the labels, and the expected
 * accuracy. */
#include "tools/memory.h"
#include "tools/predict/predict.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Prints the number of labels, and how many the smallest and the largest class have. Returns the smallest class's
 * number of labels. */
static int64_t print_counts(const mo_labels *known) {
    int64_t *count = needed(calloc((size_t)known->classes + 1, sizeof *count)), least = INT64_MAX, most = 0;
    for (int64_t i = 0; i < known->n; i++)
        count[known->label[i]]++;
    for (int64_t c = 0; c < known->classes; c++) {
        least = count[c] < least ? count[c] : least;
        most = count[c] > most ? count[c] : most;
    }
    fprintf(stderr, "%" PRId64 " labels of %" PRId64 " classes, ", known->n, known->classes);
    if (least == most)
        fprintf(stderr, "%" PRId64 " per class\n", least);
    else
        fprintf(stderr, "%" PRId64 " to %" PRId64 " per class\n", least, most);
    free(count);
    return least;
}

/* Prints the share of correct predictions, by the data's own labels. */
static void print_truth(const predictions *p) {
    int64_t right = 0, n = 0;
    for (int64_t i = 0; i < p->n; i++) {
        char number[24];
        const char *truth = true_class(p, p->id[i], number);
        n += truth != NULL;
        right += truth && !strcmp(p->name[predicted_example(p, i).best], truth);
    }
    if (n > 0)
        fprintf(stderr, "of the data's own labels %" PRId64 " of %" PRId64 " are as predicted: %.1f%%\n", right, n,
            100.0 * (double)right / (double)n);
}

/* Prints how many examples lie far from every label. */
static void print_cover(const mo_few_shot_cover *c) {
    if (c->labelled > 0)
        fprintf(stderr,
            "%.1f%% of the rest lie farther from every label than nine of ten labels do from the others (labels drawn "
            "at random: %.1f%%, at most %.0f%%)%s\n",
            100 * c->far, 100 * c->expected, 100 * c->most,
            c->far > c->most ? "; `mochi suggest` says which to label next" : "");
}

/* Prints the experts' shares in the predictions of a mixture. */
static void print_experts(const mo_few_shot *f) {
    mo_expert_share share[MO_MAX_EXPERTS];
    char text[512];
    int n = mo_few_shot_experts(f, share);
    mo_describe_shares(share, n, text, sizeof text);
    if (n)
        fprintf(stderr, "decided by: %s\n", text);
}

void print_number_of_predictions(const predictions *p) {
    int64_t unsure = 0;
    for (int64_t i = 0; i < p->n; i++)
        unsure += !predicted_example(p, i).label;
    fprintf(stderr, "%" PRId64 " predictions", p->n);
    if (unsure)
        fprintf(stderr, ", %" PRId64 " of them below %g and left without a label", unsure, p->least);
    fputc('\n', stderr);
}

void print_summary(const mo_labels *known, const mo_few_shot *f, const mo_few_shot_cover *cover, const predictions *p) {
    mo_few_shot_estimate e = mo_few_shot_expect(f);
    if (p->graph->left_out)
        fprintf(stderr, "left out: %s\n", p->graph->left_out);
    if (known->left_out)
        fprintf(stderr, "left out: %s\n", known->left_out);
    int64_t least = print_counts(known);
    if (e.small_classes)
        fprintf(stderr, "%" PRId64 " of the classes have one label, which cannot be left out to test the others\n",
            e.small_classes);
    if (isnan(e.accuracy))
        fprintf(stderr, "expected accuracy: unknown; it takes two labels of a class\n");
    else
        fprintf(stderr,
            "expected accuracy, mean over classes: %.1f%% (95%%: %.1f to %.1f), from %" PRId64
            " labels left out in turn\n",
            100 * e.accuracy, 100 * e.low, 100 * e.high, e.held_out);
    if (!isnan(e.other))
        fprintf(stderr, "refitted on its own predictions for all: %s; tested in the same way %.1f%% %s it\n",
            e.transductive ? "yes" : "no", 100 * e.other, e.transductive ? "without" : "with");
    else if (isnan(e.accuracy) && e.transductive)
        fputs("refitted on its own predictions for all: yes; no label can be left out to test it\n", stderr);
    if (!isnan(e.baseline))
        fprintf(stderr, "features two hops away alone, tested in the same way: %.1f%%\n", 100 * e.baseline);
    if (least < LEAST_CALIBRATED)
        fputs(ROUGH_PROBABILITIES "\n", stderr);
    print_experts(f);
    print_cover(cover);
    print_number_of_predictions(p);
    print_truth(p);
}
