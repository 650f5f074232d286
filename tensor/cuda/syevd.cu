/* tensor/cuda/syevd.cu - eigenvalues and eigenvectors of symmetric matrices.
 *
 * Several matrices up to order batched_up_to are one library call, if the library has such a call; other matrices are
 * one call each. The library writes the vectors to its columns, which are our rows, so each matrix is transposed
 * afterwards. A matrix that is not finite is set to zero before the call. */
#include "tensor/cuda/kernels.h"
#include "tensor/cuda/matrices.h"

constexpr int64_t most_batched = 1 << 24; /* most elements in one call, whose workspace is several times as large */

template <typename real> static __global__ void transpose_kernel(int64_t batch, int64_t n, real *A) {
    for (int64_t item = first_item(); item < batch * n * n; item += item_step()) {
        int64_t row = item / n, i = row % n, j = item % n;
        if (j < i) {
            real *own = A + (row - i) * n;
            real swap = own[i * n + j];
            own[i * n + j] = own[j * n + i];
            own[j * n + i] = swap;
        }
    }
}

/* Decomposes each matrix of A; the eigenvectors are in the library's columns. */
template <typename real> static void decompose(mo_context *ctx, const mo_view *A, real *w, int32_t *info) {
    int64_t n = A->shape[A->ndim - 1], batch = matrix_count(A);
    bool together = batch > 1 && n <= batched_up_to && seam_has_syevd_batched();
    int64_t step = together ? most(2, most_batched / (n * n)) : 1;
    real *a = static_cast<real *>(A->data);
    for (int64_t b = 0; b < batch && mo_ok(ctx); b += step) {
        real *own = a + b * n * n, *values = w + b * n;
        int64_t count = least(step, batch - b);
        cuda_ok(ctx, "syevd",
            together ? seam_syevd_batched(seam_of(ctx), seam_type_of<real>(), false, n, own, n, values, info + b, count)
                     : seam_syevd(seam_of(ctx), seam_type_of<real>(), false, n, own, n, values, info + b));
    }
}

template <typename real> void syevd_cuda(mo_context *ctx, const mo_view *A, const mo_view *w, const mo_view *info) {
    int64_t n = A->shape[A->ndim - 1], batch = matrix_count(A);
    int32_t *words = static_cast<int32_t *>(info->data);
    real *a = static_cast<real *>(A->data);
    ctx->counters.factorizations += batch;
    if (batch > 0)
        seam_fill(seam_of(ctx), words, 0, (size_t)batch * sizeof *words);
    int32_t *found = batch * n > 0 ? static_cast<int32_t *>(cuda_scratch(ctx, (size_t)batch * sizeof *found)) : nullptr;
    if (!found)
        return;
    dim3 blocks = blocks_for(batch * n * n);
    clear_not_finite<real>(ctx, A, words);
    decompose<real>(ctx, A, static_cast<real *>(w->data), found);
    mo_launch(transpose_kernel<real>, blocks, dim3(block_threads), 0, seam_of(ctx), batch, n, a);
    settle_info(ctx, found, words, batch);
}

template void syevd_cuda<float>(mo_context *, const mo_view *, const mo_view *, const mo_view *);
template void syevd_cuda<double>(mo_context *, const mo_view *, const mo_view *, const mo_view *);
