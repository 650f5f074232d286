/* train/fit/held_out.c - predicts support rows by fits without them. The support rows are the only labelled rows of an
 * episode that may be used to choose its regularisation and temperature.
 *
 * Leave-one-out for ridge, in closed form, all penalties from one call (models/heads/ridge_loo.c). Cross-validation for
 * any head, one fit per fold: within each class, distinct rows go to the folds in turn, so that fits stay balanced and
 * no copy of a held-out row is fitted; a class with one distinct row keeps it in every fit. Rows are scaled
 * (fit_episodes.c) by the fitted rows. Leaving one row out of a balanced support biases the fit against the row's
 * class. Such fits are good enough to rank penalties, but too pessimistic to fit a temperature. */
#include "tensor/library.h"
#include "train/fit/fit_parts.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_FOLDS = 5, SYSTEM_NUMBERS = 1 << 22 };

/* A fit without a solution is no error here (mo_clear_if): it leaves NaN. */
static void set_nan(double *x, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        x[i] = NAN;
}

/* ---- leave-one-out ---- */

/* Logits [R, n_s, C] of the penalties values[0 .. R - 1] at once. */
static void leave_out(const mo_fitting *f, const mo_fit_problem *p, const double *values, int64_t R, double *logits) {
    double own = f->lambda ? *f->lambda : f->head->parameters[0].value;
    double *lambda = mo_host_array(f->ctx, R, sizeof *lambda);
    for (int64_t i = 0; lambda && i < R; i++)
        lambda[i] = isnan(values[i]) ? own : values[i];
    mo_tape_reset(f->t);
    if (lambda) {
        mo_tensor *Zs = mo_fit_rows(f, p->support, p->n_s), *W, *Yloo;
        mo_tensor *Ys = mo_fit_one_hot(f, p->support_label, p->n_s);
        mo_fit_scale(f, &Zs, NULL);
        mo_tensor *L = mo_from(f->t, MO_F64, 1, &R, lambda);
        mo_dtype real = mo_ok(f->ctx) && mo_rows_lie_far(f->t, Zs) ? MO_F64 : mo_tensor_dtype(f->Z);
        mo_ridge_loo_fit(f->t, mo_cast(f->t, Zs, real), mo_cast(f->t, Ys, real), NULL, mo_cast(f->t, L, real),
            MO_RIDGE_AUTO, &W, &Yloo);
        mo_read_as(Yloo, MO_F64, logits);
    }
    free(lambda);
}

/* The penalties are taken in groups whose systems fit in a few megabytes. */
bool mo_leave_one_out(
    const mo_fitting *f, const mo_fit_problem *p, const double *values, int n_values, double *logits) {
    int64_t block = p->n_s * f->classes, width = mo_dim(f->Z, 1) + 1;
    int64_t order = p->n_s < width ? p->n_s : width, most = 1 + SYSTEM_NUMBERS / (p->n_s * order);
    set_nan(logits, n_values * block);
    for (int64_t v = 0; v < n_values; v += most) {
        leave_out(f, p, values + v, n_values - v < most ? n_values - v : most, logits + v * block);
        if (!mo_clear_if(f->ctx, MO_NUMERICAL))
            return false;
    }
    return true;
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

bool mo_cross_validate(const mo_fitting *f, const mo_fit_problem *p, int64_t k, bool repeated, const double *values,
    int n_values, double *logits) {
    int folds = k < MOST_FOLDS ? (int)k : MOST_FOLDS;
    int64_t *count = mo_host_array(f->ctx, f->classes, sizeof *count);
    int8_t *fold = mo_host_array(f->ctx, p->n_s, sizeof *fold);
    bool fine = count && fold;
    if (fine)
        assign_folds(p->support, p->support_label, p->n_s, folds, repeated, count, fold);
    fine = fine && refit_folds(f, p, fold, values, n_values, logits);
    free(fold);
    free(count);
    return fine;
}
