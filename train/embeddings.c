/* train/embeddings.c - rows and labels from array files, checked once, so that heads meet finite numbers and classes
 * numbered from 0. */
#include "train/graph_build.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool ends_in(const char *text, const char *end) {
    size_t n = strlen(text), m = strlen(end);
    return n >= m && !strcmp(text + n - m, end);
}

/* The array of that name, or the only one; raises with the names that there are. */
static mo_tensor *choose(mo_context *ctx, const mo_arrays *arrays, const char *path, const char *name) {
    mo_tensor *T = name ? mo_arrays_find(arrays, name) : arrays->count == 1 ? arrays->items[0].tensor : NULL;
    char names[256] = "";
    for (int64_t i = 0; !T && i < arrays->count && strlen(names) < 200; i++)
        snprintf(names + strlen(names), sizeof names - strlen(names), "%s%.60s", i ? ", " : "", arrays->items[i].name);
    if (!T)
        mo_fail(ctx, MO_INVALID, "%s: expected %s%s, found %" PRId64 " arrays (%s)", path,
            name ? "an array named " : "one array, or ", name ? name : "FILE:NAME", arrays->count, names);
    return T;
}

/* A tensor of its own from FILE or FILE:NAME; the null tensor on failure. */
static mo_tensor *read_array(mo_context *ctx, const char *path) {
    char file[4096];
    const char *colon = strrchr(path, ':'), *name = NULL;
    snprintf(file, sizeof file, "%s", path);
    if (colon && colon > path && (size_t)(colon - path) < sizeof file) {
        file[colon - path] = '\0';
        if (ends_in(file, ".npz") || ends_in(file, ".safetensors"))
            name = colon + 1;
        else
            file[colon - path] = ':';
    }
    if (!ends_in(file, ".npz") && !ends_in(file, ".safetensors"))
        return mo_npy_read(ctx, path);
    mo_arrays *arrays = ends_in(file, ".npz") ? mo_npz_read(ctx, file) : mo_safetensors_read(ctx, file);
    mo_tensor *T = arrays ? choose(ctx, arrays, file, name) : NULL, *own = mo_null_tensor(ctx);
    for (int64_t i = 0; T && i < arrays->count; i++)
        if (arrays->items[i].tensor == T) {
            own = T;
            arrays->items[i].tensor = mo_null_tensor(ctx);
        }
    mo_arrays_release(arrays);
    return own;
}

/* A copy in a dtype that is computed in. */
static mo_tensor *copy_rows(mo_context *ctx, const mo_tensor *Z, const char *name) {
    mo_dtype dtype = mo_tensor_dtype(Z);
    char shape[64];
    if (mo_ndim(Z) != 2 || mo_dim(Z, 0) < 1 || mo_dim(Z, 1) < 1 ||
        (dtype != MO_F16 && dtype != MO_BF16 && !mo_dtype_is_real(dtype))) {
        mo_fail(ctx, MO_INVALID, "%s: expected rows [n, d] of real numbers, found %s %s", name, mo_dtype_name(dtype),
            mo_shape_string(Z, shape, sizeof shape));
        return NULL;
    }
    mo_tensor *copy =
        mo_tensor_create(ctx, dtype == MO_F64 ? MO_F64 : MO_F32, 2, (int64_t[]){mo_dim(Z, 0), mo_dim(Z, 1)});
    if (mo_tensor_copy(copy, Z) == MO_OK)
        return copy;
    mo_tensor_release(copy);
    return NULL;
}

/* Raises at the first number that is not finite, and at the first row whose squared norm is not: what every head
 * computes with. */
static void check_finite(mo_context *ctx, const mo_tensor *Z, const char *name) {
    int64_t n = mo_dim(Z, 0), d = mo_dim(Z, 1);
    bool wide = mo_tensor_dtype(Z) == MO_F64;
    size_t size = mo_dtype_size(mo_tensor_dtype(Z));
    void *host = mo_host_array(ctx, n * d, size);
    if (host && mo_tensor_read(Z, host, (size_t)(n * d) * size) == MO_OK)
        for (int64_t i = 0; i < n && mo_ok(ctx); i++) {
            double squares = 0;
            for (int64_t k = 0; k < d && mo_ok(ctx); k++) {
                double x = wide ? ((double *)host)[i * d + k] : (double)((float *)host)[i * d + k];
                squares += x * x;
                if (!isfinite(x))
                    mo_fail(ctx, MO_INVALID,
                        "%s: expected finite numbers, found %g in row %" PRId64 ", column %" PRId64, name, x, i, k);
            }
            if (squares > (wide ? DBL_MAX : FLT_MAX))
                mo_fail(ctx, MO_INVALID,
                    "%s: expected rows whose squared norm is a %s, found a larger one in row %" PRId64
                    ": scale the rows down",
                    name, mo_dtype_name(mo_tensor_dtype(Z)), i);
        }
    free(host);
}

/* The labels as int64; NULL with the error raised. */
static int64_t *read_labels(mo_context *ctx, const mo_tensor *label, int64_t n, const char *name) {
    mo_dtype dtype = mo_tensor_dtype(label);
    char shape[64];
    if (dtype != MO_I32 && dtype != MO_I64 && dtype != MO_U8)
        mo_fail(ctx, MO_INVALID, "%s: expected labels of an integer dtype, found %s", name, mo_dtype_name(dtype));
    else if (mo_ndim(label) != 1 || mo_dim(label, 0) != n)
        mo_fail(ctx, MO_INVALID, "%s: expected one label for each of %" PRId64 " rows, found labels %s", name, n,
            mo_shape_string(label, shape, sizeof shape));
    mo_tensor *wide = mo_ok(ctx) ? mo_tensor_create(ctx, MO_I64, 1, &n) : NULL;
    int64_t *value = mo_ok(ctx) ? mo_host_array(ctx, n, sizeof *value) : NULL;
    if (value && mo_tensor_copy(wide, label) == MO_OK)
        mo_tensor_read(wide, value, (size_t)n * sizeof *value);
    mo_tensor_release(wide);
    if (mo_ok(ctx))
        return value;
    free(value);
    return NULL;
}

/* The graph that plans are drawn from, and what the classes were called. */
static void take_labels(mo_embeddings *E, const int64_t *label, int64_t n, const char *name) {
    mo_context *ctx = mo_tensor_context(E->Z);
    mo_graph *graph = E->graph = mo_graph_from_edges(ctx, name, n, 0, NULL, NULL);
    if (!graph || !mo_graph_set_classes(graph, label, n))
        return;
    if (graph->classes < 2)
        mo_fail(ctx, MO_INVALID, "%s: expected labels of two classes or more, found the one label %" PRId64, name,
            label[0]);
    E->value = mo_host_array(ctx, graph->classes, sizeof *E->value);
    E->count = mo_host_array(ctx, graph->classes, sizeof *E->count);
    for (int64_t i = 0; mo_ok(ctx) && i < n; i++) {
        E->value[graph->label[i]] = label[i];
        E->count[graph->label[i]]++;
    }
}

mo_embeddings *mo_embeddings_create(const mo_tensor *Z, const mo_tensor *label, const char *name) {
    mo_context *ctx = Z ? mo_tensor_context(Z) : NULL;
    if (!ctx || !label || !mo_ok(ctx))
        return NULL;
    mo_embeddings *E = mo_host_array(ctx, 1, sizeof *E);
    int64_t *value = NULL;
    if (E && (E->Z = copy_rows(ctx, Z, name)))
        check_finite(ctx, E->Z, name);
    if (mo_ok(ctx))
        value = read_labels(ctx, label, mo_dim(Z, 0), name);
    if (value)
        take_labels(E, value, mo_dim(Z, 0), name);
    free(value);
    if (mo_ok(ctx))
        return E;
    mo_embeddings_release(E);
    return NULL;
}

mo_embeddings *mo_embeddings_open(mo_context *ctx, const char *rows, const char *labels) {
    mo_tensor *Z = read_array(ctx, rows), *label = mo_is_null(Z) ? mo_null_tensor(ctx) : read_array(ctx, labels);
    mo_embeddings *E = NULL;
    if (!mo_is_null(Z) && !mo_is_null(label)) {
        char name[512];
        snprintf(name, sizeof name, "%.240s with %.240s", rows, labels);
        E = mo_embeddings_create(Z, label, name);
    } else if (mo_ok(ctx))
        mo_fail(ctx, MO_INVALID, "%s: expected rows, found an empty array", mo_is_null(Z) ? rows : labels);
    mo_tensor_release(Z);
    mo_tensor_release(label);
    return E;
}

void mo_embeddings_release(mo_embeddings *E) {
    if (!E)
        return;
    mo_tensor_release(E->Z);
    mo_graph_release(E->graph);
    free(E->value);
    free(E->count);
    free(E);
}
