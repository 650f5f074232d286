/* tensor/cuda/spd.cu - X = A^-1 B for symmetric positive definite A in one kernel: factor, both triangular solves, info
 * and the search for values that are not finite. A block computes a matrix, in shared memory.
 *
 * Tiles of 16 x 16 entries: tile (i, j) of the lower triangle is number i (i + 1) / 2 + j, and the last tile row,
 * number `bottom`, holds up to 16 columns of B as rows, B^T. Factoring [A; B^T] gives [L; (L^-1 B)^T], so the first
 * solve is part of it. A step takes 32 columns; those of step J are tile columns 2 J and 2 J + 1:
 *
 * - one warp factors the 32 x 32 block on the diagonal, whose rows its lanes keep in registers, and replaces it by its
 *   inverse;
 * - the panel below that block is multiplied by the transpose of that inverse;
 * - the panel times its own transpose is subtracted from the rest, 32 x 64 entries per warp.
 *
 * The first warp updates and factors the next diagonal block while the others update the rest, so that few steps wait
 * for the chain of 32 pivots. X^T := (L^-1 B)^T L^-1 goes back over the steps, by the same inverses.
 *
 * In a product, a lane computes 4 neighbouring columns of 8 (or 4) rows, and loads packs of 16 bytes; packs are
 * swizzled so that the 8 lanes that load at once meet different banks. The order of every sum follows from the sizes
 * alone.
 *
 * The rule: a float32 system whose tiles fit into one block's shared memory is computed here (n up to 304 where a block
 * has 227 KiB). The library computes larger systems, those of float64, and all systems under
 * MOCHI_CUDA_LIBRARIES=always. It does so by potrf and two trsm, with 6 kernels of ours around them; each of these
 * calls waits for the one before it. */
#include "tensor/cuda/kernels.h"
#include "tensor/cuda/matrices.h"

constexpr int side = 16, step = 32, columns = 4; /* side of a tile; columns of a step, of a lane */
constexpr unsigned most_threads = 256;           /* so that a thread can have 255 registers */

using four = pack<float>;
constexpr int width = four::width, row_packs = side / width; /* entries of a pack; packs in a tile's row */

struct spd_system {
    int64_t batch, n, m;
    const float *A, *B; /* A NULL: L is given */
    float *L, *X;
    int32_t *info;
};

__host__ __device__ static inline int tile_number(int i, int j) {
    return i * (i + 1) / 2 + j;
}

/* Returns pack p of row 4 * quad + rest of tile (i, j). Packs with equal p in rows that are 4 apart lie in different
 * banks, and so do those of neighbouring tiles. The row is given by the two numbers `quad` and `rest`, because one of
 * them is often constant, and its part of the address is then computed at compile time. */
__device__ static inline four *pack_of(float *T, int i, int j, int quad, int rest, int p) {
    int odd = (i + j) & 1;
    return reinterpret_cast<four *>(T) + tile_number(i, j) * side * row_packs + (rest ^ odd) * row_packs + quad * side +
           (p ^ quad);
}

/* Returns the entry in row r and column c of the whole matrix of tiles. */
__device__ static inline float *entry_of(float *T, int r, int c) {
    return &pack_of(T, r / side, c / side, r % side / 4, r % 4, c % side / width)->value[c % width];
}

/* ---- products of strips of tiles, one strip per warp. A strip has 4 * rows rows and 32 columns. Lanes are 4 x 8: a
 * lane has the rows lane / 8 + 4 k for k < rows, and 4 columns. ---- */

template <int rows> struct lane_part { float value[rows][columns]; };

/* Returns the tile row of a lane's k-th row. */
__device__ static inline int tile_of_row(int i, int k, int bottom) {
    return min(i + k / 4, bottom); /* at the edge, rows that do not exist repeat the last tile row */
}

/* sum[p] += A B_p for each p < parts, summed over the tiles k + first .. k + end - 1. A is the strip that begins with
 * tile row i. B_p is the transpose of the tile rows j + 2 p and j + 2 p + 1 (transposed), or the tile columns with
 * these numbers. */
template <int rows, bool transposed, int parts>
__device__ static void add_product(
    float *T, int bottom, int i, int j, int k, int first, int end, lane_part<rows> (&sum)[parts]) {
    int other = lane_of() % 8 / 4, quad = lane_of() % 4;
#pragma unroll 1
    for (int t = k + first; t < k + end; t++)
#pragma unroll 2 /* 4 would make registers spill on some devices */
        for (int p = 0; p < row_packs; p++) {
            four a[rows];
            for (int r = 0; r < rows; r++)
                a[r] = *pack_of(T, tile_of_row(i, r, bottom), t, r % 4, lane_of() / 8, p);
            for (int part = 0; part < parts; part++)
                for (int x = 0; x < columns; x++) {
                    int tile = j + 2 * part + other;
                    if (transposed) { /* x is a column of the sum */
                        four b = *pack_of(T, tile, t, quad, x, p);
                        for (int r = 0; r < rows; r++)
                            for (int v = 0; v < width; v++)
                                sum[part].value[r][x] += a[r].value[v] * b.value[v];
                    } else { /* x is a row of the tile that is multiplied */
                        four b = *pack_of(T, t, tile, p, x, quad);
                        for (int r = 0; r < rows; r++)
                            for (int w = 0; w < columns; w++)
                                sum[part].value[r][w] += a[r].value[x] * b.value[w];
                    }
                }
        }
}

/* Sets the tiles (i.., j) and (i.., j + 1) to sum, or subtracts sum from them if `off`. Skips tiles that do not
 * exist. */
template <int rows, bool off>
__device__ static void store_part(float *T, int bottom, int i, int j, const lane_part<rows> &sum) {
    int tile = j + lane_of() % 8 / 4, quad = lane_of() % 4;
    for (int r = 0; r < rows; r++) {
        int row = i + r / 4;
        if (row > bottom || tile > row || tile >= bottom)
            continue;
        four *to = pack_of(T, row, tile, r % 4, lane_of() / 8, quad), old = *to;
        for (int v = 0; v < columns; v++)
            old.value[v] = off ? old.value[v] - sum.value[r][v] : sum.value[r][v];
        *to = old;
    }
}

/* Returns the number of tile columns in step J. */
__device__ static inline int tiles_in(int J, int bottom) {
    return min(2, bottom - 2 * J);
}

/* Multiplies `rows` / 4 tile rows of step J, from tile row i on, by the inverse of the step's diagonal block,
 * transposed or not. The inverse is a lower triangle: its tile above the diagonal is not stored, and the sum leaves it
 * out. */
template <int rows, bool transposed> __device__ static void multiply_panel(float *T, int bottom, int i, int J) {
    lane_part<rows> sum[1] = {};
    int other = lane_of() % 8 / 4, tiles = tiles_in(J, bottom);
    int first = transposed ? 0 : other, end = transposed ? min(other + 1, tiles) : tiles;
    add_product<rows, transposed, 1>(T, bottom, i, 2 * J, 2 * J, first, end, sum);
    __syncwarp();
    store_part<rows, false>(T, bottom, i, 2 * J, sum[0]);
    __syncwarp();
}

/* In the strip that begins with tile row i: subtracts from its part in each step k = K .. K + parts - 1 its part in
 * step J times T_kJ^T (transposed) or T_Jk. T_rs is the block in the rows of step r and the columns of step s. */
template <int rows, bool transposed, int parts>
__device__ static void update(float *T, int bottom, int i, int J, int K) {
    lane_part<rows> sum[parts] = {};
    add_product<rows, transposed, parts>(T, bottom, i, 2 * K, 2 * J, 0, tiles_in(J, bottom), sum);
    for (int part = 0; part < parts; part++)
        store_part<rows, true>(T, bottom, i, 2 * (K + part), sum[part]);
    __syncwarp();
}

/* ---- the diagonal, by one warp ---- */

/* Factors the diagonal block of step J, of `size` rows. Returns 0, or the matrix's column, counted from 1, whose pivot
 * is not positive or is NaN, or -1 if a pivot is infinite. Each lane has a row; the entries of column c in other rows
 * come by shuffles that do not wait for its pivot, so that from a pivot to the next there are one shuffle, one root,
 * two products and a multiply-add. Entries right of the diagonal are undefined. */
__device__ static int factor_block(float *T, int J, int size) {
    int row = lane_of(), failed = 0;
    float a[step];
    for (int p = 0; p < step / width; p++) {
        four own = {};
        if (row < size && p * width <= row)
            own = *pack_of(T, 2 * J + row / side, 2 * J + p / row_packs, row % side / 4, row % 4, p % row_packs);
        for (int v = 0; v < width; v++)
            a[p * width + v] = own.value[v];
    }
#pragma unroll
    for (int c = 0; c < step; c++) {
        if (c == side && size == side)
            break;
        float own = a[c], pivot = __shfl_sync(whole_warp, own, c), root = rsqrt(pivot), scaled = own * (root * root);
        if (failed == 0)
            failed = !(pivot > 0) ? J * step + c + 1 : pivot - pivot != 0 ? -1 : 0;
        a[c] = own * root;
        for (int j = c + 1; j < step; j++)
            a[j] -= scaled * __shfl_sync(whole_warp, own, j);
    }
    for (int c = 0; c < step; c++)
        if (c <= row && row < size)
            *entry_of(T, J * step + row, J * step + c) = a[c];
    __syncwarp();
    return failed;
}

/* Replaces L's diagonal block of step J by its inverse. Each lane has a column: x_i = (e_i - sum_k<i L_ik x_k) / L_ii,
 * four k at a time, so that the sums of different rows do not wait for each other. */
__device__ static void invert_block(float *T, int J, int size) {
    int column = lane_of(), at = J * step;
    float x[step], reciprocal = column < size ? 1 / *entry_of(T, at + column, at + column) : (float)0;
    for (int i = 0; i < step; i++)
        x[i] = i == column;
#pragma unroll
    for (int p = 0; p < step / width; p++) {
        if (p * width == side && size == side)
            break;
#pragma unroll
        for (int i = p * width; i < step; i++) {
            if (i == side && size == side)
                break;
            if (i == p * width)
                __syncwarp(); /* keeps loads near their use, to save registers */
            four l = *pack_of(T, 2 * J + i / side, 2 * J + p / row_packs, i % side / 4, i % 4, p % row_packs);
            for (int v = 0; v < width && p * width + v < i; v++)
                x[i] -= l.value[v] * x[p * width + v];
            if (i < (p + 1) * width)
                x[i] *= __shfl_sync(whole_warp, reciprocal, i);
        }
    }
    __syncwarp();
    for (int i = 0; i < step; i++)
        if (i < size && column / side <= i / side)
            *entry_of(T, at + i, at + column) = x[i];
    __syncwarp();
}

/* Factors the diagonal block of step J, writes it to L, which has n columns, and inverts it. Sets *failed if the block
 * has no factor and *failed is 0. */
__device__ static void finish_diagonal(float *T, int bottom, int J, int n, float *L, int *failed) {
    int size = tiles_in(J, bottom) * side, at = J * step, column = at + lane_of();
    int found = factor_block(T, J, size);
    if (lane_of() == 0 && found && *failed == 0)
        *failed = found;
    for (int i = at; i < at + size && i < n; i++)
        if (column < n)
            L[(int64_t)i * n + column] = column <= i ? *entry_of(T, i, column) : (float)0;
    invert_block(T, J, size);
}

/* ---- the whole matrix ---- */

/* Subtracts the products of step J from all later steps. The first warp updates the next diagonal block, which it then
 * factors; the other warps share the rest. */
__device__ static void update_rest(float *T, int bottom, int J) {
    constexpr int most_parts = 2; /* number of sums for which there are registers */
    int warp = (int)threadIdx.x / 32, others = (int)blockDim.x / 32 - 1, item = 0;
    for (int I = J + 1; 2 * I <= bottom; I++)
        for (int K = J + 1, parts = 1; K <= I && 2 * K < bottom; K += parts, item++) {
            parts = K < I && 2 * (K + 1) < bottom ? most_parts : 1;
            if (warp != (item ? 1 + (item - 1) % others : 0))
                continue;
            if (parts == most_parts)
                update<8, true, most_parts>(T, bottom, 2 * I, J, K);
            else
                update<8, true, 1>(T, bottom, 2 * I, J, K);
        }
}

/* Replaces [A; B^T] in T by [L; (L^-1 B)^T], with inverses on the diagonal. */
__device__ static void factor(float *T, int bottom, int n, float *L, int *failed) {
    int warp = (int)threadIdx.x / 32, warps = (int)blockDim.x / 32;
    for (int J = 0; 2 * J < bottom; J++) {
        if (J)
            update_rest(T, bottom, J - 1);
        if (warp == 0)
            finish_diagonal(T, bottom, J, n, L, failed);
        __syncthreads();
        if (*failed)
            return;
        int below = 2 * J + tiles_in(J, bottom);
        for (int i = below + 2 * warp; i <= bottom; i += 2 * warps)
            multiply_panel<8, true>(T, bottom, i, J);
        __syncthreads();
    }
}

/* Replaces B^T in T by (L^-1 B)^T (transposed) or B^T L^-1. The first warp is one step ahead of the updates by the
 * others. */
template <bool transposed> __device__ static void substitute(float *T, int bottom) {
    int warp = (int)threadIdx.x / 32, others = (int)blockDim.x / 32 - 1, steps = (bottom + 1) / 2;
    for (int s = 0; s < steps; s++) {
        int J = transposed ? s : steps - 1 - s, before = transposed ? J - 1 : J + 1;
        for (int k = warp; s && k < steps - s; k += k ? others : steps)
            update<4, transposed, 1>(T, bottom, bottom, before, transposed ? J + k : J - k);
        if (warp == 0)
            multiply_panel<4, transposed>(T, bottom, bottom, J);
        __syncthreads();
    }
}

constexpr int together = 8; /* number of loads that a thread has in flight */

/* Loads the lower triangle of A (or L) into T, and ones for the rest of the diagonal. Sets *failed if a value of A is
 * not finite. */
__device__ static void load(float *T, int bottom, const spd_system &s, int64_t b, int *failed) {
    constexpr int packs = side * row_packs;
    const float *from = (s.A ? s.A : s.L) + b * s.n * s.n;
    bool aligned = s.n % width == 0 && reinterpret_cast<uintptr_t>(from) % 16 == 0;
    int n = (int)s.n, step_of = (int)blockDim.x;
    for (int first = (int)threadIdx.x; first < tile_number(bottom, 0) * packs; first += together * step_of) {
        four own[together];
        int row[together], column[together];
        for (int u = 0; u < together; u++) {
            int e = first + u * step_of, t = e / packs;
            int i = (int)((sqrtf(8 * (float)t + 1) - 1) / 2); /* off by at most one: t is below 2^13 */
            i += tile_number(i + 1, 0) <= t;
            i -= tile_number(i, 0) > t;
            row[u] = i * side + e % packs / row_packs;
            column[u] = (t - tile_number(i, 0)) * side + e % row_packs * width;
            bool whole = aligned && row[u] < n && column[u] < n;
            if (whole)
                own[u] = *reinterpret_cast<const four *>(from + (int64_t)row[u] * n + column[u]);
            for (int v = 0; v < width; v++) {
                int c = column[u] + v;
                bool there = c <= row[u] && row[u] < n;
                if (!whole)
                    own[u].value[v] = there ? from[(int64_t)row[u] * n + c] : (float)(c == row[u]);
                else if (!there)
                    own[u].value[v] = 0;
            }
        }
        for (int u = 0; u < together && first + u * step_of < tile_number(bottom, 0) * packs; u++) {
            float off = 0;
            for (int v = 0; v < width; v++)
                off += own[u].value[v] - own[u].value[v];
            if (s.A && off != 0)
                atomicCAS(failed, 0, -1);
            *pack_of(T, row[u] / side, column[u] / side, row[u] % side / 4, row[u] % 4, column[u] % side / width) =
                own[u];
        }
    }
}

/* Writes L below the diagonal blocks, and zeros above them. */
__device__ static void store_factor(float *T, int n, float *L) {
    for (int i = (int)threadIdx.x / 32; i < n; i += (int)blockDim.x / 32)
        for (int j = lane_of(); j < n; j += 32)
            if (j / step != i / step)
                L[(int64_t)i * n + j] = j < i ? *entry_of(T, i, j) : (float)0;
}

/* load_columns copies the columns of the right-hand sides from `first` on to the rows of B^T; store_columns copies
 * these rows to the columns of X. */
__device__ static void load_columns(float *T, int bottom, const spd_system &s, int64_t b, int64_t first) {
    for (int e = (int)threadIdx.x; e < bottom * side * side; e += (int)blockDim.x) {
        int i = e / side, c = e % side;
        bool there = i < s.n && first + c < s.m;
        *entry_of(T, bottom * side + c, i) = there ? s.B[(b * s.n + i) * s.m + first + c] : (float)0;
    }
}

__device__ static void store_columns(float *T, int bottom, const spd_system &s, int64_t b, int64_t first, bool failed) {
    for (int e = (int)threadIdx.x; e < s.n * side; e += (int)blockDim.x) {
        int i = e / side, c = e % side;
        if (first + c < s.m)
            s.X[(b * s.n + i) * s.m + first + c] = failed ? (float)NAN : *entry_of(T, bottom * side + c, i);
    }
}

__global__ void __launch_bounds__(most_threads) spd_kernel(spd_system s) {
    __shared__ int failed;
    int n = (int)s.n, bottom = (n + side - 1) / side;
    float *T = mo_shared_as<float>();
    for (int64_t b = blockIdx.x; b < s.batch; b += gridDim.x) {
        if (threadIdx.x == 0)
            failed = 0;
        __syncthreads();
        load(T, bottom, s, b, &failed);
        load_columns(T, bottom, s, b, 0);
        __syncthreads();
        if (s.A) {
            factor(T, bottom, n, s.L + b * n * n, &failed);
            store_factor(T, n, s.L + b * n * n);
            if (threadIdx.x == 0)
                s.info[b] = failed;
        } else {
            for (int J = (int)threadIdx.x / 32; 2 * J < bottom; J += (int)blockDim.x / 32)
                invert_block(T, J, tiles_in(J, bottom) * side);
            __syncthreads();
        }
        for (int64_t first = 0; first < s.m; first += side) {
            if (first) {
                load_columns(T, bottom, s, b, first);
                __syncthreads();
            }
            if (!failed && (first || !s.A))
                substitute<true>(T, bottom);
            if (!failed)
                substitute<false>(T, bottom);
            store_columns(T, bottom, s, b, first, failed != 0);
            __syncthreads();
        }
        __syncthreads();
    }
}

bool solve_spd_cuda(mo_context *ctx, const mo_spd_system *g) {
    int64_t n = g->X.shape[g->X.ndim - 2], m = g->X.shape[g->X.ndim - 1], batch = matrix_count(&g->X);
    unsigned threads = n <= 64 ? row_threads : most_threads;
    int64_t bottom = ceil_div(n, side), tiles = bottom * (bottom + 1) / 2 + bottom;
    int64_t bytes = tiles * side * side * (int64_t)sizeof(float);
    if (n == 0 || n > 1024 || bytes > (int64_t)seam_most_shared(seam_of(ctx)) || library_first(ctx, false))
        return false;
    if (!g->X.data)
        return true;
    ctx->counters.factorizations += g->A.data ? batch : 0;
    spd_system s = {batch, n, m, static_cast<const float *>(g->A.data), static_cast<const float *>(g->B.data),
        static_cast<float *>(g->L.data), static_cast<float *>(g->X.data), static_cast<int32_t *>(g->info.data)};
    mo_launch(spd_kernel, blocks_for(batch, 1), dim3(threads), (size_t)bytes, seam_of(ctx), s);
    return true;
}
