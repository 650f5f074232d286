/* tools/explain/lesson_json.c - `mochi explain --json`: a lesson as one object, with formulas in LaTeX, which
 * tools/web/blocks.js shows. */
#include "tools/explain/lesson.h"

#include <math.h>
#include <string.h>

static json_t *latex_string(const char *formula) {
    char text[LATEX_BYTES];
    return lesson_latex(formula, text, sizeof text) ? json_string(text) : json_null();
}

/* Returns the rows of `a` as [[..], ..] or, if b is not NULL, the rows of |a - b|. The page cannot subtract the
 * matrices itself, because it gets nine digits of their numbers. */
static json_t *rows_of(const matrix *a, const matrix *b) {
    json_t *rows = json_array();
    for (int r = 0; r < a->rows; r++) {
        json_t *row = json_array();
        for (int i = r * a->columns; i < (r + 1) * a->columns; i++)
            json_array_append_new(row, json_number(b ? fabs(a->values[i] - b->values[i]) : a->values[i]));
        json_array_append_new(rows, row);
    }
    return rows;
}

/* Returns prose as a list of parts: texts, {"formula", "latex"}, and {"code"} for a command. */
static json_t *prose_parts(const char *text) {
    json_t *parts = json_array();
    for (bool formula = false; *text; formula = !formula) {
        size_t n = strcspn(text, "`");
        char part[1024];
        snprintf(part, sizeof part, "%.*s", (int)n, text);
        if (n)
            json_array_append_new(parts, !formula ? json_string(part)
                                         : !strncmp(part, "mochi ", 6)
                                             ? json_pack("{s:s}", "code", part)
                                             : json_pack("{s:s, s:o}", "formula", part, "latex", latex_string(part)));
        text += n + (text[n] == '`');
    }
    return parts;
}

void put_in_json(lesson *l, const block *b) {
    static const char *const kinds[] = {"title", "section", "prose", "formula", "matrices", "line", "agree", "end"};
    json_t *o = json_pack("{s:s}", "kind", kinds[b->kind]);
    if (b->kind == BLOCK_PROSE || b->kind == BLOCK_END)
        json_object_set_new(o, "parts", prose_parts(b->text));
    else if (b->text)
        json_object_set_new(o, "text", json_string(b->text));
    if (b->kind == BLOCK_TITLE || b->kind == BLOCK_FORMULA || b->kind == BLOCK_LINE || b->kind == BLOCK_AGREE)
        json_object_set_new(o, "latex", latex_string(b->text));
    if (b->kind == BLOCK_TITLE)
        json_object_update_new(
            o, json_pack("{s:s, s:s, s:s}", "topic", l->topic, "summary", l->summary, "source", l->source));
    if (b->n) {
        json_t *list = json_array();
        for (int i = 0; i < b->n; i++)
            json_array_append_new(list, json_pack("{s:s, s:o, s:o}", "name", b->matrices[i].name, "latex",
                                            latex_string(b->matrices[i].name), "rows", rows_of(&b->matrices[i], NULL)));
        json_object_set_new(o, "matrices", list);
    }
    if (b->kind == BLOCK_LINE || b->kind == BLOCK_AGREE)
        json_object_set_new(o, "differences", rows_of(&b->matrices[0], &b->matrices[1]));
    if (b->kind == BLOCK_LINE) {
        char hint[512];
        write_hint(&b->matrices[0], hint, sizeof hint);
        json_object_set_new(o, "hint", json_string(hint));
    }
    if (b->number && b->number == l->answered) {
        char verdict[512];
        judge_answer(l, l->answer, b->text, &b->matrices[0], verdict, sizeof verdict);
        json_object_set_new(o, "verdict", json_string(verdict));
    }
    if (b->number)
        json_object_set_new(o, "number", json_integer(b->number));
    if (b->kind == BLOCK_LINE || b->kind == BLOCK_AGREE || b->kind == BLOCK_END)
        json_object_set_new(o, "difference", json_number(b->difference));
    json_array_append_new(l->json, o);
}
