/* tensor/cpu/fits/svm_folds.c - the Crammer-Singer machine on a support, and on it without each of its folds
 * (tensor/fits.h): each item of the batch on one thread.
 *
 * All fits share K = X X^T of the distinct rows of each fold; the fit without a fold starts from the fit of all rows,
 * with the fold's rows taken out of the weights (svm_fit.c). It also gives the logits of these rows. */
#include "tensor/cpu/fits/distinct.h"
#include "tensor/cpu/fits/svm_fit.h"
#include "tensor/cpu/gram.h"
#include "tensor/cpu/kernels.h"
#include "tensor/cpu/matrices.h"

#include <string.h>

typedef struct support {
    int64_t d;
    distinct same;
    real *rows;                          /* [n, d + C]: rows with their labels, the distinct ones first */
    real *K, *Y, *copies, *start;        /* of distinct rows; start: alpha of all rows' fit */
    int64_t first[MO_FOLDS_AT_ONCE + 1]; /* the first distinct row of each fold, and the end of the last */
    svm_fit fit;
} support;

/* Returns the scratch size for n rows, in reals; lays the arrays out in `scratch` unless it is NULL. */
static int64_t svm_folds_layout(support *s, int64_t n, int64_t d, int64_t C, real *scratch) {
    s->d = d;
    s->fit.n = n;
    s->fit.C = C;
    int64_t at = svm_layout(&s->fit, scratch);
    real **arrays[] = {&s->rows, &s->K, &s->Y, &s->copies, &s->start, &s->fit.alpha};
    const int64_t length[] = {n * (d + C), n * n, n * C, n, n * C, n * C};
    for (int i = 0; i < 6; i++) {
        *arrays[i] = scratch ? scratch + at : NULL;
        at += panels_row(length[i]);
    }
    return panels_row(at + distinct_layout(&s->same, n, scratch ? scratch + at : NULL));
}

/* Lists the distinct rows of every fold and of the rows after the last fold, and computes their Gram matrix. */
static void merge_rows(support *s, const mo_folds_call *g, int64_t b) {
    int64_t n = g->X.shape[1], d = s->d, C = s->fit.C, width = d + C, count = 0;
    const real *X = entry_of(&g->X, b), *Y = entry_of(&g->Y, b);
    svm_fit *f = &s->fit;
    for (int64_t i = 0; i < n; i++) {
        memcpy(s->rows + i * width, X + i * d, (size_t)d * sizeof(real));
        memcpy(s->rows + i * width + d, Y + i * C, (size_t)C * sizeof(real));
        s->copies[i] = 0;
    }
    for (int k = 0; k <= g->folds; k++) {
        int64_t from = k ? g->stop[k - 1] : 0, to = k < g->folds ? g->stop[k] : n;
        s->first[k] = count;
        count = distinct_number(&s->same, s->rows, width, from, to, count);
    }
    f->n = count;
    for (int64_t i = 0; i < n; i++)
        s->copies[s->same.of[i]]++;
    for (int64_t u = 0; u < count; u++) {
        memmove(s->rows + u * width, s->rows + s->same.first[u] * width, (size_t)width * sizeof(real));
        for (int64_t c = 0; c < C; c++)
            s->Y[u * C + c] = s->copies[u] * s->rows[u * width + d + c];
    }
    blas_syrk(CblasRowMajor, CblasLower, CblasNoTrans, (blasint)count, (blasint)d, 1, s->rows, (blasint)width, 0, s->K,
        (blasint)count);
    gram_mirror(s->K, count, 0, count, 0, count);
    f->K = s->K;
    f->Y = s->Y;
    f->copies = s->copies;
    f->lambda = *entry_of(&g->lambda, b);
}

/* W = X^T (Y - alpha) / lambda */
static void take_weights(const support *s, real *W) {
    const svm_fit *f = &s->fit;
    real *A = s->start;
    for (int64_t i = 0; i < f->n * f->C; i++)
        A[i] = f->Y[i] - f->alpha[i];
    blas_gemm(CblasRowMajor, CblasTrans, CblasNoTrans, (blasint)s->d, (blasint)f->C, (blasint)f->n, 1 / f->lambda,
        s->rows, (blasint)(s->d + f->C), A, (blasint)f->C, 0, W, (blasint)f->C);
}

/* Runs the fit without fold k and writes the fold's logits to `held`; returns the fit's violation. */
static double fit_without(support *s, const mo_folds_call *g, int k, real *held) {
    svm_fit *f = &s->fit;
    int64_t C = f->C, row = panels_row(f->n);
    f->held_first = s->first[k];
    f->held_end = s->first[k + 1];
    memcpy(f->alpha, s->start, (size_t)(f->n * C) * sizeof(real));
    memcpy(f->alpha + f->held_first * C, f->Y + f->held_first * C,
        (size_t)((f->held_end - f->held_first) * C) * sizeof(real));
    double violation = svm_fit_rows(f);
    for (int64_t i = k ? g->stop[k - 1] : 0; i < g->stop[k]; i++)
        for (int64_t c = 0; c < C; c++)
            held[i * C + c] = f->F[c * row + s->same.of[i]];
    return violation;
}

/* Runs all fits of an item; returns their largest violation. */
static double svm_folds_run(support *s, const mo_folds_call *g, int64_t b) {
    svm_fit *f = &s->fit;
    merge_rows(s, g, b);
    f->held_first = f->held_end = 0;
    memcpy(f->alpha, f->Y, (size_t)(f->n * f->C) * sizeof(real));
    double worst = svm_fit_rows(f);
    take_weights(s, (real *)g->W.data + b * entry_length(&g->W));
    memcpy(s->start, f->alpha, (size_t)(f->n * f->C) * sizeof(real));
    for (int k = 0; k < g->folds && worst < 0; k++)
        worst = fit_without(s, g, k, (real *)g->held.data + b * entry_length(&g->held));
    return worst;
}

void REAL(svm_folds_cpu)(mo_context *ctx, const mo_folds_call *g) {
    int64_t batch = g->X.shape[0], n = g->X.shape[1], d = g->X.shape[2], C = g->Y.shape[2];
    support none;
    int64_t each = svm_folds_layout(&none, n, d, C, NULL);
    int threads = batch > 1 ? blas_threads(ctx) : 1;
    real *scratch = cpu_workspace(ctx, (size_t)(each * workspace_count(batch, threads)) * sizeof(real));
    if (!scratch)
        return;
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(dynamic)
    for (int64_t b = 0; b < batch; b++) {
        support s;
        svm_folds_layout(&s, n, d, C, scratch + each * workspace_of(b, batch, threads));
        ((real *)g->unsolved.data)[b] = svm_folds_run(&s, g, b) < 0 ? 0 : 1;
    }
}
