/* train/graphs/load_rows.c - a table of rows with a column of labels, and no graph: customers, measurements,
 * embeddings. Its attributes are read and scaled as those of a graph's nodes.
 *
 * The column of labels is given by its name; a field that marks the unknown (mo_plain_label) is a row without a label.
 * The names of the rows are the first column of one of these kinds, in this order, whose fields all differ:
 *
 *     headed       its heading is one of names (mo_is_name_heading)
 *     first        it is the first with a heading, and its fields are texts, or whole numbers of ten digits and more
 *     index        it has no heading, as pandas' numbers of rows
 *
 * Other columns of these kinds whose fields all differ, and any column of the last, are left out; all else are
 * attributes. */
#include "tensor/files/foreign_text.h"
#include "tensor/files/number_text.h"
#include "tensor/library.h"
#include "train/graphs/attribute_table.h"
#include "train/graphs/label_column.h"
#include "train/graphs/loaders.h"
#include "train/graphs/table_reader.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the header ---- */

/* "age, income, city and 4 more" */
static const char *list_columns(const mo_table *header, char *text, size_t bytes) {
    enum { MOST_LISTED = 12 };
    char shown[48];
    *text = '\0';
    for (int64_t i = 0; i < header->n && i < MOST_LISTED; i++)
        snprintf(text + strlen(text), bytes - strlen(text), "%s%s", i ? ", " : "",
            mo_quote(header->field[i], strlen(header->field[i]), shown, sizeof shown));
    if (header->n > MOST_LISTED)
        snprintf(text + strlen(text), bytes - strlen(text), " and %" PRId64 " more", header->n - MOST_LISTED);
    return text;
}

/* Raises unless the header has one column of that name, and no other twice. Returns the column; -1 after raising. */
static int64_t find_label(const mo_table *header, const char *label) {
    mo_context *ctx = header->ctx;
    int64_t found = -1, numbers = 0;
    char text[800];
    for (int64_t i = 0; i < header->n; i++) {
        const char *name = header->field[i];
        numbers += mo_is_number_text(name);
        found = label && found < 0 && !strcmp(name, label) ? i : found;
        for (int64_t j = 0; j < i && mo_ok(ctx); j++)
            if (*name && !strcmp(name, header->field[j]))
                mo_fail(ctx, MO_FORMAT, "%s:%" PRId64 ": expected each column once, found '%.60s' twice", header->path,
                    header->line, name);
    }
    if (mo_ok(ctx) && found < 0 && numbers == header->n)
        mo_fail(ctx, MO_FORMAT, "%s:%" PRId64 ": expected a header with the names of the columns, found numbers",
            header->path, header->line);
    else if (mo_ok(ctx) && found < 0 && !label)
        mo_fail(ctx, MO_INVALID,
            "%s: expected the column of the labels, as --label NAME (in Python label=NAME); its columns are %s",
            header->path, list_columns(header, text, sizeof text));
    else if (mo_ok(ctx) && found < 0)
        mo_fail(ctx, MO_INVALID, "%s: expected a column named '%.60s', found %s", header->path, label,
            list_columns(header, text, sizeof text));
    return mo_ok(ctx) ? found : -1;
}

/* ---- names of the rows ---- */

/* What may make a column one of names; the larger is the better. */
typedef enum name_kind { NO_NAMES = 0, INDEX, FIRST, HEADED } name_kind;

/* The columns of the table. Where one may hold names, its fields are kept. */
typedef struct name_columns {
    int64_t fields;
    name_kind *kind;  /* [fields] */
    mo_words *text;   /* [fields] */
    mo_words heading; /* [fields] */
} name_columns;

static bool start_names(name_columns *c, const mo_table *header, int64_t label) {
    mo_context *ctx = header->ctx;
    bool first = true;
    c->fields = header->n;
    c->kind = mo_host_array(ctx, c->fields, sizeof *c->kind);
    c->text = mo_host_array(ctx, c->fields, sizeof *c->text);
    for (int64_t i = 0; mo_ok(ctx) && i < c->fields; i++) {
        const char *heading = header->field[i];
        mo_words_add(ctx, &c->heading, heading);
        if (i == label)
            continue;
        c->kind[i] = mo_is_name_heading(heading) ? HEADED : i == 0 && !*heading ? INDEX : first ? FIRST : NO_NAMES;
        first = first && c->kind[i] == INDEX;
    }
    return mo_ok(ctx);
}

static void release_names(name_columns *c) {
    for (int64_t i = 0; c->text && i < c->fields; i++)
        mo_words_release(&c->text[i]);
    mo_words_release(&c->heading);
    free(c->kind);
    free(c->text);
}

static bool keep_names(name_columns *c, const mo_table *row) {
    for (int64_t i = 0; i < c->fields; i++)
        if (c->kind[i] && !mo_words_add(row->ctx, &c->text[i], row->field[i]))
            return false;
    return true;
}

/* Whether the fields all differ, and none is a gap. */
static bool are_distinct(mo_context *ctx, const mo_words *text) {
    mo_word *sorted = mo_words_sort(ctx, text);
    bool distinct = sorted && text->n > 0;
    for (int64_t i = 0; distinct && i < text->n; i++)
        distinct = !mo_is_unknown(sorted[i].text) && (i == 0 || strcmp(sorted[i].text, sorted[i - 1].text) != 0);
    free(sorted);
    return distinct;
}

/* Whether the fields are texts, or whole numbers so long that they are no amounts. */
static bool look_like_names(const mo_words *text) {
    enum { SHORTEST = 10 };
    bool texts = true, numbers = true;
    for (int64_t i = 0; i < text->n; i++) {
        const char *x = mo_words_get(text, i);
        texts &= !mo_is_number_text(x);
        numbers &= mo_is_whole_text(x) && strlen(x) >= SHORTEST;
    }
    return texts || numbers;
}

/* Sets which column has the names, and which are left out, and notes both. */
static bool choose_names(mo_graph *graph, const name_columns *c, mo_attribute_columns *at) {
    mo_context *ctx = graph->ctx;
    char what[120];
    for (int64_t i = 0; i < c->fields && mo_ok(ctx); i++) {
        bool names =
            c->kind[i] && are_distinct(ctx, &c->text[i]) && (c->kind[i] != FIRST || look_like_names(&c->text[i]));
        at->left_out[i] = names || c->kind[i] == INDEX;
        if (names && (at->name_at < 0 || c->kind[i] > c->kind[at->name_at]))
            at->name_at = i;
    }
    for (int64_t i = 0; i < c->fields && mo_ok(ctx); i++)
        if (at->left_out[i]) {
            const char *heading = mo_words_get(&c->heading, i);
            snprintf(what, sizeof what, "%.60s %s", *heading ? heading : "the first column",
                i == at->name_at ? "has the names of the rows" : "is left out");
            mo_note_left_out(ctx, &graph->recoded, NULL, what);
        }
    return mo_ok(ctx);
}

/* Reads the header, and the columns that may hold names. Returns false after raising. */
static bool find_columns(mo_graph *graph, const char *path, const char *label, mo_attribute_columns *at) {
    mo_context *ctx = graph->ctx;
    mo_table row;
    name_columns c = {0};
    bool fine = mo_table_open(&row, ctx, path, MO_TABLE_CSV) && mo_table_next(&row);
    if (mo_ok(ctx) && !fine)
        mo_fail(ctx, MO_FORMAT, "%s: expected a header with the names of the columns, found an empty file", path);
    int64_t class_at = fine ? find_label(&row, label) : -1;
    fine = class_at >= 0 && mo_attribute_columns_create(ctx, row.n, at) && start_names(&c, &row, class_at);
    at->class_at = class_at;
    while (fine && mo_table_next(&row))
        fine = mo_table_columns(&row, at->fields, "as the first line has") && keep_names(&c, &row);
    if (fine && mo_ok(ctx) && row.row == 0)
        mo_fail(ctx, MO_FORMAT, "%s: expected rows below the header, found none", path);
    mo_table_close(&row);
    fine = fine && mo_ok(ctx) && choose_names(graph, &c, at);
    release_names(&c);
    return fine;
}

/* ---- labels ---- */

/* Makes the column of labels the graph's; raises unless it holds classes. */
static bool take_classes(mo_graph *graph, const char *path, const char *label, const mo_words *class) {
    enum { MANY = 10 }; /* labels that all differ are names */
    mo_context *ctx = graph->ctx;
    bool own;
    for (int64_t i = 0; i < class->n; i++)
        if (mo_is_real_text(mo_words_get(class, i)))
            return mo_fail(ctx, MO_INVALID,
                "%s: expected classes in the column %.60s, as real numbers are no classes, found '%.40s' (`mochi fit "
                "--target` reads real targets)",
                path, label, mo_words_get(class, i));
    if (!mo_graph_take_class_texts(graph, path, class, MANY, &own))
        return false;
    char number[24], one[64] = "no label";
    if (graph->classes == 1)
        snprintf(one, sizeof one, "'%.40s' alone", mo_graph_class_name(graph, 0, number));
    return graph->classes > 1 ||
           mo_fail(ctx, MO_INVALID, "%s: expected labels of two classes or more in the column %.60s, found %s%s%s%s",
               path, label, own ? "another label in each row" : one, graph->left_out ? " (" : "",
               graph->left_out ? graph->left_out : "", graph->left_out ? ")" : "");
}

/* Reads the column as real targets. */
static bool take_targets(
    const mo_graph *graph, const char *path, const char *column, const mo_words *text, mo_targets *y) {
    y->id = mo_host_array(graph->ctx, text->n, sizeof *y->id);
    y->value = mo_host_array(graph->ctx, text->n, sizeof *y->value);
    bool varies = false;
    for (int64_t i = 0; mo_ok(graph->ctx) && i < text->n; i++) {
        const char *x = mo_words_get(text, i);
        char *end, number[24];
        double value = mo_read_number(x, &end);
        if (mo_is_unknown(x))
            continue;
        if (end == x || *end || !isfinite(value))
            mo_fail(graph->ctx, MO_FORMAT,
                "%s: expected a finite number in the column %.60s (nothing if it is unknown), found '%.40s' in row %s",
                path, column, x, mo_graph_example_name(graph, i, number));
        y->id[y->n] = i;
        y->value[y->n++] = value;
        varies |= value != y->value[0];
    }
    if (mo_ok(graph->ctx) && (y->n < 3 || !varies))
        mo_fail(graph->ctx, MO_INVALID,
            "%s: expected three targets or more that differ in the column %.60s, found %s%" PRId64, path, column,
            y->n < 3 ? "" : "one number in all ", y->n);
    return mo_ok(graph->ctx);
}

mo_graph *mo_rows_open(mo_context *ctx, const char *path, const char *label, const mo_feature_options *options) {
    return mo_rows_open_targets(ctx, path, label, options, NULL);
}

mo_graph *mo_rows_open_targets(
    mo_context *ctx, const char *path, const char *label, const mo_feature_options *options, mo_targets *y) {
    if (!mo_given(ctx, "rows", "the path of the table", path) || !mo_given(ctx, "rows", "options", options))
        return NULL;
    if (!mo_is_table(path)) {
        mo_fail_foreign_rows(ctx, path, mo_foreign_rows(path), label);
        return NULL;
    }
    const char *slash = strrchr(path, '/');
    mo_graph *graph = mo_graph_new(ctx, slash ? slash + 1 : path, path);
    if (!graph)
        return NULL;
    mo_attribute_columns columns = {0};
    mo_words class = {0};
    mo_edges none = {0};
    if (find_columns(graph, path, label, &columns) && mo_attribute_table_read(graph, path, NULL, &columns, &class) &&
        (y ? take_targets(graph, path, label, &class, y) : take_classes(graph, path, label, &class)))
        mo_graph_set_edges(graph, graph->nodes, &none);
    mo_words_release(&class);
    mo_attribute_columns_release(&columns);
    mo_graph *read = mo_graph_finish(graph), *scaled = mo_graph_scale(read, options);
    mo_graph_release(read);
    if (!scaled || scaled->features > 0)
        return scaled;
    mo_fail(ctx, MO_FORMAT, "%s: expected a column of attributes that differ, beside the column %.60s, found none",
        path, label);
    mo_graph_release(scaled);
    return NULL;
}
