/* train/graphs/load_tu.c - a folder of the TU collection: NAME_A.txt, NAME_graph_indicator.txt, NAME_graph_labels.txt
 * and, optionally, NAME_node_attributes.txt and NAME_node_labels.txt. All ids count from 1 over the whole set.
 *
 * Classes become 0.. in the order of the sorted distinct graph labels; -1 is a label like any other, since the
 * collection's binary sets have -1 and 1. Node attributes are the first features, unchanged; node labels follow as
 * one-hot features, one column per distinct label. Attributes of graphs are targets where there are no classes
 * (targets.c). Labels and attributes of edges are left out, and beside classes attributes of graphs, with a notice, as
 * are graphs without nodes (in Fingerprint); the other graphs keep their numbers as names. */
#include "tensor/files/number_text.h"
#include "train/graphs/graph_build.h"
#include "train/graphs/loaders.h"
#include "train/graphs/node_names.h"
#include "train/graphs/table_reader.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Counts the files of a folder that end in _A.txt, and writes FOLDER/PREFIX of the last; the set's other files also
 * begin with PREFIX. */
static int find_prefix(const char *folder, char *prefix, size_t bytes) {
    static const char ending[] = "_A.txt";
    DIR *listing = opendir(folder);
    int found = 0;
    for (struct dirent *entry; listing && (entry = readdir(listing));) {
        size_t length = strlen(entry->d_name), tail = strlen(ending);
        if (length > tail && strcmp(entry->d_name + length - tail, ending) == 0) {
            found++;
            snprintf(prefix, bytes, "%s/%.*s", folder, (int)(length - tail), entry->d_name);
        }
    }
    if (listing)
        closedir(listing);
    return found;
}

bool mo_is_tu(const char *folder) {
    char prefix[PATH_MAX];
    return find_prefix(folder, prefix, sizeof prefix) > 0;
}

/* Reads the whole file, one integer per line. */
static int64_t *read_column(mo_context *ctx, const char *path, const char *what, int64_t *count) {
    mo_table row;
    int64_t *value = NULL, capacity = 0;
    bool fine = mo_table_open(&row, ctx, path, MO_TABLE_NUMBERS), ended = false;
    *count = 0;
    while (fine && mo_table_next(&row)) {
        if (row.n == 0) {
            ended = true; /* only the end can have blank lines, as entry i must be on line i */
            continue;
        }
        if (ended) {
            mo_table_unexpected(&row, "the end of the file after a blank line", row.field[0]);
            break;
        }
        fine = mo_host_array_grow(ctx, &value, &capacity, *count + 1, sizeof *value) &&
               mo_table_integer(&row, 0, what, -MO_TABLE_LARGEST, MO_TABLE_LARGEST, &value[*count]) &&
               mo_table_columns(&row, 1, what);
        *count += fine;
    }
    mo_table_close(&row);
    if (mo_ok(ctx) && *count == 0)
        mo_fail(ctx, MO_FORMAT, "%s: expected %s on every line, found an empty file", path, what);
    if (!mo_ok(ctx)) {
        free(value);
        return NULL;
    }
    return value;
}

/* Sets graph_offset from the graph number of every node: numbers start at 1 and never fall; a skipped number is a graph
 * without nodes. id: receives the numbers, from 0, of the graphs with nodes, [graphs], owned by the caller. */
static bool read_indicator(mo_graph *graph, const char *path, int64_t *nodes, int64_t **id) {
    mo_context *ctx = graph->ctx;
    int64_t *member = read_column(ctx, path, "the graph of a node", nodes), graphs = 0, before = 1;
    for (int64_t i = 0; member && i < *nodes; i++) {
        if (member[i] < before && mo_ok(ctx))
            mo_fail(ctx, MO_FORMAT, "%s:%lld: expected graph %lld or a later one (from 1, rising), found %lld", path,
                (long long)i + 1, (long long)before, (long long)member[i]);
        graphs += i == 0 || member[i] != before;
        before = member[i];
    }
    graph->graphs = graphs;
    graph->graph_offset = mo_ok(ctx) ? mo_host_array(ctx, graphs + 1, sizeof *graph->graph_offset) : NULL;
    *id = mo_ok(ctx) ? mo_host_array(ctx, graphs, sizeof **id) : NULL;
    for (int64_t i = 0, g = -1; mo_ok(ctx) && i < *nodes; i++) {
        g += i == 0 || member[i] != member[i - 1];
        (*id)[g] = member[i] - 1;
        graph->graph_offset[g + 1] = i + 1;
    }
    free(member);
    return mo_ok(ctx);
}

static int64_t graph_of(const mo_graph *graph, int64_t node) {
    return mo_find_row(graph->graph_offset, graph->graphs, node);
}

static bool read_edge(const mo_table *row, const mo_graph *graph, int64_t nodes, mo_edges *edges) {
    int64_t u, v;
    if (!mo_table_integer(row, 0, "a node", 1, nodes, &u) || !mo_table_integer(row, 1, "a node", 1, nodes, &v) ||
        !mo_table_columns(row, 2, "the nodes of an edge"))
        return false;
    int64_t g = graph_of(graph, u - 1);
    if (v - 1 < graph->graph_offset[g] || v - 1 >= graph->graph_offset[g + 1])
        return mo_fail(row->ctx, MO_FORMAT,
            "%s:%lld: expected an edge within one graph, found %lld (graph %lld), %lld (graph %lld)", row->path,
            (long long)row->line, (long long)u, (long long)g + 1, (long long)v, (long long)graph_of(graph, v - 1) + 1);
    return mo_edges_add(row->ctx, edges, u - 1, v - 1);
}

static bool read_tu_edges(mo_graph *graph, const char *path, int64_t nodes) {
    mo_table row;
    mo_edges edges = {0};
    bool fine = mo_table_open(&row, graph->ctx, path, MO_TABLE_NUMBERS);
    while (fine && mo_table_next(&row))
        fine = row.n == 0 || read_edge(&row, graph, nodes, &edges);
    mo_table_close(&row);
    fine = mo_ok(graph->ctx) && mo_graph_set_edges(graph, nodes, &edges);
    mo_edges_release(&edges);
    return fine;
}

/* Reads a column, which must be as long as the indicator file. */
static int64_t *read_counted(mo_context *ctx, const char *path, const char *what, int64_t expected) {
    int64_t count;
    int64_t *value = read_column(ctx, path, what, &count);
    if (value && count != expected) {
        mo_fail(ctx, MO_FORMAT, "%s: expected %lld lines (as NAME_graph_indicator.txt says), found %lld", path,
            (long long)expected, (long long)count);
        free(value);
        return NULL;
    }
    return value;
}

/* Sets the classes of the graphs with nodes; the file has a line for every graph, with nodes or without. A set of real
 * targets (NAME_graph_attributes.txt) may have no classes. Takes over id, whose numbers become the graphs' names if
 * graphs without nodes are left out. */
static void read_graph_labels(mo_graph *graph, const char *path, const char *targets, int64_t *id) {
    bool classes = access(path, F_OK) == 0 || access(targets, F_OK) != 0;
    int64_t g = graph->graphs, all = id[g - 1] + 1;
    int64_t *value = classes ? read_column(graph->ctx, path, "the class of a graph", &all) : NULL;
    if (value && all <= id[g - 1])
        mo_fail(graph->ctx, MO_FORMAT, "%s: expected %lld lines or more (as NAME_graph_indicator.txt says), found %lld",
            path, (long long)id[g - 1] + 1, (long long)all);
    for (int64_t i = 0; value && mo_ok(graph->ctx) && i < g; i++)
        value[i] = value[id[i]];
    if (value && mo_ok(graph->ctx))
        mo_graph_set_classes(graph, value, g);
    int64_t first = 0;
    while (first < g && id[first] == first)
        first++;
    if (mo_ok(graph->ctx) && all > g) {
        mo_graph_leave_out(graph, "%lld of the %lld graphs of %s, which have no nodes (the first in line %lld)",
            (long long)(all - g), (long long)all, strrchr(path, '/') + 1, (long long)first + 1);
        graph->names = mo_node_names_of_ids(graph->ctx, id, g);
        id = NULL;
    }
    free(id);
    free(value);
}

/* The real numbers of all nodes, [nodes, columns], from one line per node; the first line fixes the number of
 * columns. */
typedef struct attributes {
    float *value;
    int64_t n, capacity, columns;
} attributes;

static bool read_node_attributes(const mo_table *row, attributes *a) {
    static const char expected[] = "an attribute of a node (a finite float32)";
    for (int64_t i = 0; i < row->n; i++) {
        char *end;
        float value = (float)mo_read_number(row->field[i], &end);
        if (end == row->field[i] || *end || !isfinite(value))
            return mo_table_unexpected(row, expected, row->field[i]);
        if (!mo_host_array_grow(row->ctx, &a->value, &a->capacity, a->n + 1, sizeof *a->value))
            return false;
        a->value[a->n++] = value;
    }
    a->columns = row->row > 0 ? a->columns : row->n;
    return row->n > 0 ? mo_table_columns(row, a->columns, "as in line 1") : mo_table_unexpected(row, expected, "");
}

/* Reads one line per node; only blank lines may follow. */
static bool read_attributes(mo_context *ctx, const char *path, int64_t nodes, attributes *a) {
    mo_table row;
    char lines[96];
    snprintf(lines, sizeof lines, "%lld lines (as NAME_graph_indicator.txt says)", (long long)nodes);
    bool fine = mo_table_open(&row, ctx, path, MO_TABLE_NUMBERS);
    for (int64_t i = 0; fine && i < nodes; i++) {
        bool found = mo_table_next(&row);
        if (!found && mo_ok(ctx))
            mo_fail(
                ctx, MO_FORMAT, "%s:%lld: expected %s, found the end of the file", path, (long long)row.line, lines);
        fine = found && read_node_attributes(&row, a);
    }
    while (fine && mo_table_next(&row))
        fine = row.n == 0 || mo_table_unexpected(&row, lines, row.field[0]);
    mo_table_close(&row);
    return mo_ok(ctx);
}

/* Sets the features: attributes, if present and wanted, then node labels, if present. */
static void read_node_files(mo_graph *graph, const char *prefix, bool with_attributes) {
    char path[PATH_MAX + 64];
    attributes a = {0};
    int64_t *label = NULL;
    snprintf(path, sizeof path, "%s_node_attributes.txt", prefix);
    bool fine = !with_attributes || access(path, F_OK) != 0 || read_attributes(graph->ctx, path, graph->nodes, &a);
    snprintf(path, sizeof path, "%s_node_labels.txt", prefix);
    if (fine && access(path, F_OK) == 0)
        label = read_counted(graph->ctx, path, "the label of a node", graph->nodes);
    if (mo_ok(graph->ctx) && (a.value || label))
        mo_graph_set_features(graph, a.value, a.columns, label);
    graph->attributes = a.columns;
    free(a.value);
    free(label);
}

/* Notes the files of the set that are there and not read. */
static void leave_out_files(mo_graph *graph, const char *prefix) {
    static const char *const unread[] = {"_edge_labels.txt", "_edge_attributes.txt", "_graph_attributes.txt"};
    char path[PATH_MAX + 64];
    for (size_t i = 0; i < sizeof unread / sizeof *unread; i++) {
        snprintf(path, sizeof path, "%s%s", prefix, unread[i]);
        if (access(path, F_OK) == 0 && (i < 2 || graph->n_labels > 0))
            mo_graph_leave_out(graph, "%s", strrchr(path, '/') + 1);
    }
}

static void read_set(mo_graph *graph, const char *prefix, bool with_attributes) {
    char path[PATH_MAX + 64];
    int64_t nodes, *id = NULL;
    snprintf(path, sizeof path, "%s_graph_indicator.txt", prefix);
    bool fine = read_indicator(graph, path, &nodes, &id);
    snprintf(path, sizeof path, "%s_A.txt", prefix);
    if (!fine || !read_tu_edges(graph, path, nodes)) {
        free(id);
        return;
    }
    char targets[PATH_MAX + 64];
    snprintf(path, sizeof path, "%s_graph_labels.txt", prefix);
    snprintf(targets, sizeof targets, "%s_graph_attributes.txt", prefix);
    read_graph_labels(graph, path, targets, id);
    if (mo_ok(graph->ctx))
        read_node_files(graph, prefix, with_attributes);
    if (mo_ok(graph->ctx))
        leave_out_files(graph, prefix);
}

mo_graph *mo_load_tu(mo_context *ctx, const char *name, const char *folder, bool with_attributes) {
    char prefix[PATH_MAX];
    mo_graph *graph = mo_graph_new(ctx, name, folder);
    if (!graph)
        return NULL;
    int found = find_prefix(folder, prefix, sizeof prefix);
    if (found == 1)
        read_set(graph, prefix, with_attributes);
    else if (access(folder, R_OK) != 0)
        mo_fail(ctx, MO_IO, "%s: cannot open: %s", folder, strerror(errno));
    else
        mo_fail(ctx, MO_FORMAT, "%s: expected edges.csv, or one file that ends in _A.txt, found %s", folder,
            found ? "several _A.txt" : "neither");
    return mo_graph_finish(graph);
}
