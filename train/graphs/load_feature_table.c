/* train/graphs/load_feature_table.c - node features as CSV or TSV: the name of a node, then one number per column, with
 * or without a header. The rows give the order of the nodes. */
#include "tensor/files/number_text.h"
#include "train/graphs/graph_build.h"
#include "train/graphs/loaders.h"
#include "train/graphs/node_names.h"
#include "train/graphs/table_reader.h"

#include <math.h>
#include <stdlib.h>

/* The arrays that grow as the table is read: names, and the capacities of the graph's arrays. */
typedef struct feature_table {
    mo_graph *graph;
    mo_words names;
    int64_t columns; /* fields of the first line, with the name; 0: not read yet */
    int64_t values, pointers, capacity;
} feature_table;

static bool keep_feature(feature_table *t, int64_t column, float value) {
    mo_graph *g = t->graph;
    int64_t needed = g->feature_nnz + 1;
    if (!mo_host_array_grow(g->ctx, &g->feature_column, &t->values, needed, sizeof *g->feature_column) ||
        !mo_host_array_grow(g->ctx, &g->feature_value, &t->capacity, needed, sizeof *g->feature_value))
        return false;
    g->feature_column[g->feature_nnz] = (int32_t)column;
    g->feature_value[g->feature_nnz++] = value;
    return true;
}

/* Whether the first line is a header: its name field is missing or in no edge, or another field is no number. */
static bool is_feature_header(const mo_table *row, const char *edges) {
    for (int64_t i = 1; i < row->n; i++)
        if (!mo_is_number_text(row->field[i]))
            return true;
    return row->n < 2 || !*row->field[0] || !mo_edges_have_name(row->ctx, edges, row->field[0]);
}

static bool take_feature(feature_table *t, const mo_table *row, int64_t column) {
    const char *text = row->field[column];
    if (text[0] == '0' && !text[1])
        return true;
    char *end;
    float value = (float)mo_read_number(text, &end);
    if (end == text || *end || !isfinite(value))
        return mo_table_unexpected(row, "a finite number", text);
    return value == 0 || keep_feature(t, column - 1, value);
}

static bool take_node(feature_table *t, const mo_table *row) {
    mo_graph *g = t->graph;
    int64_t node = t->names.n;
    if (!*row->field[0])
        return mo_table_unexpected(row, "the name of a node", row->field[0]);
    for (int64_t i = 1; i < row->n; i++)
        if (!take_feature(t, row, i))
            return false;
    if (!mo_words_add(g->ctx, &t->names, row->field[0]) ||
        !mo_host_array_grow(g->ctx, &g->feature_pointer, &t->pointers, node + 2, sizeof *g->feature_pointer))
        return false;
    g->feature_pointer[0] = 0;
    g->feature_pointer[node + 1] = g->feature_nnz;
    return true;
}

static void read_nodes(feature_table *t, const char *path, const char *edges) {
    mo_graph *graph = t->graph;
    mo_table row;
    bool fine = mo_table_open(&row, graph->ctx, path, false);
    while (fine && mo_table_next(&row)) {
        bool header = row.row == 0 && is_feature_header(&row, edges);
        if (header)
            mo_note_header(graph->ctx, &graph->left_out, path, row.field, row.n);
        t->columns = t->columns ? t->columns : row.n;
        if (t->columns < 2)
            mo_table_unexpected(&row, "a node's name and one feature or more", "one column");
        fine = mo_ok(graph->ctx) && mo_table_columns(&row, t->columns, "as the first line has") &&
               (header || take_node(t, &row));
    }
    mo_table_close(&row);
}

bool mo_load_feature_table(mo_graph *graph, const char *path, const char *edges) {
    mo_context *ctx = graph->ctx;
    feature_table t = {.graph = graph};
    int64_t repeated = -1;
    read_nodes(&t, path, edges);
    if (mo_ok(ctx) && t.names.n == 0)
        mo_fail(ctx, MO_FORMAT, "%s: expected a line for each node, found none", path);
    if (mo_ok(ctx) && (t.names.n >= MO_GRAPH_LARGEST || t.columns >= MO_GRAPH_LARGEST))
        mo_fail(ctx, MO_UNSUPPORTED, "%s: expected fewer than 2^31 nodes and columns", path);
    graph->nodes = t.names.n;
    graph->features = t.columns - 1;
    if (mo_ok(ctx)) {
        graph->names = mo_node_names_of_words(ctx, &t.names, &repeated);
        if (repeated >= 0)
            mo_fail(ctx, MO_FORMAT, "%s: node %lld of %lld has the name of one before it", path,
                (long long)repeated + 1, (long long)graph->nodes);
    }
    mo_words_release(&t.names);
    return mo_ok(ctx);
}
