/* tools/fit/fit_readout.c - the part of `mochi fit` that predicts instead of measuring. It fits one readout, saves it
 * (its state, the scaling of its rows and its temperature) and applies it to rows without labels. */
#include "tools/fit/fit.h"
#include "tools/memory.h"
#include "tools/predict/predict.h"
#include "train/graphs/row_names.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const row_types[] = {"float32", "float64"};
static const char *const scalings[MO_SCALINGS] = {"none", "centre", "standardise", "normalise"};

/* Writes a number as text; NaN as "none". */
static void print_real(double value, char text[40]) {
    snprintf(text, 40, isnan(value) ? "none" : "%.17g", value);
}

bool save_row_readout(mo_context *ctx, const char *path, const mo_row_readout *r) {
    char value[40], temperature[40];
    if (!mo_find_head(r->state.head->name)) {
        mo_fail(
            ctx, MO_UNSUPPORTED, "--save: the readout is %s, which is not one of the library's", r->state.head->name);
        return false;
    }
    print_real(r->value, value);
    print_real(r->temperature, temperature);
    json_t *metadata = json_pack("{s:s, s:s, s:s, s:s, s:s}", "head", r->state.head->name, "regularisation", value,
        "scaling", scalings[r->scaling], "temperature", temperature, "rows", row_types[r->real == MO_F64]);
    mo_arrays *arrays = mo_arrays_create(ctx);
    mo_state_save(&r->state, arrays);
    return write_kept(ctx, path, KEPT_ROWS, arrays, metadata, r->name, r->classes);
}

/* ---- reading ---- */

/* Returns the settings' head; NULL after an error. */
static const mo_head *take_settings(const kept_fit *f, mo_row_readout *r) {
    const mo_head *head = kept_head(f);
    r->value = kept_real(f, "regularisation", true);
    r->temperature = kept_real(f, "temperature", false);
    r->scaling = (mo_scaling)kept_word(f, "scaling", scalings, MO_SCALINGS);
    r->real = kept_word(f, "rows", row_types, 2) ? MO_F64 : MO_F32;
    if (mo_ok(f->ctx) && !head)
        mo_fail(f->ctx, MO_UNSUPPORTED, "%s: expected the name of its readout, found none", f->path);
    else if (mo_ok(f->ctx) && !(r->temperature > 0))
        mo_fail(f->ctx, MO_FORMAT, "%s: expected a temperature above 0, found %g", f->path, r->temperature);
    return mo_ok(f->ctx) ? head : NULL;
}

/* Raises unless the state has [1, d] numbers of the rows' dtype to scale them by. */
static void check_scale(const kept_fit *f, const char *name, const mo_row_readout *r) {
    const mo_tensor *T = mo_state_find(&r->state, name);
    if (mo_ok(f->ctx) &&
        (!T || mo_ndim(T) != 2 || mo_dim(T, 0) != 1 || mo_dim(T, 1) != r->state.d || mo_tensor_dtype(T) != r->real))
        mo_fail(f->ctx, MO_FORMAT, "%s: expected the array state.%s, %s [1, %" PRId64 "]", f->path, name,
            mo_dtype_name(r->real), r->state.d);
}

/* Takes the state, whose classes are those of the names, and the scaling. */
static void take_state(const kept_fit *f, const mo_head *head, mo_row_readout *r) {
    if (mo_state_load(f->ctx, head, f->arrays, &r->state) != MO_OK)
        return;
    if (r->state.classes != r->classes || r->state.axes != 2)
        mo_fail(f->ctx, MO_FORMAT, "%s: a readout of %" PRId64 " classes, expected %" PRId64 " as it has names",
            f->path, r->state.classes, r->classes);
    if (r->scaling == MO_SCALING_CENTRE || r->scaling == MO_SCALING_STANDARDISE)
        check_scale(f, "rows.mean", r);
    if (r->scaling == MO_SCALING_STANDARDISE)
        check_scale(f, "rows.spread", r);
}

bool load_row_readout(mo_context *ctx, const char *path, mo_row_readout *r) {
    *r = (mo_row_readout){0};
    kept_fit f = open_kept(ctx, path, KEPT_ROWS);
    const mo_head *head = mo_ok(ctx) ? take_settings(&f, r) : NULL;
    if (mo_ok(ctx))
        r->name = kept_names(&f, &r->classes);
    if (mo_ok(ctx))
        take_state(&f, head, r);
    release_kept(&f);
    return mo_ok(ctx);
}

/* ---- applied ---- */

static void print_fit_summary(const mo_row_readout *r) {
    fprintf(stderr, "%s on %" PRId64 " rows of %" PRId64 ", %" PRId64 " classes", r->state.head->name, r->n, r->state.d,
        r->classes);
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
    const mo_candidate c = fit_candidate(o, 0);
    bool fine = E ? mo_row_readout_fit(E, &c, NULL, o->fit.tune, &r) == MO_OK : load_row_readout(ctx, o->readout, &r);
    if (fine && E && !o->quiet)
        print_fit_summary(&r);
    fine = fine && (!o->save || save_row_readout(ctx, o->save, &r)) && (!o->predict || predict_file(ctx, o, &r)) &&
           (!table || predict_unlabelled(ctx, o, &r, table));
    mo_row_readout_release(&r);
    return fine;
}
