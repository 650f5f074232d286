/* tools/report_eval.c - the sections of `mochi eval`: accuracy against k with intervals, beside baselines and the
 * paper's points, and what the training cost. */
#include "tools/report.h"

#include <stb/stb_ds.h>
#include <string.h>

static const char block_members[] = "data,task,head,metric,protocol,#file",
                  line_members[] = "data,task,head,metric,protocol,#file,k";

/* The first line with these members, or -1. */
static int find_line(const json_t *lines, const json_t *like, const char *members, size_t end) {
    for (size_t i = 0; i < end; i++)
        if (same_members(json_array_get(lines, i), like, members))
            return (int)i;
    return -1;
}

/* ---- names and colours of the columns ---- */

/* Texts of a member in order of appearance among the lines of a block (all lines where block is NULL). */
static const char **list_texts(const json_t *lines, const json_t *block, const char *member) {
    const char **texts = NULL;
    for (size_t i = 0; i < json_array_size(lines); i++) {
        const json_t *line = json_array_get(lines, i);
        int known = 0;
        while (known < arrlen(texts) && strcmp(texts[known], text_of(line, member)))
            known++;
        if (known == arrlen(texts) && (!block || same_members(block, line, block_members)))
            arrput(texts, text_of(line, member));
    }
    return texts;
}

/* One colour a column on the whole page: baselines have their own, other columns the rest in order of appearance. */
static int colour_of(const report *r, const char *features) {
    static const char *const baselines[] = {"hop", "x0", "random"};
    for (int i = 0; i < 3; i++)
        if (!strcmp(features, baselines[i]))
            return 3 + i;
    static const int others[] = {1, 2, 7, 6};
    const char **all = list_texts(r->lines[LINE_CELL], NULL, "features");
    int number = 0;
    for (int i = 0; i < arrlen(all) && strcmp(all[i], features); i++)
        number += strcmp(all[i], "hop") && strcmp(all[i], "x0") && strcmp(all[i], "random");
    arrfree(all);
    return others[number % 4];
}

/* ---- a block: one data set, task, head and metric ---- */

static bool is_main_metric(const json_t *cell) {
    return !strcmp(text_of(cell, "metric"), "accuracy") || !strcmp(text_of(cell, "metric"), "auc");
}

/* What the paper has for a cell by MOCHI, or MOCHI++; NULL where it has none. */
static const result *paper_of(const report *r, const json_t *cell, bool plus) {
    result subject = {0};
    snprintf(subject.data, sizeof subject.data, "%s", text_of(cell, "data"));
    snprintf(subject.task, sizeof subject.task, "%s", text_of(cell, "task"));
    snprintf(subject.metric, sizeof subject.metric, "%s", text_of(cell, "metric"));
    return find_result(
        &r->paper, &subject, (int64_t)number_of(cell, "k"), plus ? "MOCHI++" : "MOCHI", text_of(cell, "head"));
}

/* The paper's points: its intervals are standard deviations, and stand in the table. */
static void put_paper(const report *r, chart *c, const json_t *block, bool plus) {
    const json_t *cells = r->lines[LINE_CELL];
    chart_series *s =
        chart_add(c, plus ? "paper: MOCHI++" : "paper: MOCHI", plus ? 0 : 8, plus ? CHART_POINTS : CHART_RINGS);
    for (size_t i = 0; i < json_array_size(cells); i++) {
        const json_t *cell = json_array_get(cells, i);
        const result *p = same_members(block, cell, block_members) ? paper_of(r, cell, plus) : NULL;
        if (p && find_line(cells, cell, line_members, i) < 0)
            chart_point_add(s, number_of(cell, "k"), p->mean);
    }
    if (!arrlen(s->points))
        s->label[0] = '\0';
}

static int by_x(const void *a, const void *b) {
    const chart_point *p = a, *q = b;
    return (p->x > q->x) - (p->x < q->x);
}

static chart make_chart(report *r, const json_t *block) {
    const json_t *cells = r->lines[LINE_CELL];
    chart c = {.log_x = true};
    snprintf(c.title, sizeof c.title, "%s, %s, %s head", text_of(block, "data"), text_of(block, "task"),
        text_of(block, "head"));
    snprintf(c.x_label, sizeof c.x_label, "k, labelled examples a class");
    snprintf(c.y_label, sizeof c.y_label, "%s, %%", text_of(block, "metric"));
    const char **columns = list_texts(cells, block, "features");
    for (int j = 0; j < arrlen(columns); j++) {
        chart_series *s = chart_add(&c, columns[j], colour_of(r, columns[j]), CHART_LINE_POINTS);
        for (size_t i = 0; i < json_array_size(cells); i++) {
            const json_t *cell = json_array_get(cells, i);
            if (same_members(block, cell, block_members) && !strcmp(text_of(cell, "features"), columns[j])) {
                char tick[24];
                snprintf(tick, sizeof tick, "%.0f", number_of(cell, "k"));
                chart_tick(&c, number_of(cell, "k"), tick);
                chart_interval_add(s, number_of(cell, "k"), number_of(cell, "mean"), number_of(cell, "ci95"));
            }
        }
        if (arrlen(s->points))
            qsort(s->points, (size_t)arrlen(s->points), sizeof *s->points, by_x);
    }
    for (int j = 0; j < arrlen(c.series); j++) /* an interval of few seeds may leave 0 .. 100 */
        for (int i = 0; i < arrlen(c.series[j].points); i++) {
            chart_point *p = &c.series[j].points[i];
            p->low = p->low < 0 ? 0 : p->low;
            p->high = p->high > 100 ? 100 : p->high;
        }
    put_paper(r, &c, block, false);
    put_paper(r, &c, block, true);
    arrfree(columns);
    return c;
}

static void put_heading(report *r, const json_t *block, const char **columns, bool in_paper) {
    static const char *const names[] = {"data", "task", "head", "metric", "protocol"};
    fputs("<h3>", r->page);
    for (int i = 0; i < 5; i++) {
        put_text(r->page, i ? " \xc2\xb7 " : "");
        put_text(r->page, text_of(block, names[i]));
    }
    fputs(", %</h3>\n<div class='wide'><table>\n<tr><th scope='col'>k</th>", r->page);
    for (int j = 0; j < arrlen(columns); j++) {
        fputs("<th scope='col'>", r->page);
        put_text(r->page, columns[j]);
        fputs("</th>", r->page);
    }
    fputs(in_paper ? "<th>paper: MOCHI</th><th>MOCHI++</th></tr>\n" : "</tr>\n", r->page);
}

/* The line of the k of line number i: a figure a column, which are at i or behind it. */
static void put_line(report *r, size_t i, const char **columns, bool in_paper) {
    const json_t *cells = r->lines[LINE_CELL], *cell = json_array_get(cells, i);
    fprintf(r->page, "<tr><td>%.0f</td>", number_of(cell, "k"));
    for (int j = 0; j < arrlen(columns); j++) {
        const json_t *found = NULL;
        for (size_t m = i; m < json_array_size(cells) && !found; m++) {
            const json_t *other = json_array_get(cells, m);
            if (same_members(cell, other, line_members) && !strcmp(text_of(other, "features"), columns[j]))
                found = other;
        }
        put_interval(r->page, found ? number_of(found, "mean") : NAN, found ? number_of(found, "ci95") : NAN, 1);
    }
    for (int plus = 0; plus < 2 && in_paper; plus++) {
        const result *p = paper_of(r, cell, plus);
        put_interval(r->page, p ? p->mean : NAN, p ? p->sd : NAN, 1);
    }
    fputs("</tr>\n", r->page);
}

static void put_table(report *r, const json_t *block) {
    const json_t *cells = r->lines[LINE_CELL];
    const char **columns = list_texts(cells, block, "features");
    bool in_paper = false;
    for (size_t i = 0; i < json_array_size(cells); i++)
        in_paper |= same_members(block, json_array_get(cells, i), block_members) &&
                    (paper_of(r, json_array_get(cells, i), false) || paper_of(r, json_array_get(cells, i), true));
    put_heading(r, block, columns, in_paper);
    for (size_t i = 0; i < json_array_size(cells); i++) {
        const json_t *cell = json_array_get(cells, i);
        if (same_members(block, cell, block_members) && find_line(cells, cell, line_members, i) < 0)
            put_line(r, i, columns, in_paper);
    }
    fputs("</table></div>\n", r->page);
    arrfree(columns);
}

/* The paper's normalised aggregate of each method, and the tasks that could not run. */
static void put_aggregates(report *r) {
    static const char *const tasks[] = {"nc", "lp", "gc"};
    const json_t *lines = r->lines[LINE_AGGREGATE], *absent = r->lines[LINE_ABSENT];
    if (json_array_size(lines))
        fputs("<h3>Normalised aggregate S: the mean share of the best figure of any method on a cell</h3>\n"
              "<div class='wide'><table>\n<tr><th>features</th><th class='t'>head</th><th>S</th><th>nodes</th>"
              "<th>links</th><th>graphs</th></tr>\n",
            r->page);
    for (size_t i = 0; i < json_array_size(lines); i++) {
        const json_t *line = json_array_get(lines, i);
        fputs("<tr><td>", r->page);
        put_text(r->page, text_of(line, "features"));
        fputs("</td><td class='t'>", r->page);
        put_text(r->page, text_of(line, "head"));
        fputs("</td>", r->page);
        put_number(r->page, number_of(line, "S"), 3);
        for (int task = 0; task < 3; task++)
            put_number(r->page, number_of(json_object_get(line, tasks[task]), "S"), 3);
        fputs("</tr>\n", r->page);
    }
    fputs(json_array_size(lines) ? "</table></div>\n" : "", r->page);
    for (size_t i = 0; i < json_array_size(absent); i++) {
        fputs("<p class='soft'>Not run: ", r->page);
        put_text(r->page, text_of(json_array_get(absent, i), "data"));
        fputs(", ", r->page);
        put_text(r->page, text_of(json_array_get(absent, i), "reason"));
        fputs("</p>\n", r->page);
    }
}

void report_cells(report *r) {
    const json_t *cells = r->lines[LINE_CELL];
    size_t n = json_array_size(cells);
    if (!n)
        return;
    open_section(r, "Few-shot accuracy on graphs that were not trained on");
    fputs(
        "<p class='soft'>Bars are 95% intervals. <b>random</b>: the encoder untrained; <b>x0</b>, <b>hop</b>: a "
        "readout "
        "on single hops, nothing trained; the paper's own figures, where it has them, with one standard deviation over "
        "3 seeds.</p>\n",
        r->page);
    open_figures(r);
    for (size_t i = 0; i < n; i++) {
        const json_t *cell = json_array_get(cells, i);
        if (is_main_metric(cell) && find_line(cells, cell, block_members, i) < 0) {
            chart c = make_chart(r, cell);
            put_chart(r, &c);
        }
    }
    close_figures(r);
    put_aggregates(r);
    fputs("<details open><summary>All figures as tables</summary>\n", r->page);
    for (size_t i = 0; i < n; i++)
        if (find_line(cells, json_array_get(cells, i), block_members, i) < 0)
            put_table(r, json_array_get(cells, i));
    fputs("</details>\n", r->page);
    close_section(r);
}

/* ---- cost ---- */

/* The run that made the weights behind a cell, -1 where it is not among the inputs. */
static int run_of(const report *r, const json_t *cell) {
    const json_t *line = json_array_get(r->lines[LINE_RUN], (size_t)number_of(cell, "#run"));
    const json_t *weights = json_object_get(line, "weights");
    for (size_t i = 0; number_of(cell, "#run") >= 0 && i < json_array_size(weights); i++) {
        const json_t *w = json_array_get(weights, i);
        for (int k = 0; k < arrlen(r->runs) && !strcmp(text_of(w, "features"), text_of(cell, "features")); k++)
            if (r->runs[k].weights[0] && !strcmp(r->runs[k].weights, text_of(w, "xxh3")))
                return k;
    }
    return -1;
}

/* The mean of a column's main figures over all data sets, tasks and k; NaN without any. *cell: one of them. */
static double mean_of(const report *r, const char *features, const json_t **cell) {
    double sum = 0;
    int n = 0;
    for (size_t i = 0; i < json_array_size(r->lines[LINE_CELL]); i++) {
        const json_t *c = json_array_get(r->lines[LINE_CELL], i);
        if (is_main_metric(c) && !strcmp(text_of(c, "features"), features) && !isnan(number_of(c, "mean"))) {
            sum += number_of(c, "mean");
            n++;
            *cell = c;
        }
    }
    return n ? sum / n : NAN;
}

/* Weights without their run have no cost here; baselines have none at all. */
void report_costs(report *r) {
    const char **columns = list_texts(r->lines[LINE_CELL], NULL, "features");
    chart c = {.x_label = "seconds of training", .y_label = "mean of all figures, %"};
    int trained = 0;
    snprintf(c.title, sizeof c.title, "Accuracy and AUC over all tasks and k, against the cost of training");
    for (int j = 0; j < arrlen(columns); j++) {
        const json_t *cell = NULL;
        double mean = mean_of(r, columns[j], &cell);
        int run = cell ? run_of(r, cell) : -1, colour = colour_of(r, columns[j]);
        bool baseline = colour >= 3 && colour <= 5;
        if (isnan(mean) || (run < 0 && !baseline))
            continue;
        chart_point_add(
            chart_add(&c, columns[j], colour, CHART_POINTS), baseline ? 0 : training_seconds(&r->runs[run]), mean);
        trained += !baseline;
    }
    if (trained) {
        open_section(r, "Cost against accuracy");
        open_figures(r);
        put_chart(r, &c);
        close_figures(r);
        close_section(r);
    }
    chart_free(&c);
    arrfree(columns);
}
