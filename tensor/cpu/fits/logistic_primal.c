/* tensor/cpu/fits/logistic_primal.c - the fits of logistic_folds.c by weights.
 *
 * With an intercept, X has one more column of ones. D is 1 for each penalised column, else 0. A fit minimises
 *     sum_i m_i (T_i lse(F_i) - <Y_i, F_i>) + lambda / 2 <W, D W>,   F = X W,   gradient G = X^T R + lambda D W,
 * R the residuals m (T P - Y). The fits share the three products of a step: with the inverse of
 * A = X^T diag(w) X + lambda D, from weights to logits and from residuals to weights. As the penalty is strongly
 * convex, |G| is at least lambda times the distance of the weights from the solution (except for the intercept). A
 * fit also ends at the level of rounding of the sum X^T R.
 *
 * If a class has fewer rows than are drawn, rows repeat: equal rows of a fold become one row with the sum of their
 * labels, which gives the same objective. */
#include "tensor/cpu/fits/logistic_primal.h"
#include "tensor/cpu/fits/inverse.h"
#include "tensor/cpu/matrices.h"

#include <math.h>
#include <string.h>

enum { BLOCK = 256 }; /* rows scaled at once */

/* Sets the number of rows. */
static void set_rows(logistic_primal *p, int64_t n) {
    p->s.n = p->down.columns = p->out.depth = n;
    p->s.row = panels_row(n);
}

/* Lists the distinct rows of X with a column of ones, and packs their panels. */
static bool primal_prepare(logistic_primal *p, const mo_folds_call *g, const real *X) {
    int64_t d = p->s.d, m = p->m, n = 0;
    if (!isfinite(p->s.lambda) || !all_finite(X, p->s.given * d))
        return false;
    for (int f = 0; f < g->folds; f++)
        p->stop[f] = n = distinct_number(&p->rows, X, d, f ? g->stop[f - 1] : 0, g->stop[f], n);
    n = distinct_number(&p->rows, X, d, g->stop[g->folds - 1], p->s.given, n);
    set_rows(p, n);
    for (int64_t i = 0; i < n; i++) {
        memcpy(p->X + i * m, X + p->rows.first[i] * d, (size_t)d * sizeof(real));
        if (m > d)
            p->X[i * m + d] = 1;
    }
    p->size = sqrt(dot(p->X, p->X, n * m));
    panels_pack(&p->out, p->X, m, 1);
    panels_pack(&p->down, p->X, 1, m);
    return true;
}

/* Computes A^-1 from the curvatures, and packs its panels. */
static bool primal_invert(logistic_primal *p) {
    int64_t n = p->s.n, m = p->m;
    real *A = p->A;
    for (int64_t first = 0; first < n; first += BLOCK) {
        int64_t rows = min_of(BLOCK, n - first);
        for (int64_t i = 0; i < rows; i++) {
            real root = (real)sqrt((double)p->s.curvature[first + i]);
            for (int64_t j = 0; j < m; j++)
                p->scaled[i * m + j] = root * p->X[(first + i) * m + j];
        }
        blas_syrk(CblasRowMajor, CblasLower, CblasTrans, (blasint)m, (blasint)rows, 1, p->scaled, (blasint)m, first > 0,
            A, (blasint)m);
    }
    for (int64_t j = 0; j < p->s.d; j++)
        A[j * m + j] += p->s.lambda;
    if (!inverse_spd(A, m, m, p->inverse.numbers))
        return false;
    panels_pack_symmetric(&p->inverse, A);
    return true;
}

/* The gradients of these fits, and whether they go on. */
static void primal_gradients(const logistic_primal *p, logistic_fit *const *f, int count) {
    int64_t N = p->s.width * p->s.C, rows = p->s.row * p->s.C;
    for (int k = 0; k < count; k++)
        logistic_loss_gradient(&p->s, f[k], p->residuals + rows * k);
    panels_product(&p->out, p->residuals, count * p->s.C, p->weights);
    for (int k = 0; k < count; k++) {
        const real *R = p->residuals + rows * k;
        logistic_gradient(&p->s, f[k], p->weights + N * k, EPSILON * p->size * sqrt(dot(R, R, rows)));
    }
}

/* Adding one number to all intercepts changes no probability: their sum is set to 0, so that rounding does not move
 * them.
 */
static void centre(const logistic_primal *p, real *z) {
    real mean = 0;
    for (int64_t c = 0; c < p->s.C; c++)
        mean += z[c * p->s.width + p->s.d] / (real)p->s.C;
    for (int64_t c = 0; c < p->s.C; c++)
        z[c * p->s.width + p->s.d] -= mean;
}

/* One step of conjugate gradients for each of these fits. Returns false if one has no direction. */
static bool primal_step(const logistic_primal *p, logistic_fit *const *f, int count) {
    int64_t N = p->s.width * p->s.C, rows = p->s.row * p->s.C;
    int threads = p->out.threads, arrived = 0, lost = 0;
    bool there[MO_FOLDS_AT_ONCE + 1];
    logistic_fit *at[MO_FOLDS_AT_ONCE + 1];
    for (int k = 0; k < count; k++)
        memcpy(p->weights + N * k, f[k]->r, (size_t)N * sizeof(real));
    panels_product(&p->inverse, p->weights, count * p->s.C, p->steps);
    for (int k = 0; k < count && p->m > p->s.d; k++)
        centre(p, p->steps + N * k);
    panels_product(&p->down, p->steps, count * p->s.C, p->residuals);
#pragma omp parallel for schedule(dynamic) num_threads(threads) if (threads > 1)
    for (int k = 0; k < count; k++)
        logistic_direction(&p->s, f[k], p->steps + N * k, p->residuals + rows * k, p->residuals + rows * k);
    panels_product(&p->out, p->residuals, count * p->s.C, p->weights);
#pragma omp parallel for schedule(dynamic) num_threads(threads) reduction(+ : lost) if (threads > 1)
    for (int k = 0; k < count; k++) {
        there[k] = logistic_step(&p->s, f[k], p->weights + N * k);
        lost += there[k] && !logistic_line_search(&p->s, f[k]);
    }
    for (int k = 0; k < count; k++)
        if (there[k])
            at[arrived++] = f[k];
    if (arrived)
        primal_gradients(p, at, arrived);
    return lost == 0;
}

/* Runs `count` fits from the first one on to the given tolerance. Returns false if one of them does not converge. */
static bool primal_minimise(logistic_primal *p, int first, int count, double tolerance) {
    logistic_fit *f[MO_FOLDS_AT_ONCE + 1];
    for (int k = 0; k < count; k++) {
        f[k] = &p->fits[first + k];
        f[k]->tolerance = tolerance;
    }
    primal_gradients(p, f, count);
    for (int round = 0; round < LOGISTIC_ROUNDS; round++) {
        int moving = 0;
        for (int k = 0; k < count; k++)
            if (f[k]->moves)
                f[moving++] = f[k];
        count = moving;
        if (count == 0)
            return true;
        if (!primal_step(p, f, count))
            return false;
    }
    return false;
}

bool logistic_primal_run(logistic_primal *p, const mo_folds_call *g, int64_t b) {
    int64_t C = p->s.C, m = p->m;
    real *W = (real *)g->W.data + b * entry_length(&g->W);
    logistic_fit *all = &p->fits[0];
    p->s.lambda = *entry_of(&g->lambda, b);
    if (!primal_prepare(p, g, entry_of(&g->X, b)))
        return false;
    logistic_read_labels(&p->s, entry_of(&g->Y, b));
    logistic_set_curvature(&p->s, NULL);
    if (!logistic_start(&p->s, all) || !primal_invert(p) || !primal_minimise(p, 0, 1, COARSE))
        return false;
    logistic_set_curvature(&p->s, all);
    if (!primal_invert(p) || !primal_minimise(p, 0, 1, g->tolerance))
        return false;
    for (int k = 1; k < p->count; k++)
        if (!logistic_start_fold(&p->s, &p->fits[k], all, k > 1 ? p->stop[k - 2] : 0, p->stop[k - 1]))
            return false;
    if (!primal_minimise(p, 1, g->folds, g->fold_tolerance))
        return false;
    logistic_write_held(&p->s, p->fits, g, b);
    for (int64_t j = 0; j < m; j++)
        for (int64_t c = 0; c < C; c++)
            W[j * C + c] = all->a[c * p->s.width + j];
    return true;
}

int64_t logistic_primal_layout(logistic_primal *p, const mo_folds_call *g, int threads, real *scratch) {
    int64_t n = g->X.shape[1], d = g->X.shape[2], C = g->Y.shape[2], m = d + g->free_intercept, at = 0;
    *p = (logistic_primal){.m = m, .count = g->folds + 1};
    p->s = (logistic_support){.free_intercept = g->free_intercept,
        .primal = true,
        .n = n,
        .given = n,
        .d = d,
        .C = C,
        .row = panels_row(n),
        .width = panels_row(m),
        .penalised = d};
    int64_t N = p->s.width * C, rows = p->s.row * C;
    p->inverse = (panels){NULL, m, m, threads};
    p->down = (panels){NULL, m, n, threads};
    p->out = (panels){NULL, n, m, threads};
    real **shared[] = {&p->A, &p->inverse.numbers, &p->X, &p->scaled, &p->down.numbers, &p->out.numbers, &p->s.weight,
        &p->s.curvature, &p->s.Y, &p->weights, &p->steps, &p->residuals};
    int64_t length[] = {m * m, panels_length(m, m), n * m, BLOCK * m, panels_length(m, n), panels_length(n, m),
        p->s.row, p->s.row, rows, p->count * N, p->count * N, p->count * rows};
    for (int i = 0; i < 12; i++) {
        *shared[i] = scratch ? scratch + at : NULL;
        at += panels_row(length[i]);
    }
    at += distinct_layout(&p->rows, n, scratch ? scratch + at : NULL);
    at = panels_row(at);
    p->s.of = p->rows.of;
    return at + logistic_layout(&p->s, p->fits, p->count, scratch ? scratch + at : NULL);
}
