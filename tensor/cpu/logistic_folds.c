/* tensor/cpu/logistic_folds.c - softmax regression on a support, and on it without each of its folds, all at once
 * (tensor/backend.h): each item of the batch on one thread.
 *
 * The weights lie in the span of the rows, W = X^T a, whichever rows are fitted: a row that is held out keeps its
 * coordinate and has no loss. So all fits share K = X X^T and one preconditioner. A fit minimises
 *     sum_i m_i (T_i lse(F_i) - <Y_i, F_i>) + lambda / 2 <a, K a>,   F = K a + b,   m_i = 0 where held out, else 1,
 * by L-BFGS (logistic_fit.c) from the Hessian that a constant curvature c of all losses would give: with
 * A = c K + lambda, its inverse on a gradient g has the coordinates z = A^-1 g - (c A^-1 1) b, the intercept b making
 * their sum 0, and
 *     K z + b = (g - lambda z) / c:
 * one product with A^-1 a step, of the gradients of all fits side by side. c = 1 / 50, about P (1 - P) at a solution
 * (Cora's hop rows: quarters of the rows below 0.005, 0.016 and 0.037 for 64 rows a class); with 1 / 4, the bound of
 * Boehning (1992), twice the steps. The gradient has as coordinates g = m (T P - Y) + lambda a, its inner product with
 * a step v is <F_v, g>. Vectors are kept class by class, [C, n]: loops over rows are long. With more rows than columns
 * the coordinates are the weights themselves (logistic_primal.c).
 */
#include "tensor/cpu/kernels.h"
#include "tensor/cpu/logistic_primal.h"
#include "tensor/cpu/matrices.h"

#include <math.h>
#include <omp.h>
#include <string.h>

static const real *part(const mo_view *v, int64_t b) {
    return (const real *)v->data + (v->shape[0] == 1 ? 0 : b * entry_length(v));
}

/* A^-1, and its product with 1. */
static bool invert(logistic_support *s, bool free_intercept) {
    int64_t n = s->n;
    real *A = s->A;
    int size = (int)n, info = 0;
    if (!isfinite(s->lambda) || !all_finite(s->X, n * s->d))
        return false;
    s->c = (real)CURVATURE;
    blas_syrk(CblasRowMajor, CblasLower, CblasNoTrans, (blasint)n, (blasint)s->d, s->c, s->X, (blasint)s->d, 0, A,
        (blasint)n);
    for (int64_t i = 0; i < n; i++)
        A[i * n + i] += s->lambda;
    lapack_potrf("U", &size, A, &size, &info);
    if (info == 0)
        lapack_potri("U", &size, A, &size, &info);
    for (int64_t i = 0; i < n; i++)
        s->weight[i] = 1;
    memset(s->border, 0, (size_t)s->row * sizeof(real));
    s->border_sum = 0;
    if (free_intercept && info == 0)
        blas_symv(CblasRowMajor, CblasLower, (blasint)n, s->c, A, (blasint)n, s->weight, 1, 0, s->border, 1);
    for (int64_t i = 0; i < n; i++)
        s->border_sum += s->border[i];
    panels_pack_symmetric(&s->inverse, A);
    return info == 0;
}

/* W from the coordinates of the fit of all rows. False where its logits are not those of the fit, which steps have
 * added up: then the inverse is not exact enough. */
static bool take_weights(const logistic_support *s, const logistic_fit *f, bool free_intercept, real *W) {
    int64_t n = s->n, d = s->d, C = s->C, row = s->row;
    real *Wt = s->gradients, *F = s->images;
    double worst = 0, size = 1;
    blas_gemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (blasint)C, (blasint)d, (blasint)n, 1, f->a, (blasint)row,
        s->X, (blasint)d, 0, Wt, (blasint)d);
    blas_gemm(CblasRowMajor, CblasNoTrans, CblasTrans, (blasint)C, (blasint)n, (blasint)d, 1, Wt, (blasint)d, s->X,
        (blasint)d, 0, F, (blasint)row);
    for (int64_t c = 0; c < C; c++) {
        double b = 0;
        for (int64_t i = 0; i < n && free_intercept; i++)
            b += ((double)f->F[c * row + i] - (double)F[c * row + i]) / (double)n;
        for (int64_t i = 0; i < n; i++) {
            worst = fmax(worst, fabs((double)f->F[c * row + i] - (double)F[c * row + i] - b));
            size = fmax(size, fabs((double)f->F[c * row + i]));
        }
        for (int64_t j = 0; j < d; j++)
            W[j * C + c] = Wt[c * d + j];
        if (free_intercept)
            W[d * C + c] = (real)b;
    }
    return worst <= (sizeof(real) == sizeof(double) ? 1e-9 : 1e-3) * size;
}

/* Room for a support and its fits in `scratch` (NULL: none is given out): how much there is of it. */
static int64_t place(logistic_support *s, logistic_fit *fits, int count, real *scratch) {
    int64_t N = s->row * s->C, at = 0, wide = max_of(count * N, s->C * s->d);
    real **shared[] = {&s->A, &s->inverse.numbers, &s->border, &s->weight, &s->Y, &s->gradients, &s->images};
    int64_t length[] = {s->n * s->n, panels_length(s->n, s->n), s->row, s->row, N, wide, wide};
    s->inverse.depth = s->inverse.columns = s->n;
    s->inverse.threads = 1;
    for (int i = 0; i < 7; i++) {
        *shared[i] = scratch ? scratch + at : NULL;
        at += panels_row(length[i]);
    }
    for (int k = 0; k < count; k++) {
        logistic_fit *f = &fits[k];
        real **vectors[] = {&f->a, &f->F, &f->v, &f->Fv, &f->g, &f->next};
        for (int i = 0; i < 6; i++, at += N)
            *vectors[i] = scratch ? scratch + at : NULL;
        for (int i = 0; i < KEPT; i++, at += 3 * N) {
            f->kept[i] = scratch ? scratch + at : NULL;
            f->kept_F[i] = scratch ? scratch + at + N : NULL;
            f->change[i] = scratch ? scratch + at + 2 * N : NULL;
        }
        f->fitted = scratch ? scratch + at : NULL;
        at += s->row;
    }
    return at;
}

static bool run(const mo_logistic_folds_call *g, int64_t b, logistic_support *s, logistic_fit *fits) {
    const double rounding = sizeof(real) == sizeof(double) ? 1e-11 : 1e-5;
    s->X = part(&g->X, b);
    s->lambda = *part(&g->lambda, b);
    if (!invert(s, g->free_intercept))
        return false;
    logistic_take_labels(s, part(&g->Y, b));
    for (int k = 0; k <= g->folds; k++) {
        fits[k].left = fmax(k ? g->left_in_folds : g->left, rounding);
        if (!logistic_start(s, &fits[k], k > 1 ? g->stop[k - 2] : 0, k > 0 ? g->stop[k - 1] : 0))
            return false;
    }
    if (!logistic_minimise(s, fits, g->folds + 1))
        return false;
    logistic_take_held(s, fits, g, b);
    return take_weights(s, fits, g->free_intercept, (real *)g->W.data + b * entry_length(&g->W));
}

/* By weights, with threads inside an item where there are more of them than items. */
static void run_primal(mo_context *ctx, const mo_logistic_folds_call *g) {
    logistic_primal sizes;
    int64_t batch = g->X.shape[0], each = logistic_primal_place(&sizes, g, 1, NULL);
    int all = blas_threads(ctx), threads = (int)min_of(all, batch);
    real *scratch = cpu_workspace(ctx, (size_t)(each * threads) * sizeof(real));
    if (!scratch)
        return;
#pragma omp parallel num_threads(threads) if (threads > 1)
    {
        logistic_primal p;
        logistic_primal_place(&p, g, threads > 1 ? 1 : all, scratch + each * omp_get_thread_num());
#pragma omp for schedule(dynamic)
        for (int64_t b = 0; b < batch; b++)
            ((real *)g->open.data)[b] = logistic_primal_run(&p, g, b) ? 0 : 1;
    }
}

void REAL(logistic_folds_cpu)(mo_context *ctx, const mo_logistic_folds_call *g) {
    if (g->X.shape[1] > g->X.shape[2]) {
        run_primal(ctx, g);
        return;
    }
    logistic_fit none[MO_LOGISTIC_FOLDS + 1];
    logistic_support sizes = {.n = g->X.shape[1], .d = g->X.shape[2], .C = g->Y.shape[2]};
    sizes.row = panels_row(sizes.n);
    int64_t batch = g->X.shape[0], each = place(&sizes, none, g->folds + 1, NULL);
    int threads = (int)min_of(blas_threads(ctx), batch);
    real *scratch = cpu_workspace(ctx, (size_t)(each * threads) * sizeof(real));
    if (!scratch)
        return;
#pragma omp parallel num_threads(threads) if (threads > 1)
    {
        logistic_fit fits[MO_LOGISTIC_FOLDS + 1];
        logistic_support s = sizes;
        place(&s, fits, g->folds + 1, scratch + each * omp_get_thread_num());
#pragma omp for schedule(dynamic)
        for (int64_t b = 0; b < batch; b++)
            ((real *)g->open.data)[b] = run(g, b, &s, fits) ? 0 : 1;
    }
}
