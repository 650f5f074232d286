/* tools/lessons/pitfalls_chart.h - charts of the figures of `mochi pitfalls`, for its own files and for a report. */
#ifndef PITFALLS_CHART_H
#define PITFALLS_CHART_H

#include "tools/lessons/pitfalls.h"
#include "tools/report/chart.h"

/* stb_ds arrays; free with charts_free. */
chart *pitfalls_charts(const pitfall_figures *figures);
void charts_free(chart *charts);

/* chart_reliability: a chart of accuracy over confidence with its diagonal; the next function adds a line to it. */
chart chart_reliability(const char *title);
void chart_add_reliability(chart *c, const char *label, int colour, const mo_calibration *counts);

/* A prototype of real embeddings, as in the diagnosis (mo_prototype). */
typedef struct hull_place {
    char name[24];
    double x, y, distance; /* normalised */
    bool outer, flagged;
} hull_place;

chart *hull_charts(const hull_place *places, int n);

#endif
