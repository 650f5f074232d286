/* train/graphs/load_feature_table.c - node features as CSV or TSV: the name of a node, then one number per column,
 * below a header or none. The rows are the graph's nodes, in their order. */
#include "tensor/files/number_text.h"
#include "train/graphs/graph_build.h"
#include "train/graphs/loaders.h"
#include "train/graphs/node_names.h"
#include "train/graphs/table_reader.h"

#include <math.h>
#include <stdlib.h>

typedef struct feature_table {
    mo_graph *graph;
    const char *edges; /* path */
    mo_words names;
    int64_t columns; /* of the first line, the name's included; 0: not read yet */
    int64_t values, pointers, capacity;
} feature_table;

static bool keep_feature(feature_table *t, const mo_table_place *at, float value) {
    mo_graph *g = t->graph;
    int64_t needed = g->feature_nnz + 1;
    if (!mo_host_array_grow(g->ctx, &g->feature_column, &t->values, needed, sizeof *g->feature_column) ||
        !mo_host_array_grow(g->ctx, &g->feature_value, &t->capacity, needed, sizeof *g->feature_value))
        return false;
    g->feature_column[g->feature_nnz] = (int32_t)(at->column - 1);
    g->feature_value[g->feature_nnz++] = value;
    return true;
}

/* Whether the first line is a header: it lacks a name, or one of the others is no number, or no edge has its name. */
static bool is_feature_header(void *state, const char *const *field, int64_t n) {
    const feature_table *t = state;
    for (int64_t i = 1; i < n; i++)
        if (!mo_is_number_text(field[i]))
            return true;
    return n < 2 || !*field[0] || !mo_edges_have_name(t->graph->ctx, t->edges, field[0]);
}

static bool on_feature(void *state, const mo_table_place *at, const char *text) {
    feature_table *t = state;
    if (at->column == 0)
        return *text ? mo_words_add(at->ctx, &t->names, text) : mo_table_unexpected(at, "the name of a node", text);
    if (t->columns && at->column >= t->columns)
        return true; /* the row is refused at its end */
    if (text[0] == '0' && !text[1])
        return true;
    char *end;
    float value = (float)mo_read_number(text, &end);
    if (end == text || *end || !isfinite(value))
        return mo_table_unexpected(at, "a finite number", text);
    return value == 0 || keep_feature(t, at, value);
}

static bool on_node(void *state, const mo_table_place *at) {
    feature_table *t = state;
    mo_graph *g = t->graph;
    t->columns = t->columns ? t->columns : at->column;
    if (t->columns < 2)
        return mo_table_unexpected(at, "a node's name and one feature or more", "one column");
    if (!mo_table_columns(at, t->columns, "as the first line has"))
        return false;
    if (at->row == 0)
        return true;
    if (!mo_host_array_grow(g->ctx, &g->feature_pointer, &t->pointers, at->row + 1, sizeof *g->feature_pointer))
        return false;
    g->feature_pointer[0] = 0;
    g->feature_pointer[at->row] = g->feature_nnz;
    return true;
}

bool mo_load_feature_table(mo_graph *graph, const char *path, const char *edges) {
    mo_context *ctx = graph->ctx;
    feature_table t = {.graph = graph, .edges = edges};
    mo_table_visit visit = {on_feature, on_node, &t, is_feature_header, &graph->left_out, false};
    int64_t repeated = -1;
    if (mo_table_read(ctx, path, &visit) && t.names.n == 0)
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
