/* train/graphs/load_tu.c - a folder of the TU collection: NAME_A.txt, NAME_graph_indicator.txt, NAME_graph_labels.txt
 * and, where there is one, NAME_node_labels.txt. All ids count from 1 over the whole set.
 *
 * Classes become 0.. in the order of the sorted distinct graph labels; -1 is a label like any other, since the
 * collection's binary sets have -1 and 1. Node labels become one-hot features, one column per distinct label. Edge
 * labels and real-valued attributes are ignored. */
#include "train/graphs/graph_build.h"
#include "train/graphs/loaders.h"
#include "train/graphs/text_reader.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Finds FOLDER/PREFIX, from the one file that ends in _A.txt; the set's files are PREFIX_A.txt and so on. */
static bool find_prefix(mo_context *ctx, const char *folder, char *prefix, size_t bytes) {
    static const char ending[] = "_A.txt";
    DIR *listing = opendir(folder);
    if (!listing) {
        mo_fail(ctx, MO_IO, "%s: cannot open: %s", folder, strerror(errno));
        return false;
    }
    int found = 0;
    for (struct dirent *entry; (entry = readdir(listing));) {
        size_t length = strlen(entry->d_name), tail = strlen(ending);
        if (length > tail && strcmp(entry->d_name + length - tail, ending) == 0) {
            found++;
            snprintf(prefix, bytes, "%s/%.*s", folder, (int)(length - tail), entry->d_name);
        }
    }
    closedir(listing);
    if (found != 1)
        mo_fail(ctx, MO_FORMAT, "%s: expected one file that ends in _A.txt, found %d", folder, found);
    return found == 1;
}

bool mo_is_tu(const char *folder) {
    DIR *listing = opendir(folder);
    bool found = false;
    for (struct dirent *entry; listing && (entry = readdir(listing));)
        found |= mo_path_ends_with(entry->d_name, "_A.txt");
    if (listing)
        closedir(listing);
    return found;
}

/* Reads the whole file, one integer per line. */
static int64_t *read_column(mo_context *ctx, const char *path, const char *what, int64_t *count) {
    mo_text_reader r;
    int64_t *value = NULL, capacity = 0;
    bool fine = mo_text_open(&r, ctx, path), ended = false;
    *count = 0;
    while (fine && mo_text_line(&r)) {
        if (mo_text_blank(&r)) {
            ended = true; /* blank lines may only end a file: otherwise entries and line numbers would differ */
            continue;
        }
        if (ended) {
            mo_text_unexpected(&r, "the end of the file after a blank line");
            break;
        }
        int64_t *grown = mo_host_array_grow(ctx, value, &capacity, *count + 1, sizeof *grown);
        value = grown ? grown : value;
        fine = grown && mo_text_integer(&r, what, &value[*count]) && mo_text_finished(&r);
        *count += fine;
    }
    mo_text_close(&r);
    if (mo_ok(ctx) && *count == 0)
        mo_fail(ctx, MO_FORMAT, "%s: expected %s on every line, found an empty file", path, what);
    if (!mo_ok(ctx)) {
        free(value);
        return NULL;
    }
    return value;
}

/* graph_offset from the graph of every node: the numbers start at 1 and rise by at most 1, since no graph is empty. */
static bool read_indicator(mo_graph *graph, const char *path, int64_t *nodes) {
    int64_t *member = read_column(graph->ctx, path, "the graph of a node", nodes);
    if (!member)
        return false;
    int64_t current = 0;
    for (int64_t i = 0; i < *nodes; i++) {
        if (member[i] != current + 1 && (member[i] != current || i == 0)) {
            mo_fail(graph->ctx, MO_FORMAT,
                "%s:%lld: expected graph %lld or %lld (from 1, rising, none left out), found %lld", path,
                (long long)i + 1, (long long)(i ? current : 1), (long long)current + 1, (long long)member[i]);
            free(member);
            return false;
        }
        current = member[i];
    }
    graph->graphs = current;
    graph->graph_offset = mo_host_array(graph->ctx, current + 1, sizeof *graph->graph_offset);
    for (int64_t i = 0; graph->graph_offset && i < *nodes; i++)
        graph->graph_offset[member[i]] = i + 1;
    free(member);
    return graph->graph_offset != NULL;
}

static int64_t graph_of(const mo_graph *graph, int64_t node) {
    int64_t low = 0, high = graph->graphs;
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (graph->graph_offset[middle] <= node)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static bool read_edge(mo_text_reader *r, const mo_graph *graph, int64_t nodes, mo_edges *edges) {
    int64_t u, v;
    if (!mo_text_integer_in(r, "a node", 1, nodes, &u) || !mo_text_comma(r) ||
        !mo_text_integer_in(r, "a node", 1, nodes, &v) || !mo_text_finished(r)) {
        return false;
    }
    int64_t g = graph_of(graph, u - 1);
    if (v - 1 < graph->graph_offset[g] || v - 1 >= graph->graph_offset[g + 1]) {
        mo_fail(r->ctx, MO_FORMAT,
            "%s:%lld: expected an edge within one graph, found %lld (graph %lld), %lld (graph %lld)", r->path,
            (long long)r->line, (long long)u, (long long)g + 1, (long long)v, (long long)graph_of(graph, v - 1) + 1);
        return false;
    }
    return mo_edges_add(r->ctx, edges, u - 1, v - 1);
}

static bool read_tu_edges(mo_graph *graph, const char *path, int64_t nodes) {
    mo_text_reader r;
    mo_edges edges = {0};
    bool fine = mo_text_open(&r, graph->ctx, path);
    while (fine && mo_text_line(&r))
        fine = mo_text_blank(&r) || read_edge(&r, graph, nodes, &edges);
    mo_text_close(&r);
    fine = mo_ok(graph->ctx) && mo_graph_set_edges(graph, nodes, &edges);
    mo_edges_release(&edges);
    return fine;
}

/* Reads a column of the length that the indicator file gives. */
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

static void read_set(mo_graph *graph, const char *prefix) {
    char path[PATH_MAX + 64];
    int64_t nodes;
    snprintf(path, sizeof path, "%s_graph_indicator.txt", prefix);
    if (!read_indicator(graph, path, &nodes))
        return;
    snprintf(path, sizeof path, "%s_A.txt", prefix);
    if (!read_tu_edges(graph, path, nodes))
        return;
    snprintf(path, sizeof path, "%s_graph_labels.txt", prefix);
    int64_t *value = read_counted(graph->ctx, path, "the class of a graph", graph->graphs);
    if (value)
        mo_graph_set_classes(graph, value, graph->graphs);
    free(value);
    snprintf(path, sizeof path, "%s_node_labels.txt", prefix);
    if (mo_ok(graph->ctx) && access(path, F_OK) == 0) {
        value = read_counted(graph->ctx, path, "the label of a node", nodes);
        if (value)
            mo_graph_set_one_hot(graph, value);
        free(value);
    }
}

mo_graph *mo_load_tu(mo_context *ctx, const char *name, const char *folder) {
    char prefix[PATH_MAX];
    mo_graph *graph = mo_graph_new(ctx, name, folder);
    if (!graph)
        return NULL;
    if (find_prefix(ctx, folder, prefix, sizeof prefix))
        read_set(graph, prefix);
    return mo_graph_finish(graph);
}
