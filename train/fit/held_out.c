/* train/fit/held_out.c - predicts support rows by fits without them. The support rows are the only labelled rows of an
 * episode that may be used to choose its regularisation and temperature.
 *
 * Leave-one-out for a head that has it in closed form at about the cost of a fit. Cross-validation for any head: within
 * each class, distinct rows go to the folds in turn, so that fits stay balanced and no copy of a held-out row is
 * fitted; a class with one distinct row keeps it in every fit. A head with a closed form (mo_head.held_out) is fitted
 * once for all folds, on rows scaled by the whole support (scaling reads no labels); another, and rows that repeat,
 * once for each fold, on rows scaled by the fitted ones. Leaving one row out of a balanced support biases the fit
 * against the row's class. Such fits are good enough to rank penalties, but too pessimistic to fit a temperature. */
#include "tensor/library.h"
#include "train/fit/fit_parts.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_FOLDS = 5 };

/* A fit without a solution is no error here (mo_clear_if): it leaves NaN. */
static void set_nan(double *x, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        x[i] = NAN;
}

/* ---- by the closed form of the head ---- */

/* Fits the support of a problem at a value of the tuned parameter, to hold rows out of it. Zq (may be NULL):
 * receives the queries, scaled as the support. */
static bool fit_support(const mo_fitting *f, const mo_fit_problem *p, double value, mo_tensor **Zq, mo_state *state) {
    mo_tensor *parameters[MO_MAX_HEAD_PARAMETERS];
    if (!mo_fit_parameters(f, value, parameters))
        return false;
    mo_support s = {.Zs = mo_fit_rows(f, p->support, p->n_s), .held_out = true};
    if (Zq)
        *Zq = mo_fit_rows(f, p->query, p->n_q);
    s.Ys = mo_fit_one_hot(f, p->support_label, p->n_s);
    mo_fit_scale(f, &s.Zs, Zq);
    return mo_head_fit(f->t, f->head, &s, parameters, state) == MO_OK;
}

bool mo_leave_one_out(
    const mo_fitting *f, const mo_fit_problem *p, const double *values, int n_values, double *logits) {
    int64_t block = p->n_s * f->classes, *row = mo_host_array(f->ctx, p->n_s, sizeof *row);
    for (int64_t i = 0; row && i < p->n_s; i++)
        row[i] = i;
    set_nan(logits, n_values * block);
    for (int v = 0; row && v < n_values && mo_ok(f->ctx); v++) {
        mo_state state;
        if (fit_support(f, p, values[v], NULL, &state))
            mo_read_as(mo_state_held_out(f->t, &state, row, p->n_s, 1), MO_F64, logits + v * block);
        mo_clear_if(f->ctx, MO_NUMERICAL);
    }
    free(row);
    return mo_ok(f->ctx);
}

/* ---- cross-validation ---- */

/* The fold of each support row; -1: in every fit. count: [classes]. */
static void assign_folds(
    const int64_t *row, const int64_t *label, int64_t n, int folds, bool repeated, int64_t *count, int8_t *fold) {
    for (int64_t i = 0; i < n; i++)
        count[label[i]] = 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t first = repeated ? 0 : i;
        while (row[first] != row[i])
            first++;
        fold[i] = first < i ? fold[first] : (int8_t)(count[label[i]]++ % folds);
    }
    for (int64_t i = 0; i < n; i++)
        if (count[label[i]] < 2)
            fold[i] = -1;
}

/* One fold: fitted rows and held-out rows. */
typedef struct split {
    int64_t *fitted, *fitted_label, *held;
    int64_t *at; /* positions of the held rows in the support */
} split;

static bool reserve_split(mo_context *ctx, split *s, int64_t rows) {
    s->fitted = mo_host_array(ctx, 4 * rows, sizeof *s->fitted);
    s->fitted_label = s->fitted ? s->fitted + rows : NULL;
    s->held = s->fitted ? s->fitted + 2 * rows : NULL;
    s->at = s->fitted ? s->fitted + 3 * rows : NULL;
    return s->fitted;
}

/* Makes a problem of the fold: the held rows are its queries. */
static mo_fit_problem divide_fold(const mo_fit_problem *p, const int8_t *fold, int number, split *s) {
    int64_t fitted = 0, held = 0;
    for (int64_t i = 0; i < p->n_s; i++)
        if (fold[i] == number) {
            s->at[held] = i;
            s->held[held++] = p->support[i];
        } else {
            s->fitted_label[fitted] = p->support_label[i];
            s->fitted[fitted++] = p->support[i];
        }
    return (mo_fit_problem){fitted, held, s->fitted, s->fitted_label, s->held};
}

/* Writes the logits of each value [values, n_s, C]; a fit that finds no solution leaves NaN. */
static bool refit_folds(const mo_fitting *f, const mo_fit_problem *p, const int8_t *fold, const double *values,
    int n_values, double *logits) {
    int64_t rows = p->n_s, C = f->classes;
    split s = {0};
    set_nan(logits, n_values * rows * C);
    double *buffer = mo_host_array(f->ctx, rows * C, sizeof *buffer);
    bool fine = buffer && reserve_split(f->ctx, &s, rows);
    for (int number = 0; fine && number < MOST_FOLDS; number++) {
        mo_fit_problem one = divide_fold(p, fold, number, &s);
        for (int v = 0; fine && v < n_values && one.n_q > 0; v++) {
            bool found = mo_fit_logits(f, &one, values[v], buffer);
            for (int64_t i = 0; found && i < one.n_q; i++)
                memcpy(logits + (v * rows + s.at[i]) * C, buffer + i * C, (size_t)C * sizeof *buffer);
            fine = mo_clear_if(f->ctx, MO_NUMERICAL);
        }
    }
    free(s.fitted);
    free(buffer);
    return fine;
}

/* Writes the logits [n_s, C] of each fold by one fit of the support; a failure of the fit, or of one fold's system,
 * leaves NaN. */
static bool hold_folds_out(
    const mo_fitting *f, const mo_fit_problem *p, const int8_t *fold, double value, double *logits, double *query) {
    int64_t C = f->classes, n = p->n_s;
    mo_tensor *Zq = NULL;
    mo_state state;
    int64_t *row = mo_host_array(f->ctx, n, sizeof *row);
    double *buffer = mo_host_array(f->ctx, n * C, sizeof *buffer);
    bool fitted = row && buffer && fit_support(f, p, value, query ? &Zq : NULL, &state);
    bool fine = fitted && (!query || mo_read_as(mo_state_apply(f->t, &state, Zq, NULL), MO_F64, query));
    for (int number = 0; fine && number < MOST_FOLDS; number++) {
        int64_t h = 0;
        for (int64_t i = 0; i < n; i++)
            if (fold[i] == number)
                row[h++] = i;
        bool held = h && mo_read_as(mo_state_held_out(f->t, &state, row, 1, h), MO_F64, buffer);
        for (int64_t i = 0; held && i < h; i++)
            memcpy(logits + row[i] * C, buffer + i * C, (size_t)C * sizeof *buffer);
        fine = mo_clear_if(f->ctx, MO_NUMERICAL);
    }
    free(row);
    free(buffer);
    return fine || (!query && mo_clear_if(f->ctx, MO_NUMERICAL));
}

bool mo_cross_validate(const mo_fitting *f, const mo_fit_problem *p, int64_t k, bool repeated, const double *values,
    int n_values, double *logits, double *query) {
    int folds = k < MOST_FOLDS ? (int)k : MOST_FOLDS;
    int64_t *count = mo_host_array(f->ctx, f->classes, sizeof *count), block = p->n_s * f->classes;
    int8_t *fold = mo_host_array(f->ctx, p->n_s, sizeof *fold);
    bool fine = count && fold, closed = f->head->held_out && !repeated;
    if (fine) {
        assign_folds(p->support, p->support_label, p->n_s, folds, repeated, count, fold);
        set_nan(logits, n_values * block);
    }
    for (int v = 0; fine && closed && v < n_values; v++)
        fine = hold_folds_out(f, p, fold, values[v], logits + v * block, v ? NULL : query);
    if (fine && !closed)
        fine = (!query || mo_fit_logits(f, p, values[0], query)) && refit_folds(f, p, fold, values, n_values, logits);
    free(fold);
    free(count);
    return fine;
}
