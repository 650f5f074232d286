/* tensor/cuda/spd.cu - X = A^-1 B for symmetric positive definite A in one kernel: factor, both triangular solves, info
 * and the search for values that are not finite, a block for each matrix, from shared memory.
 *
 * The lower triangle is packed by rows: row i begins at i (i + 1) / 2. It is factored in panels of 16 columns: one warp
 * factors the block on the diagonal, a thread solves each row below it, and tiles of 4 x 4 entries take the panel's
 * product off the rest. Then each warp takes a column of B through both triangles. The order of every sum follows from
 * the sizes alone.
 *
 * The rule: a system whose triangle fits into one block's shared memory is ours (float32: n up to 320 where a block has
 * 227 KiB), since the library's factorization and solves are 3 launches with 6 of ours around them, each of which waits
 * for the last; larger systems, and all under MOCHI_CUDA_LIBRARIES=always, are the library's. */
#include "tensor/cuda/kernels.h"
#include "tensor/cuda/matrices.h"

constexpr int panel = 16, tile = 4;
constexpr unsigned most_threads = 512;

template <typename real> struct spd_system {
    int64_t batch, n, m;
    const real *A, *B; /* A: NULL where L is given */
    real *L, *X;
    int32_t *info;
};

__host__ __device__ static inline int row_at(int i) {
    return i * (i + 1) / 2;
}

/* The block of `width` columns on the diagonal at k, by one warp. Returns the column whose pivot is not positive,
 * counted from 1; 0: none. */
template <typename real> __device__ static int factor_diagonal(real *T, int k, int width) {
    int r = lane_of(), mine = row_at(k + (r < width ? r : 0)) + k;
    for (int c = 0; c < width; c++) {
        int at = row_at(k + c) + k;
        real pivot = T[at + c];
        __syncwarp();
        if (!(pivot > 0))
            return k + c + 1;
        pivot = sqrt(pivot);
        if (r == c)
            T[at + c] = pivot;
        if (r > c && r < width)
            T[mine + c] /= pivot;
        __syncwarp();
        for (int j = c + 1; j <= r && r < width; j++)
            T[mine + j] -= T[mine + c] * T[row_at(k + j) + k + c];
        __syncwarp();
    }
    return 0;
}

/* The rows below the block at k: each is solved against it. */
template <typename real> __device__ static void solve_panel(real *T, int k, int n) {
    for (int i = k + panel + (int)threadIdx.x; i < n; i += (int)blockDim.x) {
        real x[panel], *row = T + row_at(i) + k;
        for (int c = 0; c < panel; c++) {
            const real *above = T + row_at(k + c) + k;
            x[c] = row[c];
            for (int j = 0; j < c; j++)
                x[c] -= x[j] * above[j];
            x[c] /= above[c];
        }
        for (int c = 0; c < panel; c++)
            row[c] = x[c];
    }
}

/* Takes the product of rows i .. i + 3 and j .. j + 3 of the panel at k off their entries. */
template <typename real> __device__ static void update_tile(real *T, int k, int n, int i, int j) {
    real sum[tile][tile] = {};
    int left[tile], right[tile];
    for (int t = 0; t < tile; t++) {
        left[t] = row_at(i + t < n ? i + t : n - 1) + k;
        right[t] = row_at(j + t < n ? j + t : n - 1) + k;
    }
    for (int c = 0; c < panel; c++)
        for (int a = 0; a < tile; a++)
            for (int b = 0; b < tile; b++)
                sum[a][b] += T[left[a] + c] * T[right[b] + c];
    for (int a = 0; a < tile && i + a < n; a++)
        for (int b = 0; b < tile && j + b <= i + a; b++)
            T[row_at(i + a) + j + b] -= sum[a][b];
}

template <typename real> __device__ static void update_rest(real *T, int k, int n) {
    int first = k + panel, rows = n > first ? (n - first + tile - 1) / tile : 0;
    for (int t = (int)threadIdx.x; t < rows * (rows + 1) / 2; t += (int)blockDim.x) {
        int i = (int)((sqrtf(8 * (float)t + 1) - 1) / 2); /* exact to one: t is below 2^13 */
        i += row_at(i + 1) <= t;
        i -= row_at(i) > t;
        update_tile(T, k, n, first + tile * i, first + tile * (t - row_at(i)));
    }
}

/* T becomes L. *failed: as potrf's info; it may be set already. */
template <typename real> __device__ static void factor(real *T, int n, int *failed) {
    for (int k = 0; k < n; k += panel) {
        if (threadIdx.x < 32) {
            int column = factor_diagonal(T, k, n - k < panel ? n - k : panel);
            if (threadIdx.x == 0 && column && *failed == 0)
                *failed = column;
        }
        __syncthreads();
        if (*failed)
            break;
        solve_panel(T, k, n);
        __syncthreads();
        update_rest(T, k, n);
        __syncthreads();
    }
    for (int i = (int)threadIdx.x; i < n; i += (int)blockDim.x)
        if (T[row_at(i) + i] - T[row_at(i) + i] != 0)
            atomicCAS(failed, 0, -1);
    __syncthreads();
}

/* x := L^-T L^-1 x, by one warp. */
template <typename real> __device__ static void solve_column(const real *T, int n, real *x) {
    for (int k = 0; k < n; k++) {
        __syncwarp();
        real value = x[k] / T[row_at(k) + k];
        __syncwarp();
        if (lane_of() == 0)
            x[k] = value;
        for (int i = k + 1 + lane_of(); i < n; i += 32)
            x[i] -= T[row_at(i) + k] * value;
    }
    for (int k = n - 1; k >= 0; k--) {
        __syncwarp();
        real value = x[k] / T[row_at(k) + k];
        __syncwarp();
        if (lane_of() == 0)
            x[k] = value;
        for (int i = lane_of(); i < k; i += 32)
            x[i] -= T[row_at(k) + i] * value;
    }
    __syncwarp();
}

/* Copies the lower triangle into T; a value of A that is not finite sets *failed. */
template <typename real> __device__ static void load(real *T, const spd_system<real> &s, int64_t b, int *failed) {
    const real *from = (s.A ? s.A : s.L) + b * s.n * s.n;
    for (int i = (int)threadIdx.x / 32; i < s.n; i += (int)blockDim.x / 32)
        for (int j = lane_of(); j <= i; j += 32) {
            real x = from[i * s.n + j];
            T[row_at(i) + j] = x;
            if (s.A && x - x != 0)
                atomicCAS(failed, 0, -1);
        }
}

template <typename real> __global__ void __launch_bounds__(most_threads) spd_kernel(spd_system<real> s) {
    __shared__ int failed;
    int n = (int)s.n;
    real *T = mo_shared_as<real>(), *x = T + row_at(n) + threadIdx.x / 32 * n;
    for (int64_t b = blockIdx.x; b < s.batch; b += gridDim.x) {
        if (threadIdx.x == 0)
            failed = 0;
        __syncthreads();
        load(T, s, b, &failed);
        __syncthreads();
        if (s.A) {
            factor(T, n, &failed);
            for (int64_t e = threadIdx.x; e < s.n * s.n; e += blockDim.x)
                s.L[b * s.n * s.n + e] = e % n <= e / n ? T[row_at((int)(e / n)) + (int)(e % n)] : (real)0;
            if (threadIdx.x == 0)
                s.info[b] = failed;
        }
        for (int64_t c = threadIdx.x / 32; c < s.m; c += blockDim.x / 32) {
            for (int i = lane_of(); i < n; i += 32)
                x[i] = failed ? (real)NAN : s.B[(b * s.n + i) * s.m + c];
            solve_column(T, n, x);
            for (int i = lane_of(); i < n; i += 32)
                s.X[(b * s.n + i) * s.m + c] = x[i];
            __syncwarp();
        }
        __syncthreads();
    }
}

template <typename real> bool solve_spd_cuda(mo_context *ctx, const mo_spd_system *g) {
    int64_t n = g->X.shape[g->X.ndim - 2], m = g->X.shape[g->X.ndim - 1], batch = matrix_count(&g->X);
    unsigned threads = n <= 64 ? row_threads : most_threads;
    int64_t bytes = (n * (n + 1) / 2 + threads / 32 * n) * (int64_t)sizeof(real);
    if (n == 0 || n > 1024 || bytes > (int64_t)seam_most_shared(seam_of(ctx)) || library_first(ctx, false))
        return false;
    if (!g->X.data)
        return true;
    ctx->counters.factorizations += g->A.data ? batch : 0;
    spd_system<real> s = {batch, n, m, static_cast<const real *>(g->A.data), static_cast<const real *>(g->B.data),
        static_cast<real *>(g->L.data), static_cast<real *>(g->X.data), static_cast<int32_t *>(g->info.data)};
    mo_launch(spd_kernel<real>, blocks_for(batch, 1), dim3(threads), (size_t)bytes, seam_of(ctx), s);
    return true;
}

template bool solve_spd_cuda<float>(mo_context *, const mo_spd_system *);
template bool solve_spd_cuda<double>(mo_context *, const mo_spd_system *);
