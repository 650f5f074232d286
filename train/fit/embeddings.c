/* train/fit/embeddings.c - rows and labels from array files, checked once, so that heads meet finite numbers and
 * classes numbered from 0. */
#include "tensor/given.h"
#include "train/graphs/graph_build.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The array of that name, or the only one; the error lists the names in the file. */
static mo_tensor *choose_array(mo_context *ctx, const mo_arrays *arrays, const char *path, const char *name) {
    mo_tensor *T = name ? mo_arrays_find(arrays, name) : arrays->count == 1 ? arrays->items[0].tensor : NULL;
    char names[256] = "";
    for (int64_t i = 0; !T && i < arrays->count && strlen(names) < 200; i++)
        snprintf(names + strlen(names), sizeof names - strlen(names), "%s%.60s", i ? ", " : "", arrays->items[i].name);
    if (!T)
        mo_fail(ctx, MO_INVALID, "%s: expected %s%s, found %" PRId64 " arrays (%s)", path,
            name ? "an array named " : "one array, or ", name ? name : "FILE:NAME", arrays->count, names);
    return T;
}

/* Reads FILE or FILE:NAME into a tensor; returns the null tensor on failure. */
static mo_tensor *read_embedding_array(mo_context *ctx, const char *path) {
    char file[4096];
    const char *colon = strrchr(path, ':'), *name = NULL;
    snprintf(file, sizeof file, "%s", path);
    if (colon && colon > path && (size_t)(colon - path) < sizeof file) {
        file[colon - path] = '\0';
        if (mo_path_ends_with(file, ".npz") || mo_path_ends_with(file, ".safetensors"))
            name = colon + 1;
        else
            file[colon - path] = ':';
    }
    if (!mo_path_ends_with(file, ".npz") && !mo_path_ends_with(file, ".safetensors"))
        return mo_npy_read(ctx, path);
    mo_arrays *arrays = mo_path_ends_with(file, ".npz") ? mo_npz_read(ctx, file) : mo_safetensors_read(ctx, file);
    mo_tensor *T = arrays ? choose_array(ctx, arrays, file, name) : NULL, *own = mo_null_tensor(ctx);
    for (int64_t i = 0; T && i < arrays->count; i++)
        if (arrays->items[i].tensor == T) {
            own = T;
            arrays->items[i].tensor = mo_null_tensor(ctx);
        }
    mo_arrays_release(arrays);
    return own;
}

/* ---- rows ---- */

/* Returns whether float32 represents every one of these integers exactly. */
static bool fits_float32(const mo_tensor *Z) {
    mo_context *ctx = mo_tensor_context(Z);
    int64_t n = mo_numel(Z);
    mo_tensor *wide = mo_tensor_create(ctx, MO_I64, 2, (int64_t[]){mo_dim(Z, 0), mo_dim(Z, 1)});
    int64_t *host = mo_host_array(ctx, n, sizeof *host);
    bool fits =
        host && mo_tensor_copy(wide, Z) == MO_OK && mo_tensor_read(wide, host, (size_t)n * sizeof *host) == MO_OK;
    for (int64_t i = 0; fits && i < n; i++)
        fits = host[i] >= -(1 << FLT_MANT_DIG) && host[i] <= 1 << FLT_MANT_DIG;
    free(host);
    mo_tensor_release(wide);
    return fits;
}

/* The dtype in which these rows are computed; raises if Z is not a matrix. */
static mo_dtype choose_dtype(const mo_tensor *Z, const char *name) {
    mo_dtype given = mo_tensor_dtype(Z);
    char shape[64];
    if (mo_ndim(Z) != 2 || mo_dim(Z, 0) < 1 || mo_dim(Z, 1) < 1)
        mo_fail(mo_tensor_context(Z), MO_INVALID, "%s: expected rows [n, d] of numbers, found %s %s", name,
            mo_dtype_name(given), mo_shape_string(Z, shape, sizeof shape));
    else if (given == MO_F64 || ((given == MO_I32 || given == MO_I64) && !fits_float32(Z)))
        return MO_F64;
    return MO_F32;
}

/* Raises at the first number of a kept row that is not finite, and at the first kept row whose squared norm is not
 * finite, since every head computes with both. host: [n, d], the given rows. */
static void check_finite(
    const mo_embeddings *E, int64_t kept, int64_t d, const void *host, bool wide, const char *name) {
    mo_context *ctx = mo_tensor_context(E->Z);
    for (int64_t i = 0; i < kept && mo_ok(ctx); i++) {
        int64_t row = E->row[i];
        double squares = 0;
        for (int64_t k = 0; k < d && mo_ok(ctx); k++) {
            double x = wide ? ((const double *)host)[row * d + k] : (double)((const float *)host)[row * d + k];
            squares += x * x;
            if (!isfinite(x))
                mo_fail(ctx, MO_INVALID, "%s: expected finite numbers, found %g in row %" PRId64 ", column %" PRId64,
                    name, x, row, k);
        }
        if (squares > (wide ? DBL_MAX : FLT_MAX))
            mo_fail(ctx, MO_INVALID,
                "%s: expected rows whose squared norm is a %s, found a larger one in row %" PRId64
                ": scale the rows down",
                name, mo_dtype_name(wide ? MO_F64 : MO_F32), row);
    }
}

/* E->Z: the kept rows of Z, in the given dtype. */
static void take_embedding_rows(mo_embeddings *E, const mo_tensor *Z, mo_dtype dtype, int64_t kept, const char *name) {
    mo_context *ctx = mo_tensor_context(Z);
    int64_t n = mo_dim(Z, 0), d = mo_dim(Z, 1);
    size_t row = (size_t)d * mo_dtype_size(dtype);
    E->given = mo_tensor_dtype(Z);
    E->Z = mo_tensor_create(ctx, dtype, 2, (int64_t[]){n, d});
    unsigned char *host = mo_host_array(ctx, n, row);
    if (!host || mo_tensor_copy(E->Z, Z) != MO_OK || mo_tensor_read(E->Z, host, (size_t)n * row) != MO_OK) {
        free(host);
        return;
    }
    check_finite(E, kept, d, host, dtype == MO_F64, name);
    if (mo_ok(ctx) && kept < n) {
        for (int64_t i = 0; i < kept; i++)
            memmove(host + (size_t)i * row, host + (size_t)E->row[i] * row, row);
        mo_tensor_release(E->Z);
        E->Z = mo_tensor_from(ctx, dtype, 2, (int64_t[]){kept, d}, host);
    }
    free(host);
}

/* ---- labels ---- */

/* Checks for one label per row, [n] or [n, 1]; the error for another shape suggests that the rows may be transposed. */
static bool check_label_shape(const mo_tensor *label, const mo_tensor *Z, const char *name) {
    int64_t n = mo_dim(Z, 0), d = mo_dim(Z, 1), count = mo_numel(label);
    bool column = mo_ndim(label) == 1 || (mo_ndim(label) == 2 && mo_dim(label, 1) == 1);
    char shape[64];
    if (!column || count != n)
        mo_fail(mo_tensor_context(Z), MO_INVALID,
            "%s: expected one label for each of %" PRId64 " rows, found labels %s%s", name, n,
            mo_shape_string(label, shape, sizeof shape),
            column && count == d ? ": are the rows transposed? rows are [n, d]" : "");
    return column && count == n;
}

/* Labels of a real dtype, which must be whole numbers: NumPy writes labels so if they came from a table of floats. */
static void read_whole_numbers(const mo_tensor *label, int64_t n, int64_t *value, const char *name) {
    mo_context *ctx = mo_tensor_context(label);
    mo_tensor *wide = mo_tensor_create(ctx, MO_F64, mo_ndim(label), (int64_t[]){n, 1});
    double *real = mo_host_array(ctx, n, sizeof *real);
    bool read =
        real && mo_tensor_copy(wide, label) == MO_OK && mo_tensor_read(wide, real, (size_t)n * sizeof *real) == MO_OK;
    for (int64_t i = 0; read && i < n && mo_ok(ctx); i++) {
        value[i] = fabs(real[i]) <= 0x1p53 ? (int64_t)real[i] : INT64_MIN;
        if ((double)value[i] != real[i])
            mo_fail(ctx, MO_INVALID,
                "%s: expected labels that are whole numbers, found %g in row %" PRId64
                " of %s labels (-1 means unlabelled)",
                name, real[i], i, mo_dtype_name(mo_tensor_dtype(label)));
    }
    free(real);
    mo_tensor_release(wide);
}

/* The labels as int64; NULL with an error raised. */
static int64_t *read_embedding_labels(const mo_tensor *label, const mo_tensor *Z, const char *name) {
    mo_context *ctx = mo_tensor_context(Z);
    int64_t n = mo_dim(Z, 0);
    mo_dtype dtype = mo_tensor_dtype(label);
    int64_t *value = check_label_shape(label, Z, name) ? mo_host_array(ctx, n, sizeof *value) : NULL;
    if (value && dtype != MO_I32 && dtype != MO_I64 && dtype != MO_U8) {
        read_whole_numbers(label, n, value, name);
    } else if (value) {
        mo_tensor *wide = mo_tensor_create(ctx, MO_I64, mo_ndim(label), (int64_t[]){n, 1});
        if (mo_tensor_copy(wide, label) == MO_OK)
            mo_tensor_read(wide, value, (size_t)n * sizeof *value);
        mo_tensor_release(wide);
    }
    if (mo_ok(ctx))
        return value;
    free(value);
    return NULL;
}

/* Lists the numbers of the labelled rows and moves their labels to the front; a negative label means unlabelled.
 * Returns the number of labelled rows. */
static int64_t keep_labelled(mo_embeddings *E, int64_t *label, int64_t n) {
    int64_t kept = 0;
    for (int64_t i = 0; i < n; i++)
        if (label[i] >= 0) {
            E->row[kept] = i;
            label[kept++] = label[i];
        }
    E->unlabelled = n - kept;
    return kept;
}

/* Makes the graph that plans are drawn from, and the table of the given labels. */
static void take_labels(mo_embeddings *E, const int64_t *label, int64_t n, const char *name) {
    mo_context *ctx = mo_tensor_context(E->Z);
    mo_graph *graph = E->graph = mo_graph_from_edges(ctx, name, n, 0, NULL, NULL);
    if (!graph || !mo_graph_set_classes(graph, label, n))
        return;
    E->value = mo_host_array(ctx, graph->classes, sizeof *E->value);
    E->count = mo_host_array(ctx, graph->classes, sizeof *E->count);
    for (int64_t i = 0; mo_ok(ctx) && i < n; i++) {
        E->value[graph->label[i]] = label[i];
        E->count[graph->label[i]]++;
    }
}

/* Raises unless the kept labels have two classes. */
static void check_classes(mo_context *ctx, const int64_t *label, int64_t kept, int64_t n, const char *name) {
    char found[64] = "none", unlabelled[128] = "";
    for (int64_t i = 1; i < kept; i++)
        if (label[i] != label[0])
            return;
    if (kept)
        snprintf(found, sizeof found, "the one label %" PRId64, label[0]);
    if (kept < n)
        snprintf(unlabelled, sizeof unlabelled,
            " (%" PRId64 " of %" PRId64 " labels are negative, which means unlabelled: number classes from 0)",
            n - kept, n);
    mo_fail(ctx, MO_INVALID, "%s: expected labels of two classes or more, found %s%s", name, found, unlabelled);
}

mo_embeddings *mo_embeddings_create(const mo_tensor *Z, const mo_tensor *label, const char *name) {
    mo_context *ctx = Z ? mo_tensor_context(Z) : NULL;
    if (!ctx || !label || !mo_ok(ctx))
        return NULL;
    mo_embeddings *E = mo_host_array(ctx, 1, sizeof *E);
    mo_dtype dtype = E ? choose_dtype(Z, name) : MO_F32;
    int64_t n = mo_ok(ctx) ? mo_dim(Z, 0) : 0, kept = 0,
            *value = mo_ok(ctx) ? read_embedding_labels(label, Z, name) : NULL;
    if (value && (E->row = mo_host_array(ctx, n, sizeof *E->row))) {
        kept = keep_labelled(E, value, n);
        check_classes(ctx, value, kept, n, name);
    }
    if (mo_ok(ctx))
        take_embedding_rows(E, Z, dtype, kept, name);
    if (mo_ok(ctx))
        take_labels(E, value, kept, name);
    free(value);
    if (mo_ok(ctx))
        return E;
    mo_embeddings_release(E);
    return NULL;
}

mo_embeddings *mo_embeddings_open(mo_context *ctx, const char *rows, const char *labels) {
    if (!mo_given(ctx, "embeddings", "the path of the rows", rows) ||
        !mo_given(ctx, "embeddings", "the path of the labels", labels))
        return NULL;
    mo_tensor *Z = read_embedding_array(ctx, rows),
              *label = mo_is_null(Z) ? mo_null_tensor(ctx) : read_embedding_array(ctx, labels);
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
    free(E->row);
    free(E->value);
    free(E->count);
    free(E);
}
