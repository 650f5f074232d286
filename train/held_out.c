/* train/held_out.c - what a head says of support rows that it has not been fitted on: the only labelled rows of an
 * episode from which its regularisation and temperature may be learned.
 *
 * Leave-one-out for ridge, in closed form, all penalties from one call (models/heads/ridge_loo.c). Cross-validation for
 * any head: class by class, distinct rows go to the folds in turn, so that fits stay balanced and no copy of a held-out
 * row is fitted; a class of one distinct row keeps it in every fit. Leaving one row of a balanced support out tips the
 * balance against its own class: good enough to rank penalties, too pessimistic to fit a temperature to. */
#include "train/fit_batch.h"
#include "train/host_array.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_FOLDS = 5, SYSTEM_NUMBERS = 1 << 22 };

static void set_nan(double *x, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        x[i] = NAN;
}

/* A fit without a solution is no error here: it leaves NaN. */
static bool forgive(mo_context *ctx) {
    if (mo_context_status(ctx)->code == MO_NUMERICAL)
        mo_clear_error(ctx);
    return mo_ok(ctx);
}

/* ---- leave-one-out ---- */

/* The penalties values[0 .. R - 1] at once: Yloo [B, R, n_s, C] to logits [R, B, n_s, C]. */
static void leave_out(const mo_fitting *f, const mo_fit_batch *b, const double *values, int64_t R, double *logits) {
    int64_t block = b->n_s * f->classes;
    double own = f->lambda > 0 ? f->lambda : f->head->parameters[0].value;
    double *lambda = mo_host_array(f->ctx, b->B * R, sizeof *lambda);
    double *Y = mo_host_array(f->ctx, b->B * R * block, sizeof *Y);
    for (int64_t i = 0; lambda && i < b->B * R; i++)
        lambda[i] = isnan(values[i % R]) ? own : values[i % R];
    mo_tape_reset(f->t);
    if (lambda && Y) {
        mo_tensor *Zs = mo_fit_rows(f, b->support, b->B, b->n_s), *W, *Yloo;
        mo_tensor *Ys = mo_fit_one_hot(f, b->support_label, b->B, b->n_s);
        mo_tensor *L = mo_from(f->t, MO_F64, 2, (int64_t[]){b->B, R}, lambda);
        mo_ridge_loo_fit(f->t, Zs, Ys, mo_cast(f->t, L, mo_tensor_dtype(f->Z)), MO_RIDGE_AUTO, &W, &Yloo);
        if (mo_fit_read(Yloo, Y))
            for (int64_t i = 0; i < b->B * R; i++)
                memcpy(logits + (i % R * b->B + i / R) * block, Y + i * block, (size_t)block * sizeof *Y);
    }
    free(lambda);
    free(Y);
}

/* As many penalties at once as a few megabytes of systems hold. */
bool mo_leave_one_out(const mo_fitting *f, const mo_fit_batch *b, const double *values, int n_values, double *logits) {
    int64_t block = b->B * b->n_s * f->classes, width = mo_dim(f->Z, 1) + 1;
    int64_t order = b->n_s < width ? b->n_s : width, most = 1 + SYSTEM_NUMBERS / (b->B * b->n_s * order);
    set_nan(logits, n_values * block);
    for (int64_t v = 0; v < n_values; v += most) {
        leave_out(f, b, values + v, n_values - v < most ? n_values - v : most, logits + v * block);
        if (!forgive(f->ctx))
            return false;
    }
    return true;
}

/* ---- cross-validation ---- */

/* Fold of each support row of one episode; -1: fitted always. count: [classes]. */
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

/* One fold: the rows that are fitted and those held out. */
typedef struct split {
    int64_t *fitted, *fitted_label, *held;
    int64_t *at; /* where in the batch's support a held row is */
} split;

static bool reserve(mo_context *ctx, split *s, int64_t rows) {
    s->fitted = mo_host_array(ctx, 4 * rows, sizeof *s->fitted);
    s->fitted_label = s->fitted ? s->fitted + rows : NULL;
    s->held = s->fitted ? s->fitted + 2 * rows : NULL;
    s->at = s->fitted ? s->fitted + 3 * rows : NULL;
    return s->fitted;
}

/* The fold as a batch: the held rows are its queries. Episodes without repeated rows have folds of equal sizes. */
static mo_fit_batch divide(const mo_fit_batch *b, const int8_t *fold, int number, split *s) {
    int64_t fitted = 0, held = 0;
    for (int64_t i = 0; i < b->B * b->n_s; i++)
        if (fold[i] == number) {
            s->at[held] = i;
            s->held[held++] = b->support[i];
        } else {
            s->fitted_label[fitted] = b->support_label[i];
            s->fitted[fitted++] = b->support[i];
        }
    return (mo_fit_batch){b->B, fitted / b->B, held / b->B, s->fitted, s->fitted_label, s->held};
}

bool mo_cross_validate(const mo_fitting *f, const mo_fit_batch *b, int64_t k, bool repeated, const double *values,
    int n_values, double *logits) {
    int64_t rows = b->B * b->n_s, C = f->classes;
    int folds = k < MOST_FOLDS ? (int)k : MOST_FOLDS;
    split s = {0};
    assert(b->B == 1 || !repeated);
    set_nan(logits, n_values * rows * C);
    int64_t *count = mo_host_array(f->ctx, C, sizeof *count);
    int8_t *fold = mo_host_array(f->ctx, rows, sizeof *fold);
    double *buffer = mo_host_array(f->ctx, rows * C, sizeof *buffer);
    bool fine = count && fold && buffer && reserve(f->ctx, &s, rows);
    for (int64_t e = 0; fine && e < b->B; e++)
        assign_folds(
            b->support + e * b->n_s, b->support_label + e * b->n_s, b->n_s, folds, repeated, count, fold + e * b->n_s);
    for (int number = 0; fine && number < folds; number++) {
        mo_fit_batch one = divide(b, fold, number, &s);
        for (int v = 0; fine && v < n_values && one.n_q > 0; v++) {
            bool found = mo_fit_logits(f, &one, values[v], buffer);
            for (int64_t i = 0; found && i < b->B * one.n_q; i++)
                memcpy(logits + (v * rows + s.at[i]) * C, buffer + i * C, (size_t)C * sizeof *buffer);
            fine = forgive(f->ctx);
        }
    }
    free(s.fitted);
    free(buffer);
    free(fold);
    free(count);
    return fine;
}
