/* train/graphs/load_npz.c - graphs in the npz form of gnn-benchmark, which train/data/ uses too.
 *
 * adj_shape, adj_indptr, adj_indices: the adjacency as CSR, in any mix of directions (symmetrised here; entries whose
 * adj_data is 0 are not edges). attr_*: node features in the same form. If *_data is missing, all values are 1. labels:
 * one class per node, a negative number for none; idx_unlabelled: positions without a class. idx_train, idx_val,
 * idx_test: the nodes of the division that came with a graph, if each has one axis; else splits_train, splits_val,
 * splits_test [divisions, nodes]: masks of several.
 * graph_offset makes it a set of graphs, with the nodes of graph g from graph_offset[g] on and one class per graph.
 * names_number or names_text: what the nodes, or the graphs of a set, are called; class_names_number or
 * class_names_text: the classes. Integers may have any width. */
#include "train/graphs/graph_build.h"
#include "train/graphs/loaders.h"
#include "train/graphs/node_names.h"
#include "train/graphs/npz_members.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static bool read_offsets(const mo_npz_members *m, mo_graph *graph, int64_t nodes) {
    int64_t count;
    int64_t *offset = mo_npz_integers(m, "graph_offset", -1, &count);
    if (!offset)
        return false;
    graph->graph_offset = offset;
    graph->graphs = count - 1;
    if (count < 2 || offset[0] != 0) {
        mo_fail(m->ctx, MO_FORMAT, "%s: graph_offset: expected 0 and the end of each graph, found %lld elements%s",
            m->path, (long long)count, count ? " from another number on" : "");
        return false;
    }
    for (int64_t g = 0; g < graph->graphs; g++) {
        if (offset[g + 1] <= offset[g]) {
            mo_fail(m->ctx, MO_FORMAT,
                "%s: graph_offset[%lld]: expected more than %lld (no graph is empty), found %lld", m->path,
                (long long)g + 1, (long long)offset[g], (long long)offset[g + 1]);
            return false;
        }
    }
    if (offset[graph->graphs] != nodes) {
        mo_fail(m->ctx, MO_FORMAT, "%s: graph_offset[%lld]: expected the number of nodes, %lld, found %lld", m->path,
            (long long)graph->graphs, (long long)nodes, (long long)offset[graph->graphs]);
        return false;
    }
    return true;
}

/* Adds the entries of the matrix as edges; in a set of graphs an edge must stay in the graph of its row. */
static bool add_entries(const mo_npz_members *m, const mo_graph *graph, const mo_npz_csr *csr, mo_edges *edges) {
    int64_t first = 0, stop = csr->rows, g = -1;
    for (int64_t row = 0; row < csr->rows; row++) {
        while (graph->graph_offset && row >= graph->graph_offset[g + 1]) {
            g++;
            first = graph->graph_offset[g];
            stop = graph->graph_offset[g + 1];
        }
        for (int64_t i = csr->pointer[row]; i < csr->pointer[row + 1]; i++) {
            if (csr->column[i] < first || csr->column[i] >= stop) {
                mo_fail(m->ctx, MO_FORMAT,
                    "%s: adj_indices[%lld]: expected a node of graph %lld, %lld..%lld, found %lld", m->path,
                    (long long)i, (long long)g, (long long)first, (long long)stop - 1, (long long)csr->column[i]);
                return false;
            }
            if ((!csr->value || csr->value[i] != 0) && !mo_edges_add(m->ctx, edges, row, csr->column[i]))
                return false;
        }
    }
    return true;
}

static bool read_adjacency(const mo_npz_members *m, mo_graph *graph) {
    mo_npz_csr csr;
    mo_edges edges = {0};
    bool done = mo_npz_read_csr(m, "adj", &csr);
    if (done && csr.rows != csr.columns) {
        mo_fail(m->ctx, MO_FORMAT, "%s: adj_shape: expected a square matrix, found %lld x %lld", m->path,
            (long long)csr.rows, (long long)csr.columns);
        done = false;
    }
    done = done && (!mo_npz_has(m, "graph_offset") || read_offsets(m, graph, csr.rows)) &&
           add_entries(m, graph, &csr, &edges);
    int64_t nodes = csr.rows;
    mo_npz_release_csr(&csr);
    done = done && mo_graph_set_edges(graph, nodes, &edges);
    mo_edges_release(&edges);
    return done;
}

static bool read_npz_features(const mo_npz_members *m, mo_graph *graph) {
    mo_npz_csr csr;
    bool done = mo_npz_read_csr(m, "attr", &csr);
    if (done && csr.rows != graph->nodes) {
        mo_fail(m->ctx, MO_FORMAT, "%s: attr_shape: expected %lld rows, one per node, found %lld", m->path,
            (long long)graph->nodes, (long long)csr.rows);
        done = false;
    }
    int32_t *column = done ? mo_host_array(m->ctx, csr.nnz, sizeof *column) : NULL;
    bool all_ones = done && !csr.value;
    if (all_ones)
        csr.value = mo_host_array(m->ctx, csr.nnz, sizeof *csr.value);
    if (column && csr.value) {
        for (int64_t i = 0; i < csr.nnz; i++) {
            column[i] = (int32_t)csr.column[i];
            csr.value[i] = all_ones ? 1 : csr.value[i];
        }
        graph->features = csr.columns;
        graph->feature_nnz = csr.nnz;
        graph->feature_pointer = csr.pointer;
        graph->feature_column = column;
        graph->feature_value = csr.value;
        csr.pointer = NULL;
        csr.value = NULL;
        column = NULL;
    }
    free(column);
    mo_npz_release_csr(&csr);
    return mo_ok(m->ctx);
}

/* Marks the positions of idx_unlabelled. */
static bool read_unlabelled(const mo_npz_members *m, mo_graph *graph) {
    int64_t count;
    int64_t *index = mo_npz_integers(m, "idx_unlabelled", -1, &count);
    for (int64_t i = 0; index && i < count; i++) {
        if (index[i] < 0 || index[i] >= graph->n_labels) {
            mo_fail(m->ctx, MO_FORMAT, "%s: idx_unlabelled[%lld]: expected 0..%lld, found %lld", m->path, (long long)i,
                (long long)graph->n_labels - 1, (long long)index[i]);
            break;
        }
        graph->label[index[i]] = -1;
    }
    free(index);
    return mo_ok(m->ctx);
}

/* Marks the nodes of one part, which no earlier part may have. */
static bool read_part(const mo_npz_members *m, const char *key, mo_division part, mo_graph *graph) {
    int64_t count;
    int64_t *index = mo_npz_integers(m, key, -1, &count);
    for (int64_t i = 0; index && i < count && mo_ok(m->ctx); i++) {
        if (index[i] < 0 || index[i] >= graph->nodes)
            mo_fail(m->ctx, MO_FORMAT, "%s: %s[%lld]: expected 0..%lld, found %lld", m->path, key, (long long)i,
                (long long)graph->nodes - 1, (long long)index[i]);
        else if (graph->division[index[i]])
            mo_fail(m->ctx, MO_FORMAT, "%s: %s[%lld]: expected a node that is listed once, found %lld again", m->path,
                key, (long long)i, (long long)index[i]);
        else
            graph->division[index[i]] = (uint8_t)part;
    }
    free(index);
    return mo_ok(m->ctx);
}

/* Whether the file has lists for every part, but perhaps for validation. Lists of two axes are left aside. */
static bool has_lists(const mo_npz_members *m, const char *const keys[MO_DIVISIONS]) {
    for (int part = MO_DIVISION_TRAIN; part < MO_DIVISIONS; part++) {
        const mo_tensor *T = mo_arrays_find(m->arrays, keys[part]);
        if (T ? mo_ndim(T) != 1 : part != MO_DIVISION_VALIDATION)
            return false;
    }
    return true;
}

/* Marks the nodes of one part in all divisions. */
static bool read_masks(const mo_npz_members *m, const char *key, mo_division part, mo_graph *graph) {
    int64_t *mask = mo_npz_masks(m, key, graph->divisions, graph->nodes);
    for (int64_t i = 0; mask && i < graph->divisions * graph->nodes && mo_ok(m->ctx); i++) {
        if (mask[i] && graph->division[i])
            mo_fail(m->ctx, MO_FORMAT, "%s: %s[%lld, %lld]: expected a node in one part of its division, found two",
                m->path, key, (long long)(i / graph->nodes), (long long)(i % graph->nodes));
        else if (mask[i])
            graph->division[i] = (uint8_t)part;
    }
    free(mask);
    return mo_ok(m->ctx);
}

/* Reads the division of a graph's nodes, or several. */
static bool read_division(const mo_npz_members *m, mo_graph *graph) {
    static const char *const lists[MO_DIVISIONS] = {
        [MO_DIVISION_TRAIN] = "idx_train", [MO_DIVISION_VALIDATION] = "idx_val", [MO_DIVISION_TEST] = "idx_test"};
    static const char *const masks[MO_DIVISIONS] = {[MO_DIVISION_TRAIN] = "splits_train",
        [MO_DIVISION_VALIDATION] = "splits_val",
        [MO_DIVISION_TEST] = "splits_test"};
    bool one = has_lists(m, lists);
    const mo_tensor *T = mo_arrays_find(m->arrays, masks[MO_DIVISION_TRAIN]);
    if (!one && !T && !mo_npz_has(m, masks[MO_DIVISION_TEST]))
        return true;
    graph->divisions = one || !T || mo_ndim(T) < 1 || mo_dim(T, 0) < 1 ? 1 : mo_dim(T, 0);
    graph->division = mo_host_array(m->ctx, graph->divisions * graph->nodes, sizeof *graph->division);
    for (int part = MO_DIVISION_TRAIN; part < MO_DIVISIONS && mo_ok(m->ctx); part++)
        if (part != MO_DIVISION_VALIDATION || mo_npz_has(m, (one ? lists : masks)[part]))
            (one ? read_part : read_masks)(m, (one ? lists : masks)[part], (mo_division)part, graph);
    return mo_ok(m->ctx);
}

static bool read_npz_labels(const mo_npz_members *m, mo_graph *graph) {
    return mo_npz_read_labels(m, graph->graph_offset ? graph->graphs : graph->nodes, graph) &&
           (!mo_npz_has(m, "idx_unlabelled") || read_unlabelled(m, graph));
}

/* Adds numbers as texts. */
static void add_numbers(mo_context *ctx, const int64_t *number, int64_t n, mo_words *words) {
    char text[24];
    for (int64_t i = 0; number && i < n; i++) {
        snprintf(text, sizeof text, "%" PRId64, number[i]);
        if (!mo_words_add(ctx, words, text))
            return;
    }
}

/* Names of the nodes, or of the graphs of a set. */
static bool read_names(const mo_npz_members *m, mo_graph *graph) {
    int64_t n = mo_graph_examples(graph), count, repeated = -1;
    mo_words words = {0};
    graph->node_numbers = mo_npz_has(m, "names_number");
    if (graph->node_numbers) {
        int64_t *number = mo_npz_integers(m, "names_number", n, &count);
        bool rising = number && n > 0 && number[0] >= 0;
        for (int64_t i = 1; rising && i < n; i++)
            rising = number[i] > number[i - 1];
        if (rising) {
            graph->names = mo_node_names_of_ids(m->ctx, number, n);
            return mo_ok(m->ctx);
        }
        add_numbers(m->ctx, number, n, &words);
        free(number);
    } else {
        mo_npz_texts(m, "names_text", n, &words);
    }
    if (mo_ok(m->ctx))
        graph->names = mo_node_names_of_words(m->ctx, &words, &repeated);
    if (repeated >= 0)
        mo_fail(m->ctx, MO_FORMAT, "%s: %s[%lld]: expected each name once, found an earlier one", m->path,
            graph->node_numbers ? "names_number" : "names_text", (long long)repeated);
    mo_words_release(&words);
    return mo_ok(m->ctx);
}

static bool read_class_names(const mo_npz_members *m, mo_graph *graph) {
    int64_t n = graph->classes, count;
    mo_words words = {0};
    graph->class_numbers = mo_npz_has(m, "class_names_number");
    if (graph->class_numbers) {
        int64_t *number = mo_npz_integers(m, "class_names_number", n, &count);
        add_numbers(m->ctx, number, n, &words);
        free(number);
    } else {
        mo_npz_texts(m, "class_names_text", n, &words);
    }
    graph->class_name = mo_ok(m->ctx) ? mo_host_array(m->ctx, n, sizeof *graph->class_name) : NULL;
    for (int64_t c = 0; graph->class_name && c < n && mo_ok(m->ctx); c++)
        graph->class_name[c] = mo_text_copy(m->ctx, mo_words_get(&words, c));
    mo_words_release(&words);
    return mo_ok(m->ctx);
}

static bool read_npz_graph(const mo_npz_members *m, mo_graph *graph) {
    return read_adjacency(m, graph) &&
           (!(mo_npz_has(m, "attr_shape") || mo_npz_has(m, "attr_indptr") || mo_npz_has(m, "attr_indices")) ||
               read_npz_features(m, graph)) &&
           (!mo_npz_has(m, "labels") || read_npz_labels(m, graph)) &&
           (graph->graph_offset || read_division(m, graph)) &&
           (!(mo_npz_has(m, "names_number") || mo_npz_has(m, "names_text")) || read_names(m, graph)) &&
           (!(mo_npz_has(m, "class_names_number") || mo_npz_has(m, "class_names_text")) || read_class_names(m, graph));
}

mo_graph *mo_graph_from_arrays(const mo_arrays *arrays, const char *name, const char *path) {
    mo_npz_members m = {.ctx = arrays->ctx, .path = path, .arrays = arrays};
    mo_graph *graph = mo_graph_new(m.ctx, name, path);
    if (graph)
        read_npz_graph(&m, graph);
    return graph ? mo_graph_finish(graph) : NULL;
}

mo_graph *mo_load_npz(mo_context *ctx, const char *name, const char *path) {
    mo_arrays *arrays = mo_npz_read(ctx, path);
    mo_graph *graph = arrays ? mo_graph_from_arrays(arrays, name, path) : NULL;
    mo_arrays_release(arrays);
    return graph;
}
