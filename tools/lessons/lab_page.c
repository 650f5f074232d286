/* tools/lessons/lab_page.c - an experiment as a page: what is measured, the charts, the table, what to see. */
#include "tools/lessons/lab.h"

#include "tools/memory.h"
#include "tools/report/chart.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char style[] =
    ":root{--paper:#fff;--ink:#1c1c1c;--soft:#5c5c5c;--line:#d9d9d9;--grid:#e4e4e4;--s1:#0072b2;--s2:#d55e00;"
    "--s3:#009e73;--s4:#b8528f;--s5:#a07800;--s6:#3a9bd9;--s7:#7f5fb0;--s8:#808080}\n"
    "@media (prefers-color-scheme:dark){:root{--paper:#15181c;--ink:#e6e6e6;--soft:#a6adb5;--line:#363c44;"
    "--grid:#2b3037;--s1:#58aee6;--s2:#ff8a3c;--s3:#33c79b;--s4:#e08fbf;--s5:#dcb43c;--s6:#86ccf5;--s7:#b79be8;"
    "--s8:#a0a0a0}}\n"
    "body{margin:0 auto;max-width:68rem;padding:1rem;font:1rem/1.5 system-ui,sans-serif;color:var(--ink);"
    "background:var(--paper)}h1{font-size:1.4rem}\n"
    ".figures{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,20rem),1fr));gap:1rem}\n"
    "figure{margin:0;break-inside:avoid}figcaption{font-weight:600;font-size:.9rem}figure svg{width:100%;height:auto}\n"
    "svg.symbols{position:absolute}.legend{display:flex;flex-wrap:wrap;gap:.1rem 1rem;font-size:.85rem}\n"
    ".legend svg{width:1.9rem;height:.7rem;margin-right:.35rem}.wide{overflow-x:auto}\n"
    "table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:.9rem}\n"
    "th,td{padding:.15rem .7rem;text-align:right;border-bottom:1px solid var(--line)}\n"
    "th:first-child,td:first-child{text-align:left}\n"
    "@media print{:root{--paper:#fff;--ink:#000;--soft:#444}body{max-width:none;font-size:10pt}}\n";

static void put_element(FILE *page, const char *element, const char *text) {
    fprintf(page, "<%s>", element);
    put_escaped(page, text, strlen(text));
    fprintf(page, "</%s>", element);
}

static void put_legend(FILE *page, const lab_table *table) {
    fputs("<div class=\"legend\">", page);
    for (int i = 0; i < table->n; i++) {
        int series = table->rows[i].series;
        if (i && table->rows[i - 1].series == series)
            continue;
        fprintf(page,
            "<span><svg viewBox=\"0 0 30 11\" aria-hidden=\"true\"><path d=\"M0 5.5H30\" fill=\"none\" "
            "stroke-width=\"2\" "
            "style=\"stroke:var(--%s%.0d)\" stroke-dasharray=\"%s\"/></svg>", /* no digit for 0 */
            series ? "s" : "ink", series, chart_dash(series));
        put_escaped(page, table->series[series], strlen(table->series[series]));
        fputs("</span>\n", page);
    }
    fputs("</div>\n", page);
}

static void put_figures(FILE *page, const lab_table *table, const chart *charts, char **drawn, int n) {
    fputs(chart_symbols, page);
    fputs("<div class=\"figures\">\n", page);
    for (int i = 0; i < n; i++) {
        fputs("<figure>", page);
        put_element(page, "figcaption", charts[i].title);
        fputs(drawn[i], page);
        fputs("</figure>\n", page);
    }
    fputs("</div>\n", page);
    put_legend(page, table);
}

static void put_table_row(FILE *page, const lab_table *table, const lab_table_row *row) {
    char text[64];
    fputs("<tr>", page);
    put_element(page, "td", table->series[row->series]);
    snprintf(text, sizeof text, table->x_whole ? "%.0f" : "%.0e", row->x);
    put_element(page, "td", text);
    for (int i = 0; i < table->n_columns; i++) {
        const lab_column *c = &table->columns[i];
        snprintf(text, sizeof text, c->format, row->y[i] / (c->unit > 0 ? c->unit : 1));
        put_element(page, "td", isnan(row->y[i]) ? "-" : text + strspn(text, " "));
    }
    fputs("</tr>\n", page);
}

static void put_table(FILE *page, const lab_table *table) {
    fputs("<div class=\"wide\"><table>\n<tr>", page);
    put_element(page, "th", table->series_head);
    put_element(page, "th", table->x_head);
    for (int i = 0; i < table->n_columns; i++)
        put_element(page, "th", table->columns[i].head);
    fputs("</tr>\n", page);
    for (int i = 0; i < table->n; i++)
        put_table_row(page, table, &table->rows[i]);
    fputs("</table></div>\n", page);
}

mo_code lab_table_page(mo_context *ctx, const lab_table *table, const char *path) {
    chart charts[LAB_COLUMNS] = {{.log_x = false}};
    int n = lab_table_charts(table, charts);
    char **drawn = chart_draw(ctx, charts, n), *text = NULL;
    size_t bytes = 0;
    if (drawn) {
        FILE *page = open_text(&text, &bytes);
        fprintf(page,
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
            "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n<title>mochi lab</title>\n"
            "<style>\n%s</style>\n</head>\n<body>\n",
            style);
        put_element(page, "h1", table->title);
        put_element(page, "p", table->about);
        put_figures(page, table, charts, drawn, n);
        if (table->reading)
            put_element(page, "p", table->reading);
        put_table(page, table);
        fputs("</body>\n</html>\n", page);
        close_text(page, &text);
        mo_file_replace(ctx, path, text, bytes);
        free(text);
    }
    chart_free_drawn(drawn);
    for (int i = 0; i < n; i++)
        chart_free(&charts[i]);
    return mo_context_status(ctx)->code;
}
