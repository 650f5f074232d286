/* tools/report/report_predictions.c - the section of `mochi predict`: a picture of the embedding, how confident the
 * predictions are, and the least sure of them. */
#include "tools/report/report_predictions.h"

#include "tools/memory.h"
#include "tools/predict/predict.h"
#include "tools/report/report.h"

#include <stb/stb_ds.h>
#include <stdlib.h>

enum { LEAST_SURE = 20 };

int64_t count_predictions(const prediction_table *t, bool (*is)(const prediction *p)) {
    int64_t n = 0;
    for (int64_t i = 0; i < arrlen(t->rows); i++)
        n += is(&t->rows[i]);
    return n;
}

static bool is_unlabelled(const prediction *p) {
    return p->label < 0;
}

/* ---- by class ---- */

static void put_cell(FILE *page, const char *text) {
    fputs("<td class='t'>", page);
    put_text(page, text);
    fputs("</td>", page);
}

typedef struct class_counts {
    int64_t given, predicted, judged, true_ones, right; /* judged: predicted, where the data has a class */
} class_counts;

/* What share of a class's examples was found, and what share of the predictions of it are right. */
static void put_classes(report *r, const prediction_table *t) {
    int n = (int)arrlen(t->classes);
    class_counts *counts = needed(calloc((size_t)n + 1, sizeof *counts));
    for (int64_t i = 0; i < arrlen(t->rows); i++) {
        const prediction *p = &t->rows[i];
        if (p->label >= 0 && p->known)
            counts[p->label].given++;
        else if (p->label >= 0)
            counts[p->label].predicted++;
        if (is_judged(p)) {
            counts[p->label].judged++;
            counts[p->truth].true_ones++;
            counts[p->label].right += p->label == p->truth;
        }
    }
    fputs("<h3>By class</h3>\n<div class='wide'><table>\n<tr><th>class</th><th>labels given</th><th>predicted</th>"
          "<th>in the data</th><th>of these found, %</th><th>of the predicted right, %</th></tr>\n",
        r->page);
    for (int c = 0; c < n; c++) {
        const class_counts *x = &counts[c];
        fputs("<tr>", r->page);
        put_cell(r->page, t->classes[c]);
        fprintf(r->page, "<td>%lld</td><td>%lld</td><td>%lld</td>", (long long)x->given, (long long)x->predicted,
            (long long)x->true_ones);
        put_number(r->page, x->true_ones ? 100.0 * (double)x->right / (double)x->true_ones : NAN, 1);
        put_number(r->page, x->judged ? 100.0 * (double)x->right / (double)x->judged : NAN, 1);
        fputs("</tr>\n", r->page);
    }
    fputs("</table></div>\n", r->page);
    free(counts);
}

/* ---- the least sure ---- */

static int by_confidence(const void *a, const void *b) {
    const prediction *x = *(const prediction *const *)a, *y = *(const prediction *const *)b;
    return x->probability != y->probability ? (x->probability > y->probability) - (x->probability < y->probability)
                                            : (x > y) - (x < y);
}

static void put_least_sure(report *r, const prediction_table *t) {
    const prediction **sorted = needed(malloc(((size_t)arrlen(t->rows) + 1) * sizeof *sorted));
    int64_t n = 0;
    bool judged = count_predictions(t, is_judged) > 0;
    for (int64_t i = 0; i < arrlen(t->rows); i++)
        if (!t->rows[i].known)
            sorted[n++] = &t->rows[i];
    qsort(sorted, (size_t)n, sizeof *sorted, by_confidence);
    fprintf(r->page,
        "<h3>The least sure</h3>\n<div class='wide'><table>\n<tr><th>%s</th><th class='t'>label</th>"
        "<th>probability</th><th>margin</th>%s</tr>\n",
        t->of_graphs ? "graph" : "node", judged ? "<th class='t'>truth</th>" : "");
    for (int64_t i = 0; i < n && i < LEAST_SURE; i++) {
        const prediction *p = sorted[i];
        fputs("<tr>", r->page);
        put_cell(r->page, p->name);
        put_cell(r->page, p->label >= 0 ? t->classes[p->label] : "none");
        put_number(r->page, p->probability, 3);
        put_number(r->page, p->margin, 3);
        if (judged)
            put_cell(r->page, p->truth >= 0 ? t->classes[p->truth] : "");
        fputs("</tr>\n", r->page);
    }
    fputs("</table></div>\n", r->page);
    free(sorted);
}

/* ---- the section ---- */

/* Labels of the class that has the fewest, of those that have one; INT64_MAX: the table has no known labels. */
static int64_t fewest_labels(const prediction_table *t) {
    int64_t *given = needed(calloc((size_t)arrlen(t->classes) + 1, sizeof *given)), fewest = INT64_MAX;
    for (int64_t i = 0; i < arrlen(t->rows); i++)
        if (t->rows[i].known)
            given[t->rows[i].label]++;
    for (int c = 0; c < arrlen(t->classes); c++)
        fewest = given[c] && given[c] < fewest ? given[c] : fewest;
    free(given);
    return fewest;
}

static void put_prediction_counts(report *r, const prediction_table *t) {
    int64_t known = count_predictions(t, is_known), n = arrlen(t->rows) - known,
            none = count_predictions(t, is_unlabelled), judged = count_predictions(t, is_judged),
            wrong = count_predictions(t, is_wrong);
    fprintf(r->page, "<p>%lld predictions", (long long)n);
    if (known)
        fprintf(r->page, " from %lld labels", (long long)known);
    if (none)
        fprintf(r->page, ", %lld of them too unsure for a label", (long long)none);
    fputs(".", r->page);
    if (judged)
        fprintf(r->page, " Of %lld whose class the data has, %lld are right: %.1f%%.", (long long)judged,
            (long long)(judged - wrong), 100.0 * (double)(judged - wrong) / (double)judged);
    fputs("</p>\n", r->page);
    int64_t fewest = fewest_labels(t);
    if (fewest < LEAST_CALIBRATED)
        fprintf(r->page, "<p>A class here has %lld: " ROUGH_PROBABILITIES ".</p>\n", (long long)fewest);
    else if (!known)
        fputs("<p class='soft'>How many labels they were made from the table does not say; " ROUGH_PROBABILITIES
              ".</p>\n",
            r->page);
    if (!t->places)
        fputs("<p class='soft'>A picture of the embedding needs a table of <code>mochi predict --pca</code>.</p>\n",
            r->page);
    else if (drawn_predictions(t) < n)
        fprintf(r->page, "<p class='soft'>Of the predictions, the pictures have %lld.</p>\n",
            (long long)drawn_predictions(t));
}

void report_predictions(report *r) {
    for (int i = 0; i < arrlen(r->tables); i++) {
        const prediction_table *t = &r->tables[i];
        char heading[200];
        snprintf(heading, sizeof heading, "Predictions: %.150s", t->path);
        open_section(r, heading);
        put_prediction_counts(r, t);
        chart *charts = prediction_charts(t);
        open_figures(r);
        for (int k = 0; k < arrlen(charts); k++)
            put_chart(r, &charts[k]);
        close_figures(r);
        arrfree(charts);
        if (count_predictions(t, is_judged) > 0)
            put_classes(r, t);
        put_least_sure(r, t);
        close_section(r);
    }
}
