/* tensor/cuda/lu.cu - LU with partial pivoting, and solving with it.
 *
 * To the library the row-major A is A^T, so getrf finds P A^T = L U, that is A = U^T L^T P. In the row-major buffer U^T
 * is the lower triangle, L^T the upper one with a unit diagonal, and the pivots exchange columns of A: the form of
 * cpu/lu.c. */
#include "tensor/cuda/kernels.h"
#include "tensor/cuda/matrices.h"

#include <cfloat>

static __global__ void narrow_kernel(int64_t n, const int64_t *wide, int32_t *pivot) {
    for (int64_t i = first_item(); i < n; i += item_step())
        pivot[i] = (int32_t)wide[i];
}

/* info = -2 if the pivots show that the matrix is singular to working precision: the ratio of the largest to the
 * smallest pivot is a lower bound of the condition of U (cpu/lu.c estimates the condition of A). A pivot of NaN, which
 * the library reports as 0, is -2 too. A warp for each matrix. */
template <typename real> static __global__ void pivots_kernel(int64_t batch, int64_t n, const real *LU, int32_t *info) {
    const real epsilon = sizeof(real) == 4 ? (real)FLT_EPSILON : (real)DBL_EPSILON;
    for (int64_t b = blockIdx.x; b < batch; b += gridDim.x) {
        real largest = 0, smallest = (real)INFINITY;
        for (int64_t i = lane_of(); i < n; i += 32) {
            real pivot = fabs(LU[(b * n + i) * n + i]);
            largest = pivot > largest || pivot != pivot ? pivot : largest; /* stays NaN */
            smallest = pivot < smallest ? pivot : smallest;
        }
        for (int d = 16; d > 0; d /= 2) {
            real high = __shfl_xor_sync(whole_warp, largest, d), low = __shfl_xor_sync(whole_warp, smallest, d);
            largest = high > largest || high != high ? high : largest;
            smallest = low < smallest ? low : smallest;
        }
        bool singular = info[b] == 0 && !(smallest > epsilon * largest);
        if (lane_of() == 0 && (singular || largest != largest))
            info[b] = -2;
    }
}

/* The scratch memory of a factorization. */
struct lu_work {
    void **address; /* [batch] */
    int64_t *wide;  /* [n] */
    int32_t *found; /* [batch]: the library's info */
};

static bool find_work(mo_context *ctx, int64_t batch, int64_t n, lu_work *w) {
    char *scratch = static_cast<char *>(cuda_scratch(ctx, (size_t)(batch + n) * 8 + (size_t)batch * sizeof(int32_t)));
    w->address = reinterpret_cast<void **>(scratch);
    w->wide = reinterpret_cast<int64_t *>(scratch + 8 * batch);
    w->found = reinterpret_cast<int32_t *>(scratch + 8 * (batch + n));
    return scratch;
}

template <typename real> static void factor(mo_context *ctx, const mo_view *A, int32_t *pivot, const lu_work &w) {
    int64_t n = A->shape[A->ndim - 1], batch = matrix_count(A);
    seam_type type = seam_type_of<real>();
    if (batch > 1 && n <= batched_up_to) {
        matrix_addresses(ctx, A, A, sizeof(real), w.address);
        cuda_ok(ctx, "getrf", seam_getrf_batched(seam_of(ctx), type, n, w.address, n, pivot, w.found, batch));
        return;
    }
    for (int64_t b = 0; b < batch && mo_ok(ctx); b++) {
        real *own = static_cast<real *>(A->data) + b * n * n;
        cuda_ok(ctx, "getrf", seam_getrf(seam_of(ctx), type, n, own, n, w.wide, w.found + b));
        mo_launch(narrow_kernel, blocks_for(n), dim3(block_threads), 0, seam_of(ctx), n,
            static_cast<const int64_t *>(w.wide), pivot + b * n);
    }
}

template <typename real> void getrf_cuda(mo_context *ctx, const mo_view *A, const mo_view *pivot, const mo_view *info) {
    int64_t n = A->shape[A->ndim - 1], batch = matrix_count(A);
    int32_t *words = static_cast<int32_t *>(info->data);
    real *a = static_cast<real *>(A->data);
    lu_work w;
    ctx->counters.factorizations += batch;
    if (batch > 0)
        seam_fill(seam_of(ctx), words, 0, (size_t)batch * sizeof *words);
    if (batch * n == 0 || !find_work(ctx, batch, n, &w))
        return;
    find_not_finite<real>(ctx, A, words);
    factor<real>(ctx, A, static_cast<int32_t *>(pivot->data), w);
    mo_launch(pivots_kernel<real>, blocks_for(batch, 1), dim3(32), 0, seam_of(ctx), batch, n,
        static_cast<const real *>(a), w.found);
    settle_info(ctx, w.found, words, batch);
}

/* ---- solves ---- */

/* Returns the place of row `row` after row i has changed places with row pivot[i] - 1 for rising i, or for falling i to
 * undo that. A pivot outside the rows (the matrix has no factors) exchanges nothing. All threads of the block must call
 * it together. */
__device__ static int64_t place_after(bool undo, int64_t n, const int32_t *pivot, int64_t row) {
    __shared__ int32_t some[block_threads];
    for (int64_t done = 0; done < n; done += block_threads) {
        int64_t step = done + threadIdx.x, count = n - done < block_threads ? n - done : block_threads;
        __syncthreads();
        if (threadIdx.x < count)
            some[threadIdx.x] = pivot[undo ? n - 1 - step : step] - 1;
        __syncthreads();
        for (int64_t s = 0; s < count; s++) {
            int64_t i = undo ? n - 1 - done - s : done + s, other = some[s];
            if (row == i && other >= 0 && other < n)
                row = other;
            else if (row == other)
                row = i;
        }
    }
    return row;
}

/* Y := the rows of B [n, m] in their places after the exchanges. A block finds the places of as many rows as it has
 * threads, then moves these rows. */
template <typename real>
static __global__ void exchange_kernel(
    bool undo, int64_t batch, int64_t n, int64_t m, const int32_t *const *pivots, const real *B, real *Y) {
    __shared__ int64_t place[block_threads];
    int64_t parts = (n + block_threads - 1) / block_threads;
    for (int64_t item = blockIdx.x; item < batch * parts; item += gridDim.x) {
        int64_t b = item / parts, first = item % parts * block_threads, row = first + threadIdx.x;
        int64_t rows = n - first < block_threads ? n - first : block_threads;
        int64_t found = place_after(undo, n, pivots[b], row);
        __syncthreads();
        place[threadIdx.x] = found;
        __syncthreads();
        for (int64_t k = threadIdx.x; k < rows * m; k += blockDim.x)
            Y[(b * n + place[k / m]) * m + k % m] = B[(b * n + first) * m + k];
        __syncthreads();
    }
}

/* Exchanges the rows of B, by way of `copy`. */
template <typename real>
static void exchange_rows(mo_context *ctx, bool undo, const mo_view *B, const int32_t *const *pivots, real *copy) {
    int64_t n = B->shape[B->ndim - 2], m = B->shape[B->ndim - 1], batch = matrix_count(B);
    mo_launch(exchange_kernel<real>, blocks_for(batch * ceil_div(n, block_threads), 1), dim3(block_threads), 0,
        seam_of(ctx), undo, batch, n, m, pivots, static_cast<const real *>(B->data), copy);
    seam_copy(seam_of(ctx), B->data, copy, (size_t)(batch * n * m) * sizeof(real));
}

/* Writes the address of the pivots of each matrix of B; the leading axes of `pivot` may be broadcast. */
static void find_pivots(mo_context *ctx, const mo_view *pivot, const mo_view *B, void **address) {
    mo_view rows = *pivot;
    rows.ndim = B->ndim;
    rows.shape[B->ndim - 2] = 1;
    matrix_addresses(ctx, B, &rows, sizeof(int32_t), address);
}

/* A X = B by U^T Y = B, L^T Z = Y, X = P^T Z, with the exchanges from the last to the first. A^T X = B by L U X = P
 * B. */
template <typename real>
void getrs_cuda(mo_context *ctx, bool transposed, const mo_view *LU, const mo_view *pivot, const mo_view *B) {
    int64_t n = B->shape[B->ndim - 2], m = B->shape[B->ndim - 1], batch = matrix_count(B);
    if (batch * n * m == 0)
        return;
    size_t triangles = triangles_bytes<real>(B), addresses = (size_t)batch * sizeof(void *);
    char *scratch =
        static_cast<char *>(cuda_scratch(ctx, triangles + addresses + (size_t)(batch * n * m) * sizeof(real)));
    if (!scratch)
        return;
    void **address = reinterpret_cast<void **>(scratch + triangles);
    const int32_t *const *pivots = reinterpret_cast<const int32_t *const *>(address);
    real *copy = reinterpret_cast<real *>(scratch + triangles + addresses);
    find_pivots(ctx, pivot, B, address);
    if (transposed)
        exchange_rows(ctx, false, B, pivots, copy);
    solve_triangles<real>(ctx, !transposed, transposed, transposed, LU, B, scratch);
    solve_triangles<real>(ctx, transposed, transposed, !transposed, LU, B, scratch);
    if (!transposed)
        exchange_rows(ctx, true, B, pivots, copy);
}

template void getrf_cuda<float>(mo_context *, const mo_view *, const mo_view *, const mo_view *);
template void getrf_cuda<double>(mo_context *, const mo_view *, const mo_view *, const mo_view *);
template void getrs_cuda<float>(mo_context *, bool, const mo_view *, const mo_view *, const mo_view *);
template void getrs_cuda<double>(mo_context *, bool, const mo_view *, const mo_view *, const mo_view *);
