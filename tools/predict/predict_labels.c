/* tools/predict/predict_labels.c - the labels that a user knows, from a table of text or an array. */
#include "tools/memory.h"
#include "tools/predict/predict.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A mask [examples] of a file, in host memory. */
static double *read_mask(mo_context *ctx, const char *path, int64_t examples) {
    mo_tensor *T = mo_npy_read(ctx, path);
    char shape[160];
    if (mo_ok(ctx) && (mo_ndim(T) != 1 || mo_dim(T, 0) != examples))
        mo_fail(ctx, MO_INVALID, "%s: the array is %s, expected [%" PRId64 "]", path,
            mo_shape_string(T, shape, sizeof shape), examples);
    mo_tensor *wide = mo_tensor_create(ctx, MO_F64, 1, &examples);
    double *host = needed(malloc((size_t)examples * sizeof *host + 1));
    mo_tensor_copy(wide, T);
    mo_tensor_read(wide, host, (size_t)examples * sizeof *host);
    mo_tensor_release(wide);
    mo_tensor_release(T);
    return host;
}

/* The classes' names in place of their numbers, where the data has names. */
static void name_own_classes(const mo_graph *graph, mo_labels *known) {
    for (int64_t c = 0; graph->class_name && c < known->classes; c++) {
        char *name = needed(strdup(graph->class_name[atoll(known->name[c])]));
        free(known->name[c]);
        known->name[c] = name;
    }
}

static bool take_own_labels(const mo_graph *graph, const char *mask, mo_labels *known) {
    mo_context *ctx = graph->ctx;
    int64_t examples = mo_graph_examples(graph);
    if (graph->n_labels != examples) {
        mo_fail(ctx, MO_INVALID, "--known: %s has no labels of its own; expected --labels FILE", graph->name);
        return false;
    }
    double *use = read_mask(ctx, mask, examples);
    if (mo_ok(ctx) && mo_labels_of(ctx, graph->label, use, examples, known) && known->n == 0)
        mo_fail(ctx, MO_INVALID, "%s: expected at least one label of 0 or more, found none", mask);
    if (mo_ok(ctx))
        name_own_classes(graph, known);
    free(use);
    return mo_ok(ctx);
}

bool read_known(const mo_graph *graph, const char *labels, const char *mask, mo_labels *known) {
    if (!labels)
        return take_own_labels(graph, mask, known);
    return mo_path_ends_with(labels, ".npy") ? mo_labels_read_column(graph, labels, known)
                                             : mo_labels_read(graph, labels, known);
}
