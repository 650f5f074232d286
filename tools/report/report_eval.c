/* tools/report/report_eval.c - the sections of `mochi eval`: accuracy against k with intervals, beside baselines and
 * the paper's points. */
#include "tools/eval/eval_table.h"
#include "tools/report/report_cells.h"

#include <stb/stb_ds.h>
#include <stdlib.h>
#include <string.h>

/* ---- a block ---- */

static bool is_links(const json_t *cell) {
    return !strcmp(text_of(cell, "task"), "lp");
}

/* The paper's figure by MOCHI or MOCHI++ for a cell's subject at k; NULL if it has none. */
static const result *paper_at(const report *r, const json_t *cell, int64_t k, bool plus) {
    result subject = {0};
    if (is_links(cell) && k != PAPER_LINKS_K)
        return NULL;
    snprintf(subject.data, sizeof subject.data, "%s", text_of(cell, "data"));
    snprintf(subject.task, sizeof subject.task, "%s", text_of(cell, "task"));
    snprintf(subject.metric, sizeof subject.metric, "%s", text_of(cell, "metric"));
    return find_result(&r->paper, &subject, k, plus ? "MOCHI++" : "MOCHI", text_of(cell, "head"));
}

const result *paper_of(const report *r, const json_t *cell, bool plus) {
    return paper_at(r, cell, (int64_t)number_of(cell, "k"), plus);
}

static int by_x(const void *a, const void *b) {
    const chart_point *p = a, *q = b;
    return (p->x > q->x) - (p->x < q->x);
}

/* Clips error bars to 0 .. 100: an interval of few seeds may exceed it. */
static void finish_series(chart_series *s) {
    for (int i = 0; i < arrlen(s->points); i++) {
        chart_point *p = &s->points[i];
        p->low = p->low < 0 ? 0 : p->low;
        p->high = p->high > 100 ? 100 : p->high;
    }
    if (arrlen(s->points))
        qsort(s->points, (size_t)arrlen(s->points), sizeof *s->points, by_x);
    else
        s->label[0] = '\0';
}

/* Adds the paper's points without error bars: its standard deviations are in the table. For links it has one figure,
 * for every k measured here. */
static void put_paper(const cell_table *t, chart *c, const located *first, bool plus) {
    chart_series *s =
        chart_add(c, plus ? "paper: MOCHI++" : "paper: MOCHI", plus ? 0 : 8, plus ? CHART_POINTS : CHART_RINGS);
    const result *links = is_links(first->cell) ? paper_at(t->r, first->cell, PAPER_LINKS_K, plus) : NULL;
    if (links) {
        chart_point_add(s, PAPER_LINKS_K, links->mean);
        chart_tick(c, PAPER_LINKS_K, "512");
    }
    int line = -1;
    for (const located *l = first; l < t->at + arrlen(t->at) && !is_links(first->cell); l++)
        if (l->block == first->block && l->line > line) {
            const result *p = paper_of(t->r, l->cell, plus);
            if (p)
                chart_point_add(s, number_of(l->cell, "k"), p->mean);
            line = l->line;
        }
    finish_series(s);
}

/* The ratio of k in which neighbouring columns stand side by side, so that no bar hides another: a sixtieth of the
 * axis.
 */
static double dodge_of(const cell_table *t, const located *first) {
    double low = INFINITY, high = 1;
    for (const located *l = first; l < t->at + arrlen(t->at); l++)
        if (l->block == first->block) {
            low = fmin(low, number_of(l->cell, "k"));
            high = fmax(high, number_of(l->cell, "k"));
        }
    return low > 0 && high > low ? pow(high / low, 1.0 / 60) : 1.02;
}

static chart make_eval_chart(const cell_table *t, const located *first) {
    chart c = {.log_x = true};
    double dodge = dodge_of(t, first);
    snprintf(c.title, sizeof c.title, "%s, %s, %s head", text_of(first->cell, "data"), text_of(first->cell, "task"),
        text_of(first->cell, "head"));
    snprintf(c.x_label, sizeof c.x_label, "k, labelled examples a class");
    snprintf(c.y_label, sizeof c.y_label, "%s, %%", text_of(first->cell, "metric"));
    for (int j = 0; j < arrlen(t->columns); j++) {
        chart_series *s = chart_add(&c, t->columns[j], colour_of(t, t->columns[j]), CHART_LINE_POINTS);
        double aside = j - ((double)arrlen(t->columns) - 1) / 2;
        for (const located *l = first; l < t->at + arrlen(t->at); l++) {
            char tick[24];
            if (l->block != first->block || strcmp(l->features, t->columns[j]) != 0)
                continue;
            snprintf(tick, sizeof tick, "%.0f", number_of(l->cell, "k"));
            chart_tick(&c, number_of(l->cell, "k"), tick);
            chart_interval_add(
                s, number_of(l->cell, "k") * pow(dodge, aside), number_of(l->cell, "mean"), number_of(l->cell, "ci95"));
        }
        finish_series(s);
    }
    put_paper(t, &c, first, false);
    put_paper(t, &c, first, true);
    return c;
}

static void put_heading(FILE *page, const json_t *block, const char **columns, bool in_paper) {
    static const char *const names[] = {"data", "task", "head", "metric", "protocol"};
    fputs("<h3>", page);
    for (int i = 0; i < 5; i++) {
        put_text(page, i ? " \xc2\xb7 " : "");
        put_text(page, text_of(block, names[i]));
    }
    fputs(", %</h3>\n<div class='wide'><table>\n<tr><th scope='col'>k</th>", page);
    for (int j = 0; j < arrlen(columns); j++) {
        fputs("<th scope='col'>", page);
        put_text(page, columns[j]);
        fputs("</th>", page);
    }
    fputs(in_paper ? "<th>paper: MOCHI</th><th>MOCHI++</th></tr>\n" : "</tr>\n", page);
}

/* Writes the line of a k, given its first cell: one figure per column. */
static void put_eval_line(const cell_table *t, const located *first, const char **columns, bool in_paper) {
    FILE *page = t->r->page;
    fprintf(page, "<tr><td>%.0f</td>", number_of(first->cell, "k"));
    for (int j = 0; j < arrlen(columns); j++) {
        const json_t *found = NULL;
        for (const located *l = first; l < t->at + arrlen(t->at) && !found; l++)
            if (l->line == first->line && !strcmp(l->features, columns[j]))
                found = l->cell;
        put_interval(page, found ? number_of(found, "mean") : NAN, found ? number_of(found, "ci95") : NAN, 1);
    }
    for (int plus = 0; plus < 2 && in_paper; plus++) {
        const result *p = paper_of(t->r, first->cell, plus);
        put_interval(page, p ? p->mean : NAN, p ? p->sd : NAN, 1);
    }
    fputs("</tr>\n", page);
}

static void put_eval_table(const cell_table *t, const located *first) {
    const char **columns = NULL;
    const located *end = t->at + arrlen(t->at);
    bool in_paper = false;
    int line = -1;
    for (const located *l = first; l < end; l++)
        if (l->block == first->block) {
            add_once(&columns, l->features);
            in_paper |= paper_of(t->r, l->cell, false) || paper_of(t->r, l->cell, true);
        }
    put_heading(t->r->page, first->cell, columns, in_paper);
    for (const located *l = first; l < end; l++)
        if (l->block == first->block && l->line > line) {
            put_eval_line(t, l, columns, in_paper);
            line = l->line;
        }
    fputs("</table></div>\n", t->r->page);
    arrfree(columns);
}

/* The graphs of all figures, with their columns, by what is known of their weights. */
static void note_cells(const cell_table *t, seen_graphs graphs) {
    char name[300];
    for (int i = 0; i < arrlen(t->at); i++) {
        snprintf(name, sizeof name, "%.200s (%.60s)", text_of(t->at[i].cell, "data"), t->at[i].features);
        note_seen(graphs, name, seen_of_cell(t->at[i].cell));
    }
}

static void put_seen(FILE *page, const char *what, const names *list) {
    for (int i = 0; i < list->count; i++) {
        fputs(i ? ", " : what, page);
        put_text(page, list->items[i]);
    }
    fputs(list->count ? ".</p>\n" : "", page);
}

void report_cells(report *r) {
    cell_table t = locate_cells(r);
    if (arrlen(t.at)) {
        seen_graphs graphs = {0};
        note_cells(&t, graphs);
        bool proven = !graphs[MO_SEEN].count && !graphs[MO_SEEN_UNKNOWN].count;
        open_section(r, proven ? "Few-shot accuracy on graphs that were not trained on" : "Few-shot accuracy");
        put_seen(r->page, "<p><b>Trained on, so no figure of an unseen graph:</b> ", &graphs[MO_SEEN]);
        put_seen(r->page, "<p>Whether the weights were trained on the graph is unknown: ", &graphs[MO_SEEN_UNKNOWN]);
        free_seen(graphs);
        fputs("<p class='soft'>Bars are 95% intervals. <b>random</b>: the encoder untrained; <b>x0</b>, <b>hop</b>: a "
              "readout on single hops, nothing trained; the paper's own figures, where it has them, with one standard "
              "deviation over 3 seeds",
            r->page);
        bool links = false;
        for (int i = 0; i < arrlen(t.at); i++)
            links |= is_links(t.at[i].cell);
        fputs(links ? "; those of links stand beside k = 512 alone.</p>\n" : ".</p>\n", r->page);
        open_figures(r);
        for (int i = 0, next = 0; i < arrlen(t.at); i++)
            if (t.at[i].block == next && ++next && is_main_metric(t.at[i].cell)) {
                chart c = make_eval_chart(&t, &t.at[i]);
                put_chart(r, &c);
            }
        close_figures(r);
        report_aggregates(r);
        fputs("<details><summary>All figures as tables</summary>\n", r->page);
        for (int i = 0, next = 0; i < arrlen(t.at); i++)
            if (t.at[i].block == next && ++next)
                put_eval_table(&t, &t.at[i]);
        fputs("</details>\n", r->page);
        close_section(r);
    }
    free_cells(&t);
}
