/* train/graphs/load_features.c - a folder with edges and optionally node features and labels (load_labels.c).
 *
 * features.npy [nodes, columns] has any numbers, row i for node i; features.csv or .tsv name them
 * (load_feature_table.c); for features.mtx the error gives the command that makes features.npy. edges.txt, .csv or .tsv
 * have lines of two numbers or names. */
#include "train/graphs/graph_build.h"
#include "train/graphs/loaders.h"
#include "train/graphs/table_reader.h"
#include "train/graphs/text_reader.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

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
    mo_tensor *real = mo_ok(ctx) ? mo_tensor_create(ctx, MO_F32, 2, sizes) : NULL;
    float *value = mo_ok(ctx) ? mo_host_array(ctx, mo_numel(T), sizeof *value) : NULL;
    if (value && mo_tensor_copy(real, T) == MO_OK &&
        mo_tensor_read(real, value, (size_t)mo_numel(T) * sizeof *value) == MO_OK &&
        are_finite(ctx, path, value, sizes)) {
        graph->nodes = sizes[0];
        mo_graph_set_features(graph, value, sizes[1], NULL);
    }
    free(value);
    mo_tensor_release(real);
    mo_tensor_release(T);
    return mo_ok(ctx);
}

static bool read_edges_file(mo_graph *graph, const char *path) {
    mo_edge_ids ids = {0};
    mo_edges edges = {0};
    bool fine = mo_edge_ids_read(graph->ctx, path, graph->nodes - 1, &ids);
    for (int64_t i = 0; fine && i < ids.count; i += 2)
        fine = mo_edges_add(graph->ctx, &edges, ids.id[i], ids.id[i + 1]);
    free(ids.id);
    mo_note_comments(graph, path, ids.comments);
    fine = fine && mo_graph_set_edges(graph, graph->nodes, &edges);
    mo_edges_release(&edges);
    return fine;
}

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

/* Reads the edges and, if there are no features, the nodes. */
static bool load_edges(mo_graph *graph, const char *path) {
    bool numbered = graph->nodes > 0 && !graph->names;
    if (!mo_is_table(path) && numbered)
        return read_edges_file(graph, path);
    return mo_load_named_edges(graph, path);
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
            mo_load_feature_table(graph, path, edges);
        else if (mo_is_foreign(path))
            mo_fail_foreign(ctx, path);
        else
            read_features_file(graph, path);
    }
    if (mo_ok(ctx) && load_edges(graph, edges))
        mo_load_labels(graph, folder);
    return mo_graph_finish(graph);
}
