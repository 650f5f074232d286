/* tensor/cuda/svd.cu - thin singular value decompositions, one library call for each matrix.
 *
 * The library reads a wide matrix as its transpose, A^T = V diag(s) U^T, which has at least as many rows as columns, as
 * it wants: V takes the place of A^T, whose columns are our rows of V^T, and U^T's columns are our rows of U. A matrix
 * that is not finite is set to zero before the call. */
#include "tensor/cuda/kernels.h"
#include "tensor/cuda/matrices.h"

template <typename real>
void svd_cuda(mo_context *ctx, const mo_view *A, const mo_view *U, const mo_view *s, const mo_view *info) {
    int64_t k = A->shape[A->ndim - 2], n = A->shape[A->ndim - 1], batch = matrix_count(A);
    int32_t *words = static_cast<int32_t *>(info->data);
    ctx->counters.factorizations += batch;
    if (batch > 0)
        seam_fill(seam_of(ctx), words, 0, (size_t)batch * sizeof *words);
    int32_t *found = batch * k > 0 ? static_cast<int32_t *>(cuda_scratch(ctx, (size_t)batch * sizeof *found)) : nullptr;
    if (!found)
        return;
    clear_not_finite<real>(ctx, A, words);
    for (int64_t b = 0; b < batch && mo_ok(ctx); b++)
        cuda_ok(ctx, "gesvd",
            seam_gesvd(seam_of(ctx), seam_type_of<real>(), n, k, static_cast<real *>(A->data) + b * k * n, n,
                static_cast<real *>(s->data) + b * k, static_cast<real *>(U->data) + b * k * k, k, found + b));
    settle_info(ctx, found, words, batch);
}

template void svd_cuda<float>(mo_context *, const mo_view *, const mo_view *, const mo_view *, const mo_view *);
template void svd_cuda<double>(mo_context *, const mo_view *, const mo_view *, const mo_view *, const mo_view *);
