/* train/graphs/load_features.c - a folder of a user's own tables: edges and optionally node features and labels.
 *
 * edges.txt, .csv or .tsv have lines of two numbers or names. features.npy [nodes, columns] has any numbers, row i for
 * node i; features.csv or .tsv have the name of a node, then one number per column, with or without a header, and give
 * the order of the nodes; for features.mtx the error gives the command that makes features.npy. labels.npy or .txt have
 * one label per node, a class number from 0 or a class name (label_column.c); labels.csv or .tsv have columns node and
 * class (labels.c). A label file with another name raises, so that labels are never silently ignored. */
#include "tensor/files/file.h"
#include "tensor/files/number_text.h"
#include "train/graphs/graph_build.h"
#include "train/graphs/label_column.h"
#include "train/graphs/loaders.h"
#include "train/graphs/node_names.h"
#include "train/graphs/table_reader.h"
#include "train/graphs/text_reader.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- features as an array ---- */

static bool are_finite(mo_context *ctx, const char *path, const float *value, const int64_t sizes[2]) {
    for (int64_t i = 0; i < sizes[0] * sizes[1]; i++)
        if (!isfinite(value[i])) {
            mo_fail(ctx, MO_INVALID, "%s: row %lld, column %lld: expected a finite float32, found %g", path,
                (long long)(i / sizes[1]), (long long)(i % sizes[1]), (double)value[i]);
            return false;
        }
    return true;
}

/* Reads features.npy; its number of rows is the number of nodes. */
static bool read_features_file(mo_graph *graph, const char *path) {
    mo_context *ctx = graph->ctx;
    char shape[160];
    mo_tensor *T = mo_npy_read(ctx, path);
    if (mo_ok(ctx) &&
        (mo_ndim(T) != 2 || mo_dim(T, 0) < 1 || mo_dim(T, 0) >= MO_GRAPH_LARGEST || mo_dim(T, 1) >= MO_GRAPH_LARGEST)) {
        mo_fail(ctx, MO_FORMAT, "%s: expected features [nodes, columns], found shape %s", path,
            mo_shape_string(T, shape, sizeof shape));
    }
    int64_t sizes[] = {mo_dim(T, 0), mo_dim(T, 1)};
    if (mo_ok(ctx) && sizes[1] == 0) /* then the file lists no node */
        mo_claim_fits(ctx, path, "nodes without features", sizes[0], MO_BYTES_A_NODE, 0);
    float *value = mo_ok(ctx) ? mo_host_values(T, MO_F32) : NULL;
    if (value && are_finite(ctx, path, value, sizes)) {
        graph->nodes = sizes[0];
        mo_graph_set_features(graph, value, sizes[1], NULL);
    }
    free(value);
    mo_tensor_release(T);
    return mo_ok(ctx);
}

/* ---- features as a table ---- */

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
            mo_note_header(graph->ctx, &graph->headers, path, row.field, row.n);
        t->columns = t->columns ? t->columns : row.n;
        if (t->columns < 2)
            mo_table_columns(&row, 2, "a node's name and one feature or more");
        fine = mo_ok(graph->ctx) && mo_table_columns(&row, t->columns, "as the first line has") &&
               (header || take_node(t, &row));
    }
    mo_table_close(&row);
}

static bool read_feature_table(mo_graph *graph, const char *path, const char *edges) {
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

/* ---- labels ---- */

/* Reads a label for each node: class numbers, or names, which are numbered. */
static bool take_label_column(mo_graph *graph, const char *path, bool of_lines) {
    int64_t n = mo_graph_examples(graph);
    mo_label_column column = {0};
    bool fine = mo_label_column_read(graph->ctx, path, &column);
    if (fine && !mo_label_column_fits(&column, n))
        fine = mo_fail(graph->ctx, MO_FORMAT, "%s: expected a label for each of %lld nodes, found %lld", path,
            (long long)n, (long long)column.n);
    if (fine) {
        fine = mo_graph_set_labels(graph, column.value, n, path, of_lines);
        graph->class_name = column.name;
        column.value = NULL; /* now owned by the graph, as are the names */
        column.name = NULL;
    }
    mo_label_column_release(&column);
    return fine;
}

/* Reads the labels of some nodes by name; all others are unlabelled. */
static bool take_label_table(mo_graph *graph, const char *path) {
    mo_labels labels;
    bool fine = mo_labels_read(graph, path, &labels) && mo_graph_take_labels(graph, &labels);
    if (fine) {
        graph->class_name = labels.name;
        labels.name = NULL; /* now owned by the graph */
        fine = (!labels.left_out || mo_note_left_out(graph->ctx, &graph->left_out, NULL, labels.left_out)) &&
               (!labels.headers || mo_note_left_out(graph->ctx, &graph->headers, NULL, labels.headers));
    }
    mo_labels_release(&labels);
    return fine;
}

/* Raises if the folder has a label file with another name. */
static bool refuse_others(mo_context *ctx, const char *folder) {
    DIR *listing = opendir(folder);
    if (!listing)
        return mo_fail(ctx, MO_IO, "%s: cannot open: %s", folder, strerror(errno));
    for (struct dirent *entry; mo_ok(ctx) && (entry = readdir(listing));) {
        static const char *const known[] = {"labels.npy", "labels.npy.gz", "labels.txt", "labels.txt.gz", "labels.csv",
            "labels.csv.gz", "labels.tsv", "labels.tsv.gz"};
        bool other = strncasecmp(entry->d_name, "label", 5) == 0;
        for (int i = 0; i < 8; i++)
            other &= strcmp(entry->d_name, known[i]) != 0;
        if (other)
            mo_fail(ctx, MO_FORMAT,
                "%s/%s: expected labels as labels.npy, labels.txt (one line per node) or labels.csv", folder,
                entry->d_name);
    }
    closedir(listing);
    return mo_ok(ctx);
}

static bool load_labels(mo_graph *graph, const char *folder) {
    char array[PATH_MAX], text[PATH_MAX], table[PATH_MAX];
    bool has_array = mo_text_find(folder, "labels.npy", array, sizeof array);
    bool has_text = mo_text_find(folder, "labels.txt", text, sizeof text);
    bool has_table = mo_text_find(folder, "labels.csv", table, sizeof table) ||
                     mo_text_find(folder, "labels.tsv", table, sizeof table);
    if (has_array + has_text + has_table > 1)
        mo_fail(graph->ctx, MO_FORMAT, "%s: expected one of %s, found both", folder,
            !has_table  ? "labels.npy and labels.txt"
            : has_array ? "labels.npy and labels.csv"
                        : "labels.txt and labels.csv");
    return mo_ok(graph->ctx) && refuse_others(graph->ctx, folder) &&
           (!has_array || take_label_column(graph, array, false)) &&
           (!has_text || take_label_column(graph, text, true)) && (!has_table || take_label_table(graph, table));
}

/* ---- the folder ---- */

/* Finds a file of the folder under one of some names; raises if there are several. Returns whether there is one. */
static bool find_one(mo_context *ctx, const char *folder, const char *const *names, char *path, size_t bytes) {
    char other[PATH_MAX];
    const char *found = NULL;
    for (; *names && mo_ok(ctx); names++)
        if (mo_text_find(folder, *names, found ? other : path, found ? sizeof other : bytes)) {
            if (found)
                mo_fail(ctx, MO_FORMAT, "%s: expected %s or %s, found both", folder, found, *names);
            found = *names;
        }
    return found && mo_ok(ctx);
}

static const char *const edge_files[] = {"edges.txt", "edges.csv", "edges.tsv", NULL};
static const char *const feature_files[] = {"features.npy", "features.csv", "features.tsv", "features.mtx", NULL};

bool mo_is_features(const char *folder) {
    char path[PATH_MAX];
    bool found = false;
    for (int i = 0; edge_files[i]; i++)
        found |= mo_text_find(folder, edge_files[i], path, sizeof path);
    for (int i = 0; feature_files[i]; i++)
        found |= mo_text_find(folder, feature_files[i], path, sizeof path);
    return found;
}

mo_graph *mo_load_features(mo_context *ctx, const char *name, const char *folder) {
    mo_graph *graph = mo_graph_new(ctx, name, folder);
    if (!graph)
        return NULL;
    char path[PATH_MAX], edges[PATH_MAX];
    bool found = find_one(ctx, folder, edge_files, edges, sizeof edges);
    if (mo_ok(ctx) && !found)
        mo_fail(
            ctx, MO_FORMAT, "%s: expected edges.txt, edges.csv or edges.tsv beside the features, found none", folder);
    if (mo_ok(ctx) && find_one(ctx, folder, feature_files, path, sizeof path)) {
        if (mo_is_table(path))
            read_feature_table(graph, path, edges);
        else if (!mo_path_ends_with(path, ".npy") && !mo_path_ends_with(path, ".npy.gz"))
            mo_fail_foreign(ctx, path, "Matrix Market", NULL);
        else
            read_features_file(graph, path);
    }
    bool numbered = graph->nodes > 0 && !graph->names && !mo_is_table(edges);
    if (mo_ok(ctx) && (numbered ? mo_load_numbered_edges(graph, edges) : mo_load_named_edges(graph, edges)))
        load_labels(graph, folder);
    return mo_graph_finish(graph);
}
