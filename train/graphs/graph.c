/* train/graphs/graph.c - makes a graph from host arrays; accessors, hash, release. */
#include "tensor/library.h"
#include "train/graphs/graph_build.h"
#include "train/graphs/node_names.h"
#include "train/graphs/table_reader.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <xxhash.h>

mo_graph *mo_graph_new(mo_context *ctx, const char *name, const char *source) {
    mo_graph *graph = mo_host_array(ctx, 1, sizeof *graph);
    if (!graph)
        return NULL;
    graph->ctx = ctx;
    graph->graphs = 1;
    graph->name = mo_text_copy(ctx, name);
    graph->source = mo_text_copy(ctx, source);
    if (!graph->name || !graph->source) {
        mo_graph_release(graph);
        return NULL;
    }
    return graph;
}

static void forget_feature_names(mo_graph *graph) {
    for (int64_t j = 0; graph->feature_name && j < graph->features; j++)
        free(graph->feature_name[j]);
    free(graph->feature_name);
    graph->feature_name = NULL;
}

mo_graph *mo_graph_hold(mo_graph *graph) {
    if (graph)
        graph->holders++;
    return graph;
}

/* Releases a graph of mo_graph_scale, which shares all else with the graph that was loaded. */
static void release_scaled(mo_graph *graph) {
    if (graph->division != graph->loaded->division)
        free(graph->division);
    free(graph->feature_pointer);
    free(graph->feature_column);
    free(graph->feature_value);
    free(graph->feature_name); /* the names themselves are the loaded graph's */
    free(graph->scaled);
    mo_graph_release(graph->loaded);
    free(graph);
}

void mo_graph_release(mo_graph *graph) {
    if (!graph || graph->holders-- > 0)
        return;
    if (graph->loaded) {
        release_scaled(graph);
        return;
    }
    free(graph->name);
    free(graph->source);
    free(graph->left_out);
    free(graph->headers);
    free(graph->graph_offset);
    free(graph->row_pointer);
    free(graph->column);
    free(graph->weight);
    free(graph->time);
    free(graph->feature_pointer);
    free(graph->feature_column);
    free(graph->feature_value);
    free(graph->label);
    for (int64_t c = 0; graph->class_name && c < graph->classes; c++)
        free(graph->class_name[c]);
    free(graph->class_name);
    forget_feature_names(graph);
    free(graph->recoded);
    mo_node_names_release(graph->names);
    free(graph->division);
    free(graph->counted);
    free(graph);
}

static void hash_array(XXH3_state_t *state, const void *array, int64_t n, size_t element) {
    if (array && n > 0)
        XXH3_128bits_update(state, array, (size_t)n * element);
}

void mo_graph_leave_out(mo_graph *graph, const char *format, ...) {
    char what[256];
    va_list list;
    va_start(list, format);
    vsnprintf(what, sizeof what, format, list);
    va_end(list);
    mo_note_left_out(graph->ctx, &graph->left_out, NULL, what);
}

/* Whether the features are one-hot node numbers, in any order: each node has a 1 in a column of its own. */
static bool is_identity(const mo_graph *graph) {
    bool *taken = graph->nodes > 1 && graph->features >= graph->nodes
                      ? mo_host_array(graph->ctx, graph->features, sizeof *taken)
                      : NULL;
    bool identity = taken;
    for (int64_t i = 0; i < graph->nodes && identity; i++) {
        int64_t ones = 0;
        for (int64_t e = graph->feature_pointer[i]; e < graph->feature_pointer[i + 1] && identity; e++) {
            if (graph->feature_value[e] == 0)
                continue;
            identity = graph->feature_value[e] == 1 && !taken[graph->feature_column[e]];
            taken[graph->feature_column[e]] = true;
            ones++;
        }
        identity = identity && ones == 1;
    }
    free(taken);
    return identity;
}

/* Whether there is one feature column with one value for all nodes. */
static bool is_constant(const mo_graph *graph) {
    float first = 0;
    for (int64_t i = 0; i < graph->nodes && graph->features == 1; i++) {
        float x = 0;
        for (int64_t e = graph->feature_pointer[i]; e < graph->feature_pointer[i + 1]; e++)
            x += graph->feature_value[e];
        first = i ? first : x;
        if (x != first)
            return false;
    }
    return graph->features == 1;
}

/* Leaves out features that carry no information about a node: one-hot node numbers, which only cost accuracy, or one
 * constant column. */
static void leave_out_features(mo_graph *graph) {
    bool identity = is_identity(graph);
    if (!identity && !is_constant(graph))
        return;
    mo_graph_leave_out(graph,
        identity ? "%lld feature columns that number the nodes (an identity matrix)"
                 : "%lld feature column that is the same for all nodes",
        (long long)graph->features);
    free(graph->feature_pointer);
    free(graph->feature_column);
    free(graph->feature_value);
    forget_feature_names(graph);
    graph->feature_pointer = NULL;
    graph->feature_column = NULL;
    graph->feature_value = NULL;
    graph->features = graph->feature_nnz = graph->attributes = 0;
}

/* Hashes the content of the graph, without name, source and dropped counts. */
static bool hash_content(mo_graph *graph) {
    XXH3_state_t *state = XXH3_createState();
    if (!state)
        return mo_fail(graph->ctx, MO_MEMORY, "graph %s: out of memory for the hash", graph->name);
    int64_t sizes[] = {
        graph->nodes, graph->graphs, graph->nnz, graph->features, graph->feature_nnz, graph->n_labels, graph->classes};
    XXH3_128bits_reset(state);
    hash_array(state, sizes, (int64_t)(sizeof sizes / sizeof *sizes), sizeof *sizes);
    hash_array(state, graph->graph_offset, graph->graphs + 1, sizeof *graph->graph_offset);
    hash_array(state, graph->row_pointer, graph->nodes + 1, sizeof *graph->row_pointer);
    hash_array(state, graph->column, graph->nnz, sizeof *graph->column);
    hash_array(state, graph->weight, graph->nnz, sizeof *graph->weight);
    hash_array(state, graph->feature_pointer, graph->nodes + 1, sizeof *graph->feature_pointer);
    hash_array(state, graph->feature_column, graph->feature_nnz, sizeof *graph->feature_column);
    hash_array(state, graph->feature_value, graph->feature_nnz, sizeof *graph->feature_value);
    hash_array(state, graph->label, graph->n_labels, sizeof *graph->label);
    hash_array(state, graph->counted, graph->n_counted, sizeof *graph->counted);
    XXH128_hash_t hash = XXH3_128bits_digest(state);
    graph->hash[0] = hash.low64;
    graph->hash[1] = hash.high64;
    XXH3_freeState(state);
    return true;
}

mo_graph *mo_graph_finish(mo_graph *graph) {
    if (mo_ok(graph->ctx) && !graph->graph_offset) {
        graph->graph_offset = mo_host_array(graph->ctx, 2, sizeof *graph->graph_offset);
        if (graph->graph_offset)
            graph->graph_offset[1] = graph->nodes;
    }
    if (mo_ok(graph->ctx) && mo_graph_fill_gaps(graph))
        leave_out_features(graph);
    if (!mo_ok(graph->ctx) || !hash_content(graph)) {
        mo_graph_release(graph);
        return NULL;
    }
    return graph;
}

static bool copy_edges(
    mo_context *ctx, mo_edges *edges, int64_t nodes, int64_t n_edges, const int64_t *u, const int64_t *v) {
    for (int64_t i = 0; i < n_edges; i++) {
        if (u[i] < 0 || u[i] >= nodes || v[i] < 0 || v[i] >= nodes)
            return mo_fail(ctx, MO_INVALID, "graph_from_edges: expected ends in 0..%lld, found edge %lld: %lld, %lld",
                (long long)nodes - 1, (long long)i, (long long)u[i], (long long)v[i]);
        if (!mo_edges_add(ctx, edges, u[i], v[i]))
            return false;
    }
    return true;
}

mo_graph *mo_graph_from_edges(
    mo_context *ctx, const char *name, int64_t nodes, int64_t n_edges, const int64_t *u, const int64_t *v) {
    if (!mo_given(ctx, "graph_from_edges", "name", name) ||
        (n_edges > 0 && (!mo_given(ctx, "graph_from_edges", "u", u) || !mo_given(ctx, "graph_from_edges", "v", v))))
        return NULL;
    if (!mo_ok(ctx))
        return NULL;
    if (nodes < 0 || nodes >= MO_GRAPH_LARGEST || n_edges < 0) {
        mo_fail(ctx, MO_INVALID, "graph_from_edges: expected nodes in 0..%lld and edges >= 0, found %lld and %lld",
            (long long)MO_GRAPH_LARGEST - 1, (long long)nodes, (long long)n_edges);
        return NULL;
    }
    mo_graph *graph = mo_graph_new(ctx, name, "edges");
    if (!graph)
        return NULL;
    mo_edges edges = {0};
    if (copy_edges(ctx, &edges, nodes, n_edges, u, v))
        mo_graph_set_edges(graph, nodes, &edges);
    mo_edges_release(&edges);
    return mo_graph_finish(graph);
}

int64_t mo_graph_place(const mo_graph *graph, int64_t u, int64_t v) {
    int64_t low = graph->row_pointer[u], high = graph->row_pointer[u + 1];
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (graph->column[middle] < v)
            low = middle + 1;
        else
            high = middle;
    }
    return low < graph->row_pointer[u + 1] && graph->column[low] == v ? low : -1;
}

bool mo_graph_has_edge(const mo_graph *graph, int64_t u, int64_t v) {
    if (!graph || u < 0 || u >= graph->nodes || v < 0 || v >= graph->nodes)
        return false;
    return mo_graph_place(graph, u, v) >= 0;
}

int64_t mo_graph_examples(const mo_graph *graph) {
    return !graph ? 0 : graph->graphs > 1 ? graph->graphs : graph->nodes;
}

bool mo_graph_has_task(const mo_graph *graph, mo_task task) {
    if (!graph)
        return false;
    switch (task) {
    case MO_TASK_NC:
        return graph->graphs == 1 && graph->nodes > 0 && graph->n_labels == graph->nodes && graph->classes > 1;
    case MO_TASK_LP:
        return graph->graphs == 1 && graph->nnz > 0;
    case MO_TASK_GC:
        return graph->graphs > 1 && graph->n_labels == graph->graphs && graph->classes > 1;
    default:
        return false;
    }
}
