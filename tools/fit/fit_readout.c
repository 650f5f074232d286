/* tools/fit/fit_readout.c - a readout in a file: safetensors with the rows it has learned from and their labels, and as
 * metadata the head, its settings and the names of the classes. What is applied again is fitted again, to the same
 * bits. */
#include "tools/fit/fit.h"
#include "tools/memory.h"
#include "tools/predict/predict.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char format[] = "mochi readout of rows", command[] = "mochi fit --save";
static const char *const scalings[MO_SCALINGS] = {"none", "centre", "standardise", "normalise"};

/* "none" is NaN. */
static void print_real(double value, char text[40]) {
    snprintf(text, 40, isnan(value) ? "none" : "%.17g", value);
}

/* The metadata as text, owned. */
static char *row_readout_metadata(const mo_row_readout *r) {
    char lambda[40], value[40], temperature[40], seed[24];
    print_real(r->lambda, lambda);
    print_real(r->value, value);
    print_real(r->temperature, temperature);
    snprintf(seed, sizeof seed, "%" PRIu64, r->seed);
    json_t *names = json_array();
    for (int64_t c = 0; c < r->classes; c++)
        json_array_append_new(names, json_string(r->name[c]));
    char *classes = needed(json_dumps(names, JSON_COMPACT));
    json_t *metadata = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s}", "format", format, "head", r->head->name,
        "lambda", lambda, "regularisation", value, "scaling", scalings[r->scaling], "seed", seed, "temperature",
        temperature, "classes", classes);
    char *text = needed(json_dumps(metadata, JSON_COMPACT));
    json_decref(metadata);
    json_decref(names);
    free(classes);
    return text;
}

bool save_row_readout(mo_context *ctx, const char *path, const mo_row_readout *r) {
    int64_t n = mo_dim(r->Z, 0);
    if (mo_find_head(r->head->name) != r->head) {
        mo_fail(ctx, MO_UNSUPPORTED, "--save: the readout is %s, which is not one of the library's", r->head->name);
        return false;
    }
    char *metadata = row_readout_metadata(r);
    mo_arrays *arrays = mo_arrays_create(ctx);
    mo_arrays_take(arrays, "rows", mo_tensor_clone(ctx, r->Z));
    mo_arrays_take(arrays, "label", mo_tensor_create_from(ctx, MO_I64, 1, &n, r->label));
    if (mo_ok(ctx))
        mo_safetensors_write(arrays, metadata, path);
    mo_arrays_release(arrays);
    free(metadata);
    return mo_ok(ctx);
}

/* ---- reading ---- */

static void take_settings(mo_context *ctx, const char *path, const json_t *metadata, mo_row_readout *r) {
    const char *head = readout_text(ctx, path, command, metadata, "head"),
               *scaling = readout_text(ctx, path, command, metadata, "scaling"),
               *seed = readout_text(ctx, path, command, metadata, "seed");
    r->lambda = readout_real(ctx, path, command, metadata, "lambda", true);
    r->value = readout_real(ctx, path, command, metadata, "regularisation", true);
    r->temperature = readout_real(ctx, path, command, metadata, "temperature", false);
    if (!mo_ok(ctx))
        return;
    r->head = mo_find_head(head);
    errno = 0;
    r->seed = strtoull(seed, NULL, 10);
    bool whole = *seed && !errno && !seed[strspn(seed, "0123456789")];
    while (r->scaling < MO_SCALINGS && strcmp(scaling, scalings[r->scaling]) != 0)
        r->scaling++;
    if (!r->head)
        mo_fail(ctx, MO_UNSUPPORTED, "%s: its readout is %.40s, which is not one of the library's", path, head);
    else if (r->scaling == MO_SCALINGS)
        mo_fail(ctx, MO_FORMAT, "%s: expected the scaling none, centre, standardise or normalise, found '%.40s'", path,
            scaling);
    else if (!whole)
        mo_fail(ctx, MO_FORMAT, "%s: expected a whole number of 0 to 2^64 - 1 as its seed, found '%.40s'", path, seed);
    else if (!(r->temperature > 0))
        mo_fail(ctx, MO_FORMAT, "%s: expected a temperature above 0, found %g", path, r->temperature);
}

/* The rows and one label for each, all classes present. */
static void take_rows(mo_context *ctx, const char *path, const mo_arrays *arrays, mo_row_readout *r) {
    const mo_tensor *T = mo_arrays_find(arrays, "rows");
    mo_dtype real = T ? mo_tensor_dtype(T) : MO_F32;
    if (!T || mo_ndim(T) != 2 || mo_dim(T, 0) < 1 || mo_dim(T, 1) < 1 || (real != MO_F32 && real != MO_F64)) {
        mo_fail(ctx, MO_FORMAT, "%s: expected the array rows, float32 or float64 [n, d]", path);
        return;
    }
    int64_t n = mo_dim(T, 0);
    r->Z = mo_tensor_create(ctx, real, 2, (int64_t[]){n, mo_dim(T, 1)});
    mo_tensor_copy(r->Z, T);
    r->label = readout_numbers(ctx, path, arrays, "label", &n);
    int64_t *count = needed(calloc((size_t)r->classes + 1, sizeof *count));
    for (int64_t i = 0; mo_ok(ctx) && i < n; i++)
        if (r->label[i] < 0 || r->label[i] >= r->classes)
            mo_fail(ctx, MO_FORMAT, "%s: label %" PRId64 " is %" PRId64 ", expected 0 to %" PRId64, path, i,
                r->label[i], r->classes - 1);
        else
            count[r->label[i]]++;
    for (int64_t c = 0; mo_ok(ctx) && c < r->classes; c++)
        if (!count[c])
            mo_fail(ctx, MO_FORMAT, "%s: expected rows of every class, found none of class %.40s", path, r->name[c]);
    free(count);
}

bool load_row_readout(mo_context *ctx, const char *path, mo_row_readout *r) {
    *r = (mo_row_readout){0};
    mo_arrays *arrays = mo_safetensors_read(ctx, path);
    json_t *metadata = arrays && arrays->metadata ? json_loads(arrays->metadata, 0, NULL) : NULL;
    const char *kind = mo_ok(ctx) ? readout_text(ctx, path, command, metadata, "format") : NULL;
    if (kind && strcmp(kind, format) != 0)
        mo_fail(ctx, MO_FORMAT, "%s: expected a file of `%s`, found %.40s", path, command, kind);
    if (mo_ok(ctx)) {
        readout_text(ctx, path, command, metadata, "xxh3_header"); /* verified by now, where they are there */
        readout_text(ctx, path, command, metadata, "xxh3_tensors");
    }
    if (mo_ok(ctx))
        take_settings(ctx, path, metadata, r);
    if (mo_ok(ctx))
        r->name = readout_names(ctx, path, command, metadata, &r->classes);
    if (mo_ok(ctx))
        take_rows(ctx, path, arrays, r);
    json_decref(metadata);
    mo_arrays_release(arrays);
    return mo_ok(ctx);
}
