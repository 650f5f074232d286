/* tools/report/report_predictions_chart.c - pictures of predictions: the embedding by class, and right and wrong, and
 * how confident they are. */
#include "tools/report/report_predictions.h"

#include "tools/memory.h"

#include <math.h>
#include <stb/stb_ds.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_POINTS = 3000, OWN_COLOURS = 7, OTHERS = 8 /* colour */, BINS = 20 };

/* ---- the embedding ---- */

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

int64_t drawn_predictions(const prediction_table *t) {
    int64_t n = arrlen(t->rows) - count_predictions(t, is_known), step = step_of(t);
    return (n + step - 1) / step;
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

chart *prediction_charts(const prediction_table *t) {
    chart *charts = NULL;
    if (t->places)
        arrput(charts, draw_classes(t));
    if (t->places && count_predictions(t, is_judged) > 0)
        arrput(charts, draw_errors(t));
    arrput(charts, draw_confidence(t));
    return charts;
}
