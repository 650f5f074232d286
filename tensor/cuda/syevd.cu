/* tensor/cuda/syevd.cu - eigenvalues and eigenvectors of symmetric matrices, one by one.
 *
 * The library leaves the vectors in its columns, which are our rows, so each matrix is transposed afterwards. A matrix
 * that is not finite is not passed to it: the result holds zeros. */
#include "tensor/cuda/kernels.h"
#include "tensor/cuda/matrices.h"

template <typename real> static __global__ void clear_kernel(int64_t length, const int32_t *bad, real *A) {
    for (int64_t i = first_item(); i < length && *bad; i += item_step())
        A[i] = 0;
}

template <typename real> static __global__ void transpose_kernel(int64_t n, real *A) {
    for (int64_t item = first_item(); item < n * n; item += item_step()) {
        int64_t i = item / n, j = item % n;
        if (j < i) {
            real swap = A[i * n + j];
            A[i * n + j] = A[j * n + i];
            A[j * n + i] = swap;
        }
    }
}

template <typename real> void syevd_cuda(mo_context *ctx, const mo_view *A, const mo_view *w, const mo_view *info) {
    int64_t n = A->shape[A->ndim - 1], batch = matrix_count(A);
    int32_t *words = static_cast<int32_t *>(info->data);
    ctx->counters.factorizations += batch;
    if (batch > 0)
        seam_fill(seam_of(ctx), words, 0, (size_t)batch * sizeof *words);
    int32_t *bad = batch * n > 0 ? static_cast<int32_t *>(cuda_scratch(ctx, (size_t)batch * sizeof *bad)) : nullptr;
    if (!bad)
        return;
    find_not_finite<real>(ctx, false, A, bad);
    for (int64_t b = 0; b < batch && mo_ok(ctx); b++) {
        real *own = static_cast<real *>(A->data) + b * n * n;
        mo_launch(clear_kernel<real>, blocks_for(n * n), dim3(block_threads), 0, seam_of(ctx), n * n,
            static_cast<const int32_t *>(bad + b), own);
        cuda_ok(ctx, "syevd",
            seam_syevd(
                seam_of(ctx), seam_type_of<real>(), false, n, own, n, static_cast<real *>(w->data) + b * n, words + b));
        mo_launch(transpose_kernel<real>, blocks_for(n * n), dim3(block_threads), 0, seam_of(ctx), n, own);
    }
    settle_info(ctx, bad, words, words, batch);
}

template void syevd_cuda<float>(mo_context *, const mo_view *, const mo_view *, const mo_view *);
template void syevd_cuda<double>(mo_context *, const mo_view *, const mo_view *, const mo_view *);
