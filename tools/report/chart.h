/* tools/report/chart.h - charts, drawn by gnuplot: as separate files, or as parts of a page in the page's colours. */
#ifndef CHART_H
#define CHART_H

#include "tools/inside.h"

enum { CHART_COLOURS = 9, CHART_TEXT = 96 }; /* colour 0 is the text's */

typedef enum chart_style {
    CHART_LINE = 0, /* each colour has its own dash, for print */
    CHART_LINE_POINTS,
    CHART_POINTS,
    CHART_DOTS, /* small points */
    CHART_RINGS,
    CHART_STARS,
    CHART_THIN, /* background */
    CHART_BARS
} chart_style;

/* low and high: ends of an error bar; NaN: no error bar. A point whose x or y is NaN is left out. */
typedef struct chart_point {
    double x, y, low, high;
} chart_point;

typedef struct chart_series {
    char label[CHART_TEXT]; /* empty: not in the legend */
    int colour;
    chart_style style;
    chart_point *points; /* stb_ds array */
} chart_series;

/* A text at a position: a tick of the x axis, or the name of a point. */
typedef struct chart_mark {
    char text[CHART_TEXT];
    double x, y;
} chart_mark;

typedef struct chart {
    char title[CHART_TEXT], x_label[CHART_TEXT], y_label[CHART_TEXT];
    bool log_x, log_y;
    bool square;          /* both axes at one scale */
    double range[2];      /* range of y, used if the second is above the first */
    chart_series *series; /* stb_ds arrays */
    chart_mark *x_ticks, *names;
} chart;

/* Adds a series at the end; the pointer is valid until the next one is added. */
chart_series *chart_add(chart *c, const char *label, int colour, chart_style style);
void chart_point_add(chart_series *s, double x, double y);
void chart_interval_add(chart_series *s, double x, double y, double half_width);
void chart_tick(chart *c, double x, const char *text);
void chart_free(chart *c);

/* One SVG file, charts side by side under a title, with legends. Returns the status. */
mo_code chart_write(mo_context *ctx, const char *path, const char *title, const chart *charts, int n);
/* One SVG element per chart (stb_ds array of n texts to be freed) for a page, without title and legend, colours
 * var(--ink), var(--grid) and var(--s1) .., symbols those of chart_symbols. NULL on failure, with the status set. */
char **chart_draw(mo_context *ctx, const chart *charts, int n);
void chart_free_drawn(char **drawn);
/* The symbols that the page must contain once for the points of its charts. */
extern const char chart_symbols[];
/* The dash of a colour in SVG's form: "none", "6,3" .. */
const char *chart_dash(int colour);

#endif
