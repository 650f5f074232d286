/* tools/report/report_page.c - writes pieces of the page, and the whole page: one file without scripts, which fetches
 * nothing. Colours are variables that follow the reader's choice of light or dark, also in charts. */
#include "tools/report/report.h"

#include "tools/memory.h"

#include <stb/stb_ds.h>
#include <stdlib.h>
#include <string.h>

enum { PLACE = 1 }; /* the byte that holds a chart's place; no text contains it */

static const char style[] =
    ":root{color-scheme:light dark;--paper:#fff;--ink:#1c1c1c;--soft:#5c5c5c;--line:#d9d9d9;--grid:#e4e4e4;"
    "--shade:#f5f6f7;--s1:#0072b2;--s2:#d55e00;--s3:#009e73;--s4:#b8528f;--s5:#a07800;--s6:#3a9bd9;--s7:#7f5fb0;"
    "--s8:#808080}"
    "@media(prefers-color-scheme:dark){:root{--paper:#15181c;--ink:#e4e6e8;--soft:#9aa2aa;--line:#3a4048;"
    "--grid:#2b3037;--shade:#1d2126;--s1:#58aee6;--s2:#ff8a3c;--s3:#33c79b;--s4:#e08fbf;--s5:#dcb43c;--s6:#86ccf5;"
    "--s7:#b39be0;--s8:#8e969e}}"
    "@media print{:root{color-scheme:light;--paper:#fff;--ink:#000;--soft:#444;--line:#bbb;--grid:#ddd;--shade:#fff;"
    "--s1:#0072b2;--s2:#d55e00;--s3:#009e73;--s4:#b8528f;--s5:#a07800;--s6:#3a9bd9;--s7:#7f5fb0;--s8:#808080}"
    "figure,tr{break-inside:avoid}h2,h3{break-after:avoid}}"
    "*{box-sizing:border-box}"
    "body{margin:0 auto;padding:1.5rem 1rem 4rem;max-width:76rem;background:var(--paper);color:var(--ink);"
    "font:16px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif;overflow-wrap:anywhere}"
    "h1{font-size:1.7rem;line-height:1.2;margin:0 0 .25rem}"
    "h2{font-size:1.25rem;margin:2.5rem 0 .5rem;padding-top:1rem;border-top:1px solid var(--line)}"
    "h3{font-size:1.02rem;margin:1.5rem 0 .4rem}"
    "p{margin:.4rem 0;max-width:48rem}.soft,figcaption,th{color:var(--soft)}"
    ".figures{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,21rem),1fr));gap:1.2rem;margin:.8rem "
    "0}"
    "figure{margin:0;min-width:0}figcaption{font-size:.92rem;font-weight:600}"
    "svg.chart{display:block;width:100%;height:auto}svg.chart text{font-family:inherit}"
    "svg.symbols{position:absolute}"
    ".legend{display:flex;flex-wrap:wrap;gap:.1rem 1rem;font-size:.85rem;padding-left:2.5rem}"
    ".legend svg{width:1.9rem;height:.7rem;margin-right:.35rem;vertical-align:baseline}"
    ".wide{overflow-x:auto}"
    "table{border-collapse:collapse;font-size:.88rem;font-variant-numeric:tabular-nums;margin:.5rem 0}"
    "th,td{padding:.2rem .8rem .2rem 0;text-align:right;white-space:nowrap;border-bottom:1px solid var(--line)}"
    "th{font-weight:500}.names th,.names td,th:first-child,td:first-child,th.t,td.t{text-align:left}"
    ".names th,.names td{white-space:normal;overflow-wrap:anywhere;vertical-align:top;min-width:6rem}"
    ".bar{display:inline-block;height:.6rem;background:var(--s1)}"
    "pre{background:var(--shade);border:1px solid var(--line);padding:.6rem .8rem;margin:.4rem 0;font-size:.82rem;"
    "white-space:pre-wrap;overflow-wrap:anywhere}"
    "pre span{display:inline-block;max-width:100%}details{margin:.5rem "
    "0}nav a{color:var(--s1)}summary{cursor:pointer;color:var(--soft);font-size:.92rem}";

void put_text(FILE *page, const char *text) {
    put_escaped(page, text, strlen(text));
}

void put_row(FILE *page, const char *name, const char *value) {
    fputs("<tr><th scope='row'>", page);
    put_text(page, name);
    fputs("</th><td>", page);
    put_text(page, value);
    fputs("</td></tr>\n", page);
}

void put_number(FILE *page, double value, int digits) {
    if (isnan(value))
        fputs("<td>&#8211;</td>", page);
    else
        fprintf(page, "<td>%.*f</td>", digits, value);
}

void put_interval(FILE *page, double mean, double half_width, int digits) {
    if (isnan(mean) || isnan(half_width))
        put_number(page, mean, digits);
    else
        fprintf(page, "<td>%.*f&#160;&#177;&#160;%.*f</td>", digits, mean, digits, half_width);
}

void open_section(report *r, const char *heading) {
    arrput(r->headings, needed(strdup(heading)));
    fprintf(r->page, "<section id='part%d'>\n<h2>", (int)arrlen(r->headings));
    put_text(r->page, heading);
    fputs("</h2>\n", r->page);
}

void close_section(report *r) {
    fputs("</section>\n", r->page);
}

void open_figures(report *r) {
    fputs("<div class='figures'>\n", r->page);
}

void close_figures(report *r) {
    fputs("</div>\n", r->page);
}

static void put_legend(FILE *page, const chart *c) {
    fputs("<div class='legend'>", page);
    for (int i = 0; i < arrlen(c->series); i++) {
        const chart_series *s = &c->series[i];
        if (!s->label[0])
            continue;
        fprintf(page,
            "<span><svg viewBox='0 0 30 11' aria-hidden='true' style='color:var(--%s%.0d)'>", /* no digit for 0 */
            s->colour ? "s" : "ink", s->colour);
        if (s->style <= CHART_LINE_POINTS)
            fprintf(page,
                "<path d='M0 5.5H30' fill='none' stroke='currentColor' stroke-width='2' stroke-dasharray='%s'/>",
                chart_dash(s->colour));
        if (s->style == CHART_STARS)
            fputs("<use href='#gpPt2' transform='translate(15 5.5) scale(4)'/>", page);
        else if (s->style != CHART_LINE)
            fprintf(page, "<use href='#gpPt%d' transform='translate(15 5.5) scale(3.4)'/>",
                s->style == CHART_RINGS ? 5 : 6);
        fputs("</svg>", page);
        put_text(page, s->label);
        fputs("</span>", page);
    }
    fputs("</div>", page);
}

void put_chart(report *r, chart *c) {
    fputs("<figure><figcaption>", r->page);
    put_text(r->page, c->title);
    fprintf(r->page, "</figcaption>\n%c", PLACE);
    put_legend(r->page, c);
    fputs("</figure>\n", r->page);
    arrput(r->charts, *c);
    *c = (chart){0};
}

/* ---- the whole ---- */

static void put_head(FILE *f) {
    fprintf(f,
        "<!DOCTYPE html>\n<html lang='en'>\n<head>\n<meta charset='utf-8'>\n"
        "<meta name='viewport' content='width=device-width,initial-scale=1'>\n"
        "<meta http-equiv='Content-Security-Policy' content=\"default-src 'none';style-src 'unsafe-inline';"
        "img-src data:\">\n<link rel='icon' href='data:,'>\n<title>MOCHI: report</title>\n<style>%s</style>\n</head>\n"
        "<body>\n%s<h1>MOCHI: report</h1>\n<p class='soft'>Written by mochi %s. Intervals are of 95%%.</p>\n",
        style, chart_symbols, MO_VERSION);
}

static void put_contents(FILE *f, char *const *headings) {
    fputs("<nav><ul>\n", f);
    for (int i = 0; i < arrlen(headings); i++) {
        fprintf(f, "<li><a href='#part%d'>", i + 1);
        put_text(f, headings[i]);
        fputs("</a></li>\n", f);
    }
    fputs("</ul></nav>\n", f);
}

void contents_free(report *r) {
    for (int i = 0; i < arrlen(r->headings); i++)
        free(r->headings[i]);
    arrfree(r->headings);
}

/* Joins the sections and puts the charts in their places. */
static char *assemble_page(const report *r, const char *body, char **drawn, size_t *size) {
    char *text = NULL;
    FILE *f = open_text(&text, size);
    put_head(f);
    report_opening(r, f);
    put_contents(f, r->headings);
    for (int i = 0; *body; body++)
        if (*body != PLACE)
            putc(*body, f);
        else if (i < arrlen(drawn))
            fputs(drawn[i++], f);
    fputs("</body>\n</html>\n", f);
    close_text(f, &text);
    return text;
}

mo_code report_write(report *r, const char *path) {
    static void (*const sections[])(report *) = {report_predictions, report_cells, report_costs, report_trainings,
        report_fits, report_hulls, report_pitfalls, report_benches, report_repeat};
    char *body = NULL, *page = NULL, **drawn = NULL;
    size_t size = 0;
    r->page = open_text(&body, &size);
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++)
        sections[i](r);
    close_text(r->page, &body);
    if (arrlen(r->charts) && mo_ok(r->ctx))
        drawn = chart_draw(r->ctx, r->charts, (int)arrlen(r->charts));
    if (mo_ok(r->ctx)) {
        page = assemble_page(r, body, drawn, &size);
        mo_file_replace(r->ctx, path, page, size);
    }
    chart_free_drawn(drawn);
    free(page);
    free(body);
    return mo_context_status(r->ctx)->code;
}
