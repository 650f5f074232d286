/* train/fit/row_readout.c - a head, kept with the rows it is fitted on, that predicts rows given later. A head is a
 * function of its support, so every block of predicted rows fits it again, to the same bits. */
#include "tensor/library.h"
#include "train/fit/fit_parts.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { READOUT_ROWS = 16384 /* rows that are predicted together */ };

/* ---- the fit ---- */

static void keep_choice(const mo_fit_row *row, void *state) {
    if (row->choice)
        *(mo_fit_choice *)state = *row->choice;
}

/* One problem whose support is the split's, or all rows, numbered in `all`. A problem needs a query: the first support
 * row. */
static mo_draws readout_problem(const mo_embeddings *E, const mo_draws *split, int64_t *all) {
    mo_draws d = {.episodes = 1, .split = true, .n_support = mo_dim(E->Z, 0), .classes = E->graph->classes};
    d.support = all;
    d.support_label = E->graph->label;
    d.k = INT64_MAX;
    for (int64_t i = 0; all && i < d.n_support; i++)
        all[i] = i;
    for (int64_t c = 0; c < d.classes; c++) {
        d.k = E->count[c] < d.k ? E->count[c] : d.k;
        d.most = E->count[c] > d.most ? E->count[c] : d.most;
    }
    if (split)
        d = *split;
    d.n_query = 1;
    d.query = d.support;
    d.query_label = d.support_label;
    return d;
}

/* Copies the rows of the problem, their labels and the names of the classes to the readout. */
static void keep_problem(const mo_embeddings *E, const mo_draws *d, mo_row_readout *r) {
    mo_context *ctx = mo_tensor_context(E->Z);
    mo_dtype real = mo_tensor_dtype(E->Z);
    int64_t width = mo_dim(E->Z, 1);
    size_t row = (size_t)width * mo_dtype_size(real);
    unsigned char *from = mo_host_values(E->Z, real), *to = mo_host_array(ctx, d->n_support, row);
    r->label = mo_host_array(ctx, d->n_support, sizeof *r->label);
    r->name = mo_host_array(ctx, d->classes, sizeof *r->name);
    r->classes = r->name ? d->classes : 0;
    if (mo_ok(ctx)) {
        for (int64_t i = 0; i < d->n_support; i++) {
            int64_t c = r->label[i] = d->support_label[i];
            memcpy(to + (size_t)i * row, from + (size_t)d->support[i] * row, row);
            if (!r->name[c])
                r->name[c] = mo_text_copy(ctx, E->name[E->graph->label[d->support[i]]]);
        }
        r->Z = mo_tensor_create_from(ctx, real, 2, (int64_t[]){d->n_support, width}, to);
    }
    free(from);
    free(to);
}

mo_code mo_row_readout_fit(
    const mo_embeddings *E, const mo_head *head, const mo_fit_options *options, mo_row_readout *r) {
    if (r)
        *r = (mo_row_readout){0};
    if (!E)
        return MO_INVALID;
    mo_context *ctx = mo_tensor_context(E->Z);
    if (!mo_given(ctx, "readout", "the head", head) || !mo_given(ctx, "readout", "options", options) ||
        !mo_given(ctx, "readout", "the readout", r))
        return mo_code_of(ctx);
    int64_t *all = mo_host_array(ctx, mo_dim(E->Z, 0), sizeof *all);
    mo_draws d = readout_problem(E, options->split, all);
    mo_fit_choice choice = {.value = NAN, .temperature = NAN};
    mo_fit_options o = *options;
    o.split = &d;
    o.sweep = false;
    if (all && mo_fit(E, &head, 1, &o, keep_choice, &choice) == MO_OK)
        keep_problem(E, &d, r);
    r->head = head;
    r->lambda = options->lambda ? *options->lambda : NAN;
    r->value = choice.value;
    r->scaling = options->scaling;
    r->seed = options->seed;
    r->temperature = isnan(choice.temperature) ? 1 : choice.temperature;
    r->held_out = choice.held_out;
    r->right = choice.right;
    free(all);
    return mo_code_of(ctx);
}

void mo_row_readout_release(mo_row_readout *r) {
    if (!r)
        return;
    for (int64_t c = 0; r->name && c < r->classes; c++)
        free(r->name[c]);
    mo_tensor_release(r->Z);
    free(r->name);
    free(r->label);
    *r = (mo_row_readout){0};
}

/* ---- predictions ---- */

/* Logits of m rows, which have the dtype of Z. */
static bool predict_block(const mo_fitting *f, const mo_row_readout *r, const void *rows, int64_t m, double *logits) {
    mo_tensor *parameters[MO_MAX_HEAD_PARAMETERS];
    int64_t n = mo_dim(r->Z, 0), d = mo_dim(r->Z, 1);
    if (!mo_fit_parameters(f, r->value, parameters))
        return false;
    mo_tensor *Zs = r->Z, *Ys = mo_fit_one_hot(f, r->label, n);
    mo_tensor *Zq = mo_from(f->t, mo_tensor_dtype(r->Z), 2, (int64_t[]){m, d}, rows);
    mo_fit_scale(f, &Zs, &Zq);
    return mo_ok(f->ctx) && mo_read_as(mo_head_apply(f->t, f->head, Zs, Ys, Zq, parameters), MO_F64, logits);
}

/* Raises unless the rows are [m, d] of numbers. */
static bool check_rows(const mo_row_readout *r, const mo_tensor *rows) {
    mo_context *ctx = mo_tensor_context(r->Z);
    char shape[64];
    if (mo_ok(ctx) && (mo_ndim(rows) != 2 || mo_dim(rows, 1) != mo_dim(r->Z, 1)))
        mo_fail(ctx, MO_INVALID, "readout: expected rows [m, %" PRId64 "] as those it has learned from, found %s %s",
            mo_dim(r->Z, 1), mo_dtype_name(mo_tensor_dtype(rows)), mo_shape_string(rows, shape, sizeof shape));
    return mo_ok(ctx);
}

/* Probabilities from logits, in place. */
static bool temper_rows(const mo_row_readout *r, int64_t first, int64_t m, double *p) {
    mo_context *ctx = mo_tensor_context(r->Z);
    for (int64_t i = 0; i < m && mo_ok(ctx); i++) {
        double *row = p + (first + i) * r->classes;
        for (int64_t c = 0; c < r->classes; c++)
            if (!isfinite(row[c]) && mo_ok(ctx))
                mo_fail(ctx, MO_NUMERICAL, "readout: head %s: expected finite logits of row %" PRId64 ", found %g",
                    r->head->name, first + i, row[c]);
        mo_softmax_logits(row, r->classes, r->temperature);
    }
    return mo_ok(ctx);
}

mo_code mo_row_readout_probabilities(const mo_row_readout *r, const mo_tensor *rows, double *p) {
    if (!r || !r->Z || !rows)
        return MO_INVALID;
    mo_context *ctx = mo_tensor_context(r->Z);
    if (!check_rows(r, rows) || !mo_given(ctx, "readout", "the probabilities", p))
        return mo_code_of(ctx);
    int64_t m = mo_dim(rows, 0);
    mo_dtype real = mo_tensor_dtype(r->Z);
    size_t row = (size_t)mo_dim(rows, 1) * mo_dtype_size(real);
    unsigned char *host = mo_host_values(rows, real);
    mo_fitting f = {.ctx = ctx,
        .t = mo_tape_create(ctx, MO_EVAL),
        .Z = r->Z,
        .head = r->head,
        .classes = r->classes,
        .lambda = isnan(r->lambda) ? NULL : &r->lambda,
        .tuned = mo_fit_regularisation(r->head),
        .seed = r->seed,
        .scaling = r->scaling};
    for (int64_t first = 0; mo_ok(ctx) && first < m; first += READOUT_ROWS) {
        int64_t block = m - first < READOUT_ROWS ? m - first : READOUT_ROWS;
        if (predict_block(&f, r, host + (size_t)first * row, block, p + first * r->classes))
            temper_rows(r, first, block, p);
    }
    free(host);
    mo_tape_release(f.t);
    return mo_code_of(ctx);
}
