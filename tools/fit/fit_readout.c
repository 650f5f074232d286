/* tools/fit/fit_readout.c - the part of `mochi fit` that predicts instead of measuring. It fits one readout, saves it
 * (the rows it was fitted on, their labels, the head and its settings) and applies it to rows without labels. */
#include "tools/fit/fit.h"
#include "tools/memory.h"
#include "tools/predict/predict.h"
#include "train/graphs/row_names.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char format[] = "mochi readout of rows";
static const char *const scalings[MO_SCALINGS] = {"none", "centre", "standardise", "normalise"};

/* Writes a number as text; NaN as "none". */
static void print_real(double value, char text[40]) {
    snprintf(text, 40, isnan(value) ? "none" : "%.17g", value);
}

bool save_row_readout(mo_context *ctx, const char *path, const mo_row_readout *r) {
    int64_t n = mo_dim(r->Z, 0);
    char lambda[40], value[40], temperature[40], seed[24];
    if (mo_find_head(r->head->name) != r->head) {
        mo_fail(ctx, MO_UNSUPPORTED, "--save: the readout is %s, which is not one of the library's", r->head->name);
        return false;
    }
    print_real(r->lambda, lambda);
    print_real(r->value, value);
    print_real(r->temperature, temperature);
    snprintf(seed, sizeof seed, "%" PRIu64, r->seed);
    json_t *metadata =
        json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s}", "format", format, "head", r->head->name, "lambda", lambda,
            "regularisation", value, "scaling", scalings[r->scaling], "seed", seed, "temperature", temperature);
    mo_arrays *arrays = mo_arrays_create(ctx);
    mo_arrays_take(arrays, "rows", mo_tensor_clone(ctx, r->Z));
    mo_arrays_take(arrays, "label", mo_tensor_create_from(ctx, MO_I64, 1, &n, r->label));
    return write_kept(ctx, path, arrays, metadata, r->name, r->classes);
}

/* ---- reading ---- */

static void take_settings(const kept_fit *f, mo_row_readout *r) {
    r->head = kept_head(f);
    const char *seed = kept_text(f, "seed");
    r->lambda = kept_real(f, "lambda", true);
    r->value = kept_real(f, "regularisation", true);
    r->temperature = kept_real(f, "temperature", false);
    r->scaling = (mo_scaling)kept_word(f, "scaling", scalings, MO_SCALINGS);
    errno = 0;
    r->seed = seed ? strtoull(seed, NULL, 10) : 0;
    if (seed && (!*seed || errno || seed[strspn(seed, "0123456789")]))
        mo_fail(f->ctx, MO_FORMAT, "%s: expected a whole number of 0 to 2^64 - 1 as its seed, found '%.40s'", f->path,
            seed);
    else if (!r->head)
        mo_fail(f->ctx, MO_UNSUPPORTED, "%s: expected the name of its readout, found none", f->path);
    else if (!(r->temperature > 0))
        mo_fail(f->ctx, MO_FORMAT, "%s: expected a temperature above 0, found %g", f->path, r->temperature);
}

/* Checks and takes the rows and one label for each; every class must have a row. */
static void take_rows(const kept_fit *f, mo_row_readout *r) {
    mo_context *ctx = f->ctx;
    const char *path = f->path;
    const mo_tensor *T = mo_arrays_find(f->arrays, "rows");
    mo_dtype real = T ? mo_tensor_dtype(T) : MO_F32;
    if (!T || mo_ndim(T) != 2 || mo_dim(T, 0) < 1 || mo_dim(T, 1) < 1 || (real != MO_F32 && real != MO_F64)) {
        mo_fail(ctx, MO_FORMAT, "%s: expected the array rows, float32 or float64 [n, d]", path);
        return;
    }
    int64_t n = mo_dim(T, 0);
    r->Z = mo_tensor_create(ctx, real, 2, (int64_t[]){n, mo_dim(T, 1)});
    mo_tensor_copy(r->Z, T);
    r->label = kept_numbers(f, "label", &n);
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
    kept_fit f = open_kept(ctx, path, format, "`mochi fit --save`");
    if (mo_ok(ctx))
        take_settings(&f, r);
    if (mo_ok(ctx))
        r->name = kept_names(&f, &r->classes);
    if (mo_ok(ctx))
        take_rows(&f, r);
    release_kept(&f);
    return mo_ok(ctx);
}

/* ---- applied ---- */

static void print_fit_summary(const mo_row_readout *r) {
    fprintf(stderr, "%s on %" PRId64 " rows of %" PRId64 ", %" PRId64 " classes", r->head->name, mo_dim(r->Z, 0),
        mo_dim(r->Z, 1), r->classes);
    if (!isnan(r->value))
        fprintf(stderr, ", regularisation %.3g chosen by its held-out rows", r->value);
    if (r->held_out)
        fprintf(stderr, "; held out in turn, %" PRId64 " of %" PRId64 " are predicted right: %.1f%%", r->right,
            r->held_out, 100.0 * (double)r->right / (double)r->held_out);
    fputc('\n', stderr);
}

/* Predicts rows, called by the names of `named` at the numbers `id`, and writes the predictions. */
static bool predict_rows(mo_context *ctx, const fit_options *o, const mo_row_readout *r, const mo_tensor *rows,
    const mo_graph *named, const int64_t *id) {
    int64_t m = mo_dim(rows, 0);
    double *probability = needed(malloc((size_t)(m * r->classes) * sizeof *probability + 1));
    predictions p = {.graph = named,
        .n = m,
        .classes = r->classes,
        .id = id,
        .probability = probability,
        .name = r->name,
        .what = "row",
        .all = o->probabilities,
        .least = o->least};
    bool written = mo_row_readout_probabilities(r, rows, probability) == MO_OK;
    if (written && !o->quiet)
        print_number_of_predictions(&p);
    written = written && write_predictions(ctx, &p, o->out);
    free(probability);
    return written;
}

/* Predicts the rows of a file. */
static bool predict_file(mo_context *ctx, const fit_options *o, const mo_row_readout *r) {
    mo_tensor *rows = mo_embedding_rows_read(ctx, o->predict);
    int64_t m = mo_ok(ctx) ? mo_dim(rows, 0) : 0, *id = needed(malloc((size_t)m * sizeof *id + 1));
    mo_graph *named = mo_ok(ctx) ? mo_named_rows(ctx, o->predict, m) : NULL;
    for (int64_t i = 0; i < m; i++)
        id[i] = i;
    bool written = named && predict_rows(ctx, o, r, rows, named, id);
    mo_graph_release(named);
    mo_tensor_release(rows);
    free(id);
    return written;
}

/* Predicts the rows of a table that have no label. */
static bool predict_unlabelled(mo_context *ctx, const fit_options *o, const mo_row_readout *r, const mo_graph *table) {
    int64_t m = 0, *id = needed(malloc((size_t)table->nodes * sizeof *id + 1));
    for (int64_t i = 0; i < table->nodes; i++)
        if (table->label[i] < 0)
            id[m++] = i;
    mo_tensor *rows = mo_ok(ctx) ? mo_rows_attributes(table, id, m) : NULL;
    bool written = mo_ok(ctx) && predict_rows(ctx, o, r, rows, table, id);
    mo_tensor_release(rows);
    free(id);
    return written;
}

bool use_fit(mo_context *ctx, const fit_options *o, const mo_embeddings *E, const mo_graph *table) {
    mo_row_readout r = {0};
    bool fine = E ? mo_row_readout_fit(E, o->heads[0], &o->fit, &r) == MO_OK : load_row_readout(ctx, o->readout, &r);
    if (fine && E && !o->quiet)
        print_fit_summary(&r);
    fine = fine && (!o->save || save_row_readout(ctx, o->save, &r)) && (!o->predict || predict_file(ctx, o, &r)) &&
           (!table || predict_unlabelled(ctx, o, &r, table));
    mo_row_readout_release(&r);
    return fine;
}
