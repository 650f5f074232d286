/* tools/report/chart.c - writes charts as the script from which gnuplot draws them. */
#include "tools/report/chart.h"

#include "tools/memory.h"
#include "tools/report/chart_gnuplot.h"
#include "tools/report/chart_script.h"

#include <math.h>
#include <stb/stb_ds.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Colours that remain apart for readers who confuse red and green (after Okabe and Ito 2008), and dashes in print. */
static const struct {
    const char *colour, *dash;
} strokes[CHART_COLOURS] = {
    {"#202020", "none"},
    {"#0072b2", "none"},
    {"#d55e00", "8,3"},
    {"#009e73", "2,3"},
    {"#cc79a7", "8,3,2,3"},
    {"#b58900", "5,5"},
    {"#56b4e9", "12,4"},
    {"#7f5fb0", "2,6"},
    {"#808080", "4,2"},
};

const char *chart_colour(int i) {
    return strokes[i].colour;
}

const char *chart_dash(int colour) {
    return strokes[colour].dash;
}

chart_series *chart_add(chart *c, const char *label, int colour, chart_style style) {
    chart_series s = {.colour = colour % CHART_COLOURS, .style = style};
    snprintf(s.label, sizeof s.label, "%s", label);
    arrput(c->series, s);
    return &arrlast(c->series);
}

void chart_point_add(chart_series *s, double x, double y) {
    chart_interval_add(s, x, y, NAN);
}

void chart_interval_add(chart_series *s, double x, double y, double half_width) {
    if (isfinite(x) && isfinite(y))
        arrput(s->points, ((chart_point){x, y, y - half_width, y + half_width}));
}

void chart_tick(chart *c, double x, const char *text) {
    chart_mark mark = {.x = x};
    for (int i = 0; i < arrlen(c->x_ticks); i++)
        if (c->x_ticks[i].x == x)
            return;
    snprintf(mark.text, sizeof mark.text, "%s", text);
    arrput(c->x_ticks, mark);
}

void chart_free(chart *c) {
    for (int i = 0; i < arrlen(c->series); i++)
        arrfree(c->series[i].points);
    arrfree(c->series);
    arrfree(c->x_ticks);
    arrfree(c->names);
}

/* ---- the script ---- */

/* Writes text in single quotes: gnuplot takes everything in them literally but the quote itself; a line must not end in
 * them. */
static void put_quoted_text(FILE *f, const char *text) {
    putc('\'', f);
    for (; *text; text++) {
        if (*text == '\'')
            putc('\'', f);
        putc((unsigned char)*text < ' ' ? ' ' : *text, f);
    }
    putc('\'', f);
}

static void set_text(FILE *f, const char *what, const char *text) {
    fprintf(f, "set %s ", what);
    put_quoted_text(f, text);
    putc('\n', f);
}

/* Extends a range by a coordinate; on a logarithmic axis only by one above 0. */
static void extend_range(double range[2], double v, bool logarithmic) {
    if (isfinite(v) && (!logarithmic || v > 0)) {
        range[0] = fmin(range[0], v);
        range[1] = fmax(range[1], v);
    }
}

/* The range of an axis: the data, the ticks of x, and a little more. gnuplot's own ranges stretch the axis to a tick
 * beyond the data. */
static void find_chart_range(const chart *c, bool of_y, double range[2]) {
    bool logarithmic = of_y ? c->log_y : c->log_x, bars = false;
    range[0] = INFINITY;
    range[1] = -INFINITY;
    for (int i = 0; i < arrlen(c->series); i++)
        for (int k = 0; k < arrlen(c->series[i].points); k++) {
            const chart_point *p = &c->series[i].points[k];
            bars |= c->series[i].style == CHART_BARS;
            extend_range(range, of_y ? p->y : p->x, logarithmic);
            if (of_y) {
                extend_range(range, p->low, logarithmic);
                extend_range(range, p->high, logarithmic);
            }
        }
    for (int i = 0; i < arrlen(c->x_ticks) && !of_y; i++)
        extend_range(range, c->x_ticks[i].x, logarithmic);
    if (range[0] > range[1])
        range[0] = range[1] = 1;
    double width = logarithmic ? log(range[1] / range[0]) : range[1] - range[0];
    double more = bars && !of_y ? 0.7 : width > 0 ? 0.04 * width : logarithmic ? 0.5 : fmax(fabs(range[0]), 1) / 20;
    range[0] = logarithmic ? range[0] * exp(-more) : range[0] - more;
    range[1] = logarithmic ? range[1] * exp(more) : range[1] + more;
}

static void write_axes(FILE *f, const chart *c) {
    set_text(f, "xlabel", c->x_label);
    set_text(f, "ylabel", c->y_label);
    fprintf(f, "%s logscale x\n%s logscale y\n", c->log_x ? "set" : "unset", c->log_y ? "set" : "unset");
    fprintf(f, c->square ? "set size ratio -1\n" : "set size noratio\n");
    double x[2], y[2];
    find_chart_range(c, false, x);
    find_chart_range(c, true, y);
    if (c->range[1] > c->range[0])
        memcpy(y, c->range, sizeof y);
    fprintf(f, "set xrange [%.10g:%.10g]\nset yrange [%.10g:%.10g]\n", x[0], x[1], y[0], y[1]);
    fprintf(f, "set format y '%%g'\nset xtics autofreq nomirror scale 0.4\n");
    for (int i = 0; i < arrlen(c->x_ticks); i++) {
        fprintf(f, i ? ", " : "set xtics (");
        put_quoted_text(f, c->x_ticks[i].text);
        fprintf(f, " %.17g%s", c->x_ticks[i].x, i + 1 == arrlen(c->x_ticks) ? ")\n" : "");
    }
    fputs("unset label\n", f);
    for (int i = 0; i < arrlen(c->names); i++) {
        fputs("set label ", f);
        put_quoted_text(f, c->names[i].text);
        fprintf(
            f, " at %.17g,%.17g offset 0.7,0.4 textcolor rgb '%s'\n", c->names[i].x, c->names[i].y, strokes[0].colour);
    }
}

static void write_style(FILE *f, const chart_series *s) {
    static const char *const with[] = {[CHART_LINE] = "lines",
        [CHART_LINE_POINTS] = "linespoints",
        [CHART_POINTS] = "points",
        [CHART_DOTS] = "points",
        [CHART_RINGS] = "points",
        [CHART_STARS] = "points",
        [CHART_THIN] = "lines",
        [CHART_BARS] = "boxes fill solid 0.5"};
    const char *dash =
        s->style <= CHART_LINE_POINTS && strcmp(strokes[s->colour].dash, "none") ? strokes[s->colour].dash : NULL;
    int point = s->style == CHART_STARS ? 3 : s->style == CHART_RINGS ? 6 : 7;
    fprintf(f, "using 1:2 with %s lc rgb '%s' lw %g", with[s->style], strokes[s->colour].colour,
        s->style == CHART_THIN ? 0.7 : 2.0);
    if (s->style >= CHART_LINE_POINTS && s->style <= CHART_STARS)
        fprintf(f, " pt %d ps %g", point, s->style == CHART_LINE_POINTS ? 0.55 : s->style == CHART_DOTS ? 0.3 : 0.75);
    if (dash)
        fprintf(f, " dt (%s)", dash);
}

static bool has_intervals(const chart_series *s) {
    for (int i = 0; i < arrlen(s->points); i++)
        if (isfinite(s->points[i].low))
            return true;
    return false;
}

static void write_data(FILE *f, int chart_number, const chart *c) {
    for (int i = 0; i < arrlen(c->series); i++) {
        fprintf(f, "$c%d_%d << END\n", chart_number, i);
        for (int k = 0; k < arrlen(c->series[i].points); k++) {
            const chart_point *p = &c->series[i].points[k];
            bool bar = isfinite(p->low);
            fprintf(f, "%.10g %.10g %.10g %.10g\n", p->x, p->y, bar ? p->low : p->y, bar ? p->high : p->y);
        }
        fputs("END\n", f);
    }
}

/* Error bars are drawn below the lines of all series. */
static void write_plot(FILE *f, int chart_number, const chart *c) {
    const char *before = "plot ";
    for (int i = 0; i < arrlen(c->series); i++)
        if (has_intervals(&c->series[i])) {
            fprintf(f, "%s$c%d_%d using 1:3:(0):($4-$3) with vectors nohead lw 1.3 lc rgb '%s' notitle", before,
                chart_number, i, strokes[c->series[i].colour].colour);
            before = ", ";
        }
    for (int i = 0; i < arrlen(c->series); i++)
        if (arrlen(c->series[i].points)) {
            fprintf(f, "%s$c%d_%d ", before, chart_number, i);
            write_style(f, &c->series[i]);
            fputs(c->series[i].label[0] ? " title " : " notitle", f);
            if (c->series[i].label[0])
                put_quoted_text(f, c->series[i].label);
            before = ", ";
        }
    putc('\n', f);
}

static bool chart_is_empty(const chart *c) {
    for (int i = 0; i < arrlen(c->series); i++)
        if (arrlen(c->series[i].points))
            return false;
    return true;
}

char *chart_script(const char *title, const chart *charts, int n) {
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_text(&text, &size);
    fprintf(f,
        "set encoding utf8\nset terminal svg size %d,%d noenhanced font 'sans-serif,13'%s\n"
        "set border 3 lc rgb '%s'\nset tics textcolor rgb '%s'\nset grid lt 1 lw 0.5 lc rgb '" CHART_GRID "'\n"
        "set ytics nomirror scale 0.4\nset boxwidth 0.8 "
        "relative\n",
        title ? 360 * (n < 3 ? n : 3) : CHART_WIDTH, title ? 30 + 370 * ((n + 2) / 3) : CHART_HEIGHT,
        title ? " background rgb '#ffffff'" : "", strokes[0].colour, strokes[0].colour);
    fputs(title ? "set key outside bottom center horizontal\n" : "unset key\n", f);
    for (int i = 0; i < n; i++)
        write_data(f, i, &charts[i]);
    if (title) {
        fprintf(f, "set multiplot layout %d,%d title ", (n + 2) / 3, n < 3 ? n : 3);
        put_quoted_text(f, title);
        putc('\n', f);
    }
    for (int i = 0; i < n; i++) {
        if (title)
            set_text(f, "title", charts[i].title);
        else
            fputs("set output\n", f);
        write_axes(f, &charts[i]);
        if (chart_is_empty(&charts[i]))
            fputs("plot NaN notitle\n", f);
        else
            write_plot(f, i, &charts[i]);
    }
    fputs(title ? "unset multiplot\nset output\n" : "set output\n", f);
    close_text(f, &text);
    return text;
}

mo_code chart_write(mo_context *ctx, const char *path, const char *title, const chart *charts, int n) {
    char *script = chart_script(title, charts, n), *svg = gnuplot_run(ctx, script);
    if (svg)
        mo_file_replace(ctx, path, svg, strlen(svg));
    free(script);
    free(svg);
    return mo_context_status(ctx)->code;
}
