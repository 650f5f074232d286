/* tensor/cuda/potrf.cu - A = L L^T, one by one or batched. The library does not report NaN and Inf: kernels here look
 * for them before and after it. */
#include "tensor/cuda/kernels.h"
#include "tensor/cuda/matrices.h"

/* Clears the part above the diagonal, and looks for overflow in the rest. One block per matrix. */
template <typename real>
static __global__ void finish_kernel(int64_t batch, int64_t n, const int32_t *bad, real *A, int32_t *info) {
    for (int64_t b = blockIdx.x; b < batch; b += gridDim.x) {
        real *L = A + b * n * n;
        for (int64_t i = threadIdx.x; i < n * n; i += blockDim.x)
            if (i % n > i / n)
                L[i] = 0;
        if (threadIdx.x != 0)
            continue;
        if (bad[b])
            info[b] = -1;
        for (int64_t i = 0; i < n && info[b] == 0; i++)
            if (L[i * n + i] - L[i * n + i] != 0)
                info[b] = -1;
    }
}

template <typename real> static void factor(mo_context *ctx, const mo_view *A, int32_t *info, void **address) {
    int64_t n = A->shape[A->ndim - 1], batch = matrix_count(A);
    seam_type type = seam_type_of<real>();
    if (batch > 1 && n <= batched_up_to) {
        matrix_addresses(ctx, A, A, sizeof(real), address);
        cuda_ok(ctx, "potrf", seam_potrf_batched(seam_of(ctx), type, false, n, address, n, info, batch));
        return;
    }
    for (int64_t b = 0; b < batch && mo_ok(ctx); b++)
        cuda_ok(ctx, "potrf",
            seam_potrf(seam_of(ctx), type, false, n, static_cast<real *>(A->data) + b * n * n, n, info + b));
}

template <typename real> void potrf_cuda(mo_context *ctx, const mo_view *A, const mo_view *info) {
    int64_t n = A->shape[A->ndim - 1], batch = matrix_count(A);
    ctx->counters.factorizations += batch;
    if (batch == 0)
        return;
    int32_t *words = static_cast<int32_t *>(info->data);
    seam_fill(seam_of(ctx), words, 0, (size_t)batch * sizeof *words);
    if (n == 0)
        return;
    void **address = static_cast<void **>(cuda_scratch(ctx, (size_t)batch * (sizeof *address + sizeof(int32_t))));
    if (!address)
        return;
    int32_t *bad = reinterpret_cast<int32_t *>(address + batch);
    find_not_finite<real>(ctx, true, A, bad);
    factor<real>(ctx, A, words, address);
    mo_launch(finish_kernel<real>, blocks_for(batch, 1), dim3(block_threads), 0, seam_of(ctx), batch, n,
        static_cast<const int32_t *>(bad), static_cast<real *>(A->data), words);
}

template void potrf_cuda<float>(mo_context *, const mo_view *, const mo_view *);
template void potrf_cuda<double>(mo_context *, const mo_view *, const mo_view *);
