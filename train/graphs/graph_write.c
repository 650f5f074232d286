/* train/graphs/graph_write.c - a graph as .npz in the form that load_npz.c describes: the upper triangle of the
 * adjacency, with values if edges have weights. */
#include "tensor/library.h"
#include "train/graphs/loaders.h"
#include "train/graphs/node_names.h"

#include <stdio.h>
#include <stdlib.h>

/* Adds a one-dimensional member from host memory. */
static void add_member(mo_arrays *arrays, const char *name, mo_dtype dtype, int64_t n, const void *host) {
    mo_tensor *T = mo_tensor_create_from(arrays->ctx, dtype, 1, &n, host);
    mo_arrays_take(arrays, name, T);
}

static void add_adjacency(mo_arrays *arrays, const mo_graph *graph) {
    int64_t *pointer = mo_host_array(graph->ctx, graph->nodes + 1, sizeof *pointer), count = 0;
    int32_t *column = mo_host_array(graph->ctx, graph->nnz / 2, sizeof *column);
    float *weight = graph->weight ? mo_host_array(graph->ctx, graph->nnz / 2, sizeof *weight) : NULL;
    for (int64_t u = 0; pointer && column && u < graph->nodes; u++) {
        for (int64_t i = graph->row_pointer[u]; i < graph->row_pointer[u + 1]; i++)
            if (graph->column[i] > u) {
                if (weight)
                    weight[count] = graph->weight[i];
                column[count++] = graph->column[i];
            }
        pointer[u + 1] = count;
    }
    if (pointer && column) {
        add_member(arrays, "adj_shape", MO_I64, 2, (int64_t[]){graph->nodes, graph->nodes});
        add_member(arrays, "adj_indptr", MO_I64, graph->nodes + 1, pointer);
        add_member(arrays, "adj_indices", MO_I32, count, column);
        if (weight)
            add_member(arrays, "adj_data", MO_F32, count, weight);
    }
    free(weight);
    free(pointer);
    free(column);
}

static void add_features(mo_arrays *arrays, const mo_graph *graph) {
    bool ones = true;
    for (int64_t i = 0; ones && i < graph->feature_nnz; i++)
        ones = graph->feature_value[i] == 1;
    add_member(arrays, "attr_shape", MO_I64, 2, (int64_t[]){graph->nodes, graph->features});
    add_member(arrays, "attr_indptr", MO_I64, graph->nodes + 1, graph->feature_pointer);
    add_member(arrays, "attr_indices", MO_I32, graph->feature_nnz, graph->feature_column);
    if (!ones)
        add_member(arrays, "attr_data", MO_F32, graph->feature_nnz, graph->feature_value);
}

/* One division: adds the nodes of each part as a list. Several: adds a mask [divisions, nodes] per part. */
static void add_division(mo_arrays *arrays, const mo_graph *graph) {
    const char *const *keys = mo_division_keys[graph->divisions > 1];
    int64_t all = graph->divisions * graph->nodes, *node = mo_host_array(graph->ctx, graph->nodes, sizeof *node);
    uint8_t *mask = mo_host_array(graph->ctx, all, sizeof *mask);
    for (int part = MO_DIVISION_TRAIN; node && mask && part < MO_DIVISIONS; part++) {
        int64_t n = 0;
        for (int64_t i = 0; i < all; i++) {
            mask[i] = graph->division[i] == part;
            if (mask[i] && graph->divisions == 1)
                node[n++] = i;
        }
        if (graph->divisions == 1)
            add_member(arrays, keys[part], MO_I64, n, node);
        else
            mo_arrays_take(arrays, keys[part],
                mo_tensor_create_from(graph->ctx, MO_U8, 2, (int64_t[]){graph->divisions, graph->nodes}, mask));
    }
    free(node);
    free(mask);
}

/* Adds the names of n things, as KEY_number or KEY_text. */
static void add_names(mo_arrays *arrays, const mo_graph *graph, const char *key, int64_t n, bool numbers,
    const char *(*name)(const mo_graph *graph, int64_t i, char number[24])) {
    char member[40], text[24];
    mo_words words = {0};
    int64_t *number = mo_host_array(graph->ctx, n, sizeof *number);
    snprintf(member, sizeof member, "%s_%s", key, numbers ? "number" : "text");
    for (int64_t i = 0; number && i < n && mo_ok(graph->ctx); i++) {
        const char *called = name(graph, i, text);
        if (numbers)
            number[i] = strtoll(called, NULL, 10);
        else
            mo_words_add(graph->ctx, &words, called);
    }
    if (mo_ok(graph->ctx) && n > 0)
        add_member(arrays, member, numbers ? MO_I64 : MO_U8, numbers ? n : words.bytes,
            numbers ? (const void *)number : words.text);
    free(number);
    mo_words_release(&words);
}

static const char *feature_name(const mo_graph *graph, int64_t j, char number[24]) {
    (void)number;
    return graph->feature_name[j];
}

mo_arrays *mo_graph_arrays(const mo_graph *graph) {
    mo_arrays *arrays = graph ? mo_arrays_create(graph->ctx) : NULL;
    if (!arrays)
        return NULL;
    add_adjacency(arrays, graph);
    if (graph->features > 0)
        add_features(arrays, graph);
    if (graph->feature_name)
        add_names(arrays, graph, "attr_names", graph->features, false, feature_name);
    if (graph->n_labels > 0)
        add_member(arrays, "labels", MO_I64, graph->n_labels, graph->label);
    if (graph->division)
        add_division(arrays, graph);
    if (graph->graphs > 1 || (graph->n_labels == 1 && graph->nodes > 1)) { /* a set, possibly of one graph */
        add_member(arrays, "graph_offset", MO_I64, graph->graphs + 1, graph->graph_offset);
    }
    if (graph->names)
        add_names(arrays, graph, "names", mo_graph_examples(graph), graph->node_numbers, mo_graph_example_name);
    if (graph->class_name)
        add_names(arrays, graph, "class_names", graph->classes, graph->class_numbers, mo_graph_class_name);
    if (mo_ok(graph->ctx))
        return arrays;
    mo_arrays_release(arrays);
    return NULL;
}

mo_code mo_graph_write(const mo_graph *graph, const char *path) {
    if (!graph || !mo_given(graph->ctx, "graph_write", "path", path)) {
        return graph ? mo_code_of(graph->ctx) : MO_INVALID;
    }
    mo_arrays *arrays = mo_graph_arrays(graph);
    if (arrays)
        mo_npz_write(arrays, path);
    mo_arrays_release(arrays);
    return mo_code_of(graph->ctx);
}
