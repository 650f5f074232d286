/* tensor/cpu/fits/svm_rows.c - the Crammer-Singer machine on many rows (tensor/fits.h), without K = X X^T.
 *
 * The proximal point method on the dual (Rockafellar 1976): from a centre alpha_k, alpha_(k+1) minimises
 *     tr((Y - alpha)^T K (Y - alpha)) / (2 lambda) + <Y, alpha> + sigma / 2 |alpha - alpha_k|^2.
 * alpha_(k+1) is the projection P of alpha_k + (F - Y) / sigma onto the simplices, F = X W, and W is the minimum of a
 * smooth convex function whose gradient is lambda W - X^T (Y - P): semismooth Newton steps find it (svm_newton.c; Li,
 * Sun and Toh 2018 on the lasso). X has one more column, of ones. sigma falls from centre to centre; as soon as the
 * zeros of alpha are the solution's, the method converges faster than any geometric sequence.
 *
 * Coordinate descent over rows (Keerthi et al. 2008) takes an epoch of 0.03 s at 20,000 rows of 384, but a row's step
 * is lambda / K_ii times its violation: where alpha has to move by 1, a lambda K_ii of hundreds means hundreds of
 * epochs. */
#include "tensor/cpu/fits/svm_rows.h"
#include "tensor/cpu/fast/panels.h"
#include "tensor/cpu/fits/simplex.h"
#include "tensor/cpu/kernels.h"
#include "tensor/cpu/matrices.h"

#include <string.h>

enum { BLOCK = 256, CENTRES = 100, IDLE = 3, QUICK = 6, SLOW = 16 };

#define FIRST_SIGMA 1e-3 /* times the mean of K's diagonal, over lambda */
#define LEAST_SIGMA 5e-7

static mo_view matrix(real *data, int64_t rows, int64_t columns) {
    return (mo_view){.data = data, .ndim = 2, .shape = {rows, columns}, .stride = {columns, 1}};
}

void svm_pass(const svm_rows *s, const real *V, real *E, real *sum) {
    mo_logistic_pass g = {.free_intercept = true, .X = matrix((real *)s->X, s->n, s->d), .E = matrix(E, s->n, s->C)};
    if (V)
        g.V = matrix((real *)V, s->d + 1, s->C);
    else
        g.sum = matrix(sum, s->d + 1, s->C);
    logistic_pass_in(s->ctx, &g, s->scratch);
}

void svm_sum_residuals(const svm_rows *s, real *sum) {
    for (int64_t i = 0; i < s->n * s->C; i++)
        s->slope[i] = s->Y[i] - s->alpha[i];
    svm_pass(s, NULL, s->slope, sum);
}

/* Rows first .. stop - 1 of the projection; returns their <alpha, slope>. */
static double project_block(const svm_rows *s, real length, int64_t first, int64_t stop) {
    int64_t C = s->C;
    double sum = 0;
    for (int64_t i = first; i < stop; i++) {
        const real *F = s->F + i * C, *slope = s->slope + i * C, *Y = s->Y + i * C, *centre = s->centre + i * C;
        real x[MO_PASS_CLASSES], *alpha = s->alpha + i * C;
        for (int64_t c = 0; c < C; c++)
            x[c] = centre[c] + (F[c] + length * slope[c] - Y[c]) / s->sigma;
        real threshold = simplex_threshold(x, C, 1);
        for (int64_t c = 0; c < C; c++) {
            alpha[c] = x[c] > threshold ? x[c] - threshold : 0;
            sum += (double)alpha[c] * (double)slope[c];
        }
    }
    return sum;
}

double svm_project(const svm_rows *s, real length) {
    int64_t blocks = ceil_div(s->n, BLOCK);
    int threads = threads_for(s->ctx, s->n * s->C);
    double total = 0, *partial = (double *)s->partial;
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
    for (int64_t b = 0; b < blocks; b++)
        partial[b] = project_block(s, length, b * BLOCK, min_of(s->n, (b + 1) * BLOCK));
    for (int64_t b = 0; b < blocks; b++)
        total += partial[b];
    return total;
}

/* The weights X^T (Y - alpha) / lambda and their logits, which take the place of W and F. */
static void take_weights(svm_rows *s) {
    svm_sum_residuals(s, s->W);
    for (int64_t j = 0; j < s->N; j++)
        s->W[j] /= s->lambda;
    svm_pass(s, s->W, s->F, NULL);
}

/* The largest violation: in every row g = F - Y is largest where alpha > 0. size: the largest logit. */
static double violation(const svm_rows *s, double *size) {
    int64_t C = s->C;
    double worst = 0;
    *size = 1;
    for (int64_t i = 0; i < s->n; i++) {
        double top = -INFINITY, low = INFINITY;
        for (int64_t c = i * C; c < (i + 1) * C; c++) {
            double F = (double)s->F[c], g = F - (double)s->Y[c];
            if (!isfinite(g)) /* comparisons and fmax would ignore a NaN */
                return INFINITY;
            top = fmax(top, g);
            low = s->alpha[c] > 0 ? fmin(low, g) : low;
            *size = fmax(*size, fabs(F));
        }
        worst = fmax(worst, top - low);
    }
    return worst;
}

double svm_rows_fit(svm_rows *s) {
    double least = INFINITY, size;
    s->factored = false;
    s->may_factor = s->N <= SVM_MOST_FACTORED;
    s->norm = sqrt(dot(s->X, s->X, s->n * s->d) + (double)s->n);
    double scale = s->norm * s->norm / (double)s->n / (double)s->lambda;
    if (!isfinite(scale) || !all_finite(s->Y, s->n * s->C))
        return INFINITY;
    s->sigma = (real)(FIRST_SIGMA * scale);
    memset(s->W, 0, (size_t)s->N * sizeof(real));
    memset(s->F, 0, (size_t)(s->n * s->C) * sizeof(real));
    memcpy(s->centre, s->Y, (size_t)(s->n * s->C) * sizeof(real));
    for (int centre = 0, idle = 0; centre < CENTRES; centre++) {
        int steps = svm_newton(s, centre > 0);
        memcpy(s->centre, s->alpha, (size_t)(s->n * s->C) * sizeof(real));
        take_weights(s);
        double left = violation(s, &size);
        if (!isfinite(left))
            return left;
        if (left <= 64 * EPSILON * size || (idle > IDLE && least <= sqrt(EPSILON) * size))
            return -1;
        idle = left < least / 2 ? 0 : idle + 1;
        least = fmin(least, left);
        s->sigma = (real)fmax((double)s->sigma * (steps < QUICK ? 0.1 : steps < SLOW ? 0.3 : 0.5), LEAST_SIGMA * scale);
    }
    return least;
}

int64_t svm_rows_layout(svm_rows *s, real *scratch) {
    int64_t n = s->n, d = s->d, C = s->C, N = s->N = (d + 1) * C, rows = n * C, at = 0;
    s->most_faces = min_of(n, max_of(ceil_div(n, 4), N)); /* a solution has at most about N */
    const mo_logistic_pass pass = {
        .X = matrix(&(real){0}, n, d), .V = matrix(&(real){0}, d + 1, C), .sum = matrix(&(real){0}, d + 1, C)};
    real **arrays[] = {&s->W, &s->G, &s->step, &s->direction, &s->image, &s->F, &s->slope, &s->centre, &s->alpha,
        &s->face_X, &s->share, &s->count, &s->H, &s->packed, &s->z, &s->partial, &s->scratch};
    const int64_t length[] = {N, N, N, N, N, rows, rows, rows, rows, s->most_faces * d, rows, n,
        N <= SVM_MOST_FACTORED ? N * N : 0, max_of(N, min_of(SVM_PACKERS, s->ctx->threads) * SVM_BLOCK * (d + 1)), N,
        2 * ceil_div(n, BLOCK), logistic_pass_scratch(&pass)};
    for (size_t i = 0; i < sizeof length / sizeof *length; i++) {
        *arrays[i] = scratch ? scratch + at : NULL;
        at += panels_row(length[i]);
    }
    return at;
}

void REAL(svm_rows_cpu)(mo_context *ctx, const mo_svm_rows *g) {
    svm_rows s = {.ctx = ctx, .n = g->X.shape[0], .d = g->X.shape[1], .C = g->Y.shape[1]};
    real *scratch = cpu_workspace(ctx, (size_t)svm_rows_layout(&s, NULL) * sizeof(real));
    if (!scratch)
        return;
    svm_rows_layout(&s, scratch);
    s.X = g->X.data;
    s.Y = g->Y.data;
    s.lambda = *(const real *)g->lambda.data;
    *(real *)g->violation.data = (real)svm_rows_fit(&s);
    memcpy(g->W.data, s.W, (size_t)s.N * sizeof(real));
    memcpy(g->alpha.data, s.alpha, (size_t)(s.n * s.C) * sizeof(real));
}
