/* tools/lessons/pitfalls_chart.c - charts of the synthetic experiments, and of the prototypes of real embeddings. */
#include "tools/lessons/pitfalls_chart.h"

#include <math.h>
#include <stb/stb_ds.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static chart make_pitfalls_chart(const char *title, const char *x_label, const char *y_label) {
    chart c = {0};
    snprintf(c.title, sizeof c.title, "%s", title);
    snprintf(c.x_label, sizeof c.x_label, "%s", x_label);
    snprintf(c.y_label, sizeof c.y_label, "%s", y_label);
    return c;
}

/* ---- synthetic ---- */

/* The rows of a setting, head and metric along x, with the interval of their mean. */
static bool add_path(chart *c, const pitfall_figures *f, const char *setting, const char *head, const char *metric) {
    static const char *const heads[] = {"ridge", "prototype_inner"};
    chart_series *s = NULL;
    for (int i = 0; i < arrlen(f->rows); i++) {
        const pitfall_row *r = &f->rows[i];
        if (strcmp(r->setting, setting) || strcmp(r->head, head) || strcmp(r->metric, metric))
            continue;
        mo_summary m = mo_summarize(r->values, f->seeds);
        s = s ? s : chart_add(c, head, 1 + !strcmp(head, heads[1]), CHART_LINE_POINTS);
        chart_interval_add(s, r->x, m.mean, m.ci95);
    }
    return s != NULL;
}

static void add_both(
    chart **charts, const pitfall_figures *f, const char *setting, const char *metric, const char *title) {
    chart c = make_pitfalls_chart(
        title, strcmp(setting, "t") ? "delta, half the distance of A's modes" : "t, the shift", "%");
    bool some = add_path(&c, f, setting, "prototype_inner", metric);
    some |= add_path(&c, f, setting, "ridge", metric);
    if (some)
        arrput(*charts, c);
    else
        chart_free(&c);
}

void chart_add_reliability(chart *c, const char *label, int colour, const mo_calibration *counts) {
    chart_series *s = chart_add(c, label, colour, CHART_LINE_POINTS);
    for (int b = 0; b < MO_ECE_BINS; b++)
        if (counts->bin[b].n) {
            double n = (double)counts->bin[b].n;
            chart_point_add(s, counts->bin[b].confidence / n, (double)counts->bin[b].right / n);
        }
}

chart chart_reliability(const char *title) {
    chart c = make_pitfalls_chart(title, "confidence", "accuracy");
    c.range[1] = 1.02;
    chart_series *s = chart_add(&c, "", 8, CHART_THIN);
    chart_point_add(s, 0, 0);
    chart_point_add(s, 1, 1);
    return c;
}

chart *pitfalls_charts(const pitfall_figures *f) {
    chart *charts = NULL;
    add_both(&charts, f, "t", "accuracy", "Accuracy as all embeddings move by t");
    add_both(&charts, f, "delta", "recall_A", "Recall of A, the class of two modes");
    add_both(&charts, f, "delta", "accuracy", "Accuracy over the three classes");
    static const char *const settings[] = {"shifted", "radius"};
    static const char *const titles[] = {"Reliability: all classes shifted", "Reliability: classes at unequal radii"};
    for (int i = 0; i < 2; i++) {
        chart c = chart_reliability(titles[i]);
        for (int k = 0, colour = 1; k < arrlen(f->reliability); k++)
            if (!strcmp(f->reliability[k].setting, settings[i]))
                chart_add_reliability(&c, f->reliability[k].head, ++colour, &f->reliability[k].counts);
        if (arrlen(c.series) > 1)
            arrput(charts, c);
        else
            chart_free(&c);
    }
    return charts;
}

void charts_free(chart *charts) {
    for (int i = 0; i < arrlen(charts); i++)
        chart_free(&charts[i]);
    arrfree(charts);
}

/* ---- real embeddings ---- */

static int by_angle(const void *a, const void *b) {
    const chart_point *p = a, *q = b;
    return (p->low > q->low) - (p->low < q->low);
}

/* Draws the outer hull: its corners, sorted by angle about their mean. */
static void add_outline(chart *c, const hull_place *places, int n) {
    chart_point *corner = NULL, mean = {0};
    for (int i = 0; i < n; i++)
        if (places[i].outer) {
            arrput(corner, ((chart_point){.x = places[i].x, .y = places[i].y}));
            mean.x += places[i].x;
            mean.y += places[i].y;
        }
    int m = (int)arrlen(corner);
    for (int i = 0; i < m; i++)
        corner[i].low = atan2(corner[i].y - mean.y / m, corner[i].x - mean.x / m);
    if (m)
        qsort(corner, (size_t)m, sizeof *corner, by_angle);
    chart_series *s = chart_add(c, "", 8, CHART_THIN);
    for (int i = 0; i <= m && m; i++)
        chart_point_add(s, corner[i % m].x, corner[i % m].y);
    arrfree(corner);
}

static void add_places(
    chart *c, const hull_place *places, int n, const char *label, int colour, chart_style style, int kind) {
    chart_series *s = chart_add(c, label, colour, style);
    for (int i = 0; i < n; i++)
        if (kind == (places[i].flagged ? 2 : places[i].outer ? 0 : 1))
            chart_point_add(s, places[i].x, places[i].y);
    if (!arrlen(s->points))
        s->label[0] = '\0';
}

chart *hull_charts(const hull_place *places, int n) {
    enum { MOST_NAMES = 40 };
    chart plane = make_pitfalls_chart("Prototypes in the plane of their principal components", "first", "second"),
          distance = make_pitfalls_chart("Distance to the hull of the others", "class", "in mean distances"),
          *charts = NULL;
    plane.square = true;
    add_outline(&plane, places, n);
    add_places(&plane, places, n, "on the outer hull", 1, CHART_POINTS, 0);
    add_places(&plane, places, n, "interior", 1, CHART_RINGS, 1);
    add_places(&plane, places, n, "flagged", 2, CHART_STARS, 2);
    chart_series *bars = chart_add(&distance, "", 1, CHART_BARS);
    for (int i = 0; i < n; i++) {
        chart_mark mark = {.x = places[i].x, .y = places[i].y};
        snprintf(mark.text, sizeof mark.text, "%s", places[i].name);
        if (n <= MOST_NAMES) {
            arrput(plane.names, mark);
            chart_tick(&distance, i, mark.text);
        }
        chart_point_add(bars, i, places[i].distance);
    }
    distance.range[0] = 0;
    for (int i = 0; i < n; i++)
        distance.range[1] = fmax(distance.range[1], 1.1 * places[i].distance);
    arrput(charts, plane);
    arrput(charts, distance);
    return charts;
}
