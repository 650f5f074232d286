/* tools/report/chart_page.c - adapts gnuplot's SVG for a page: with the page's colours, and without repeated or
 * unneeded parts. */
#include "tools/report/chart.h"

#include "tools/command.h"
#include "tools/memory.h"
#include "tools/report/chart_gnuplot.h"
#include "tools/report/chart_script.h"

#include <stb/stb_ds.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char chart_symbols[] =
    "<svg class='symbols' width='0' height='0' aria-hidden='true'><defs>"
    "<path id='gpPt2' stroke-width='0.4' stroke='currentColor' d='M-1,0 L1,0 M0,-1 L0,1 M-1,-1 L1,1 M-1,1 L1,-1'/>"
    "<circle id='gpPt5' stroke-width='0.35' stroke='currentColor' fill='none' r='1'/>"
    "<circle id='gpPt6' fill='currentColor' stroke='none' r='1'/></defs></svg>\n";

/* gnuplot's attributes, and their replacements in a page. */
static const struct {
    const char *from, *to;
} replacements[] = {
    {" color=\"black\"", ""},
    {" color=\"white\"", ""},
    {" color=\"gray\"", ""},
    {"fill=\"black\"", "fill=\"var(--ink)\""},
    {"stroke=\"currentColor\"", "stroke=\"var(--ink)\""},
    {" font-family=\"sans-serif\"", ""},
    {" class=\"gridline\"", ""},
    {"xlink:href", "href"},
    {"&#160;", " "},
};

/* Writes "rgb( 17, 17, 17)" as a variable of the page; returns the number of bytes of text it took, 0 if text is no
 * colour. */
static int put_colour(FILE *f, const char *text) {
    int r, g, b, used = 0;
    char hex[8];
    if (strncmp(text, "rgb(", 4) != 0 || sscanf(text, "rgb(%d,%d,%d)%n", &r, &g, &b, &used) != 3 || !used)
        return 0;
    snprintf(hex, sizeof hex, "#%02x%02x%02x", r & 255, g & 255, b & 255);
    for (int i = 0; i < CHART_COLOURS; i++)
        if (!strcmp(hex, chart_colour(i))) {
            if (i)
                fprintf(f, "var(--s%d)", i);
            else
                fputs("var(--ink)", f);
            return used;
        }
    fputs(strcmp(hex, CHART_GRID) ? hex : "var(--grid)", f);
    return used;
}

/* Writes the colour of a point as a style, as browsers do not read variables in attributes. */
static int put_point_colour(FILE *f, const char *text) {
    static const char start[] = " color='";
    int used = 0;
    if (!strncmp(text, start, strlen(start)) && !strncmp(text + strlen(start), "rgb(", 4)) {
        fputs(" style='color:", f);
        used = (int)strlen(start);
        used += put_colour(f, text + used);
    }
    return used;
}

static int put_replacement(FILE *f, const char *text) {
    for (size_t k = 0; k < sizeof replacements / sizeof *replacements; k++)
        if (!strncmp(text, replacements[k].from, strlen(replacements[k].from))) {
            fputs(replacements[k].to, f);
            return (int)strlen(replacements[k].from);
        }
    return 0;
}

static void put_page_line(FILE *f, const char *line, size_t n) {
    for (size_t i = 0; i < n;) {
        int used = put_colour(f, line + i);
        used = used ? used : put_point_colour(f, line + i);
        used = used ? used : put_replacement(f, line + i);
        if (!used)
            putc(line[i], f);
        i += used ? (size_t)used : 1;
    }
    putc('\n', f);
}

static bool line_starts(const char *text, const char *with) {
    while (*text == '\t' || *text == ' ')
        text++;
    return !strncmp(text, with, strlen(with));
}

/* Writes the lines between the opening tag and the end, without definitions, titles and empty groups. */
static void put_content(FILE *f, const char *at, const char *end) {
    bool definitions = false;
    while (at < end) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at)), *next;
        line_end = line_end ? line_end : end;
        next = line_end < end ? line_end + 1 : end;
        if (line_starts(at, "<defs>"))
            definitions = true;
        bool empty_group = line_starts(at, "<g ") && next < end && line_starts(next, "</g>");
        if (empty_group)
            next = memchr(next, '\n', (size_t)(end - next)) ? (const char *)memchr(next, '\n', (size_t)(end - next)) + 1
                                                            : end;
        else if (line_starts(at, "<g id=\"gnuplot_"))
            fputs("<g>\n", f);
        else if (!definitions && line_end > at && !line_starts(at, "<title>") && !line_starts(at, "<desc>"))
            put_page_line(f, at, (size_t)(line_end - at));
        if (line_starts(at, "</defs>"))
            definitions = false;
        at = next;
    }
}

/* One document, from its "<svg" to its "</svg>". */
static char *fit_for_page(const chart *c, const char *svg, const char *end) {
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_text(&text, &size);
    fprintf(f, "<svg class='chart' viewBox='0 0 %d %d' role='img' aria-label=\"", CHART_WIDTH, CHART_HEIGHT);
    put_escaped(f, c->title, strlen(c->title));
    fputs("\">\n", f);
    put_content(f, strchr(svg, '>') + 1, end);
    fputs("</svg>\n", f);
    close_text(f, &text);
    return text;
}

char **chart_draw(mo_context *ctx, const chart *charts, int n) {
    char *script = chart_script(NULL, charts, n), *output = gnuplot_run(ctx, script), **drawn = NULL;
    const char *at = output;
    for (int i = 0; output && i < n; i++) {
        const char *svg = strstr(at, "<svg"), *end = svg ? strstr(svg, "</svg>") : NULL;
        char *text = end ? fit_for_page(&charts[i], svg, end) : NULL;
        if (!text) {
            mo_fail(ctx, end ? MO_MEMORY : MO_IO,
                end ? "chart: out of memory" : "gnuplot: expected %d charts, found %d", n, i);
            break;
        }
        arrput(drawn, text);
        at = end + 1;
    }
    free(script);
    free(output);
    if (mo_ok(ctx))
        return drawn;
    chart_free_drawn(drawn);
    return NULL;
}

void chart_free_drawn(char **drawn) {
    for (int i = 0; i < arrlen(drawn); i++)
        free(drawn[i]);
    arrfree(drawn);
}
