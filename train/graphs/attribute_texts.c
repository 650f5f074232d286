/* train/graphs/attribute_texts.c - attributes as people have them become numbers: columns of texts, and gaps.
 *
 * A gap is a text of mo_is_unknown. By its other values a column of texts is
 *
 *     yes or no (also true, false, y, n, t, f)   1 and 0
 *     numbers, if half of the values are numbers those numbers; a value that is none raises
 *     dates                                      raises: they have no zero and no unit
 *     words                                      a column of 0 and 1 for each word that two nodes or more have, and one
 *                                                for gaps
 *
 * A gap in a column of numbers becomes the median of the others, and a 1 in a column that marks the gaps. */
#include "tensor/files/foreign_text.h"
#include "tensor/files/number_text.h"
#include "train/graphs/graph_build.h"
#include "train/graphs/node_names.h"
#include "train/graphs/table_reader.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- one value ---- */

static bool is_among(const char *text, const char *const *words) {
    for (; *words; words++)
        if (!strcasecmp(text, *words))
            return true;
    return false;
}

/* 1 for yes, 0 for no, -1 for another text. */
static int truth_of(const char *text) {
    static const char *const yes[] = {"yes", "true", "y", "t", NULL}, *const no[] = {"no", "false", "n", "f", NULL};
    return is_among(text, yes) ? 1 : is_among(text, no) ? 0 : -1;
}

/* Whether a text is three numbers joined by two of - / . (2021-03-04, 4.3.2021, 3/4/21), at most with a time behind. */
static bool is_date(const char *text) {
    size_t digits[3], at = 0;
    char mark = 0;
    for (int i = 0; i < 3; i++) {
        digits[i] = strspn(text + at, "0123456789");
        at += digits[i];
        if (i < 2 && (!strchr("-/.", text[at]) || !text[at] || (i && text[at] != mark)))
            return false;
        mark = i < 2 ? text[at++] : mark;
    }
    bool year =
        (digits[0] == 4 && digits[2] <= 2) || (digits[0] <= 2 && (digits[2] == 4 || (digits[2] == 2 && mark != '.')));
    return year && digits[0] > 0 && digits[1] > 0 && digits[1] <= 2 && digits[2] > 0 &&
           (!text[at] || text[at] == ' ' || text[at] == 'T');
}

/* ---- a column of texts ---- */

typedef enum text_kind { NUMBERS, YES_OR_NO, WORDS } text_kind;

/* Raises at a node's value: "PATH: attribute joined of 'ann': found '2021-03-04', expected ..". */
static bool refuse_value(
    const mo_graph *g, const char *path, const char *column, int64_t node, const char *text, const char *expected) {
    char number[24], shown[48];
    return mo_fail(g->ctx, MO_FORMAT, "%s: attribute %s of %s%s%s: found '%s', expected %s", path, column,
        g->names ? "'" : "row ", mo_graph_example_name(g, node, number), g->names ? "'" : "",
        mo_quote(text, strlen(text), shown, sizeof shown), expected);
}

/* Finds the kind of a column. Returns false after raising. */
static bool find_kind(const mo_graph *g, const char *path, const char *column, const mo_words *text, text_kind *kind) {
    static const char number[] = "a finite number, as other nodes have, or nothing",
                      date[] = "numbers, words, or yes and no: a date has no zero and no unit; give the days or years "
                               "since a fixed day, or leave the column out";
    int64_t numbers = 0, others = 0, truths = 0, first = -1;
    for (int64_t i = 0; i < text->n; i++) {
        const char *x = mo_words_get(text, i);
        char *end;
        bool gap = mo_is_unknown(x), finite = isfinite((float)mo_read_number(x, &end)), is_number = end != x && !*end;
        if (!gap && is_number && !finite)
            return refuse_value(g, path, column, i, x, number);
        if (!gap && is_date(x))
            return refuse_value(g, path, column, i, x, date);
        first = !gap && !is_number && first < 0 ? i : first;
        numbers += !gap && is_number;
        others += !gap && !is_number;
        truths += truth_of(x) >= 0;
    }
    *kind = truths == others && others > 0 ? YES_OR_NO : numbers >= others ? NUMBERS : WORDS;
    if (*kind == NUMBERS && others)
        return refuse_value(g, path, column, first, mo_words_get(text, first), number);
    return true;
}

/* Adds `columns` columns: node u gets value[u] in column place[u] of them, or (-1) no entry. names: [columns], taken
 * over by the graph; NULL: the columns have none. */
static bool append_columns(mo_graph *g, int64_t columns, const int64_t *place, const float *value, char **names) {
    mo_context *ctx = g->ctx;
    int64_t nnz = g->feature_nnz, at = 0;
    for (int64_t u = 0; u < g->nodes; u++)
        nnz += place[u] >= 0;
    int64_t *pointer = mo_host_array(ctx, g->nodes + 1, sizeof *pointer);
    int32_t *column = mo_host_array(ctx, nnz, sizeof *column);
    float *values = mo_host_array(ctx, nnz, sizeof *values);
    char **all = names ? mo_host_array(ctx, g->features + columns, sizeof *all) : NULL;
    if (!mo_ok(ctx)) {
        free(pointer);
        free(column);
        free(values);
        free(all);
        return false;
    }
    for (int64_t u = 0; u < g->nodes; u++) {
        for (int64_t e = g->features ? g->feature_pointer[u] : 0; e < (g->features ? g->feature_pointer[u + 1] : 0);
             e++, at++) {
            column[at] = g->feature_column[e];
            values[at] = g->feature_value[e];
        }
        if (place[u] >= 0) {
            column[at] = (int32_t)(g->features + place[u]);
            values[at++] = value[u];
        }
        pointer[u + 1] = at;
    }
    for (int64_t j = 0; all && j < g->features + columns; j++)
        all[j] = j < g->features ? g->feature_name[j] : names[j - g->features];
    free(g->feature_pointer);
    free(g->feature_column);
    free(g->feature_value);
    free(g->feature_name);
    free(names);
    g->feature_pointer = pointer;
    g->feature_column = column;
    g->feature_value = values;
    g->feature_name = all;
    g->feature_nnz = nnz;
    g->features += columns;
    return true;
}

/* The names "column", or "column=word" of words, gaps as "column missing". word NULL: one name. Owned; NULL on
 * failure. */
static char **name_columns(mo_context *ctx, const char *column, const char *const *word, int64_t n) {
    char **names = mo_host_array(ctx, n + 1, sizeof *names), text[300];
    for (int64_t i = 0; names && i < n; i++) {
        snprintf(text, sizeof text,
            !word     ? "%.100s"
            : word[i] ? "%.100s=%.150s"
                      : "%.100s missing",
            column, word ? word[i] : "");
        names[i] = mo_text_copy(ctx, text);
    }
    return names;
}

/* Appends a column of words. */
static bool append_words(mo_graph *g, const char *name, const mo_words *text, bool named) {
    mo_context *ctx = g->ctx;
    int64_t n = text->n, columns = 0, lone = 0, *place = mo_host_array(ctx, n, sizeof *place);
    float *value = mo_host_array(ctx, n, sizeof *value);
    const char **word = mo_host_array(ctx, n + 1, sizeof *word);
    mo_word *sorted = mo_words_sort(ctx, text);
    for (int64_t i = 0, end; mo_ok(ctx) && i < n; i = end) {
        bool gap = mo_is_unknown(sorted[i].text);
        for (end = i; end < n && !strcmp(sorted[end].text, sorted[i].text); end++)
            place[sorted[end].at] = gap ? -2 : -1;
        if (gap || end - i < 2) {
            lone += !gap;
            continue;
        }
        for (int64_t k = i; k < end; k++)
            place[sorted[k].at] = columns;
        word[columns++] = sorted[i].text;
    }
    int64_t gaps = 0;
    for (int64_t u = 0; mo_ok(ctx) && u < n; u++) {
        value[u] = 1;
        gaps += place[u] == -2;
        place[u] = place[u] == -2 ? columns : place[u];
    }
    char what[400];
    snprintf(
        what, sizeof what, "%.100s as %lld column%s of 0 and 1", name, (long long)columns, columns == 1 ? "" : "s");
    if (lone)
        snprintf(what + strlen(what), 100, ", without %lld word%s found once", (long long)lone, lone == 1 ? "" : "s");
    columns += gaps > 0; /* its name is that of a NULL word */
    char **names = mo_ok(ctx) && named ? name_columns(ctx, name, word, columns) : NULL;
    bool done =
        mo_ok(ctx) && append_columns(g, columns, place, value, names) && mo_note_left_out(ctx, &g->recoded, NULL, what);
    free(place);
    free(value);
    free(word);
    free(sorted);
    return done;
}

/* Appends a column of numbers, or of yes and no; gaps become NaN. */
static bool append_numbers(mo_graph *g, const char *name, const mo_words *text, text_kind kind, bool named) {
    mo_context *ctx = g->ctx;
    int64_t *place = mo_host_array(ctx, text->n, sizeof *place);
    float *value = mo_host_array(ctx, text->n, sizeof *value);
    for (int64_t u = 0; place && value && u < text->n; u++) {
        const char *x = mo_words_get(text, u);
        int truth = kind == YES_OR_NO ? truth_of(x) : -1;
        value[u] = mo_is_unknown(x) ? NAN : truth >= 0 ? (float)truth : (float)mo_read_number(x, NULL);
        place[u] = value[u] != 0 ? 0 : -1;
    }
    char **names = mo_ok(ctx) && named ? name_columns(ctx, name, NULL, 1) : NULL, what[160];
    snprintf(what, sizeof what, "%.100s from yes and no", name);
    bool done = mo_ok(ctx) && append_columns(g, 1, place, value, names) &&
                (kind == NUMBERS || mo_note_left_out(ctx, &g->recoded, NULL, what));
    free(place);
    free(value);
    return done;
}

bool mo_graph_add_texts(mo_graph *g, const char *path, const char *name, const mo_words *text) {
    char number[32];
    bool named = name && (g->feature_name || !g->features);
    text_kind kind;
    snprintf(number, sizeof number, "column %lld", (long long)g->features);
    name = name ? name : number;
    return find_kind(g, path, name, text, &kind) &&
           (kind == WORDS ? append_words(g, name, text, named) : append_numbers(g, name, text, kind, named));
}

/* ---- gaps ---- */

/* A column with gaps: how many, the median of its other values, and the place of its marks among the new columns. */
typedef struct holed_column {
    int64_t gaps, mark;
    float median;
} holed_column;

static void take_median(void *columns, int64_t j, double median, const double *x, int64_t n) {
    (void)x;
    (void)n;
    ((holed_column *)columns)[j].median = (float)median;
}

/* Finds the medians of the columns with gaps; of gaps alone it is 0. */
static bool find_medians(const mo_graph *g, holed_column *all) {
    bool *holed = mo_host_array(g->ctx, g->features, sizeof *holed);
    for (int64_t j = 0; holed && j < g->features; j++)
        holed[j] = all[j].gaps > 0;
    bool done = holed && mo_graph_sort_columns(g, holed, take_median, all);
    free(holed);
    return done;
}

/* Puts the medians into the gaps, and a 1 into the column that marks them. */
static bool fill_and_mark(mo_graph *g, const holed_column *all, int64_t gaps, int64_t marks) {
    mo_context *ctx = g->ctx;
    int32_t *column = mo_host_array(ctx, g->feature_nnz + gaps, sizeof *column);
    float *value = mo_host_array(ctx, g->feature_nnz + gaps, sizeof *value);
    int64_t at = 0;
    for (int64_t u = 0, from = 0; column && value && u < g->nodes; u++) {
        int64_t to = g->feature_pointer[u + 1];
        for (int64_t e = from; e < to; e++, at++) {
            bool gap = isnan(g->feature_value[e]);
            column[at] = g->feature_column[e];
            value[at] = gap ? all[g->feature_column[e]].median : g->feature_value[e];
        }
        for (int64_t e = from; e < to; e++)
            if (isnan(g->feature_value[e])) {
                column[at] = (int32_t)(g->features + all[g->feature_column[e]].mark);
                value[at++] = 1;
            }
        from = to;
        g->feature_pointer[u + 1] = at;
    }
    free(g->feature_column);
    free(g->feature_value);
    g->feature_column = column;
    g->feature_value = value;
    g->feature_nnz = at;
    g->features += marks;
    return mo_ok(ctx);
}

size_t mo_gaps_of(const char *name) {
    static const char ending[] = " missing";
    size_t n = strlen(name), length = sizeof ending - 1;
    return n > length && strcmp(name + n - length, ending) == 0 ? n - length : 0;
}

bool mo_graph_fill_gaps(mo_graph *g) {
    mo_context *ctx = g->ctx;
    int64_t gaps = 0, marks = 0, columns = g->features;
    for (int64_t e = 0; e < g->feature_nnz; e++)
        gaps += isnan(g->feature_value[e]);
    holed_column *all = gaps ? mo_host_array(ctx, columns, sizeof *all) : NULL;
    for (int64_t e = 0; all && e < g->feature_nnz; e++)
        all[g->feature_column[e]].gaps += isnan(g->feature_value[e]);
    char what[200];
    if (all && !find_medians(g, all)) {
        free(all);
        return false;
    }
    for (int64_t j = 0; all && j < columns && mo_ok(ctx); j++)
        if (all[j].gaps) {
            all[j].mark = marks++;
            if (g->feature_name)
                snprintf(what, sizeof what, "%.100s", g->feature_name[j]);
            else
                snprintf(what, sizeof what, "column %lld", (long long)j);
            snprintf(what + strlen(what), 60, ": %lld gap%s filled and marked", (long long)all[j].gaps,
                all[j].gaps == 1 ? "" : "s");
            mo_note_left_out(ctx, &g->recoded, NULL, what);
        }
    char **names = marks && g->feature_name ? mo_host_array(ctx, columns + marks, sizeof *names) : NULL;
    if (names && mo_ok(ctx)) {
        memcpy(names, g->feature_name, (size_t)columns * sizeof *names);
        free(g->feature_name);
        g->feature_name = names;
        for (int64_t j = 0; j < columns; j++)
            if (all[j].gaps) {
                snprintf(what, sizeof what, "%.150s missing", names[j]);
                names[columns + all[j].mark] = mo_text_copy(ctx, what);
            }
    }
    bool done = mo_ok(ctx) && (!gaps || fill_and_mark(g, all, gaps, marks));
    free(all);
    return done;
}
