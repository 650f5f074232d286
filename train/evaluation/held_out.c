/* train/evaluation/held_out.c - predicts support rows by fits without them. The support rows are the only labelled rows
 * of an episode that may be used to choose its regularisation and temperature.
 *
 * Leave-one-out for a head that has it in closed form at about the cost of a fit. Cross-validation for any head: within
 * each class, distinct rows go to the folds in turn, so that fits stay balanced and no copy of a held-out row is
 * fitted; a class with one distinct row keeps it in every fit. A head with mo_head.held_out is fitted once for all
 * folds, on rows scaled by the whole support (scaling reads no labels): in closed form, or the folds' fits start from
 * that fit. Another, and rows that repeat, are fitted once for each fold, on rows scaled by the fitted ones. Leaving
 * one row out of a balanced support biases the fit against the row's class. Such fits are good enough to rank
 * penalties, but too pessimistic to fit a temperature. */
#include "tensor/library.h"
#include "train/evaluation/evaluation.h"

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

bool mo_leave_one_out(const mo_reader *r, const mo_plan *p, const double *values, int n_values, double *logits) {
    int64_t block = p->n_support * p->classes, *row = mo_host_array(r->ctx, p->n_support, sizeof *row);
    for (int64_t i = 0; row && i < p->n_support; i++)
        row[i] = i;
    set_nan(logits, n_values * block);
    for (int v = 0; row && v < n_values && mo_ok(r->ctx); v++) {
        mo_state state;
        if (mo_reader_fit(r, p, values[v], true, NULL, &state))
            mo_read_as(
                mo_candidate_held_out(r->t, &r->candidate, &state, row, p->n_support, 1), MO_F64, logits + v * block);
        mo_clear_if(r->ctx, MO_NUMERICAL);
    }
    free(row);
    return mo_ok(r->ctx);
}

/* ---- cross-validation ---- */

int64_t mo_most_rows(mo_context *ctx, const mo_plan *p) {
    int64_t *count = mo_host_array(ctx, p->classes, sizeof *count), most = 0;
    for (int64_t i = 0; count && i < p->n_support; i++)
        most = ++count[p->support_label[i]] > most ? count[p->support_label[i]] : most;
    free(count);
    return most;
}

/* The fold of each support row; -1: in every fit. count: [classes], zero. Returns whether a row is repeated. */
static bool assign_folds(const mo_plan *p, int folds, int64_t *count, int8_t *fold) {
    const int64_t *row = p->support[0], *label = p->support_label;
    bool repeated = p->small_classes > 0;
    for (int64_t i = 0; i < p->n_support; i++) {
        int64_t first = repeated ? 0 : i;
        while (row[first] != row[i])
            first++;
        fold[i] = first < i ? fold[first] : (int8_t)(count[label[i]]++ % folds);
    }
    for (int64_t i = 0; i < p->n_support; i++)
        if (count[label[i]] < 2)
            fold[i] = -1;
    return repeated;
}

/* One fold as a problem, whose queries are the rows that it holds out. */
typedef struct fold_problem {
    mo_plan plan;
    int64_t *at; /* positions of the held rows in the support */
} fold_problem;

static bool reserve_fold(mo_context *ctx, const mo_plan *p, fold_problem *f) {
    int64_t *numbers = mo_host_array(ctx, 5 * p->n_support, sizeof *numbers),
            **part[] = {&f->plan.support[0], &f->plan.support_label, &f->plan.query[0], &f->plan.query_label, &f->at};
    f->plan = (mo_plan){.task = p->task, .classes = p->classes, .k = p->k, .small_classes = p->small_classes};
    for (int i = 0; i < 5; i++)
        *part[i] = numbers ? numbers + i * p->n_support : NULL;
    return numbers;
}

static void divide_fold(const mo_plan *p, const int8_t *fold, int number, fold_problem *f) {
    f->plan.n_support = f->plan.n_query = 0;
    for (int64_t i = 0; i < p->n_support; i++)
        if (fold[i] == number) {
            f->at[f->plan.n_query] = i;
            f->plan.query_label[f->plan.n_query] = p->support_label[i];
            f->plan.query[0][f->plan.n_query++] = p->support[0][i];
        } else {
            f->plan.support_label[f->plan.n_support] = p->support_label[i];
            f->plan.support[0][f->plan.n_support++] = p->support[0][i];
        }
}

/* Writes the logits of each value [values, n_s, C]; a fit that finds no solution leaves NaN. */
static bool refit_folds(
    const mo_reader *r, const mo_plan *p, const int8_t *fold, const double *values, int n_values, double *logits) {
    int64_t rows = p->n_support, C = p->classes;
    fold_problem f = {0};
    double *buffer = mo_host_array(r->ctx, rows * C, sizeof *buffer);
    bool fine = buffer && reserve_fold(r->ctx, p, &f);
    for (int number = 0; fine && number < MOST_FOLDS; number++) {
        divide_fold(p, fold, number, &f);
        for (int v = 0; fine && v < n_values && f.plan.n_query > 0; v++) {
            bool found = mo_reader_logits(r, &f.plan, values[v], buffer, NULL);
            for (int64_t i = 0; found && i < f.plan.n_query; i++)
                memcpy(logits + (v * rows + f.at[i]) * C, buffer + i * C, (size_t)C * sizeof *buffer);
            fine = mo_clear_if(r->ctx, MO_NUMERICAL);
        }
    }
    free(f.plan.support[0]);
    free(buffer);
    return fine;
}

/* Writes the logits [n_s, C] of each fold by one fit of the support; a failure of the fit, or of one fold's system,
 * leaves NaN. */
static bool hold_folds_out(
    const mo_reader *r, const mo_plan *p, const int8_t *fold, double value, double *logits, double *query) {
    int64_t C = p->classes, n = p->n_support;
    mo_tensor *Zq = NULL;
    mo_state state;
    int64_t *row = mo_host_array(r->ctx, n, sizeof *row);
    double *buffer = mo_host_array(r->ctx, n * C, sizeof *buffer);
    bool fitted = row && buffer && mo_reader_fit(r, p, value, true, query ? &Zq : NULL, &state);
    bool fine =
        fitted && (!query || mo_read_as(mo_candidate_apply(r->t, &r->candidate, NULL, &state, Zq), MO_F64, query));
    for (int number = 0; fine && number < MOST_FOLDS; number++) {
        int64_t h = 0;
        for (int64_t i = 0; i < n; i++)
            if (fold[i] == number)
                row[h++] = i;
        bool held = h && mo_read_as(mo_candidate_held_out(r->t, &r->candidate, &state, row, 1, h), MO_F64, buffer);
        for (int64_t i = 0; held && i < h; i++)
            memcpy(logits + row[i] * C, buffer + i * C, (size_t)C * sizeof *buffer);
        fine = mo_clear_if(r->ctx, MO_NUMERICAL);
    }
    free(row);
    free(buffer);
    return fine || (!query && mo_clear_if(r->ctx, MO_NUMERICAL));
}

bool mo_cross_validate(
    const mo_reader *r, const mo_plan *p, const double *values, int n_values, double *logits, double *query) {
    int64_t *count = mo_host_array(r->ctx, p->classes, sizeof *count), block = p->n_support * p->classes;
    int64_t most = mo_most_rows(r->ctx, p);
    int8_t *fold = mo_host_array(r->ctx, p->n_support, sizeof *fold);
    bool fine = count && fold && mo_ok(r->ctx), closed = false;
    if (fine) {
        closed = !assign_folds(p, most < MOST_FOLDS ? (int)most : MOST_FOLDS, count, fold) && r->rows &&
                 !r->candidate.model && r->candidate.head->held_out;
        set_nan(logits, n_values * block);
    }
    for (int v = 0; fine && closed && v < n_values; v++)
        fine = hold_folds_out(r, p, fold, values[v], logits + v * block, v ? NULL : query);
    if (fine && !closed)
        fine = (!query || mo_reader_logits(r, p, values[0], query, NULL)) &&
               refit_folds(r, p, fold, values, n_values, logits);
    free(fold);
    free(count);
    return fine;
}
