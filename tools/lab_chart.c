/* tools/lab_chart.c - the rows of a lab as an SVG of three panels side by side: error, memory and time over the inner
 * iterations, both axes logarithmic, one line a method. */
#include "tools/lab.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 1050, HEIGHT = 360, PANELS = 3, PANEL = 250, PLOT = 220, TOP = 70, LEFT = 62, GAP = 90 };

/* Colours that remain apart for readers who confuse red and green (Okabe and Ito 2008), and dashes in print. */
static const char *const colour[LAB_METHODS] = {"#000000", "#d55e00", "#0072b2", "#009e73"};
static const char *const dash[LAB_METHODS] = {"2 3", "none", "none", "7 4"};
static const char *const label[PANELS] = {"relative error of the gradient", "peak bytes of the tape", "milliseconds"};

/* A logarithmic axis over [low, high], both powers of ten. */
typedef struct axis {
    int low, high;
} axis;

static double value_of(const lab_row *r, int panel) {
    double v = panel == 0 ? r->error : panel == 1 ? (double)r->peak_bytes : r->milliseconds;
    return isfinite(v) && v > 1e-16 ? v : 1e-16;
}

static void include(axis *a, double v) {
    int low = (int)floor(log10(v)), high = (int)ceil(log10(v));
    a->low = low < a->low ? low : a->low;
    a->high = high > a->high ? high : a->high;
    if (a->high == a->low)
        a->high++;
}

/* 0 at the lower end, 1 at the upper. */
static double place(const axis *a, double v) {
    return (log10(v) - a->low) / (a->high - a->low);
}

static void power(FILE *f, double x, double y, const char *anchor, int exponent) {
    fprintf(f, "<text x='%.1f' y='%.1f' text-anchor='%s'>10<tspan dy='-5' font-size='9'>%d</tspan></text>\n", x, y,
        anchor, exponent);
}

static void draw_frame(FILE *f, double left, const axis *x, const axis *y, const char *title) {
    fprintf(f, "<text x='%.1f' y='%d' font-weight='bold'>%s</text>\n", left, TOP - 14, title);
    int every = (y->high - y->low + 5) / 6;
    for (int k = y->low; k <= y->high; k += every) {
        double at = TOP + PLOT * (1 - place(y, pow(10, k)));
        fprintf(f, "<line x1='%.1f' y1='%.1f' x2='%.1f' y2='%.1f' stroke='#e0e0e0'/>\n", left, at, left + PANEL, at);
        power(f, left - 6, at + 4, "end", k);
    }
    for (int k = x->low; k <= x->high; k++) {
        double at = left + PANEL * place(x, pow(10, k));
        fprintf(f, "<line x1='%.1f' y1='%d' x2='%.1f' y2='%d' stroke='#e0e0e0'/>\n", at, TOP, at, TOP + PLOT);
        power(f, at, TOP + PLOT + 20, "middle", k);
    }
    fprintf(f, "<rect x='%.1f' y='%d' width='%d' height='%d' fill='none' stroke='#404040'/>\n", left, TOP, PANEL, PLOT);
    fprintf(
        f, "<text x='%.1f' y='%d' text-anchor='middle'>inner iterations</text>\n", left + PANEL / 2.0, TOP + PLOT + 42);
}

static void draw_line(FILE *f, double left, const axis *x, const axis *y, const lab_row *rows, int n, int panel) {
    const char *stroke = colour[rows[0].method];
    fprintf(f, "<polyline fill='none' stroke='%s' stroke-width='2' stroke-dasharray='%s' points='", stroke,
        dash[rows[0].method]);
    for (int i = 0; i < n; i++)
        fprintf(f, "%s%.1f,%.1f", i ? " " : "", left + PANEL * place(x, rows[i].iterations),
            TOP + PLOT * (1 - place(y, value_of(&rows[i], panel))));
    fputs("'/>\n", f);
    for (int i = 0; i < n; i++)
        fprintf(f, "<circle cx='%.1f' cy='%.1f' r='3' fill='%s'/>\n", left + PANEL * place(x, rows[i].iterations),
            TOP + PLOT * (1 - place(y, value_of(&rows[i], panel))), stroke);
}

/* Rows of one method lie together. */
static int run_length(const lab_row *rows, int n) {
    int k = 1;
    while (k < n && rows[k].method == rows[0].method)
        k++;
    return k;
}

static void draw_legend(FILE *f, const lab_row *rows, int n) {
    double x = LEFT;
    for (int i = 0; i < n; i += run_length(rows + i, n - i), x += 110) {
        int m = rows[i].method;
        fprintf(f, "<line x1='%.1f' y1='%d' x2='%.1f' y2='%d' stroke='%s' stroke-width='2' stroke-dasharray='%s'/>\n",
            x, HEIGHT - 12, x + 28, HEIGHT - 12, colour[m], dash[m]);
        fprintf(f, "<text x='%.1f' y='%d'>%s</text>\n", x + 34, HEIGHT - 8, lab_methods[m]);
    }
}

static void draw(FILE *f, const char *title, const lab_row *rows, int n) {
    fprintf(f,
        "<svg xmlns='http://www.w3.org/2000/svg' width='%d' height='%d' viewBox='0 0 %d %d' "
        "font-family='Helvetica, Arial, sans-serif' font-size='12'>\n"
        "<rect width='100%%' height='100%%' fill='white'/>\n<text x='%d' y='26' font-size='16'>%s</text>\n",
        WIDTH, HEIGHT, WIDTH, HEIGHT, LEFT, title);
    for (int panel = 0; panel < PANELS; panel++) {
        axis x = {.low = 99, .high = -99}, y = x;
        double left = LEFT + panel * (PANEL + GAP);
        for (int i = 0; i < n; i++) {
            include(&x, rows[i].iterations);
            include(&y, value_of(&rows[i], panel));
        }
        draw_frame(f, left, &x, &y, label[panel]);
        for (int i = 0; i < n; i += run_length(rows + i, n - i))
            draw_line(f, left, &x, &y, rows + i, run_length(rows + i, n - i), panel);
    }
    draw_legend(f, rows, n);
    fputs("</svg>\n", f);
}

mo_code lab_chart(mo_context *ctx, const char *title, const lab_row *rows, int n, const char *path) {
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    if (f)
        draw(f, title, rows, n);
    if (!f || fclose(f) != 0)
        mo_fail(ctx, MO_MEMORY, "lab: out of memory");
    else
        mo_file_replace(ctx, path, text, size);
    free(text);
    return mo_context_status(ctx)->code;
}
