/* tools/explain/lesson_page.c - a lesson as a page: HTML that is XML too, formulas and matrices in MathML, no script,
 * nothing to load; for a screen of any width and for paper. */
#include "tools/explain/lesson.h"

#include <math.h>
#include <string.h>

static const char style[] =
    ":root{--ink:#1a1a1a;--soft:#595959;--line:#d0d0d0;--paper:#fff;--box:#f5f5f3}\n"
    "@media "
    "(prefers-color-scheme:dark){:root{--ink:#e8e8e6;--soft:#b0b0ae;--line:#4a4a4a;--paper:#161616;--box:#222}}\n"
    "body{margin:0 auto;max-width:60rem;padding:1rem;font:1rem/1.5 system-ui,sans-serif;color:var(--ink);"
    "background:var(--paper)}\n"
    "h1{font-size:1.5rem;margin:0}h2{font-size:1.15rem;border-bottom:1px solid var(--line);margin:2rem 0 .5rem}\n"
    ".source,figcaption,.worst{color:var(--soft);font-size:.875rem}\n"
    ".wide{overflow-x:auto;padding:.25rem 0}.beside{display:flex;flex-wrap:wrap;gap:1rem 2rem;align-items:flex-end}\n"
    "figure{margin:.5rem 0;max-width:100%}math{font-size:1.05em;"
    /* fonts with a MATH table: without one, Chromium draws bars through their letters and stretches no bracket */
    "font-family:\"STIX Two Math\",\"Cambria Math\",\"Latin Modern Math\",\"DejaVu Math TeX "
    "Gyre\",math}mtd{text-align:right;padding:.1em .45em}\n"
    ".adjoint{border:1px solid var(--line);border-radius:.4rem;padding:.5rem .75rem;margin:.75rem 0;"
    "background:var(--box);break-inside:avoid}\n"
    "summary{cursor:pointer}pre{overflow-x:auto;font-size:.8rem;line-height:1.35}\n"
    "@media print{:root{--ink:#000;--soft:#333;--paper:#fff;--box:#fff}body{max-width:none;font-size:10.5pt}"
    ".wide,pre{overflow:visible}pre{white-space:pre-wrap}}\n";

/* Prose, whose parts between backquotes are formulas. */
static void put_prose(FILE *page, const char *text) {
    char formula[512];
    while (*text) {
        size_t plain = strcspn(text, "`");
        put_escaped(page, text, plain);
        text += plain;
        if (!*text)
            break;
        size_t n = strcspn(++text, "`");
        snprintf(formula, sizeof formula, "%.*s", (int)n, text);
        put_math(page, formula, false);
        text += n + (text[n] == '`');
    }
}

static void put_entry(FILE *page, double v, bool small) {
    char text[32];
    v = !small && fabs(v) < 5e-5 ? 0 : v;
    snprintf(text, sizeof text, small ? "%.0e" : fabs(v) < 1e3 ? "%.4f" : "%.2e", v);
    fputs("<mtd>", page);
    if (text[0] == '-')
        fputs("<mo>&#8722;</mo>", page);
    fprintf(page, "<mn>%s</mn></mtd>", text + (text[0] == '-'));
}

/* small: differences, in powers of ten */
static void put_matrix(FILE *page, const matrix *m, bool small) {
    fputs("<math><mrow><mo>[</mo><mtable>", page);
    for (int r = 0; r < m->rows; r++) {
        fputs("<mtr>", page);
        for (int j = 0; j < m->columns; j++)
            put_entry(page, m->values[r * m->columns + j], small);
        fputs("</mtr>", page);
    }
    fputs("</mtable><mo>]</mo></mrow></math>", page);
}

static void put_figure(FILE *page, const char *caption, bool formula, const matrix *m, bool small) {
    fputs("<figure><figcaption>", page);
    if (formula)
        put_math(page, caption, false);
    else
        put_escaped(page, caption, strlen(caption));
    fputs("</figcaption><div class=\"wide\">", page);
    put_matrix(page, m, small);
    fputs("</div></figure>\n", page);
}

static void put_matrices(FILE *page, const block *b) {
    fputs("<div class=\"beside\">\n", page);
    for (int i = 0; i < b->n; i++)
        put_figure(page, b->matrices[i].name, true, &b->matrices[i], false);
    fputs("</div>\n", page);
}

/* Both sides and the column of their differences. */
static void put_compared(FILE *page, const block *b, const char *left, const char *right) {
    matrix difference = b->matrices[0];
    for (int i = 0; i < difference.rows * difference.columns; i++)
        difference.values[i] = fabs(b->matrices[0].values[i] - b->matrices[1].values[i]);
    fputs("<div class=\"beside\">\n", page);
    put_figure(page, left, false, &b->matrices[0], false);
    put_figure(page, right, false, &b->matrices[1], false);
    put_figure(page, "difference", false, &difference, true);
    fputs("</div>\n", page);
}

/* With --step, the line is folded below its question. */
static void put_line(lesson *l, const block *b) {
    char question[128];
    snprintf(question, sizeof question, "%.*s", (int)strcspn(b->text, " "), b->text);
    fputs(l->ask ? "<details class=\"adjoint\"><summary>" : "<div class=\"adjoint\"><div class=\"wide\">", l->page);
    fprintf(l->page, "%d. ", b->number);
    put_math(l->page, l->ask ? question : b->text, false);
    fputs(l->ask ? " = ?</summary>\n<div class=\"wide\">" : "</div>\n", l->page);
    if (l->ask) {
        put_math(l->page, b->text, true);
        fputs("</div>\n", l->page);
    }
    put_compared(l->page, b, "by the formula", "by central differences");
    fputs(l->ask ? "</details>\n" : "</div>\n", l->page);
}

static void put_paragraph(FILE *page, const char *text) {
    fputs("<p>", page);
    put_prose(page, text);
    fputs("</p>\n", page);
}

void put_on_page(lesson *l, const block *b) {
    FILE *page = l->page;
    switch (b->kind) {
    case BLOCK_TITLE:
        break; /* open_page wrote it */
    case BLOCK_SECTION:
        fputs("<h2>", page);
        put_escaped(page, b->text, strlen(b->text));
        fputs("</h2>\n", page);
        break;
    case BLOCK_PROSE:
        put_paragraph(page, b->text);
        break;
    case BLOCK_FORMULA:
        fputs("<div class=\"wide\">", page);
        put_math(page, b->text, true);
        fputs("</div>\n", page);
        break;
    case BLOCK_MATRICES:
        put_matrices(page, b);
        break;
    case BLOCK_LINE:
        put_line(l, b);
        break;
    case BLOCK_AGREE:
        fputs("<div class=\"adjoint\"><div class=\"wide\">", page);
        put_math(page, b->text, false);
        fputs("</div>\n", page);
        put_compared(page, b, "left side", "right side");
        fputs("</div>\n", page);
        break;
    case BLOCK_TABLE:
        fputs("<pre>", page);
        put_escaped(page, b->text, strlen(b->text));
        fputs("</pre>\n", page);
        break;
    case BLOCK_END:
        fputs("<h2>All lines</h2>\n", page);
        put_paragraph(page, b->text);
        break;
    }
}

void open_page(lesson *l) {
    fprintf(l->page,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n<title>mochi explain %s</title>\n"
        "<style>\n%s</style>\n</head>\n<body>\n<h1>%s</h1>\n<div class=\"wide\">",
        l->topic->name, style, l->topic->name);
    put_math(l->page, l->topic->title, true);
    fputs("</div>\n<p class=\"source\">", l->page);
    put_escaped(l->page, l->topic->summary, strlen(l->topic->summary));
    fprintf(l->page, " (%s)</p>\n", l->topic->source);
}

void close_page(lesson *l) {
    fputs("</body>\n</html>\n", l->page);
}
