/* tools/report/report_predictions.c - the section of `mochi predict`: a picture of the embedding, how confident the
 * predictions are, and the least sure of them. */
#include "tools/report/report_predictions.h"

#include "tools/memory.h"
#include "tools/report/report.h"

#include <stb/stb_ds.h>
#include <stdlib.h>

enum { MOST_POINTS = 3000, OWN_COLOURS = 7, OTHERS = 8 /* colour */, BINS = 20, LEAST_SURE = 20 };

static bool is_wrong(const prediction *p) {
    return !p->known && p->truth >= 0 && p->label >= 0 && p->label != p->truth;
}

static bool is_judged(const prediction *p) {
    return !p->known && p->truth >= 0 && p->label >= 0;
}

static int64_t count_predictions(const prediction_table *t, bool (*is)(const prediction *p)) {
    int64_t n = 0;
    for (int64_t i = 0; i < arrlen(t->rows); i++)
        n += is(&t->rows[i]);
    return n;
}

static bool is_known(const prediction *p) {
    return p->known;
}

static bool is_unlabelled(const prediction *p) {
    return p->label < 0;
}

/* ---- the picture ---- */

typedef struct class_size {
    int class;
    int64_t n;
} class_size;

static int by_size(const void *a, const void *b) {
    const class_size *x = a, *y = b;
    return x->n != y->n ? (x->n < y->n) - (x->n > y->n) : (x->class > y->class) - (x->class < y->class);
}

/* Classes with their labels and predictions, the largest first; owned. */
static class_size *sort_classes(const prediction_table *t) {
    int n = (int)arrlen(t->classes);
    class_size *sizes = needed(calloc((size_t)n + 1, sizeof *sizes));
    for (int c = 0; c < n; c++)
        sizes[c].class = c;
    for (int64_t i = 0; i < arrlen(t->rows); i++)
        if (t->rows[i].label >= 0)
            sizes[t->rows[i].label].n++;
    qsort(sizes, (size_t)n, sizeof *sizes, by_size);
    return sizes;
}

static chart make_plane(const char *title) {
    chart c = {.square = true};
    snprintf(c.title, sizeof c.title, "%s", title);
    snprintf(c.x_label, sizeof c.x_label, "first principal component");
    snprintf(c.y_label, sizeof c.y_label, "second");
    return c;
}

/* Every how many predictions one is drawn. */
static int64_t step_of(const prediction_table *t) {
    return 1 + (arrlen(t->rows) - count_predictions(t, is_known) - 1) / MOST_POINTS;
}

/* Adds the drawn examples of which visit says so. */
static void add_points(chart *c, const prediction_table *t, const char *label, int colour, chart_style style,
    bool (*is)(const prediction *p, const void *state), const void *state) {
    chart_series *s = chart_add(c, label, colour, style);
    int64_t step = step_of(t), number = 0;
    for (int64_t i = 0; i < arrlen(t->rows); i++) {
        const prediction *p = &t->rows[i];
        bool drawn = p->known || number++ % step == 0;
        if (drawn && is(p, state))
            chart_point_add(s, p->x, p->y);
    }
}

/* state: a flag per class, which of them are meant. */
static bool is_of_classes(const prediction *p, const void *state) {
    return p->label >= 0 && ((const bool *)state)[p->label];
}

static bool is_given(const prediction *p, const void *state) {
    (void)state;
    return p->known;
}

static bool is_right_point(const prediction *p, const void *state) {
    (void)state;
    return is_judged(p) && !is_wrong(p);
}

static bool is_wrong_point(const prediction *p, const void *state) {
    (void)state;
    return is_wrong(p);
}

/* Classes in colours; those that are too small for one have the last. */
static chart draw_classes(const prediction_table *t) {
    chart c = make_plane("The embedding, by class");
    int n = (int)arrlen(t->classes), own = n <= OTHERS ? n : OWN_COLOURS;
    class_size *sizes = sort_classes(t);
    bool *meant = needed(calloc((size_t)n + 1, sizeof *meant));
    char others[CHART_TEXT];
    for (int i = own; i < n; i++)
        meant[sizes[i].class] = true;
    snprintf(others, sizeof others, "%d smaller classes", n - own);
    if (own < n)
        add_points(&c, t, others, OTHERS, CHART_DOTS, is_of_classes, meant);
    for (int i = 0; i < own; i++) {
        memset(meant, 0, (size_t)n * sizeof *meant);
        meant[sizes[i].class] = true;
        add_points(&c, t, t->classes[sizes[i].class], 1 + i, CHART_DOTS, is_of_classes, meant);
    }
    add_points(&c, t, "label given", 0, CHART_RINGS, is_given, NULL);
    free(meant);
    free(sizes);
    return c;
}

static chart draw_errors(const prediction_table *t) {
    chart c = make_plane("The same, right and wrong");
    add_points(&c, t, "right", OTHERS, CHART_DOTS, is_right_point, NULL);
    add_points(&c, t, "wrong", 2, CHART_DOTS, is_wrong_point, NULL);
    add_points(&c, t, "label given", 0, CHART_RINGS, is_given, NULL);
    return c;
}

/* ---- confidence ---- */

static void add_bins(chart *c, const prediction_table *t, const char *label, int colour, bool right_alone) {
    chart_series *s = chart_add(c, label, colour, CHART_BARS);
    int64_t n[BINS] = {0};
    for (int64_t i = 0; i < arrlen(t->rows); i++) {
        const prediction *p = &t->rows[i];
        int bin = p->known ? 0 : (int)fmin(BINS * p->probability, BINS - 1);
        if (!p->known && (!right_alone || (is_judged(p) && !is_wrong(p))))
            n[bin]++;
    }
    for (int b = 0; b < BINS; b++) {
        chart_point_add(s, b, (double)n[b]);
        c->range[1] = fmax(c->range[1], 1.05 * (double)n[b]);
    }
}

static chart draw_confidence(const prediction_table *t) {
    chart c = {0};
    snprintf(c.title, sizeof c.title, "Confidence of the predictions");
    snprintf(c.x_label, sizeof c.x_label, "probability of the predicted class");
    snprintf(c.y_label, sizeof c.y_label, "predictions");
    bool judged = count_predictions(t, is_judged) > 0;
    add_bins(&c, t, judged ? "all" : "", 8, false);
    if (judged)
        add_bins(&c, t, "right", 3, true);
    for (int i = 0; i <= 5; i++) {
        char text[8];
        snprintf(text, sizeof text, "%.1f", 0.2 * i);
        chart_tick(&c, 4 * i - 0.5, text); /* bin b begins at b - 0.5 */
    }
    return c;
}

/* ---- the least sure ---- */

static int by_confidence(const void *a, const void *b) {
    const prediction *x = *(const prediction *const *)a, *y = *(const prediction *const *)b;
    return x->probability != y->probability ? (x->probability > y->probability) - (x->probability < y->probability)
                                            : (x > y) - (x < y);
}

static void put_cell(FILE *page, const char *text) {
    fputs("<td class='t'>", page);
    put_text(page, text);
    fputs("</td>", page);
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

static void put_prediction_counts(report *r, const prediction_table *t) {
    int64_t known = count_predictions(t, is_known), n = arrlen(t->rows) - known,
            none = count_predictions(t, is_unlabelled), judged = count_predictions(t, is_judged),
            wrong = count_predictions(t, is_wrong), step = step_of(t);
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
    if (!t->places)
        fputs("<p class='soft'>A picture of the embedding needs a table of <code>mochi predict --pca</code>.</p>\n",
            r->page);
    else if (step > 1)
        fprintf(r->page, "<p class='soft'>Of the predictions, the pictures have %lld.</p>\n",
            (long long)((n + step - 1) / step));
}

void report_predictions(report *r) {
    for (int i = 0; i < arrlen(r->tables); i++) {
        const prediction_table *t = &r->tables[i];
        char heading[200];
        snprintf(heading, sizeof heading, "Predictions: %.150s", t->path);
        open_section(r, heading);
        put_prediction_counts(r, t);
        open_figures(r);
        chart charts[3];
        int n = 0;
        if (t->places)
            charts[n++] = draw_classes(t);
        if (t->places && count_predictions(t, is_judged) > 0)
            charts[n++] = draw_errors(t);
        charts[n++] = draw_confidence(t);
        for (int k = 0; k < n; k++)
            put_chart(r, &charts[k]);
        close_figures(r);
        put_least_sure(r, t);
        close_section(r);
    }
}
