/* train/fit.c - heads side by side on the same episodes of labelled embeddings: accuracy, calibration, and both after
 * what the support itself can teach: the regularisation and a temperature. */
#include "tensor/clock.h"
#include "train/fit_batch.h"
#include "train/host_array.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH_NUMBERS = 1 << 21, MOST_VALUES = 13 };

/* What becomes of the queries of one head at one k. */
typedef struct tally {
    mo_calibration by_norm[MO_NORM_PARTS], scaled; /* as they are, and at the temperature */
    double *accuracy;                              /* [episodes], in percent */
    bool tempered;                                 /* every episode had held-out rows to fit a temperature to */
} tally;

typedef struct run {
    const mo_embeddings *E;
    const mo_fit_options *options;
    mo_fitting f;
    uint8_t *part;    /* [n] quarter of |z| */
    double row_scale; /* mean squared norm of a row of [Z | 1] */
    mo_status first;  /* why the first head that had no fit had none */
} run;

/* Buffers of a batch of at most B episodes, and what its episodes chose. */
typedef struct batch {
    int64_t B;
    int n_values; /* of the regularisation, that are tried; the one behind the last is the head's own, NaN */
    double values[MOST_VALUES + 1];
    double *held, *logits;                              /* [values, B, n_s, C], [B, n_q, C] */
    double *rows;                                       /* [n_s, C]: the held-out rows of one episode */
    int64_t *label;                                     /* [n_s] of them */
    int64_t *support, *support_label, *query, *episode; /* of the episodes that made one choice */
    int *choice;                                        /* [B] */
} batch;

/* ---- the regularisation of a head, and the values that are tried ---- */

/* A share: a scalar between 0 and 1, as a shrinkage is. */
static bool is_share(const mo_head_parameter *p) {
    return p->ndim == 0 && p->low >= 0 && p->low < p->high && p->high <= 1;
}

/* The parameter lambda, else the first share; -1: none. */
static int regularisation(const mo_head *head) {
    int share = -1;
    for (int i = head->n_parameters - 1; i >= 0; i--) {
        const mo_head_parameter *p = &head->parameters[i];
        if (p->ndim == 0 && !strcmp(p->name, "lambda"))
            return i;
        if (is_share(p))
            share = i;
    }
    return share;
}

/* Between 0 and 1 a fixed grid; else six decades about the scale of the rows, strong penalties last: by halves where
 * they come from one system, in closed form. */
static void choose_values(const run *r, bool tune, batch *b) {
    static const double shares[] = {0.01, 0.03, 0.1, 0.2, 0.35, 0.5, 0.7, 0.9};
    const mo_head_parameter *p = r->f.tuned >= 0 ? &r->f.head->parameters[r->f.tuned] : NULL;
    bool share = p && is_share(p);
    b->n_values = 0;
    int step = r->f.head == &mo_head_ridge || share ? 1 : 2;
    for (int i = 0; tune && p && i < (share ? 8 : 13); i += step) {
        double value = share ? p->low + shares[i] * (p->high - p->low) : r->row_scale * pow(10, 0.5 * i - 4);
        if (!(p->low < p->high) || (value >= p->low && value <= p->high))
            b->values[b->n_values++] = value;
    }
    b->values[b->n_values] = NAN;
}

/* ---- one batch ---- */

/* The temperature of one episode from its held-out rows, and their cross-entropy; NaN where there are none. */
static double temper(const int64_t *label, int64_t n_s, int64_t C, const double *held, batch *b, double *nll) {
    int64_t n = 0;
    for (int64_t i = 0; i < n_s; i++)
        if (!isnan(held[i * C])) {
            memcpy(b->rows + n * C, held + i * C, (size_t)C * sizeof *held);
            b->label[n++] = label[i];
        }
    double smoothing = (double)C / ((double)(C - 1) * (double)(n + 2)); /* targets (n + 1) / (n + 2), the rest shared */
    return n ? mo_fit_temperature(b->rows, b->label, n, C, smoothing, nll) : NAN;
}

/* Held-out rows of the episodes from `first` on decide on the value of each; of equal ones the stronger penalty. */
static bool choose(const run *r, const mo_draws *d, int64_t first, int64_t B, batch *b) {
    for (int64_t e = 0; e < B; e++)
        b->choice[e] = b->n_values;
    if (b->n_values == 0 || d->k < 2)
        return true;
    const int64_t *label = d->support_label + first * d->n_support;
    mo_fit_batch all = {B, d->n_support, 0, d->support + first * d->n_support, label, NULL};
    bool repeated = d->small_classes > 0, ridge = r->f.head == &mo_head_ridge && !repeated;
    if (!(ridge ? mo_leave_one_out(&r->f, &all, b->values, b->n_values, b->held)
                : mo_cross_validate(&r->f, &all, d->k, repeated, b->values, b->n_values, b->held, NULL)))
        return false;
    for (int64_t e = 0; e < B; e++) {
        double least = INFINITY, nll = INFINITY;
        for (int v = 0; v < b->n_values; v++) {
            const double *held = b->held + (v * B + e) * d->n_support * d->classes;
            if (!isnan(temper(label + e * d->n_support, d->n_support, d->classes, held, b, &nll)) && isfinite(nll) &&
                nll <= least) {
                least = nll;
                b->choice[e] = v;
            }
        }
    }
    return true;
}

static void count_queries(
    const run *r, const mo_draws *d, int64_t e, const double *logits, double temperature, tally *y) {
    const int64_t *label = d->query_label + e * d->n_query, *row = d->query + e * d->n_query;
    double T = isnan(temperature) ? 1 : temperature;
    int64_t right = 0;
    for (int part = 0; part < MO_NORM_PARTS; part++)
        right -= y->by_norm[part].right;
    for (int64_t i = 0; i < d->n_query; i++)
        mo_calibration_add(&y->by_norm[r->part[row[i]]], logits + i * d->classes, label + i, 1, d->classes, 1);
    for (int part = 0; part < MO_NORM_PARTS; part++)
        right += y->by_norm[part].right;
    y->accuracy[e] = 100.0 * (double)right / (double)d->n_query;
    y->tempered &= !isnan(temperature);
    mo_calibration_add(&y->scaled, logits, label, d->n_query, d->classes, T);
}

/* The episodes of a batch that chose one value, side by side. */
static mo_fit_batch gather_choice(const mo_draws *d, int64_t first, int64_t B, int choice, batch *b) {
    mo_fit_batch chosen = {0, d->n_support, d->n_query, b->support, b->support_label, b->query};
    size_t n_s = (size_t)d->n_support, n_q = (size_t)d->n_query;
    for (int64_t e = 0; e < B; e++)
        if (b->choice[e] == choice) {
            size_t at = (size_t)chosen.B, from = (size_t)(first + e);
            memcpy(b->support + at * n_s, d->support + from * n_s, n_s * sizeof *b->support);
            memcpy(b->support_label + at * n_s, d->support_label + from * n_s, n_s * sizeof *b->support_label);
            memcpy(b->query + at * n_q, d->query + from * n_q, n_q * sizeof *b->query);
            b->episode[chosen.B++] = first + e;
        }
    return chosen;
}

/* Fits them together: their temperatures by cross-validation, then their queries. */
static bool fit_choice(const run *r, const mo_draws *d, int64_t first, int64_t B, int choice, batch *b, tally *y) {
    mo_fit_batch chosen = gather_choice(d, first, B, choice, b);
    if (chosen.B == 0)
        return true;
    const double *value = &b->values[choice];
    if (!(d->k > 1 ? mo_cross_validate(&r->f, &chosen, d->k, d->small_classes > 0, value, 1, b->held, b->logits)
                   : mo_fit_logits(&r->f, &chosen, *value, b->logits)))
        return false;
    for (int64_t i = 0; i < chosen.B; i++) {
        const int64_t *label = chosen.support_label + i * d->n_support;
        const double *held = b->held + i * d->n_support * d->classes;
        double nll, temperature = d->k > 1 ? temper(label, d->n_support, d->classes, held, b, &nll) : NAN;
        count_queries(r, d, b->episode[i], b->logits + i * d->n_query * d->classes, temperature, y);
    }
    return true;
}

/* As many episodes as a few megabytes hold; one where rows repeat (held_out.c). */
static int64_t batch_size(const mo_embeddings *E, const mo_draws *d) {
    int64_t dim = mo_dim(E->Z, 1), wide = d->n_support > dim ? d->n_support : dim;
    int64_t B = BATCH_NUMBERS / (d->n_support * wide + d->n_query * dim);
    return d->small_classes || B < 1 ? 1 : B < d->episodes ? B : d->episodes;
}

static bool reserve(mo_context *ctx, const mo_draws *d, batch *b) {
    int64_t s = d->n_support, C = d->classes, B = b->B;
    b->held = mo_host_array(ctx, (b->n_values + 1) * B * s * C, sizeof *b->held);
    b->logits = mo_host_array(ctx, B * d->n_query * C, sizeof *b->logits);
    b->rows = mo_host_array(ctx, s * C, sizeof *b->rows);
    b->label = mo_host_array(ctx, s, sizeof *b->label);
    b->support = mo_host_array(ctx, B * s, sizeof *b->support);
    b->support_label = mo_host_array(ctx, B * s, sizeof *b->support_label);
    b->query = mo_host_array(ctx, B * d->n_query, sizeof *b->query);
    b->episode = mo_host_array(ctx, B, sizeof *b->episode);
    b->choice = mo_host_array(ctx, B, sizeof *b->choice);
    return mo_ok(ctx);
}

static void release(batch *b) {
    void *arrays[] = {
        b->held, b->logits, b->rows, b->label, b->support, b->support_label, b->query, b->episode, b->choice};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        free(arrays[i]);
}

/* ---- one head at one k ---- */

/* A head without a fit ends its own row and no other: the status is put aside; the first of them is kept. */
static bool set_aside(mo_context *ctx, mo_status *first, mo_status *status) {
    *status = *mo_context_status(ctx);
    if (status->code != MO_NUMERICAL)
        return false;
    if (first->code == MO_OK)
        *first = *status;
    mo_clear_error(ctx);
    return true;
}

static void fit_head(run *r, const mo_head *head, const mo_draws *d, mo_fit_visit visit, void *state) {
    mo_context *ctx = r->f.ctx;
    double start = mo_clock(CLOCK_MONOTONIC);
    batch b = {.B = batch_size(r->E, d)};
    tally y = {.tempered = true, .accuracy = mo_host_array(ctx, d->episodes, sizeof *y.accuracy)};
    r->f.head = head;
    r->f.classes = d->classes;
    r->f.tuned = regularisation(head);
    choose_values(r, r->options->tune, &b);
    bool fine = y.accuracy && reserve(ctx, d, &b);
    for (int64_t first = 0; fine && first < d->episodes; first += b.B) {
        int64_t B = d->episodes - first < b.B ? d->episodes - first : b.B;
        fine = choose(r, d, first, B, &b);
        for (int v = 0; fine && v <= b.n_values; v++)
            fine = fit_choice(r, d, first, B, v, &b, &y);
    }
    mo_status status;
    bool unfit = !fine && set_aside(ctx, &r->first, &status);
    if (fine || unfit) {
        mo_summary accuracy = unfit ? (mo_summary){NAN, NAN, NAN, 0} : mo_summarize(y.accuracy, d->episodes);
        mo_calibration plain = {0};
        for (int part = 0; fine && part < MO_NORM_PARTS; part++)
            mo_calibration_merge(&plain, &y.by_norm[part]);
        mo_fit_row row = {.head = head->name,
            .k = d->k,
            .accuracy = accuracy.mean,
            .ci95 = accuracy.ci95,
            .nll = plain.nll / (double)plain.n,
            .brier = plain.brier / (double)plain.n,
            .ece = mo_calibration_ece(&plain),
            .ece_temperature = fine && y.tempered ? mo_calibration_ece(&y.scaled) : NAN,
            .seconds = mo_clock(CLOCK_MONOTONIC) - start,
            .draws = d,
            .failure = unfit ? status.message : NULL};
        if (fine)
            memcpy(row.by_norm, y.by_norm, sizeof row.by_norm);
        visit(&row, state);
    }
    release(&b);
    free(y.accuracy);
}

static bool check(mo_context *ctx, const mo_head *const *heads, int n, const mo_fit_options *o) {
    for (int i = 0; i < n; i++)
        mo_head_check(ctx, heads[i]);
    for (int i = 0; i < o->n_shots && mo_ok(ctx); i++)
        if (o->shots[i] < 1 || o->shots[i] > 1 << 20)
            mo_fail(ctx, MO_INVALID, "fit: k is %" PRId64 ", expected 1 to %d", o->shots[i], 1 << 20);
    return mo_ok(ctx);
}

mo_code mo_fit(const mo_embeddings *E, const mo_head *const *heads, int n, const mo_fit_options *options,
    mo_fit_visit visit, void *state) {
    mo_context *ctx = mo_tensor_context(E->Z);
    if (!mo_ok(ctx) || !check(ctx, heads, n, options))
        return mo_context_status(ctx)->code;
    run r = {
        .E = E, .options = options, .f = {.ctx = ctx, .Z = E->Z, .lambda = options->lambda, .seed = options->seed}};
    r.f.t = mo_tape_create(ctx, MO_EVAL);
    r.part = mo_host_array(ctx, mo_dim(E->Z, 0), sizeof *r.part);
    if (r.f.t && r.part && mo_fit_quarters(&r.f, r.part, &r.row_scale))
        for (int shot = 0; shot < options->n_shots && mo_ok(ctx); shot++) {
            mo_draws draws;
            mo_draws_create(E, options->shots[shot], options, &draws);
            for (int h = 0; h < n && mo_ok(ctx); h++) {
                fit_head(&r, heads[h], &draws, visit, state);
                mo_tape_reset(r.f.t);
            }
            mo_draws_release(&draws);
        }
    if (r.first.code != MO_OK && mo_ok(ctx))
        mo_fail(ctx, r.first.code, "%s", r.first.message);
    mo_tape_release(r.f.t);
    free(r.part);
    return mo_context_status(ctx)->code;
}
