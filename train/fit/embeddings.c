/* train/fit/embeddings.c - rows and labels from array files and tables, checked once, so that heads get finite numbers
 * and classes numbered from 0. */
#include "tensor/library.h"
#include "train/graphs/graph_build.h"
#include "train/graphs/label_column.h"
#include "train/graphs/loaders.h"
#include "train/graphs/row_names.h"
#include "train/graphs/table_reader.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- rows ---- */

/* Returns whether float32 represents every one of these integers exactly. */
static bool fits_float32(const mo_tensor *Z) {
    int64_t *host = mo_host_values(Z, MO_I64);
    bool fits = host;
    for (int64_t i = 0; fits && i < mo_numel(Z); i++)
        fits = host[i] >= -(1 << FLT_MANT_DIG) && host[i] <= 1 << FLT_MANT_DIG;
    free(host);
    return fits;
}

/* The dtype for E->Z; raises if Z is not a matrix of numbers. */
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
 * finite, since every head computes with both. host: [n, d], the given rows Z in that dtype. */
static void check_finite(
    const mo_embeddings *E, int64_t kept, const mo_tensor *Z, const void *host, mo_dtype dtype, const char *name) {
    mo_context *ctx = mo_tensor_context(Z);
    int64_t d = mo_dim(Z, 1);
    bool wide = dtype == MO_F64;
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
                name, mo_dtype_name(dtype), row);
    }
}

/* Sets E->Z: the kept rows of Z, in `dtype`. */
static void take_embedding_rows(mo_embeddings *E, const mo_tensor *Z, mo_dtype dtype, int64_t kept, const char *name) {
    mo_context *ctx = mo_tensor_context(Z);
    size_t row = (size_t)mo_dim(Z, 1) * mo_dtype_size(dtype);
    E->given = mo_tensor_dtype(Z);
    unsigned char *host = mo_host_values(Z, dtype);
    if (host)
        check_finite(E, kept, Z, host, dtype, name);
    for (int64_t i = 0; mo_ok(ctx) && i < kept; i++)
        memmove(host + (size_t)i * row, host + (size_t)E->row[i] * row, row);
    if (mo_ok(ctx))
        E->Z = mo_tensor_create_from(ctx, dtype, 2, (int64_t[]){kept, mo_dim(Z, 1)}, host);
    free(host);
}

/* ---- labels ---- */

/* Checks for one label per row; if there are d labels, the error suggests that the rows are transposed. */
static bool check_label_count(mo_label_column *column, const mo_tensor *Z, const char *name) {
    int64_t n = mo_dim(Z, 0), d = mo_dim(Z, 1);
    if (!mo_label_column_fits(column, n))
        return mo_fail(mo_tensor_context(Z), MO_INVALID,
            "%s: expected one label for each of %" PRId64 " rows, found labels [%" PRId64 "]%s", name, n, column->n,
            column->n == d ? ": are the rows transposed? rows are [n, d]" : "");
    return true;
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

/* The name of a class: its text, or its number. */
static char *name_class(mo_context *ctx, const mo_label_column *column, int64_t value) {
    char number[24];
    snprintf(number, sizeof number, "%" PRId64, value);
    return mo_text_copy(ctx, column->name ? column->name[value] : number);
}

/* Makes the graph that plans are drawn from and the classes' values, counts and names, all from the first n labels. */
static void take_labels(mo_embeddings *E, const mo_label_column *column, int64_t n, const char *name) {
    mo_context *ctx = mo_tensor_context(E->Z);
    const int64_t *label = column->value;
    mo_graph *graph = E->graph = mo_graph_from_edges(ctx, name, n, 0, NULL, NULL);
    if (!graph || !mo_graph_set_classes(graph, label, n) || !(E->source = mo_host_array(ctx, 1, sizeof *E->source)))
        return;
    *E->source = (mo_source){.graph = graph, .task = MO_TASK_NC, .rows = E->Z};
    E->value = mo_host_array(ctx, graph->classes, sizeof *E->value);
    E->count = mo_host_array(ctx, graph->classes, sizeof *E->count);
    E->texts = column->name;
    E->name = mo_host_array(ctx, graph->classes, sizeof *E->name);
    for (int64_t i = 0; mo_ok(ctx) && i < n; i++) {
        E->value[graph->label[i]] = label[i];
        E->count[graph->label[i]]++;
    }
    for (int64_t c = 0; mo_ok(ctx) && c < graph->classes; c++)
        E->name[c] = name_class(ctx, column, E->value[c]);
}

static void check_classes(mo_context *ctx, const mo_label_column *column, int64_t kept, const char *name) {
    const int64_t *label = column->value, n = column->n;
    char found[64] = "none", unlabelled[128] = "";
    for (int64_t i = 1; i < kept; i++)
        if (label[i] != label[0])
            return;
    if (kept && column->name)
        snprintf(found, sizeof found, "the one label '%.40s'", column->name[label[0]]);
    else if (kept)
        snprintf(found, sizeof found, "the one label %" PRId64, label[0]);
    if (kept < n && column->name)
        snprintf(unlabelled, sizeof unlabelled,
            " (%" PRId64 " of %" PRId64 " labels are empty, or a mark such as NA: unlabelled)", n - kept, n);
    else if (kept < n)
        snprintf(unlabelled, sizeof unlabelled,
            " (%" PRId64 " of %" PRId64 " labels are negative, which means unlabelled: number classes from 0)",
            n - kept, n);
    mo_fail(ctx, MO_INVALID, "%s: expected labels of two classes or more, found %s%s", name, found, unlabelled);
}

/* Makes embeddings from rows and labels; takes over the labels' values. */
static mo_embeddings *make_embeddings(const mo_tensor *Z, mo_label_column *column, const char *name) {
    mo_context *ctx = mo_tensor_context(Z);
    mo_embeddings *E = mo_host_array(ctx, 1, sizeof *E);
    mo_dtype dtype = E ? choose_dtype(Z, name) : MO_F32;
    int64_t kept = 0;
    if (mo_ok(ctx) && check_label_count(column, Z, name) && (E->row = mo_host_array(ctx, column->n, sizeof *E->row))) {
        kept = keep_labelled(E, column->value, column->n);
        check_classes(ctx, column, kept, name);
    }
    if (mo_ok(ctx))
        take_embedding_rows(E, Z, dtype, kept, name);
    if (mo_ok(ctx))
        take_labels(E, column, kept, name);
    if (mo_ok(ctx))
        return E;
    mo_embeddings_release(E);
    return NULL;
}

mo_embeddings *mo_embeddings_create(const mo_tensor *Z, const mo_tensor *label, const char *name) {
    mo_context *ctx = Z ? mo_tensor_context(Z) : NULL;
    if (!ctx || !label || !mo_ok(ctx))
        return NULL;
    mo_label_column column;
    mo_embeddings *E = mo_label_column_of(label, name, &column) ? make_embeddings(Z, &column, name) : NULL;
    mo_label_column_release(&column);
    return E;
}

/* Puts the labels in the order of the rows, if either have names beside them: rows without names are called 0 .. n - 1,
 * and labels of rows with others need names. */
static bool bind_labels(mo_context *ctx, const char *rows, int64_t n, const char *labels, mo_label_column *column) {
    mo_words others = {0};
    mo_graph *named = mo_named_rows(ctx, rows, n);
    if (named && mo_row_names_read(ctx, labels, &others) && (named->names || others.n > 0))
        mo_label_column_bind(column, named, labels, false);
    mo_graph_release(named);
    mo_words_release(&others);
    return mo_ok(ctx);
}

/* Reads rows of an array file; refuses a table, whose labels are a column, and what only Python reads. */
static mo_tensor *read_rows(mo_context *ctx, const char *path) {
    if (mo_is_table(path))
        mo_fail(ctx, MO_INVALID,
            "%s: expected rows in an array, such as Z.npy; those of a table have their labels in a column of it: mochi "
            "readouts '%s' --label COLUMN",
            path, path);
    else if (mo_foreign_rows(path))
        mo_fail_foreign_rows(ctx, path, mo_foreign_rows(path), NULL);
    return mo_ok(ctx) ? mo_array_read(ctx, path) : mo_null_tensor(ctx);
}

mo_embeddings *mo_embeddings_open(mo_context *ctx, const char *rows, const char *labels) {
    if (!mo_given(ctx, "embeddings", "the path of the rows", rows) ||
        !mo_given(ctx, "embeddings", "the path of the labels", labels))
        return NULL;
    mo_tensor *Z = read_rows(ctx, rows);
    mo_label_column column = {0};
    mo_embeddings *E = NULL;
    bool read = !mo_is_null(Z) && mo_label_column_read(ctx, labels, &column);
    int64_t n = read && mo_ndim(Z) > 0 ? mo_dim(Z, 0) : 0;
    if (read && column.n > 0 && bind_labels(ctx, rows, n, labels, &column)) {
        char name[512];
        snprintf(name, sizeof name, "%.240s with %.240s", rows, labels);
        E = make_embeddings(Z, &column, name);
    } else if (mo_ok(ctx))
        mo_fail(ctx, MO_INVALID, "%s: expected %s, found none", read ? labels : rows, read ? "labels" : "rows");
    mo_tensor_release(Z);
    mo_label_column_release(&column);
    return E;
}

mo_tensor *mo_rows_attributes(const mo_graph *rows, const int64_t *id, int64_t n) {
    mo_context *ctx = rows ? rows->ctx : NULL;
    if (!mo_given(ctx, "rows", "the numbers of the rows", id))
        return rows ? mo_null_tensor(ctx) : NULL;
    int64_t d = rows->features;
    float *x = mo_host_array(ctx, n * d, sizeof *x);
    for (int64_t i = 0; x && i < n; i++)
        for (int64_t e = rows->feature_pointer[id[i]]; e < rows->feature_pointer[id[i] + 1]; e++)
            x[i * d + rows->feature_column[e]] = rows->feature_value[e];
    mo_tensor *X = x ? mo_tensor_create_from(ctx, MO_F32, 2, (int64_t[]){n, d}, x) : mo_null_tensor(ctx);
    free(x);
    return X;
}

mo_embeddings *mo_embeddings_of_rows(const mo_graph *rows) {
    if (!rows || !mo_ok(rows->ctx))
        return NULL;
    mo_context *ctx = rows->ctx;
    int64_t n = rows->nodes, *all = mo_host_array(ctx, n, sizeof *all);
    mo_label_column column = {.n = n, .value = mo_host_array(ctx, n, sizeof *column.value)};
    column.name = rows->class_numbers ? NULL : rows->class_name; /* borrowed */
    for (int64_t i = 0; mo_ok(ctx) && i < n; i++) {
        int64_t c = rows->label[i];
        all[i] = i;
        column.value[i] = c >= 0 && rows->class_numbers ? strtoll(rows->class_name[c], NULL, 10) : c;
    }
    mo_tensor *X = mo_ok(ctx) ? mo_rows_attributes(rows, all, n) : mo_null_tensor(ctx);
    mo_embeddings *E = mo_ok(ctx) ? make_embeddings(X, &column, rows->source) : NULL;
    mo_tensor_release(X);
    free(column.value);
    free(all);
    return E;
}

mo_tensor *mo_embedding_rows_read(mo_context *ctx, const char *path) {
    if (!mo_given(ctx, "embeddings", "the path of the rows", path))
        return mo_null_tensor(ctx);
    mo_tensor *Z = read_rows(ctx, path);
    mo_embeddings E = {0};
    int64_t n = mo_ok(ctx) && mo_ndim(Z) > 0 ? mo_dim(Z, 0) : 0;
    mo_dtype dtype = mo_ok(ctx) ? choose_dtype(Z, path) : MO_F32;
    E.row = mo_ok(ctx) ? mo_host_array(ctx, n, sizeof *E.row) : NULL;
    for (int64_t i = 0; E.row && i < n; i++)
        E.row[i] = i;
    if (E.row)
        take_embedding_rows(&E, Z, dtype, n, path);
    mo_tensor_release(Z);
    free(E.row);
    if (mo_ok(ctx))
        return E.Z;
    mo_tensor_release(E.Z);
    return mo_null_tensor(ctx);
}

void mo_embeddings_release(mo_embeddings *E) {
    if (!E)
        return;
    for (int64_t c = 0; E->name && c < E->graph->classes; c++)
        free(E->name[c]);
    mo_tensor_release(E->Z);
    mo_graph_release(E->graph);
    free(E->source);
    free(E->name);
    free(E->row);
    free(E->value);
    free(E->count);
    free(E);
}
