/* tools/report/report_fit.c - the sections of `mochi fit` and of the diagnosis: readouts side by side, their
 * reliability, and the hull of the prototypes. */
#include "tools/report/report.h"

#include "tools/lessons/pitfalls_chart.h"

#include <inttypes.h>
#include <stb/stb_ds.h>
#include <string.h>

/* Whether a line is the first of its kind in its file. */
static bool opens_file(const json_t *lines, size_t i) {
    return i == 0 || !same_members(json_array_get(lines, i), json_array_get(lines, i - 1), "#file");
}

static const char *fit_path_of(const report *r, const json_t *line) {
    return r->files[(int)number_of(line, "#file")].path;
}

/* The number of a head among those of its file. */
static int head_number(const json_t *lines, const json_t *line) {
    int number = 0;
    for (size_t i = 0; i < json_array_size(lines); i++) {
        const json_t *other = json_array_get(lines, i);
        if (!same_members(line, other, "#file"))
            continue;
        if (same_members(line, other, "head"))
            return number;
        size_t k = 0;
        while (k < i && !same_members(other, json_array_get(lines, k), "#file,head"))
            k++;
        number += k == i;
    }
    return number;
}

/* A chart of one file with one line per head: y against x, where x is k or the seconds. */
static chart make_fit_chart(const json_t *lines, const json_t *first, const char *title, const char *x, const char *y) {
    chart c = {.log_x = true};
    bool by_k = !strcmp(x, "k");
    snprintf(c.title, sizeof c.title, "%s", title);
    snprintf(c.x_label, sizeof c.x_label, "%s", by_k ? "k, labelled rows a class" : "seconds for all episodes");
    snprintf(c.y_label, sizeof c.y_label, "%s", strcmp(y, "accuracy") ? "expected calibration error" : "accuracy, %");
    for (size_t i = 0; i < json_array_size(lines); i++) {
        const json_t *line = json_array_get(lines, i);
        chart_series *s = NULL;
        if (!same_members(line, first, "#file"))
            continue;
        for (int k = 0; k < arrlen(c.series); k++)
            if (!strcmp(c.series[k].label, text_of(line, "head")))
                s = &c.series[k];
        s = s ? s
              : chart_add(
                    &c, text_of(line, "head"), 1 + head_number(lines, line) % (CHART_COLOURS - 1), CHART_LINE_POINTS);
        chart_interval_add(
            s, number_of(line, x), number_of(line, y), by_k && !strcmp(y, "accuracy") ? number_of(line, "ci95") : NAN);
        char tick[24];
        snprintf(tick, sizeof tick, "%.0f", number_of(line, "k"));
        if (by_k)
            chart_tick(&c, number_of(line, "k"), tick);
    }
    return c;
}

static void put_fit_table(report *r, const json_t *lines, const json_t *first) {
    static const char *const members[] = {"nll", "brier", "ece", "ece_temperature", "seconds"};
    fputs("<div class='wide'><table>\n<tr><th>head</th><th>k</th><th>accuracy %</th><th>nll</th><th>Brier</th>"
          "<th>ECE</th><th>ECE after temperature</th><th>seconds</th></tr>\n",
        r->page);
    for (size_t i = 0; i < json_array_size(lines); i++) {
        const json_t *line = json_array_get(lines, i);
        if (!same_members(line, first, "#file"))
            continue;
        fputs("<tr><td>", r->page);
        put_text(r->page, text_of(line, "head"));
        fprintf(r->page, "</td><td>%.0f</td>", number_of(line, "k"));
        put_interval(r->page, number_of(line, "accuracy"), number_of(line, "ci95"), 2);
        for (int k = 0; k < 5; k++)
            put_number(r->page, number_of(line, members[k]), 3);
        fputs("</tr>\n", r->page);
    }
    fputs("</table></div>\n", r->page);
}

/* Writes one diagram per k with one line per head. */
static void put_reliability(report *r, const json_t *first) {
    const json_t *lines = r->lines[LINE_READOUT];
    for (size_t i = 0; i < json_array_size(lines); i++) {
        const json_t *line = json_array_get(lines, i);
        size_t before = 0;
        while (before < i && !same_members(line, json_array_get(lines, before), "#file,k"))
            before++;
        if (before < i || !same_members(line, first, "#file"))
            continue;
        char title[64];
        snprintf(title, sizeof title, "Reliability at k = %.0f", number_of(line, "k"));
        chart c = chart_reliability(title);
        for (size_t m = i; m < json_array_size(lines); m++) {
            const json_t *other = json_array_get(lines, m);
            mo_calibration counts = counts_of(other);
            if (same_members(line, other, "#file,k"))
                chart_add_reliability(
                    &c, text_of(other, "head"), 1 + head_number(lines, other) % (CHART_COLOURS - 1), &counts);
        }
        put_chart(r, &c);
    }
}

void report_fits(report *r) {
    const json_t *lines = r->lines[LINE_FIT];
    for (size_t i = 0; i < json_array_size(lines); i++) {
        const json_t *line = json_array_get(lines, i);
        if (!opens_file(lines, i))
            continue;
        char heading[200];
        snprintf(heading, sizeof heading, "Readouts on embeddings: %.150s", fit_path_of(r, line));
        open_section(r, heading);
        open_figures(r);
        chart charts[] = {make_fit_chart(lines, line, "Few-shot accuracy", "k", "accuracy"),
            make_fit_chart(lines, line, "Calibration error of the probabilities", "k", "ece"),
            make_fit_chart(lines, line, "Calibration error after a temperature", "k", "ece_temperature"),
            make_fit_chart(lines, line, "Accuracy against cost", "seconds", "accuracy")};
        for (int k = 0; k < 4; k++)
            put_chart(r, &charts[k]);
        put_reliability(r, line);
        close_figures(r);
        put_fit_table(r, lines, line);
        close_section(r);
    }
}

/* ---- the hull ---- */

static void put_geometry(report *r, const json_t *line) {
    const json_t *lines = r->lines[LINE_GEOMETRY];
    for (size_t i = 0; i < json_array_size(lines); i++) {
        const json_t *o = json_array_get(lines, i);
        if (!same_members(line, o, "#file"))
            continue;
        double pairs = number_of(o, "pairs"),
               drawn = json_is_integer(json_object_get(o, "pairs_drawn")) ? number_of(o, "pairs_drawn") : pairs;
        fprintf(r->page,
            "<p>The mean of all rows is %.3g from the origin, %.2f times the spread within classes; the boundaries of "
            "%.0f of %.0f pairs of prototypes",
            number_of(o, "offset"), number_of(o, "offset") / number_of(o, "spread"), number_of(o, "pairs_missed"),
            drawn);
        if (drawn < pairs)
            fprintf(r->page, ", drawn from %.0f,", pairs);
        fputs(" have all their rows on one side.</p>\n", r->page);
    }
}

static void put_prototype(report *r, const json_t *o) {
    fprintf(r->page, "<tr><td>%.0f</td><td>%.0f</td>", number_of(o, "class"), number_of(o, "rows"));
    put_number(r->page, number_of(o, "norm"), 3);
    put_number(r->page, number_of(o, "hull_distance"), 3);
    put_number(r->page, number_of(o, "hull_distance_normalised"), 3);
    bool outer = json_is_true(json_object_get(o, "outer")), inside = json_is_true(json_object_get(o, "inside"));
    fprintf(r->page, "<td class='t'>%s%s%s</td></tr>\n", outer ? "outer" : "interior",
        inside ? ", inside the hull" : "", json_is_true(json_object_get(o, "flagged")) ? ", flagged" : "");
}

void report_hulls(report *r) {
    const json_t *lines = r->lines[LINE_PROTOTYPE];
    size_t n = json_array_size(lines), end;
    for (size_t i = 0; i < n; i = end) {
        hull_place *places = NULL;
        for (end = i; end < n && (end == i || !opens_file(lines, end)); end++) {
            const json_t *o = json_array_get(lines, end), *plane = json_object_get(o, "plane");
            hull_place place = {.x = json_number_value(json_array_get(plane, 0)),
                .y = json_number_value(json_array_get(plane, 1)),
                .distance = number_of(o, "hull_distance_normalised"),
                .outer = json_is_true(json_object_get(o, "outer")),
                .flagged = json_is_true(json_object_get(o, "flagged"))};
            snprintf(place.name, sizeof place.name, "%.0f", number_of(o, "class"));
            arrput(places, place);
        }
        char heading[200];
        snprintf(heading, sizeof heading, "Hull of the prototypes: %.150s", fit_path_of(r, json_array_get(lines, i)));
        open_section(r, heading);
        put_geometry(r, json_array_get(lines, i));
        chart *charts = hull_charts(places, (int)arrlen(places));
        open_figures(r);
        for (int k = 0; k < arrlen(charts); k++)
            put_chart(r, &charts[k]);
        close_figures(r);
        fputs("<p class='soft'>Distances are measured in the full space, before the projection. Flagged: nearer to the "
              "hull of the others than every corner of the outer hull.</p>\n<div class='wide'><table>\n"
              "<tr><th>class</th><th>rows</th><th>norm</th><th>distance</th><th>normalised</th><th "
              "class='t'>where</th></tr>\n",
            r->page);
        for (size_t k = i; k < end; k++)
            put_prototype(r, json_array_get(lines, k));
        fputs("</table></div>\n", r->page);
        close_section(r);
        charts_free(charts);
        arrfree(places);
    }
}
