/* train/fit/row_readout.c - a fitted head that predicts rows given later: its state, the scaling of its rows and a
 * temperature. */
#include "tensor/library.h"
#include "train/evaluation/evaluation.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { READOUT_ROWS = 16384 /* rows that are predicted together */ };

/* ---- the fit ---- */

static void keep_choice(const mo_eval_row *row, void *state) {
    if (row->choice)
        *(mo_eval_choice *)state = *row->choice;
}

/* One problem whose support is the split's, or all rows, numbered in `all`. A problem needs a query: the first support
 * row. */
static mo_plan readout_problem(const mo_embeddings *E, const mo_plan *split, int64_t *all) {
    mo_plan p = {.task = MO_TASK_NC, .k = INT64_MAX, .n_support = mo_dim(E->Z, 0), .classes = E->graph->classes};
    p.support[0] = all;
    p.support_label = E->graph->label;
    for (int64_t i = 0; all && i < p.n_support; i++)
        all[i] = i;
    for (int64_t c = 0; c < p.classes; c++)
        p.k = E->count[c] < p.k ? E->count[c] : p.k;
    if (split)
        p = *split;
    p.n_query = 1;
    p.query[0] = p.support[0];
    p.query_label = p.support_label;
    return p;
}

static void keep_names(const mo_embeddings *E, const mo_plan *p, mo_row_readout *r) {
    mo_context *ctx = mo_tensor_context(E->Z);
    r->name = mo_host_array(ctx, p->classes, sizeof *r->name);
    r->classes = r->name ? p->classes : 0;
    for (int64_t i = 0; r->name && i < p->n_support; i++)
        if (!r->name[p->support_label[i]])
            r->name[p->support_label[i]] = mo_text_copy(ctx, E->name[E->graph->label[p->support[0][i]]]);
}

/* Fits the candidate to the support of the problem, at the value that was chosen. */
static void keep_fit(const mo_embeddings *E, const mo_candidate *c, const mo_plan *p, mo_row_readout *r) {
    mo_context *ctx = mo_tensor_context(E->Z);
    mo_reader reader = {
        .ctx = ctx, .t = mo_tape_create(ctx, MO_EVAL), .source = E->source, .candidate = *c, .rows = E->Z};
    mo_state state;
    if (mo_reader_fit(&reader, p, r->value, false, NULL, &state))
        mo_state_clone(ctx, &state, &r->state);
    mo_tape_release(reader.t);
}

mo_code mo_row_readout_fit(
    const mo_embeddings *E, const mo_candidate *candidate, const mo_plan *split, bool tune, mo_row_readout *r) {
    if (r)
        *r = (mo_row_readout){0};
    if (!E)
        return MO_INVALID;
    mo_context *ctx = mo_tensor_context(E->Z);
    if (!mo_given(ctx, "readout", "the candidate", candidate) || !mo_given(ctx, "readout", "the readout", r))
        return mo_code_of(ctx);
    int64_t *all = mo_host_array(ctx, mo_dim(E->Z, 0), sizeof *all);
    mo_plan p = readout_problem(E, split, all);
    mo_eval_choice choice = {.value = NAN, .temperature = NAN};
    const mo_eval_options o = {.n_shots = 1, .shots = &p.k, .split = &p, .hold_out = true, .tune = tune};
    bool measured = all && mo_evaluate(ctx, E->source, candidate, 1, &o, keep_choice, &choice) == MO_OK;
    r->value = choice.value;
    r->scaling = candidate->scaling;
    r->real = mo_tensor_dtype(E->Z);
    r->n = p.n_support;
    if (measured) {
        keep_names(E, &p, r);
        keep_fit(E, candidate, &p, r);
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
    const mo_candidate c = {.head = r->state.head, .scaling = r->scaling};
    mo_tensor *Y = mo_candidate_apply(t, &c, NULL, &r->state, Zq);
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
