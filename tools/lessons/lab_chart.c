/* tools/lessons/lab_chart.c - the rows of a lab as three charts side by side: error, memory and time over the inner
 * iterations, one line per method. */
#include "tools/lessons/lab.h"
#include "tools/report/chart.h"

#include <math.h>
#include <stdio.h>

enum { PANELS = 3 };

static const char *const title[PANELS] = {"error of the gradient", "memory", "time"};
static const char *const label[PANELS] = {"relative error", "peak bytes of the tape", "milliseconds"};

/* The value to plot: a logarithmic axis has no place for an error of 0. */
static double value_of(const lab_row *r, int panel) {
    double v = panel == 0 ? r->error : panel == 1 ? (double)r->peak_bytes : r->milliseconds;
    return isfinite(v) && v > 1e-16 ? v : 1e-16;
}

/* The rows of one method are adjacent. */
static chart make_lab_chart(const lab_row *rows, int n, int panel) {
    chart c = {.log_x = true, .log_y = true, .x_label = "inner iterations"};
    snprintf(c.title, sizeof c.title, "%s", title[panel]);
    snprintf(c.y_label, sizeof c.y_label, "%s", label[panel]);
    chart_series *s = NULL;
    for (int i = 0; i < n; i++) {
        if (i == 0 || rows[i].method != rows[i - 1].method)
            s = chart_add(&c, lab_methods[rows[i].method], rows[i].method, CHART_LINE_POINTS);
        chart_point_add(s, rows[i].iterations, value_of(&rows[i], panel));
    }
    return c;
}

mo_code lab_chart(mo_context *ctx, const char *heading, const lab_row *rows, int n, const char *path) {
    chart charts[PANELS];
    for (int panel = 0; panel < PANELS; panel++)
        charts[panel] = make_lab_chart(rows, n, panel);
    mo_code code = chart_write(ctx, path, heading, charts, PANELS);
    for (int panel = 0; panel < PANELS; panel++)
        chart_free(&charts[panel]);
    return code;
}
