/* tensor/cpu/fits/svm_dual.c - the dual of the Crammer-Singer machine (tensor/fits.h), each item of the batch on one
 * thread (svm_fit.c). */
#include "tensor/cpu/fits/svm_fit.h"
#include "tensor/cpu/kernels.h"
#include "tensor/cpu/matrices.h"

#include <string.h>

void REAL(svm_dual_cpu)(mo_context *ctx, const mo_svm_dual *g) {
    int64_t batch = g->Y.shape[0], n = g->Y.shape[1], C = g->Y.shape[2], row = panels_row(n);
    svm_fit sizes = {.n = n, .C = C};
    int64_t each = svm_layout(&sizes, NULL);
    int threads = batch > 1 ? blas_threads(ctx) : 1;
    real *scratch = cpu_workspace(ctx, (size_t)(row + each * workspace_count(batch, threads)) * sizeof(real)),
         *one = scratch;
    if (!scratch)
        return;
    for (int64_t i = 0; i < n; i++)
        one[i] = 1;
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(dynamic)
    for (int64_t b = 0; b < batch; b++) {
        svm_fit f = sizes;
        svm_layout(&f, scratch + row + each * workspace_of(b, batch, threads));
        f.copies = one;
        f.K = entry_of(&g->K, b);
        f.Y = entry_of(&g->Y, b);
        f.lambda = *entry_of(&g->lambda, b);
        f.alpha = (real *)g->alpha.data + b * n * C;
        memcpy(f.alpha, C > 1 ? f.Y : one, (size_t)(n * C) * sizeof(real)); /* one class: a point, whatever Y */
        ((real *)g->violation.data)[b] = (real)svm_fit_rows(&f);
    }
}
