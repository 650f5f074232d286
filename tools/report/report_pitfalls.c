/* tools/report/report_pitfalls.c - the section of `mochi pitfalls`: the paper's synthetic experiments. */
#include "tools/report/report.h"

#include "tools/lessons/pitfalls_chart.h"

#include <stb/stb_ds.h>
#include <stdlib.h>
#include <string.h>

/* The lines as figures; their texts stay owned by the lines. */
static pitfall_figures read_pitfall_figures(const report *r) {
    const json_t *lines = r->lines[LINE_PITFALL], *diagrams = r->lines[LINE_RELIABILITY];
    pitfall_figures f = {.seeds = INT64_MAX};
    for (size_t i = 0; i < json_array_size(lines); i++) {
        int64_t n = (int64_t)json_array_size(json_object_get(json_array_get(lines, i), "values"));
        f.seeds = n < f.seeds ? n : f.seeds;
    }
    for (size_t i = 0; i < json_array_size(lines); i++) {
        const json_t *line = json_array_get(lines, i), *values = json_object_get(line, "values");
        pitfall_row row = {.pitfall = text_of(line, "pitfall"),
            .setting = text_of(line, "setting"),
            .x = number_of(line, "x"),
            .head = text_of(line, "head"),
            .metric = text_of(line, "metric"),
            .values = malloc((size_t)f.seeds * sizeof *row.values + 1)};
        if (!row.values)
            mo_fail(r->ctx, MO_MEMORY, "report: out of memory");
        for (int64_t k = 0; row.values && k < f.seeds; k++)
            row.values[k] = json_is_number(json_array_get(values, (size_t)k))
                                ? json_number_value(json_array_get(values, (size_t)k))
                                : NAN;
        arrput(f.rows, row);
    }
    for (size_t i = 0; i < json_array_size(diagrams); i++) {
        const json_t *line = json_array_get(diagrams, i);
        arrput(
            f.reliability, ((pitfall_reliability){text_of(line, "setting"), text_of(line, "head"), counts_of(line)}));
    }
    return f;
}

static void put_notes(report *r, const char *const *notes) {
    fputs("<p>", r->page);
    for (int i = 0; notes[i]; i++) {
        put_text(r->page, notes[i]);
        putc(' ', r->page);
    }
    fputs("</p>\n", r->page);
}

static void put_calibration(report *r, const pitfall_figures *f) {
    fputs("<div class='wide'><table>\n<tr><th>calibration</th><th class='t'>readout</th><th>ECE</th><th>paper</th>"
          "<th>accuracy %</th></tr>\n",
        r->page);
    for (int i = 0; i < arrlen(f->rows); i++) {
        const pitfall_row *row = &f->rows[i];
        if (strcmp(row->metric, "ece"))
            continue;
        mo_summary ece = mo_summarize(row->values, f->seeds);
        const pitfall_row *a = find_pitfall(f, row->setting, NAN, row->head, "accuracy");
        mo_summary accuracy = a ? mo_summarize(a->values, f->seeds) : (mo_summary){.mean = NAN, .ci95 = NAN};
        fputs("<tr><td>", r->page);
        put_text(r->page, row->setting);
        fputs("</td><td class='t'>", r->page);
        put_text(r->page, row->head);
        fputs("</td>", r->page);
        put_interval(r->page, ece.mean, ece.ci95, 4);
        put_number(r->page, pitfalls_paper_ece(row->setting, row->head), 3);
        put_interval(r->page, accuracy.mean, accuracy.ci95, 1);
        fputs("</tr>\n", r->page);
    }
    fputs("</table></div>\n", r->page);
}

void report_pitfalls(report *r) {
    if (!json_array_size(r->lines[LINE_PITFALL]))
        return;
    pitfall_figures f = read_pitfall_figures(r);
    chart *charts = mo_ok(r->ctx) ? pitfalls_charts(&f) : NULL;
    open_section(r, "Where prototypes fail: synthetic");
    fprintf(r->page, "<p class='soft'>The paper's experiments, %lld draws.</p>\n", (long long)f.seeds);
    open_figures(r);
    for (int i = 0; i < arrlen(charts); i++)
        put_chart(r, &charts[i]);
    close_figures(r);
    bool hull = find_pitfall(&f, "delta", NAN, "ridge", "accuracy"),
         calibration = find_pitfall(&f, "shifted", NAN, "logistic", "ece");
    if (hull)
        put_notes(r, pitfalls_hull_notes);
    if (calibration) {
        put_calibration(r, &f);
        put_notes(r, pitfalls_calibration_notes);
    }
    close_section(r);
    charts_free(charts);
    pitfalls_free(&f);
}
