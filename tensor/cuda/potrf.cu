/* tensor/cuda/potrf.cu - A = L L^T, one by one or batched.
 *
 * The library is faster at factoring its lower triangle, which is our upper one (matrices.h): so A's lower triangle is
 * mirrored before the call, and the factor is mirrored back after it. Both kernels take tiles of 32 x 32 entries: a
 * block has a tile of the lower triangle and its mirror image, with four loads of each thread in flight. The library
 * does not report NaN and Inf: the first kernel looks for them in A, the second one on the diagonal of L. */
#include "tensor/cuda/kernels.h"
#include "tensor/cuda/matrices.h"

constexpr int64_t side = 32;                                /* rows and columns of a tile */
constexpr int together = side * side / block_threads;       /* entries of a tile for each thread */
template <typename real> using tile = real[side][side + 1]; /* in shared memory; side + 1 avoids bank conflicts */

/* A tile of the lower triangle of matrix b; its mirror image begins at (column, row). */
struct tile_place {
    int64_t b, row, column;
};

__device__ static tile_place place_of(int64_t item, int64_t n) {
    int64_t tiles = tiles_of(n, side), b = item / tiles;
    tile_index at = tile_of(item - b * tiles);
    return {b, at.i * side, at.j * side};
}

/* The row in a tile of a thread's k-th entry; its column is the lane. */
__device__ inline int64_t tile_row(int k) {
    return threadIdx.x / 32 + k * (block_threads / 32);
}

/* Loads the tile of M [n, n] that begins at (row, column). Entries outside M become 0, and with lower_only also the
 * entries above M's diagonal. Returns whether the entries that this thread loaded are finite. */
template <typename real>
__device__ static bool load_tile(
    const real *M, int64_t n, int64_t row, int64_t column, bool lower_only, tile<real> to) {
    real own[together], off = 0;
    for (int k = 0; k < together; k++) {
        int64_t i = row + tile_row(k), j = column + lane_of();
        own[k] = i < n && j < n && (j <= i || !lower_only) ? M[i * n + j] : (real)0;
    }
    for (int k = 0; k < together; k++) {
        to[tile_row(k)][lane_of()] = own[k];
        off += own[k] - own[k]; /* 0 or NaN */
    }
    return off == 0;
}

/* Mirrors the lower triangle into the upper one. flags[tile] becomes 1 if a value of the tile is not finite, else 0. */
template <typename real> static __global__ void mirror_kernel(int64_t batch, int64_t n, real *A, int32_t *flags) {
    __shared__ tile<real> lower;
    __shared__ int32_t bad[block_threads / 32];
    for (int64_t item = blockIdx.x; item < batch * tiles_of(n, side); item += gridDim.x) {
        tile_place p = place_of(item, n);
        real *own = A + p.b * n * n;
        unsigned found = __ballot_sync(whole_warp, !load_tile(own, n, p.row, p.column, true, lower));
        if (lane_of() == 0)
            bad[threadIdx.x / 32] = found != 0;
        __syncthreads();
        if (threadIdx.x == 0) {
            int32_t any = 0;
            for (unsigned w = 0; w < block_threads / 32; w++)
                any |= bad[w];
            flags[item] = any;
        }
        for (int k = 0; k < together; k++) {
            int64_t i = p.column + tile_row(k), j = p.row + lane_of();
            if (i < j && j < n)
                own[i * n + j] = lower[lane_of()][tile_row(k)];
        }
        __syncthreads();
    }
}

/* Mirrors the upper triangle, which holds L^T, into the lower one, and sets zeros above the diagonal. info[b] = -1
 * where a flag is set, or where info[b] is 0 but a pivot is not finite (an overflow). */
template <typename real>
static __global__ void finish_kernel(int64_t batch, int64_t n, const int32_t *flags, real *A, int32_t *info) {
    __shared__ tile<real> upper;
    for (int64_t item = blockIdx.x; item < batch * tiles_of(n, side); item += gridDim.x) {
        tile_place p = place_of(item, n);
        real *own = A + p.b * n * n;
        load_tile(own, n, p.column, p.row, false, upper);
        if (threadIdx.x == 0 && flags[item])
            info[p.b] = -1;
        __syncthreads();
        if (threadIdx.x < side && p.row == p.column) {
            real pivot = upper[threadIdx.x][threadIdx.x];
            if (pivot - pivot != 0)
                atomicCAS(&info[p.b], 0, -1);
        }
        for (int k = 0; k < together; k++) {
            int64_t i = p.row + tile_row(k), j = p.column + lane_of();
            if (i < n && j <= i)
                own[i * n + j] = upper[lane_of()][tile_row(k)];
            i = p.column + tile_row(k), j = p.row + lane_of();
            if (i < j && j < n)
                own[i * n + j] = 0;
        }
        __syncthreads();
    }
}

template <typename real> static void factor(mo_context *ctx, const mo_view *A, int32_t *info, void **address) {
    int64_t n = A->shape[A->ndim - 1], batch = matrix_count(A);
    seam_type type = seam_type_of<real>();
    if (batch > 1 && n <= batched_up_to) {
        matrix_addresses(ctx, A, A, sizeof(real), address);
        cuda_ok(ctx, "potrf", seam_potrf_batched(seam_of(ctx), type, true, n, address, n, info, batch));
        return;
    }
    for (int64_t b = 0; b < batch && mo_ok(ctx); b++)
        cuda_ok(ctx, "potrf",
            seam_potrf(seam_of(ctx), type, true, n, static_cast<real *>(A->data) + b * n * n, n, info + b));
}

template <typename real> void potrf_cuda(mo_context *ctx, const mo_view *A, const mo_view *info) {
    int64_t n = A->shape[A->ndim - 1], batch = matrix_count(A), tiles = batch * tiles_of(n, side);
    int32_t *words = static_cast<int32_t *>(info->data);
    real *a = static_cast<real *>(A->data);
    ctx->counters.factorizations += batch;
    if (batch > 0 && n == 0)
        seam_fill(seam_of(ctx), words, 0, (size_t)batch * sizeof *words);
    if (tiles == 0)
        return;
    size_t addresses = (size_t)batch * sizeof(void *);
    char *scratch = static_cast<char *>(cuda_scratch(ctx, addresses + (size_t)tiles * sizeof(int32_t)));
    if (!scratch)
        return;
    int32_t *flags = reinterpret_cast<int32_t *>(scratch + addresses);
    dim3 blocks = blocks_for(tiles, 1);
    mo_launch(mirror_kernel<real>, blocks, dim3(block_threads), 0, seam_of(ctx), batch, n, a, flags);
    factor<real>(ctx, A, words, reinterpret_cast<void **>(scratch));
    mo_launch(finish_kernel<real>, blocks, dim3(block_threads), 0, seam_of(ctx), batch, n,
        static_cast<const int32_t *>(flags), a, words);
}

template void potrf_cuda<float>(mo_context *, const mo_view *, const mo_view *);
template void potrf_cuda<double>(mo_context *, const mo_view *, const mo_view *);
