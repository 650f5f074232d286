/* tools/predict/predict_labels.c - the labels that a user knows, from a table of text or an array. */
#include "tools/memory.h"
#include "tools/predict/predict.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* An array [examples] of a file as that dtype, in host memory. */
static void *read_array(mo_context *ctx, const char *path, int64_t examples, mo_dtype dtype) {
    mo_tensor *T = mo_npy_read(ctx, path);
    char shape[160];
    if (mo_ok(ctx) && (mo_ndim(T) != 1 || mo_dim(T, 0) != examples))
        mo_fail(ctx, MO_INVALID, "%s: the array is %s, expected [%" PRId64 "]", path,
            mo_shape_string(T, shape, sizeof shape), examples);
    if (mo_ok(ctx) && dtype == MO_I64 && mo_dtype_is_real(mo_tensor_dtype(T)))
        mo_fail(ctx, MO_INVALID, "%s: expected classes as whole numbers, found %s", path,
            mo_dtype_name(mo_tensor_dtype(T)));
    mo_tensor *whole = mo_tensor_create(ctx, dtype, 1, &examples);
    void *host = needed(malloc((size_t)examples * mo_dtype_size(dtype) + 1));
    mo_tensor_copy(whole, T);
    mo_tensor_read(whole, host, (size_t)examples * mo_dtype_size(dtype));
    mo_tensor_release(whole);
    mo_tensor_release(T);
    return host;
}

/* The labels of an array where a mask says so; there must be one. */
static bool take_array(
    mo_context *ctx, const char *path, const int64_t *label, const double *mask, int64_t n, mo_labels *known) {
    if (mo_labels_of(ctx, label, mask, n, known) && known->n == 0)
        mo_fail(ctx, MO_INVALID, "%s: expected at least one label of 0 or more, found none", path);
    return mo_ok(ctx);
}

static bool read_labels(const mo_graph *graph, const char *path, mo_labels *known) {
    mo_context *ctx = graph->ctx;
    if (!mo_path_ends_with(path, ".npy"))
        return mo_labels_read(graph, path, known);
    int64_t examples = mo_graph_examples(graph), *label = read_array(ctx, path, examples, MO_I64);
    bool fine = mo_ok(ctx) && take_array(ctx, path, label, NULL, examples, known);
    free(label);
    return fine;
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
    double *use = read_array(ctx, mask, examples, MO_F64);
    bool fine = mo_ok(ctx) && take_array(ctx, mask, graph->label, use, examples, known);
    if (fine)
        name_own_classes(graph, known);
    free(use);
    return fine;
}

bool read_known(const mo_graph *graph, const char *labels, const char *mask, mo_labels *known) {
    return labels ? read_labels(graph, labels, known) : take_own_labels(graph, mask, known);
}
