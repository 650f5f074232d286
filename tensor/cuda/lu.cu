/* tensor/cuda/lu.cu - LU with partial pivoting, and solving with it.
 *
 * To the library the row-major A is A^T, so getrf finds P A^T = L U, that is A = U^T L^T P. In the row-major buffer U^T
 * is the lower triangle, L^T the upper one with a unit diagonal, and the pivots exchange columns of A: the form of
 * cpu/lu.c. */
#include "tensor/cuda/condition.h"
#include "tensor/cuda/kernels.h"
#include "tensor/cuda/matrices.h"

static __global__ void narrow_kernel(int64_t n, const int64_t *wide, int32_t *pivot) {
    for (int64_t i = first_item(); i < n; i += item_step())
        pivot[i] = (int32_t)wide[i];
}

/* The scratch memory of a factorization. */
template <typename real> struct lu_work {
    void **address; /* [batch] */
    int64_t *wide;  /* [n] */
    real *norm, *x; /* [batch], [batch, n] */
    int32_t *bad;   /* [batch] */
};

template <typename real> static bool find_work(mo_context *ctx, int64_t batch, int64_t n, lu_work<real> *w) {
    size_t words = (size_t)(batch + n) * 8, reals = (size_t)(batch + batch * n) * sizeof(real);
    char *scratch = static_cast<char *>(cuda_scratch(ctx, words + reals + (size_t)batch * sizeof(int32_t)));
    w->address = reinterpret_cast<void **>(scratch);
    w->wide = reinterpret_cast<int64_t *>(scratch + 8 * batch);
    w->norm = reinterpret_cast<real *>(scratch + words);
    w->x = w->norm + batch;
    w->bad = reinterpret_cast<int32_t *>(scratch + words + reals);
    return scratch;
}

template <typename real>
static void factor(mo_context *ctx, const mo_view *A, int32_t *pivot, int32_t *info, const lu_work<real> &w) {
    int64_t n = A->shape[A->ndim - 1], batch = matrix_count(A);
    seam_type type = seam_type_of<real>();
    if (batch > 1 && n <= batched_up_to) {
        matrix_addresses(ctx, A, A, sizeof(real), w.address);
        cuda_ok(ctx, "getrf", seam_getrf_batched(seam_of(ctx), type, n, w.address, n, pivot, info, batch));
        return;
    }
    for (int64_t b = 0; b < batch && mo_ok(ctx); b++) {
        real *own = static_cast<real *>(A->data) + b * n * n;
        cuda_ok(ctx, "getrf", seam_getrf(seam_of(ctx), type, n, own, n, w.wide, info + b));
        mo_launch(narrow_kernel, blocks_for(n), dim3(block_threads), 0, seam_of(ctx), n,
            static_cast<const int64_t *>(w.wide), pivot + b * n);
    }
}

template <typename real> void getrf_cuda(mo_context *ctx, const mo_view *A, const mo_view *pivot, const mo_view *info) {
    int64_t n = A->shape[A->ndim - 1], batch = matrix_count(A);
    int32_t *words = static_cast<int32_t *>(info->data);
    real *a = static_cast<real *>(A->data);
    lu_work<real> w;
    ctx->counters.factorizations += batch;
    if (batch > 0)
        seam_fill(seam_of(ctx), words, 0, (size_t)batch * sizeof *words);
    if (batch * n == 0 || !find_work(ctx, batch, n, &w))
        return;
    find_not_finite<real>(ctx, false, A, w.bad);
    mo_launch(norm_kernel<real>, blocks_for(batch, 1), dim3(row_threads), 0, seam_of(ctx), batch, n,
        static_cast<const real *>(a), w.norm);
    factor<real>(ctx, A, static_cast<int32_t *>(pivot->data), words, w);
    mo_launch(condition_kernel<real>, blocks_for(batch, 1), dim3(row_threads), 0, seam_of(ctx), batch, n,
        static_cast<const real *>(a), static_cast<const real *>(w.norm), w.x, words);
    settle_info(ctx, w.bad, words, words, batch);
}

/* ---- solves ---- */

/* Exchanges rows of B [n, m], one thread per column: in rising order, or in falling order to undo it. A pivot outside
 * the rows (the matrix has no factors) exchanges nothing. */
template <typename real>
static __global__ void exchange_kernel(
    bool undo, int64_t batch, int64_t n, int64_t m, const int32_t *const *pivots, real *B) {
    for (int64_t item = first_item(); item < batch * m; item += item_step()) {
        real *column = B + item / m * n * m + item % m;
        const int32_t *pivot = pivots[item / m];
        for (int64_t step = 0; step < n; step++) {
            int64_t i = undo ? n - 1 - step : step, other = (int64_t)pivot[i] - 1;
            if (other == i || other < 0 || other >= n)
                continue;
            real swap = column[i * m];
            column[i * m] = column[other * m];
            column[other * m] = swap;
        }
    }
}

/* Pivots as matrices [.., 1, n], whose leading axes may be broadcast. */
static void find_pivots(mo_context *ctx, const mo_view *pivot, const mo_view *B, void **address) {
    mo_view rows = *pivot;
    rows.ndim = B->ndim;
    rows.shape[B->ndim - 2] = 1;
    matrix_addresses(ctx, B, &rows, sizeof(int32_t), address);
}

/* A X = B: U^T Y = B, L^T Z = Y, X = P^T Z, the exchanges from the last to the first. A^T X = B: L U X = P B. */
template <typename real>
void getrs_cuda(mo_context *ctx, bool transposed, const mo_view *LU, const mo_view *pivot, const mo_view *B) {
    int64_t n = B->shape[B->ndim - 2], m = B->shape[B->ndim - 1], batch = matrix_count(B);
    if (batch * n * m == 0)
        return;
    void **scratch = static_cast<void **>(cuda_scratch(ctx, (size_t)(3 * batch) * sizeof *scratch));
    if (!scratch)
        return;
    const int32_t *const *pivots = reinterpret_cast<const int32_t *const *>(scratch + 2 * batch);
    real *b = static_cast<real *>(B->data);
    find_pivots(ctx, pivot, B, scratch + 2 * batch);
    if (transposed)
        mo_launch(exchange_kernel<real>, blocks_for(batch * m), dim3(block_threads), 0, seam_of(ctx), false, batch, n,
            m, pivots, b);
    solve_triangles<real>(ctx, !transposed, transposed, transposed, LU, B, scratch);
    solve_triangles<real>(ctx, transposed, transposed, !transposed, LU, B, scratch);
    if (!transposed)
        mo_launch(exchange_kernel<real>, blocks_for(batch * m), dim3(block_threads), 0, seam_of(ctx), true, batch, n, m,
            pivots, b);
}

template void getrf_cuda<float>(mo_context *, const mo_view *, const mo_view *, const mo_view *);
template void getrf_cuda<double>(mo_context *, const mo_view *, const mo_view *, const mo_view *);
template void getrs_cuda<float>(mo_context *, bool, const mo_view *, const mo_view *, const mo_view *);
template void getrs_cuda<double>(mo_context *, bool, const mo_view *, const mo_view *, const mo_view *);
