/* tensor/cuda/trsm.cu - B := op(T)^-1 B in place, batched.
 *
 * A single matrix is solved here, in two launches. Its rows are taken in the order in which op(T) is a lower triangle
 * S: from the last to the first if op(T) is an upper triangle. The first launch cuts S into tiles of 32 x 32, stores
 * each by columns, so that the lanes of a warp, a row each, load neighbouring values, and inverts the tiles on the
 * diagonal. In the second, a block has some columns of B in shared memory and takes the tile rows in order:
 *
 *     X_J = S_JJ^-1 (B_J - sum over K < J of S_JK X_K).
 *
 * A warp computes the product with each tile; its 32 loads are in flight at once, those of the next step during this
 * one. The warps' sums are added in their order, so a column of X depends on neither m nor the other columns.
 *
 * The library solves batches and large matrices. For order 513 with 64 columns an H100 took 62 us under the profiler,
 * of which 18 for the first launch, when lanes inverted row by row; the library's 18 kernels took 200, as they walk the
 * diagonal on few multiprocessors. To the library the row-major B is B^T and T is T^T: X^T = B^T op(T)^-T, a triangle
 * on the right of B^T. */
#include "tensor/cuda/kernels.h"
#include "tensor/cuda/matrices.h"

constexpr int side = 32, warps = 16, tile = side * side; /* a tile's side and entries; warps of a block */
constexpr int64_t most_rows = 1024, most_columns = 1024; /* larger systems fill the device by the library's products */

/* Columns of B in a block: two packs. */
template <typename real> constexpr int columns = 2 * pack<real>::width;

template <typename real> struct triangle {
    int64_t n, backward, transposed, unit; /* backward: rows and columns are taken from the last to the first */
    const real *T;
};

/* Returns S[row][column]: zeros above the diagonal, and rows of I from row n on. */
template <typename real> __device__ static real entry_of(const triangle<real> &t, int64_t row, int64_t column) {
    if (row >= t.n || column > row || (t.unit && row == column))
        return row == column;
    int64_t i = t.backward ? t.n - 1 - row : row, j = t.backward ? t.n - 1 - column : column;
    return t.T[t.transposed ? j * t.n + i : i * t.n + j];
}

/* Inverts the lower triangle S into W: lane j of a warp computes column j. Each entry found is taken from all rows
 * below at once, which wait for nothing else. Replaces the diagonal of S by its reciprocals. */
template <typename real> __device__ static void invert(real (&S)[side][side + 1], real (&W)[side][side + 1]) {
    int j = lane_of();
    real rest[side];
    S[j][j] = 1 / S[j][j];
    __syncwarp();
#pragma unroll
    for (int i = 0; i < side; i++)
        rest[i] = i == j;
#pragma unroll
    for (int i = 0; i < side; i++) {
        W[i][j] = rest[i] *= S[i][i];
#pragma unroll
        for (int r = i + 1; r < side; r++)
            rest[r] -= S[r][i] * rest[i];
    }
}

/* Writes each tile of S by columns, one tile per block. */
template <typename real> static __global__ void tiles_kernel(triangle<real> t, real *tiles) {
    __shared__ real S[side][side + 1], W[side][side + 1];
    tile_index at = tile_of(blockIdx.x);
    for (int e = (int)threadIdx.x; e < tile; e += (int)blockDim.x) { /* neighbouring threads load neighbouring values */
        int i = t.transposed ? e % side : e / side, j = t.transposed ? e / side : e % side;
        S[i][j] = entry_of(t, at.i * side + i, at.j * side + j);
    }
    __syncthreads();
    if (at.i == at.j && threadIdx.x < side)
        invert(S, W);
    __syncthreads();
    for (int e = (int)threadIdx.x; e < tile; e += (int)blockDim.x)
        tiles[(int64_t)blockIdx.x * tile + e] = at.i == at.j ? W[e % side][e / side] : S[e % side][e / side];
}

template <typename real> struct right_hand_sides {
    int64_t n, m, backward;
    const real *tiles;
    real *B;
};

/* Loads the lane's row of a tile. */
template <typename real> __device__ static void load_row(const real *from, real (&row)[side]) {
    for (int k = 0; k < side; k++)
        row[k] = from[k * side + lane_of()];
    __syncwarp(); /* keeps the compiler from loading a value just before its use */
}

/* sum += row X for X [side, columns]. */
template <typename real>
__device__ static void add_product(const real (&row)[side], const real *X, real (&sum)[columns<real>]) {
    for (int k = 0; k < side; k++)
        for (int p = 0; p < 2; p++) {
            pack<real> x = pack_at(true, X, 2 * k + p);
            for (int v = 0; v < pack<real>::width; v++)
                sum[p * pack<real>::width + v] += row[k] * x.value[v];
        }
}

/* Copies the block's columns of B to X [rows, columns], with zeros where B has no entry, or back. */
template <typename real>
__device__ static void copy_columns(const right_hand_sides<real> &b, int64_t rows, real *X, bool back) {
    int64_t first = (int64_t)blockIdx.x * columns<real>;
    for (int64_t e = threadIdx.x; e < rows * columns<real>; e += blockDim.x) {
        int64_t i = e / columns<real>, j = first + e % columns<real>;
        bool there = i < b.n && j < b.m;
        real *at = b.B + (b.backward ? b.n - 1 - i : i) * b.m + j;
        if (back && there)
            *at = X[e];
        if (!back)
            X[e] = there ? *at : 0;
    }
}

template <typename real>
static __global__ void __launch_bounds__(32 * warps, 1) substitute_kernel(right_hand_sides<real> b) {
    constexpr int strip = side * columns<real>, threads = 32 * warps; /* strip: entries of a tile row of X */
    int64_t rows = (b.n + side - 1) / side;
    int warp = (int)threadIdx.x / 32, lane = lane_of(), e = (int)threadIdx.x, column = e / side;
    real *X = mo_shared_as<real>(), *part = X + rows * strip, *rest = part + warps * strip, *inverse = rest + strip;
    real row[side], ahead[tile / threads];
    copy_columns(b, rows * side, X, false);
    __syncthreads();
    for (int64_t J = 0; J < rows; J++) {
        const real *own = b.tiles + tile_number<int64_t>(J, 0) * tile;
        real sum[columns<real>] = {};
        for (int k = 0; k < tile / threads; k++)
            ahead[k] = own[J * tile + k * threads + e];
        for (int64_t K = warp; K < J; K += warps) {
            if (K >= warps)
                load_row(own + K * tile, row);
            add_product(row, X + K * strip, sum);
        }
        if (J + 1 < rows && warp <= J) /* the next step's first tile arrives during the rest of this one */
            load_row(own + (J + 1 + warp) * tile, row);
        for (int c = 0; c < columns<real>; c++)
            part[warp * strip + c * side + lane] = sum[c];
        for (int k = 0; k < tile / threads; k++)
            inverse[k * threads + e] = ahead[k];
        __syncthreads();
        if (e < strip) {
            real value = X[J * strip + lane * columns<real> + column];
            for (int w = 0; w < warps; w++)
                value -= w < J ? part[w * strip + e] : 0;
            rest[e] = value;
        }
        __syncthreads();
        if (e < strip) {
            real value = 0;
            for (int k = 0; k < side; k++)
                value += inverse[k * side + lane] * rest[column * side + k];
            X[J * strip + lane * columns<real> + column] = value;
        }
        __syncthreads();
    }
    copy_columns(b, rows * side, X, true);
}

/* The shared memory of a block. */
template <typename real> static int64_t shared_bytes(int64_t n) {
    return ((ceil_div(n, side) + warps + 1) * side * columns<real> + tile) * (int64_t)sizeof(real);
}

template <typename real> size_t triangles_bytes(const mo_view *B) {
    int64_t n = B->shape[B->ndim - 2], batch = matrix_count(B);
    return batch == 1 ? (size_t)(tiles_of(n, side) * tile) * sizeof(real) : (size_t)(2 * batch) * sizeof(void *);
}

template <typename real>
void solve_triangles(
    mo_context *ctx, bool lower, bool transposed, bool unit, const mo_view *T, const mo_view *B, void *scratch) {
    int64_t n = B->shape[B->ndim - 2], m = B->shape[B->ndim - 1], batch = matrix_count(B);
    bool room = shared_bytes<real>(n) <= (int64_t)seam_most_shared(seam_of(ctx));
    if (batch == 1 && room && !library_first(ctx, n > most_rows || m > most_columns)) {
        triangle<real> t = {n, lower == transposed, transposed, unit, static_cast<const real *>(T->data)};
        right_hand_sides<real> b = {n, m, t.backward, static_cast<real *>(scratch), static_cast<real *>(B->data)};
        mo_launch(tiles_kernel<real>, dim3((unsigned)tiles_of(n, side)), dim3(block_threads), 0, seam_of(ctx), t,
            static_cast<real *>(scratch));
        mo_launch(substitute_kernel<real>, dim3((unsigned)ceil_div(m, columns<real>)), dim3(32 * warps),
            (size_t)shared_bytes<real>(n), seam_of(ctx), b);
        return;
    }
    seam_triangle t = {seam_type_of<real>(), false, !lower, transposed, unit, m, n, n, m};
    if (batch == 1) {
        cuda_ok(ctx, "triangular solve", seam_trsm(seam_of(ctx), &t, T->data, B->data));
        return;
    }
    void **address = static_cast<void **>(scratch);
    matrix_addresses(ctx, B, T, sizeof(real), address);
    matrix_addresses(ctx, B, B, sizeof(real), address + batch);
    cuda_ok(ctx, "triangular solve", seam_trsm_batched(seam_of(ctx), &t, address, address + batch, batch));
}

template <typename real> void trsm_cuda(mo_context *ctx, mo_triangle triangle, const mo_view *T, const mo_view *B) {
    if (matrix_count(B) * B->shape[B->ndim - 2] * B->shape[B->ndim - 1] == 0)
        return;
    void *scratch = cuda_scratch(ctx, triangles_bytes<real>(B));
    if (scratch)
        solve_triangles<real>(
            ctx, mo_triangle_is_lower(triangle), mo_triangle_is_transposed(triangle), false, T, B, scratch);
}

template size_t triangles_bytes<float>(const mo_view *);
template size_t triangles_bytes<double>(const mo_view *);
template void solve_triangles<float>(mo_context *, bool, bool, bool, const mo_view *, const mo_view *, void *);
template void solve_triangles<double>(mo_context *, bool, bool, bool, const mo_view *, const mo_view *, void *);
template void trsm_cuda<float>(mo_context *, mo_triangle, const mo_view *, const mo_view *);
template void trsm_cuda<double>(mo_context *, mo_triangle, const mo_view *, const mo_view *);
