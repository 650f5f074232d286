/* tensor/cuda/qr.cu - A = Q R, Q with orthonormal columns, R upper with diagonal >= 0, which makes the factors unique.
 *
 * The library is column-major, so each matrix passes through a transposed copy, and signs are set on the way back. */
#include "tensor/cuda/kernels.h"
#include "tensor/cuda/matrices.h"

/* B [columns, rows] = A^T, column i of B multiplied by sign[i] unless sign is NULL. */
template <typename real>
static __global__ void transpose_kernel(int64_t rows, int64_t columns, const real *A, const real *sign, real *B) {
    for (int64_t item = first_item(); item < rows * columns; item += item_step()) {
        int64_t i = item / columns, j = item % columns;
        B[j * rows + i] = sign ? sign[i] * A[item] : A[item];
    }
}

/* Copies R from the upper triangle of `columns` and makes its diagonal nonnegative; column i of Q must be multiplied by
 * sign[i]. */
template <typename real>
static __global__ void take_kernel(int64_t m, int64_t n, const real *columns, real *sign, real *R) {
    for (int64_t item = first_item(); item < n * n; item += item_step()) {
        int64_t i = item / n, j = item % n;
        real own = columns[i * m + i] < 0 ? (real)-1 : (real)1;
        R[item] = j < i ? (real)0 : own * columns[j * m + i];
        if (i == j)
            sign[i] = own;
    }
}

template <typename real> struct panel {
    int64_t m, n;
    real *columns, *tau, *sign; /* [n, m], [n], [n] */
    int32_t *words;             /* info of geqrf and orgqr, which only reports bad arguments */
};

template <typename real> static void decompose(mo_context *ctx, const panel<real> &p, real *A, real *R) {
    seam *s = seam_of(ctx);
    seam_type type = seam_type_of<real>();
    mo_launch(transpose_kernel<real>, blocks_for(p.m * p.n), dim3(block_threads), 0, s, p.m, p.n,
        static_cast<const real *>(A), static_cast<const real *>(nullptr), p.columns);
    if (!cuda_ok(ctx, "geqrf", seam_geqrf(s, type, p.m, p.n, p.columns, p.m, p.tau, p.words)))
        return;
    mo_launch(take_kernel<real>, blocks_for(p.n * p.n), dim3(block_threads), 0, s, p.m, p.n,
        static_cast<const real *>(p.columns), p.sign, R);
    if (!cuda_ok(ctx, "orgqr", seam_orgqr(s, type, p.m, p.n, p.columns, p.m, p.tau, p.words + 1)))
        return;
    mo_launch(transpose_kernel<real>, blocks_for(p.m * p.n), dim3(block_threads), 0, s, p.n, p.m,
        static_cast<const real *>(p.columns), static_cast<const real *>(p.sign), A);
}

template <typename real> void qr_cuda(mo_context *ctx, const mo_view *A, const mo_view *R, const mo_view *info) {
    int64_t m = A->shape[A->ndim - 2], n = A->shape[A->ndim - 1], batch = matrix_count(A);
    int32_t *words = static_cast<int32_t *>(info->data);
    ctx->counters.factorizations += batch;
    if (batch > 0)
        seam_fill(seam_of(ctx), words, 0, (size_t)batch * sizeof *words);
    if (batch * n == 0)
        return;
    real *scratch =
        static_cast<real *>(cuda_scratch(ctx, (size_t)(m * n + 2 * n) * sizeof(real) + 2 * sizeof(int32_t)));
    if (!scratch)
        return;
    panel<real> p = {
        m, n, scratch, scratch + m * n, scratch + m * n + n, reinterpret_cast<int32_t *>(scratch + m * n + 2 * n)};
    find_not_finite<real>(ctx, A, words);
    for (int64_t b = 0; b < batch && mo_ok(ctx); b++)
        decompose(ctx, p, static_cast<real *>(A->data) + b * m * n, static_cast<real *>(R->data) + b * n * n);
}

template void qr_cuda<float>(mo_context *, const mo_view *, const mo_view *, const mo_view *);
template void qr_cuda<double>(mo_context *, const mo_view *, const mo_view *, const mo_view *);
