/* tensor/cuda/spd.cu - X = A^-1 B for symmetric positive definite A in one kernel: factor, both triangular solves, info
 * and the search for values that are not finite. A block computes a matrix, in shared memory.
 *
 * Tiles of 16 x 16 entries: tile (i, j) of the lower triangle is number i (i + 1) / 2 + j, and the last tile row,
 * number `bottom`, holds up to 16 columns of B as rows, B^T. Factoring [A; B^T] gives [L; (L^-1 B)^T], so the first
 * solve is part of it. Step J takes 32 columns, the tile columns 2 J and 2 J + 1:
 *
 * - one warp factors the 32 x 32 block on the diagonal, whose rows its lanes keep in registers, and replaces it by the
 *   inverse of its factor;
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
 * has 227 KiB). The library computes larger systems, all systems of float64, and every system under
 * MOCHI_CUDA_LIBRARIES=always. It does so by potrf and two trsm, with 6 kernels of ours around them; each of these
 * calls waits for the one before it. */
#include "tensor/cuda/kernels.h"
#include "tensor/cuda/matrices.h"

constexpr int side = 16, step = 32, columns = 4; /* side of a tile; columns of a step; columns of a lane */
constexpr unsigned most_threads = 256;           /* so that a thread can have 255 registers */

using four = pack<float>;
constexpr int width = four::width, row_packs = side / width; /* entries of a pack; packs in a tile's row */

struct spd_system {
    int64_t batch, n, m;
    const float *A, *B; /* A NULL: L is given */
    float *L, *X;
    int32_t *info;
};

/* The number of the thread's warp, in a form that tells the compiler that all lanes have the same number. Otherwise the
 * compiler makes every shuffle that depends on this number check the lanes, which doubles the time of
 * invert_diagonal. */
__device__ static inline int warp_of() {
    return __shfl_sync(whole_warp, (int)threadIdx.x / 32, 0);
}

__host__ __device__ static inline int tile_number(int i, int j) {
    return i * (i + 1) / 2 + j;
}

/* Returns pack p of row 4 * quad + rest of tile (i, j). Packs with equal p in rows that are 4 apart lie in different
 * banks, and so do the packs of neighbouring tiles. The row is given by the two numbers `quad` and `rest`, because one
 * of them is often constant, and its part of the address is then computed at compile time. */
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
                    } else { /* x is a row of B_p's tile */
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

/* Subtracts from the strip that begins with tile row i, in each step k = K .. K + parts - 1, the strip's part in step J
 * times T_kJ^T (transposed) or T_Jk. T_rs is the block in the rows of step r and the columns of step s. */
template <int rows, bool transposed, int parts>
__device__ static void update(float *T, int bottom, int i, int J, int K) {
    lane_part<rows> sum[parts] = {};
    add_product<rows, transposed, parts>(T, bottom, i, 2 * K, 2 * J, 0, tiles_in(J, bottom), sum);
    for (int part = 0; part < parts; part++)
        store_part<rows, true>(T, bottom, i, 2 * (K + part), sum[part]);
    __syncwarp();
}

/* ---- the diagonal, by one warp ---- */

/* Replaces the diagonal block D of step J, of `size` rows, by the inverse of its Cholesky factor, which it writes to L
 * [n, n]; or, if `given`, D is that factor. Returns 0, or the matrix's column, counted from 1, whose pivot is not
 * positive or is NaN, or -1 if a pivot is infinite.
 *
 * Each lane has a row of [D | I], which is eliminated: pivot c subtracts its row from the rows below, times d_rc /
 * d_cc. The right half then holds U = M^-1, for D = M diag(d) M^T, hence L = M diag(sqrt(d)) and L^-1 =
 * diag(sqrt(d))^-1 U. After pivot c, the columns up to c of the left half are not needed again, and the right half
 * still equals I in the columns after c. So a row has one register for each column of D, and all registers move by one
 * place at every pivot. This keeps the loop short: straight code for 32 pivots would be read from memory at every step,
 * which takes longer than the arithmetic. The lanes read the pivot's row from the warp's `rows` [2, 32] in shared
 * memory. Every other pivot uses its second half, so that no pivot waits until the row before has been read. */
template <bool given> __device__ static int invert_diagonal(float *T, int J, int size, int n, float *L, float *rows) {
    int row = lane_of(), at = J * step, failed = 0;
    float a[step], scale = 1;
    for (int p = 0; p < step / width; p++) {
        four own = {};
        if (row < size && (p < row_packs || row >= side))
            own = *pack_of(T, 2 * J + row / side, 2 * J + p / row_packs, row % side / 4, row % 4, p % row_packs);
        for (int v = 0; v < width; v++)
            a[p * width + v] = own.value[v];
    }
    for (int k = 0; k < step; k++) {
        if (!given && k > row && k < size) /* above the diagonal, where the tiles hold anything: the mirrored entry */
            a[k] = *entry_of(T, at + k, at + row);
        if (row >= size) /* rows that do not exist */
            a[k] = k == row;
    }
    __syncwarp(); /* every lane has read the block, which the end of this function overwrites */
#pragma unroll 1
    for (int c = 0; c < step; c++) {
        four of_pivot[step / width], *sent = reinterpret_cast<four *>(rows + c % 2 * step);
        float own = a[0], pivot = __shfl_sync(whole_warp, own, c);
        for (int p = 0; p < step / width && row == c; p++)
            for (int v = 0; v < width; v++)
                sent[p].value[v] = a[p * width + v];
        __syncwarp();
        for (int p = 0; p < step / width; p++)
            of_pivot[p] = sent[p];
        float root = given ? 1 / pivot : rsqrt(pivot);
        if (!given && failed == 0)
            failed = !(pivot > 0) ? at + c + 1 : pivot - pivot != 0 ? -1 : 0;
        if (!given && at + row < n && at + c < n)
            L[(int64_t)(at + row) * n + at + c] = row < c ? (float)0 : own * root;
        float factor = row > c ? own * (given ? root : root * root) : (float)0;
        scale = row == c ? root : scale;
        for (int j = 1; j < step; j++)
            a[j - 1] = a[j] - factor * of_pivot[j / width].value[j % width];
        a[step - 1] = row == c ? (float)1 : -factor;
    }
    for (int p = 0; p < step / width; p++) {
        four own;
        for (int v = 0; v < width; v++)
            own.value[v] = scale * a[p * width + v];
        if (row < size && (p < row_packs || row >= side))
            *pack_of(T, 2 * J + row / side, 2 * J + p / row_packs, row % side / 4, row % 4, p % row_packs) = own;
    }
    __syncwarp();
    return failed;
}

/* ---- the whole matrix ---- */

/* Subtracts the products of step J from all later steps. The first warp updates the next diagonal block, which it then
 * factors; the other warps share the rest. */
__device__ static void update_rest(float *T, int bottom, int J) {
    constexpr int most_parts = 2; /* number of sums for which there are registers */
    int warp = warp_of(), others = (int)blockDim.x / 32 - 1, turn = 1;
    if (warp == 0) {
        update<8, true, 1>(T, bottom, 2 * (J + 1), J, J + 1);
        return;
    }
    for (int I = J + 2; 2 * I <= bottom; I++)
        for (int K = J + 1, parts = 1; K <= I && 2 * K < bottom; K += parts) {
            bool own = turn == warp;
            turn = turn == others ? 1 : turn + 1;
            parts = K < I && 2 * (K + 1) < bottom ? most_parts : 1;
            if (!own)
                continue;
            if (parts == most_parts)
                update<8, true, most_parts>(T, bottom, 2 * I, J, K);
            else
                update<8, true, 1>(T, bottom, 2 * I, J, K);
        }
}

/* Replaces [A; B^T] in T by [L; (L^-1 B)^T], with inverses on the diagonal. */
__device__ static void factor(float *T, int bottom, int n, float *L, float *rows, int *failed) {
    int warp = warp_of(), warps = (int)blockDim.x / 32;
    for (int J = 0; 2 * J < bottom; J++) {
        if (J)
            update_rest(T, bottom, J - 1);
        if (warp == 0) {
            int found = invert_diagonal<false>(T, J, tiles_in(J, bottom) * side, n, L, rows);
            if (lane_of() == 0 && found && *failed == 0)
                *failed = found;
        }
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
    int warp = warp_of(), others = (int)blockDim.x / 32 - 1, steps = (bottom + 1) / 2;
    for (int s = 0; s < steps; s++) {
        int J = transposed ? s : steps - 1 - s, before = transposed ? J - 1 : J + 1;
        for (int k = warp; s && k < steps - s; k += k ? others : steps)
            update<4, transposed, 1>(T, bottom, bottom, before, transposed ? J + k : J - k);
        if (warp == 0)
            multiply_panel<4, transposed>(T, bottom, bottom, J);
        __syncthreads();
    }
}

/* Loads the lower triangle of A (or L) into T, and ones for the rest of the diagonal: 32 columns of a tile row per warp
 * at a time, so that a lane has 16 loads in flight. Sets *failed if a value of A is not finite. */
__device__ static void load(float *T, int bottom, const spd_system &s, int64_t b, int *failed) {
    const float *from = (s.A ? s.A : s.L) + b * s.n * s.n;
    int n = (int)s.n, warp = warp_of(), last = (int)blockDim.x / 32 - 1, turn = 0;
    for (int i = 0; i < bottom; i++)
        for (int first = 0; first <= i * side; first += step) {
            bool mine = turn == warp;
            turn = turn == last ? 0 : turn + 1;
            if (!mine)
                continue;
            int column = first + lane_of();
            float own[side], off = 0;
            for (int r = 0; r < side; r++) {
                int row = i * side + r;
                bool there = column <= row && row < n;
                own[r] = there ? from[(int64_t)row * n + column] : (float)(column == row);
            }
            for (int r = 0; r < side && column < (i + 1) * side; r++) {
                off += own[r] - own[r];
                *entry_of(T, i * side + r, column) = own[r];
            }
            if (s.A && off != 0)
                atomicCAS(failed, 0, -1);
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
    constexpr int together = 8; /* loads in flight */
    int step_of = (int)blockDim.x, end = bottom * side * side;
    for (int e = (int)threadIdx.x; e < end; e += together * step_of) {
        float own[together];
        for (int u = 0; u < together; u++) {
            int i = (e + u * step_of) / side, c = (e + u * step_of) % side;
            own[u] = i < s.n && first + c < s.m ? s.B[(b * s.n + i) * s.m + first + c] : (float)0;
        }
        for (int u = 0; u < together && e + u * step_of < end; u++)
            *entry_of(T, bottom * side + (e + u * step_of) % side, (e + u * step_of) / side) = own[u];
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
    __shared__ four of_warps[most_threads / 32][2 * step / width];
    float *rows = of_warps[warp_of()]->value;
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
            factor(T, bottom, n, s.L + b * n * n, rows, &failed);
            store_factor(T, n, s.L + b * n * n);
            if (threadIdx.x == 0)
                s.info[b] = failed;
        } else {
            for (int J = warp_of(); 2 * J < bottom; J += (int)blockDim.x / 32)
                invert_diagonal<true>(T, J, tiles_in(J, bottom) * side, n, nullptr, rows);
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
    constexpr int64_t beside = 4096; /* room for the kernel's own shared variables */
    if (n == 0 || n > 1024 || bytes + beside > (int64_t)seam_most_shared(seam_of(ctx)) || library_first(ctx, false))
        return false;
    if (!g->X.data)
        return true;
    ctx->counters.factorizations += g->A.data ? batch : 0;
    spd_system s = {batch, n, m, static_cast<const float *>(g->A.data), static_cast<const float *>(g->B.data),
        static_cast<float *>(g->L.data), static_cast<float *>(g->X.data), static_cast<int32_t *>(g->info.data)};
    mo_launch(spd_kernel, blocks_for(batch, 1), dim3(threads), (size_t)bytes, seam_of(ctx), s);
    return true;
}
