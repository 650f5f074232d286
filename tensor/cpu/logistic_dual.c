/* tensor/cpu/logistic_dual.c - the fits of logistic_folds.c by coordinates of rows.
 *
 * A vector v of coordinates has the logits F_v = K v + b. With curvatures w of the rows, the Hessian takes it to
 * w F_v + lambda v, and with A = K + diag(lambda / w) the inverse of that on r is
 *     v = A^-1 (r / w) - b A^-1 1,   F_v = (r - lambda v) / w,
 * the intercept b making the sum of v 0: one product a step, once the curvatures are known. On the way there, to
 * COARSE, K is multiplied with instead and nothing has to be inverted: v is r without its mean, F_v = K v + b with b =
 * sum r / sum w - mean K v, which with J = 1 1^T / n is the symmetric (I - J) K (I - J) r + (n / sum w) J r. */
#include "tensor/cpu/logistic_dual.h"
#include "tensor/cpu/inverse.h"
#include "tensor/cpu/matrices.h"

#include <math.h>
#include <string.h>

/* K in s->A, its lower triangle, and in panels. */
static bool multiply_rows(logistic_dual *s, const real *X) {
    int64_t n = s->s.n, d = s->s.d;
    if (!isfinite(s->s.lambda) || !all_finite(X, n * d))
        return false;
    s->X = X;
    s->inverted = false;
    blas_syrk(CblasRowMajor, CblasLower, CblasNoTrans, (blasint)n, (blasint)d, 1, X, (blasint)d, 0, s->A, (blasint)n);
    panels_pack_symmetric(&s->matrix, s->A);
    return true;
}

/* A^-1 in its place, and its product with 1. */
static bool invert(logistic_dual *s) {
    int64_t n = s->s.n;
    for (int64_t i = 0; i < n; i++)
        s->A[i * n + i] += s->s.lambda / s->s.curvature[i];
    if (!inverse_spd(s->A, n, n, s->matrix.numbers))
        return false;
    for (int64_t i = 0; i < n; i++)
        s->images[i] = 1;
    memset(s->border, 0, (size_t)s->s.row * sizeof(real));
    blas_symv(CblasRowMajor, CblasLower, (blasint)n, 1, s->A, (blasint)n, s->images, 1, 0, s->border, 1);
    panels_pack_symmetric(&s->matrix, s->A);
    s->inverted = true;
    return true;
}

static double sum_of(const real *x, int64_t n) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; i++)
        sum += (double)x[i];
    return sum;
}

/* What the product takes, to v. */
static void lead(const logistic_dual *s, const logistic_fit *f, real *v) {
    for (int64_t c = 0; c < s->s.row * s->s.C; c += s->s.row) {
        const real *r = f->r + c;
        real mean = s->s.free_intercept ? (real)(sum_of(r, s->s.n) / (double)s->s.n) : 0;
        for (int64_t i = 0; i < s->s.row; i++)
            v[c + i] = s->inverted ? r[i] / s->s.curvature[i] : i < s->s.n ? r[i] - mean : 0;
    }
}

/* The intercepts that make the sum of v 0, from products Fv. All of them together move no probability: rounding may
 * not either, so that their sum is made 0. */
static void find_intercepts(const logistic_dual *s, const logistic_fit *f, const real *Fv) {
    int64_t n = s->s.n, C = s->s.C, row = s->s.row;
    double inverse = 1 / sum_of(s->inverted ? s->border : s->s.curvature, n), mean = 0;
    for (int64_t c = 0; c < C; c++) {
        double sum = sum_of(Fv + c * row, n);
        double b = s->inverted ? sum * inverse : sum_of(f->r + c * row, n) * inverse - sum / (double)n;
        s->intercepts[c] = s->s.free_intercept ? (real)b : 0;
        mean += (double)s->intercepts[c] / (double)C;
    }
    for (int64_t c = 0; c < C; c++)
        s->intercepts[c] -= (real)mean;
}

/* v and F_v, from what the product took and gave. */
static void precondition(const logistic_dual *s, const logistic_fit *f, real *v, real *Fv) {
    const real *w = s->s.curvature, *border = s->border;
    find_intercepts(s, f, Fv);
    for (int64_t c = 0; c < s->s.C; c++, v += s->s.row, Fv += s->s.row) {
        const real *r = f->r + c * s->s.row;
        real b = s->intercepts[c];
        for (int64_t i = 0; i < s->s.row && s->inverted; i++) {
            v[i] = Fv[i] - b * border[i];
            Fv[i] = (r[i] - s->s.lambda * v[i]) / w[i];
        }
        for (int64_t i = 0; i < s->s.n && !s->inverted; i++)
            Fv[i] += b;
    }
}

static void settle(const logistic_dual *s, logistic_fit *f, double left) {
    f->left = left;
    logistic_losses(&s->s, f, f->r);
    logistic_settle(&s->s, f, f->r, 0);
}

/* All of these fits, as far as they go. False where one of them does not end. */
static bool minimise(const logistic_dual *s, logistic_fit *fits, int count) {
    int64_t N = s->s.row * s->s.C;
    for (int round = 0; round < LOGISTIC_ROUNDS; round++) {
        int moving = 0;
        for (int k = 0; k < count; k++)
            if (fits[k].moves)
                lead(s, &fits[k], s->leads + N * moving++);
        if (moving == 0)
            return true;
        panels_product(&s->matrix, s->leads, moving * s->s.C, s->images);
        for (int k = 0, at = 0; k < count; k++) {
            logistic_fit *f = &fits[k];
            real *v = s->leads + N * at, *Fv = s->images + N * at;
            if (!f->moves)
                continue;
            at++;
            precondition(s, f, v, Fv);
            logistic_turn(&s->s, f, v, Fv, Fv);
            if (!logistic_follow(&s->s, f, Fv))
                continue;
            if (!logistic_arrive(&s->s, f))
                return false;
            settle(s, f, f->left);
        }
    }
    return false;
}

/* W from the coordinates of the fit of all rows. False where its logits are not those of the fit, which steps have
 * added up: then the inverse is not exact enough. */
static bool take_weights(const logistic_dual *s, const logistic_fit *f, real *W) {
    int64_t n = s->s.n, d = s->s.d, C = s->s.C, row = s->s.row;
    real *Wt = s->leads, *F = s->images;
    double worst = 0, size = 1;
    blas_gemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (blasint)C, (blasint)d, (blasint)n, 1, f->a, (blasint)row,
        s->X, (blasint)d, 0, Wt, (blasint)d);
    blas_gemm(CblasRowMajor, CblasNoTrans, CblasTrans, (blasint)C, (blasint)n, (blasint)d, 1, Wt, (blasint)d, s->X,
        (blasint)d, 0, F, (blasint)row);
    for (int64_t c = 0; c < C; c++) {
        double b = 0;
        for (int64_t i = 0; i < n && s->s.free_intercept; i++)
            b += ((double)f->F[c * row + i] - (double)F[c * row + i]) / (double)n;
        for (int64_t i = 0; i < n; i++) {
            worst = fmax(worst, fabs((double)f->F[c * row + i] - (double)F[c * row + i] - b));
            size = fmax(size, fabs((double)f->F[c * row + i]));
        }
        for (int64_t j = 0; j < d; j++)
            W[j * C + c] = Wt[c * d + j];
        if (s->s.free_intercept)
            W[d * C + c] = (real)b;
    }
    return worst <= (sizeof(real) == sizeof(double) ? 1e-9 : 1e-3) * size;
}

int64_t logistic_dual_place(logistic_dual *s, const mo_folds_call *g, real *scratch) {
    int64_t n = g->X.shape[1], d = g->X.shape[2], C = g->Y.shape[2], row = panels_row(n), at = 0;
    *s = (logistic_dual){.count = g->folds + 1, .matrix = {NULL, n, n, 1}};
    s->s = (logistic_support){.free_intercept = g->free_intercept,
        .n = n,
        .given = n,
        .d = d,
        .C = C,
        .row = row,
        .width = row,
        .penalised = row};
    int64_t wide = max_of(s->count * row * C, C * d);
    real **shared[] = {&s->A, &s->matrix.numbers, &s->border, &s->intercepts, &s->s.weight, &s->s.curvature, &s->s.Y,
        &s->leads, &s->images};
    int64_t length[] = {n * n, panels_length(n, n), row, C, row, row, row * C, wide, wide};
    for (int i = 0; i < 9; i++) {
        *shared[i] = scratch ? scratch + at : NULL;
        at += panels_row(length[i]);
    }
    return at + logistic_place(&s->s, s->fits, s->count, scratch ? scratch + at : NULL);
}

bool logistic_dual_run(logistic_dual *s, const mo_folds_call *g, int64_t b) {
    logistic_fit *all = &s->fits[0];
    s->s.lambda = *entry_of(&g->lambda, b);
    logistic_take_labels(&s->s, entry_of(&g->Y, b));
    logistic_weigh(&s->s, NULL);
    if (!multiply_rows(s, entry_of(&g->X, b)) || !logistic_begin(&s->s, all))
        return false;
    settle(s, all, COARSE);
    if (!minimise(s, all, 1))
        return false;
    logistic_weigh(&s->s, all);
    if (!invert(s))
        return false;
    settle(s, all, g->tolerance);
    if (!minimise(s, all, 1))
        return false;
    for (int k = 1; k < s->count; k++) {
        if (!logistic_begin_fold(&s->s, &s->fits[k], all, k > 1 ? g->stop[k - 2] : 0, g->stop[k - 1]))
            return false;
        settle(s, &s->fits[k], g->fold_tolerance);
    }
    if (!minimise(s, all + 1, g->folds))
        return false;
    logistic_take_held(&s->s, s->fits, g, b);
    return take_weights(s, all, (real *)g->W.data + b * entry_length(&g->W));
}
