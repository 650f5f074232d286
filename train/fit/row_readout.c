/* train/fit/row_readout.c - a fitted head that predicts rows given later: its state, the scaling of its rows and a
 * temperature. */
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

static void keep_names(const mo_embeddings *E, const mo_draws *d, mo_row_readout *r) {
    mo_context *ctx = mo_tensor_context(E->Z);
    r->name = mo_host_array(ctx, d->classes, sizeof *r->name);
    r->classes = r->name ? d->classes : 0;
    for (int64_t i = 0; r->name && i < d->n_support; i++)
        if (!r->name[d->support_label[i]])
            r->name[d->support_label[i]] = mo_text_copy(ctx, E->name[E->graph->label[d->support[i]]]);
}

/* Fits the head on the rows of the problem, at the value that was chosen. */
static void keep_fit(
    const mo_embeddings *E, const mo_head *head, const mo_fit_options *o, const mo_draws *d, mo_row_readout *r) {
    mo_fitting f = {.ctx = mo_tensor_context(E->Z),
        .t = mo_tape_create(mo_tensor_context(E->Z), MO_EVAL),
        .Z = E->Z,
        .head = head,
        .classes = d->classes,
        .lambda = o->lambda,
        .tuned = mo_fit_regularisation(head),
        .seed = o->seed,
        .scaling = o->scaling};
    mo_tensor *parameters[MO_MAX_HEAD_PARAMETERS], *mean, *spread;
    if (mo_ok(f.ctx) && mo_fit_parameters(&f, r->value, parameters)) {
        mo_support s = {.Zs = mo_fit_rows(&f, d->support, d->n_support)};
        mo_state state;
        s.Ys = mo_fit_one_hot(&f, d->support_label, d->n_support);
        mo_fit_measure(f.t, f.scaling, s.Zs, &mean, &spread);
        s.Zs = mo_fit_rescale(f.t, f.scaling, mean, spread, s.Zs);
        if (mo_head_fit(f.t, head, &s, parameters, &state) == MO_OK)
            mo_state_clone(f.ctx, &state, &r->state);
        r->mean = mean && mo_ok(f.ctx) ? mo_tensor_clone(f.ctx, mean) : NULL;
        r->spread = spread && mo_ok(f.ctx) ? mo_tensor_clone(f.ctx, spread) : NULL;
    }
    mo_tape_release(f.t);
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
    bool fitted = all && mo_fit(E, &head, 1, &o, keep_choice, &choice) == MO_OK;
    r->value = choice.value;
    r->scaling = options->scaling;
    r->real = mo_tensor_dtype(E->Z);
    r->n = d.n_support;
    if (fitted) {
        keep_names(E, &d, r);
        keep_fit(E, head, &o, &d, r);
    }
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
    mo_state_release(&r->state);
    mo_tensor_release(r->mean);
    mo_tensor_release(r->spread);
    free(r->name);
    *r = (mo_row_readout){0};
}

/* ---- predictions ---- */

static mo_context *context_of(const mo_row_readout *r) {
    return r && r->state.n ? mo_tensor_context(r->state.tensor[0]) : NULL;
}

/* Logits of m rows, which have the readout's dtype. */
static bool predict_block(mo_tape *t, const mo_row_readout *r, const void *rows, int64_t m, double *logits) {
    mo_tape_reset(t);
    mo_tensor *Zq = mo_from(t, r->real, 2, (int64_t[]){m, r->state.d}, rows);
    Zq = mo_fit_rescale(t, r->scaling, r->mean, r->spread, Zq);
    mo_tensor *Y = mo_state_apply(t, &r->state, Zq, NULL);
    if (mo_ok(mo_tape_context(t)) && mo_dim(Y, 1) != r->classes)
        return mo_fail(mo_tape_context(t), MO_FORMAT, "readout: a state of %" PRId64 " classes with names of %" PRId64,
            mo_dim(Y, 1), r->classes);
    return mo_read_as(Y, MO_F64, logits);
}

/* Raises unless the rows are [m, d] of numbers. */
static bool check_rows(const mo_row_readout *r, const mo_tensor *rows) {
    mo_context *ctx = context_of(r);
    char shape[64];
    if (mo_ok(ctx) && (mo_ndim(rows) != 2 || mo_dim(rows, 1) != r->state.d))
        mo_fail(ctx, MO_INVALID, "readout: expected rows [m, %" PRId64 "] as those it has learned from, found %s %s",
            r->state.d, mo_dtype_name(mo_tensor_dtype(rows)), mo_shape_string(rows, shape, sizeof shape));
    return mo_ok(ctx);
}

/* Probabilities from logits, in place. */
static bool temper_rows(const mo_row_readout *r, int64_t first, int64_t m, double *p) {
    mo_context *ctx = context_of(r);
    for (int64_t i = 0; i < m && mo_ok(ctx); i++) {
        double *row = p + (first + i) * r->classes;
        for (int64_t c = 0; c < r->classes; c++)
            if (!isfinite(row[c]) && mo_ok(ctx))
                mo_fail(ctx, MO_NUMERICAL, "readout: head %s: expected finite logits of row %" PRId64 ", found %g",
                    r->state.head->name, first + i, row[c]);
        mo_softmax_logits(row, r->classes, r->temperature);
    }
    return mo_ok(ctx);
}

mo_code mo_row_readout_probabilities(const mo_row_readout *r, const mo_tensor *rows, double *p) {
    mo_context *ctx = context_of(r);
    if (!ctx || !rows)
        return MO_INVALID;
    if (!check_rows(r, rows) || !mo_given(ctx, "readout", "the probabilities", p))
        return mo_code_of(ctx);
    int64_t m = mo_dim(rows, 0);
    size_t row = (size_t)r->state.d * mo_dtype_size(r->real);
    unsigned char *host = mo_host_values(rows, r->real);
    mo_tape *t = mo_tape_create(ctx, MO_EVAL);
    for (int64_t first = 0; mo_ok(ctx) && first < m; first += READOUT_ROWS) {
        int64_t block = m - first < READOUT_ROWS ? m - first : READOUT_ROWS;
        if (predict_block(t, r, host + (size_t)first * row, block, p + first * r->classes))
            temper_rows(r, first, block, p);
    }
    free(host);
    mo_tape_release(t);
    return mo_code_of(ctx);
}
