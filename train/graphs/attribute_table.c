/* train/graphs/attribute_table.c - a table with a row of attributes for each node: its names, its classes, and its
 * columns as numbers. */
#include "train/graphs/attribute_table.h"

#include "tensor/files/number_text.h"
#include "tensor/library.h"
#include "train/graphs/label_column.h"
#include "train/graphs/loaders.h"
#include "train/graphs/table_reader.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool mo_attribute_columns_create(mo_context *ctx, int64_t fields, mo_attribute_columns *columns) {
    *columns = (mo_attribute_columns){.fields = fields, .name_at = -1, .class_at = -1};
    columns->left_out = mo_host_array(ctx, fields, sizeof *columns->left_out);
    return columns->left_out;
}

void mo_attribute_columns_release(mo_attribute_columns *columns) {
    free(columns->left_out);
    *columns = (mo_attribute_columns){0};
}

/* ---- rows ---- */

/* A table as it is read. Columns in which a field is neither a number nor a gap are texts, and are kept whole. */
typedef struct attribute_table {
    mo_graph *graph;
    const mo_attribute_columns *at;
    int64_t columns, *from;  /* the columns of attributes; [columns]: the field of each */
    mo_words names, heading; /* of the nodes; [columns], if there is a header */
    mo_words *class;         /* of the nodes */
    int64_t values, entries; /* capacities of the graph's arrays, which grow */
    int64_t pointers;
    mo_words *text; /* [columns]: the fields of a column of texts */
    bool *is_text;  /* [columns] */
    bool again;     /* another column has turned out to be one of texts */
} attribute_table;

static bool list_attributes(attribute_table *t) {
    mo_context *ctx = t->graph->ctx;
    t->from = mo_host_array(ctx, t->at->fields, sizeof *t->from);
    t->text = mo_host_array(ctx, t->at->fields, sizeof *t->text);
    t->is_text = mo_host_array(ctx, t->at->fields, sizeof *t->is_text);
    for (int64_t i = 0; mo_ok(ctx) && i < t->at->fields; i++)
        if (i != t->at->name_at && i != t->at->class_at && !t->at->left_out[i])
            t->from[t->columns++] = i;
    return mo_ok(ctx);
}

static bool keep_value(attribute_table *t, int64_t column, float value) {
    mo_graph *g = t->graph;
    int64_t needed = g->feature_nnz + 1;
    if (!mo_host_array_grow(g->ctx, &g->feature_column, &t->entries, needed, sizeof *g->feature_column) ||
        !mo_host_array_grow(g->ctx, &g->feature_value, &t->values, needed, sizeof *g->feature_value))
        return false;
    g->feature_column[g->feature_nnz] = (int32_t)column;
    g->feature_value[g->feature_nnz++] = value;
    return true;
}

static bool take_attribute(attribute_table *t, int64_t column, const char *text) {
    if (t->is_text[column])
        return mo_words_add(t->graph->ctx, &t->text[column], text);
    if (text[0] == '0' && !text[1])
        return true;
    if (mo_is_unknown(text))
        return keep_value(t, column, NAN);
    char *end;
    float value = (float)mo_read_number(text, &end);
    if (end == text || *end || !isfinite(value)) {
        t->is_text[column] = t->again = true;
        return true;
    }
    return value == 0 || keep_value(t, column, value);
}

static bool take_row(attribute_table *t, const mo_table *row) {
    mo_graph *g = t->graph;
    const mo_attribute_columns *at = t->at;
    int64_t node = t->names.n;
    char number[24];
    snprintf(number, sizeof number, "%" PRId64, node);
    const char *name = at->name_at < 0 ? number : row->field[at->name_at];
    if (!*name)
        return mo_table_unexpected(row, "the name of a node", name);
    for (int64_t j = 0; j < t->columns; j++)
        if (!take_attribute(t, j, row->field[t->from[j]]))
            return false;
    if (!mo_words_add(g->ctx, &t->names, name) ||
        (at->class_at >= 0 && !mo_words_add(g->ctx, t->class, row->field[at->class_at])) ||
        !mo_host_array_grow(g->ctx, &g->feature_pointer, &t->pointers, node + 2, sizeof *g->feature_pointer))
        return false;
    g->feature_pointer[0] = 0;
    g->feature_pointer[node + 1] = g->feature_nnz;
    return true;
}

/* Whether the first line is a header: its name field is empty or in no edge. */
static bool is_header(const mo_table *row, const char *edges, const mo_attribute_columns *at) {
    const char *name = edges ? row->field[at->name_at] : "";
    return !*name || !mo_edges_have_name(row->ctx, edges, name);
}

/* Keeps the names of the columns; notes the header if the first line might have been a row. */
static bool take_heading(attribute_table *t, const mo_table *row, const char *path, bool note) {
    enum { MOST_NOTED = 6 };
    const char *noted[MOST_NOTED] = {note ? row->field[t->at->name_at] : NULL};
    for (int64_t j = 0; j < t->columns; j++) {
        if (!mo_words_add(row->ctx, &t->heading, row->field[t->from[j]]))
            return false;
        if (j + 1 < MOST_NOTED)
            noted[j + 1] = row->field[t->from[j]];
    }
    return !note || mo_note_header(row->ctx, &t->graph->headers, path, noted,
                        t->columns + 1 < MOST_NOTED ? t->columns + 1 : MOST_NOTED);
}

/* Reads the rows, until a column turns out to be one of texts. */
static void read_rows(attribute_table *t, const char *path, const char *edges) {
    mo_context *ctx = t->graph->ctx;
    mo_table row;
    bool fine = mo_table_open(&row, ctx, path, MO_TABLE_CSV), known = t->heading.n > 0;
    while (fine && !t->again && mo_table_next(&row)) {
        fine = mo_table_columns(&row, t->at->fields, "as the first line has");
        bool heads = fine && row.row == 0 && (known || is_header(&row, edges, t->at));
        fine = fine && mo_ok(ctx) && (heads ? known || take_heading(t, &row, path, edges) : take_row(t, &row));
    }
    mo_table_close(&row);
}

/* ---- columns ---- */

/* Numbers the columns of numbers from 0, names them, and appends those of texts. */
static bool settle_columns(attribute_table *t, const char *path) {
    mo_graph *g = t->graph;
    int64_t *place = mo_host_array(g->ctx, t->columns, sizeof *place);
    bool named = t->heading.n > 0;
    g->feature_name = place && named ? mo_host_array(g->ctx, t->columns, sizeof *g->feature_name) : NULL;
    for (int64_t j = 0; place && j < t->columns && mo_ok(g->ctx); j++) {
        place[j] = g->features;
        if (!t->is_text[j] && named)
            g->feature_name[g->features] = mo_text_copy(g->ctx, mo_words_get(&t->heading, j));
        g->features += !t->is_text[j];
    }
    for (int64_t e = 0; mo_ok(g->ctx) && e < g->feature_nnz; e++)
        g->feature_column[e] = (int32_t)place[g->feature_column[e]];
    for (int64_t j = 0; j < t->columns && mo_ok(g->ctx); j++)
        if (t->is_text[j])
            mo_graph_add_texts(g, path, named ? mo_words_get(&t->heading, j) : NULL, &t->text[j]);
    free(place);
    return mo_ok(g->ctx);
}

static void forget_rows(attribute_table *t) {
    for (int64_t j = 0; t->text && j < t->columns; j++)
        mo_words_release(&t->text[j]);
    mo_words_release(&t->names);
    mo_words_release(t->class);
    t->graph->feature_nnz = 0;
    t->again = false;
}

bool mo_attribute_table_read(
    mo_graph *graph, const char *path, const char *edges, const mo_attribute_columns *columns, mo_words *class) {
    mo_context *ctx = graph->ctx;
    attribute_table t = {.graph = graph, .at = columns, .class = class};
    int64_t repeated = -1;
    bool fine = mo_ok(ctx) && list_attributes(&t);
    do {
        forget_rows(&t);
        if (fine)
            read_rows(&t, path, edges);
    } while (mo_ok(ctx) && t.again);
    if (mo_ok(ctx) && t.names.n == 0)
        mo_fail(ctx, MO_FORMAT, "%s: expected a line for each node, found none", path);
    if (mo_ok(ctx) && (t.names.n >= MO_GRAPH_LARGEST || t.columns >= MO_GRAPH_LARGEST))
        mo_fail(ctx, MO_UNSUPPORTED, "%s: expected fewer than 2^31 nodes and columns", path);
    if (mo_ok(ctx) && !mo_graph_list_nodes(graph, &t.names, &repeated) && repeated >= 0)
        mo_fail(ctx, MO_FORMAT, "%s: node %lld of %lld has the name of one before it", path, (long long)repeated + 1,
            (long long)graph->nodes);
    if (mo_ok(ctx))
        settle_columns(&t, path);
    if (graph->features == 0) { /* a table may have names alone */
        free(graph->feature_pointer);
        graph->feature_pointer = NULL;
    }
    for (int64_t j = 0; t.text && j < t.columns; j++)
        mo_words_release(&t.text[j]);
    mo_words_release(&t.names);
    mo_words_release(&t.heading);
    free(t.text);
    free(t.is_text);
    free(t.from);
    return mo_ok(ctx);
}

/* ---- classes ---- */

bool mo_graph_take_class_texts(mo_graph *graph, const char *path, const mo_words *class, int64_t many, bool *own) {
    mo_context *ctx = graph->ctx;
    mo_label_column column = {0};
    mo_words plain = {0};
    mo_labels labels = {0};
    char number[64];
    mo_unknown_marks marks = {0};
    for (int64_t i = 0; i < class->n && mo_ok(ctx); i++) {
        const char *text = mo_words_get(class, i), *known = mo_plain_label(text, number);
        if (!*known)
            mo_unknown_marks_count(&marks, text);
        mo_words_add(ctx, &plain, known);
    }
    bool fine = mo_ok(ctx) && mo_label_column_of_texts(ctx, path, &plain, &column) &&
                mo_labels_of(ctx, column.value, NULL, graph->nodes, &labels);
    /* One example of each class is a start; a text of its own for most nodes names them. */
    *own = fine && labels.n >= many && labels.classes == labels.n && (many > 2 || 2 * labels.n > graph->nodes);
    if (fine && !*own && marks.kinds > 0) /* an empty field needs no words */
        fine = mo_unknown_marks_note(ctx, &marks, path, class->n, &graph->left_out);
    if (fine && !*own && labels.n > 0 && mo_graph_take_labels(graph, &labels)) {
        graph->class_numbers = !column.name;
        graph->class_name = column.name ? column.name : labels.name;
        *(column.name ? &column.name : &labels.name) = NULL; /* now owned by the graph */
    }
    mo_labels_release(&labels);
    mo_label_column_release(&column);
    mo_words_release(&plain);
    return mo_ok(ctx);
}
