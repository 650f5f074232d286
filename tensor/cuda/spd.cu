/* tensor/cuda/spd.cu - X = A^-1 B for symmetric positive definite A in one kernel: factor, both triangular solves, info
 * and the search for values that are not finite. A block computes a matrix, in shared memory.
 *
 * Tiles of 16 x 16 entries: tile (i, j) of the lower triangle is number i (i + 1) / 2 + j, and the last tile row,
 * number `bottom`, holds up to 16 columns of B as rows, B^T. Factoring [A; B^T] gives [L; (L^-1 B)^T], so the first
 * solve is part of it. Step J takes 32 columns, the tile columns 2 J and 2 J + 1:
 *
 * - all warps update the 32 x 32 block on the diagonal, each 4 rows at a time; if the block has only 16 rows, the
 *   rows of B^T too;
 * - the first warp factors the block, a row per lane. The others update the rest, 32 x 64 entries at a time, and write
 *   finished columns of L to memory; the first warp joins the update once its factor is done;
 * - all warps eliminate the 32 pivots, a row per lane, from the rows below, which become those of L, and from the rows
 *   of I, which become the inverse of the block's factor; this inverse replaces the block.
 *
 * X^T := (L^-1 B)^T L^-1 takes the steps from the last to the first, each with its inverse.
 *
 * In a product, a lane computes 4 neighbouring columns of 8, 4 or 1 rows, and loads packs of 16 bytes; packs are
 * swizzled so that the 8 lanes that load at once meet different banks. The order of every sum follows from the sizes
 * alone.
 *
 * The rule: a float32 system whose tiles fit into one block's shared memory is computed here (n up to 304 where a block
 * has 227 KiB). The library computes larger systems, all systems of float64, and every system under
 * MOCHI_CUDA_LIBRARIES=always. It does so by potrf and two trsm, with up to 7 kernels of ours around them; each of
 * these calls waits for the one before it. */
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
 * compiler makes every exchange that depends on this number check the lanes, which doubles the time of the
 * pivots. */
__device__ static inline int warp_of() {
    return __shfl_sync(whole_warp, (int)threadIdx.x / 32, 0);
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

/* ---- products of strips of tiles, one strip per warp. A strip has 4 * rows rows, from row 4 * quad of tile row i on,
 * and 32 columns. Lanes are 4 x 8: a lane has the rows 4 (quad + k) + lane / 8 for k < rows, and 4 columns. ---- */

template <int rows> struct lane_part { float value[rows][columns]; };

/* Returns the tile row of a lane's k-th row. */
__device__ static inline int tile_of_row(int i, int k, int bottom) {
    return min(i + k / 4, bottom); /* at the edge, rows that do not exist repeat the last tile row */
}

/* sum[p] += A B_p for each p < parts, summed over the tiles k + first .. k + end - 1. A is the strip (i, quad). B_p is
 * the transpose of the tile rows j + 2 p and j + 2 p + 1 (transposed), or the tile columns with these numbers. */
template <int rows, bool transposed, int parts>
__device__ static void add_product(
    float *T, int bottom, int i, int quad, int j, int k, int first, int end, lane_part<rows> (&sum)[parts]) {
    int other = lane_of() % 8 / 4, pack = lane_of() % 4;
#pragma unroll 1
    for (int t = k + first; t < k + end; t++)
#pragma unroll(rows == 8 ? 2 : 4) /* 4 for 8 rows would make registers spill on some devices */
        for (int p = 0; p < row_packs; p++) {
            four a[rows];
            for (int r = 0; r < rows; r++)
                a[r] = *pack_of(T, tile_of_row(i, r, bottom), t, (quad + r) % 4, lane_of() / 8, p);
            for (int part = 0; part < parts; part++)
                for (int x = 0; x < columns; x++) {
                    int tile = j + 2 * part + other;
                    if (transposed) { /* x is a column of the sum */
                        four b = *pack_of(T, tile, t, pack, x, p);
                        for (int r = 0; r < rows; r++)
                            for (int v = 0; v < width; v++)
                                sum[part].value[r][x] += a[r].value[v] * b.value[v];
                    } else { /* x is a row of B_p's tile */
                        four b = *pack_of(T, t, tile, p, x, pack);
                        for (int r = 0; r < rows; r++)
                            for (int w = 0; w < columns; w++)
                                sum[part].value[r][w] += a[r].value[x] * b.value[w];
                    }
                }
        }
}

/* Sets the strip (i, quad) of the tile columns j and j + 1 to sum, or subtracts sum from it if `off`. Skips tiles that
 * do not exist. */
template <int rows, bool off>
__device__ static void store_part(float *T, int bottom, int i, int quad, int j, const lane_part<rows> &sum) {
    int tile = j + lane_of() % 8 / 4, pack = lane_of() % 4;
    for (int r = 0; r < rows; r++) {
        int row = i + r / 4;
        if (row > bottom || tile > row || tile >= bottom)
            continue;
        four *to = pack_of(T, row, tile, (quad + r) % 4, lane_of() / 8, pack), old = *to;
        for (int v = 0; v < columns; v++)
            old.value[v] = off ? old.value[v] - sum.value[r][v] : sum.value[r][v];
        *to = old;
    }
}

/* Returns the number of tile columns in step J. */
__device__ static inline int tiles_in(int J, int bottom) {
    return min(2, bottom - 2 * J);
}

/* Multiplies the columns of step J of B^T by the inverse of the step's factor, transposed or not. The inverse is a
 * lower triangle: its tile above the diagonal is not stored, and the sum leaves it out. */
template <bool transposed> __device__ static void multiply(float *T, int bottom, int J) {
    lane_part<4> sum[1] = {};
    int other = lane_of() % 8 / 4, tiles = tiles_in(J, bottom);
    int first = transposed ? 0 : other, end = transposed ? min(other + 1, tiles) : tiles;
    add_product<4, transposed, 1>(T, bottom, bottom, 0, 2 * J, 2 * J, first, end, sum);
    __syncwarp();
    store_part<4, false>(T, bottom, bottom, 0, 2 * J, sum[0]);
    __syncwarp();
}

/* Subtracts from the strip (i, quad), in each step k = K .. K + parts - 1, the strip's part in step J times T_kJ^T
 * (transposed) or T_Jk. T_rs is the block in the rows of step r and the columns of step s. */
template <int rows, bool transposed, int parts>
__device__ static void update(float *T, int bottom, int i, int quad, int J, int K) {
    lane_part<rows> sum[parts] = {};
    add_product<rows, transposed, parts>(T, bottom, i, quad, 2 * K, 2 * J, 0, tiles_in(J, bottom), sum);
    for (int part = 0; part < parts; part++)
        store_part<rows, true>(T, bottom, i, quad, 2 * (K + part), sum[part]);
    __syncwarp();
}

/* ---- a step's pivots. A lane has the entries of its row from pivot c on; after every pivot all registers move by one
 * place. This keeps the loops short: straight code for 32 pivots would be read from memory at every step, which takes
 * longer than the arithmetic. Each of four loops has 8 pivots and leaves out the entries before them. ---- */

constexpr int pivots = step / 4;          /* number of pivots of a loop */
constexpr int column_room = step + width; /* number of floats of a column in shared memory */
constexpr int columns_at_once = 2 * step; /* room for 32 columns of one warp, or 8 columns of each warp */

/* Column c of the block on the diagonal. Row r of it is number (r - c) mod 32 of `entry`, so that packs are aligned;
 * the rows above the pivot, which are zeros, come last. To eliminate pivot c from a row p: p_j -= p_c factor[1] (row j
 * of the column) for j > c, and number c of the result is p_c factor[0]. */
struct pivot_column {
    four entry[step / width], factor;
};
static_assert(sizeof(pivot_column) == column_room * sizeof(float), "a column is read in packs");

/* The place of row r in column c. */
__device__ static inline float *place_in(pivot_column *column, int r, int c) {
    return reinterpret_cast<float *>(column) + ((r - c) & (step - 1));
}

/* The part of factor_diagonal for the 8 pivots from `begin` on. The next column is written before the rest of the row
 * is computed, as every lane waits for it. */
template <int begin> __device__ static void factor_pivots(pivot_column *column, float (&own)[step]) {
    constexpr int packs = (step - begin) / width;
    int lane = lane_of();
#pragma unroll 1
    for (int c = begin; c < begin + pivots; c++) {
        __syncwarp();
        four entry[packs];
        for (int p = 0; p < packs; p++)
            entry[p] = column[c].entry[p];
        float root = rsqrt(entry[0].value[0]), inverse = root * root, factor = own[0] * inverse;
        own[0] = own[1] - factor * entry[0].value[1];
        if (c + 1 < step)
            *place_in(column + c + 1, lane, c + 1) = lane > c ? own[0] : (float)0;
        if (lane == 0)
            column[c].factor = {{root, inverse}};
        for (int j = 2; j < packs * width; j++)
            own[j - 1] = own[j] - factor * entry[j / width].value[j % width];
    }
}

/* Factors the diagonal block of step J, of `size` rows, D = M diag(d) M^T by the columns of M diag(d); then L = M
 * diag(sqrt(d)). Returns 0 if all pivots d are positive and finite. Otherwise the first other pivot decides: -1 if it
 * is infinite, else the number of its column in the matrix, counted from 1. */
__device__ static int factor_diagonal(float *T, int J, int size, pivot_column *column) {
    int lane = lane_of();
    float own[step];
    for (int p = 0; p < step / width; p++) {
        four some = {};
        if (lane < size && (p < row_packs || lane >= side))
            some = *pack_of(T, 2 * J + lane / side, 2 * J + p / row_packs, lane % side / 4, lane % 4, p % row_packs);
        for (int v = 0; v < width; v++)
            own[p * width + v] = lane < size ? some.value[v] : (float)(p * width + v == lane); /* rows of I */
    }
    *place_in(column, lane, 0) = own[0];
    factor_pivots<0>(column, own);
    factor_pivots<8>(column, own);
    factor_pivots<16>(column, own);
    factor_pivots<24>(column, own);
    __syncwarp();
    float pivot = column[lane].entry[0].value[0];
    unsigned bad = __ballot_sync(whole_warp, !(pivot > 0) || pivot - pivot != 0);
    if (bad == 0)
        return 0;
    int first = __ffs((int)bad) - 1;
    return __shfl_sync(whole_warp, pivot, first) > 0 ? -1 : J * step + first + 1;
}

/* Eliminates the 8 pivots from `begin` on from the lane's row; column[k] is the column of pivot begin + k. The results
 * follow the row's other entries, so that the four loops leave the results of the pivots in the order 24 .. 31,
 * 16 .. 23, 8 .. 15, 0 .. 7. */
template <int begin> __device__ static void eliminate(const pivot_column *column, float (&own)[step]) {
    constexpr int packs = (step - begin) / width, left = packs * width;
#pragma unroll 2
    for (int k = 0; k < pivots; k++) {
        four entry[packs], factors = column[k].factor;
        for (int p = 0; p < packs; p++)
            entry[p] = column[k].entry[p];
        float result = own[0] * factors.value[0], factor = own[0] * factors.value[1];
        for (int j = 1; j < left; j++)
            own[j - 1] = own[j] - factor * entry[j / width].value[j % width];
        own[left - 1] = result;
    }
}

/* Returns where `eliminate` leaves the result of pivot c. */
__host__ __device__ constexpr int result_of(int c) {
    return step - pivots - c / pivots * pivots + c % pivots;
}

/* Eliminates the 32 pivots of a step from the lane's row. */
__device__ static void eliminate_all(const pivot_column *column, float (&own)[step]) {
    eliminate<0>(column, own);
    eliminate<8>(column + 8, own);
    eliminate<16>(column + 16, own);
    eliminate<24>(column + 24, own);
}

/* Eliminates the pivots of step J from the strip that begins with tile row i, whose row `lane` is the lane's. */
__device__ static void eliminate_strip(float *T, int bottom, int i, int J, const pivot_column *column) {
    int lane = lane_of(), tile = i + lane / side;
    float own[step];
    for (int p = 0; p < step / width; p++) {
        four some = {};
        if (tile <= bottom && 2 * J + p / row_packs < bottom)
            some = *pack_of(T, tile, 2 * J + p / row_packs, lane % side / 4, lane % 4, p % row_packs);
        for (int v = 0; v < width; v++)
            own[p * width + v] = some.value[v];
    }
    eliminate_all(column, own);
    for (int p = 0; p < step / width; p++) {
        four some;
        for (int v = 0; v < width; v++)
            some.value[v] = own[result_of(p * width + v)];
        if (tile <= bottom && 2 * J + p / row_packs < bottom)
            *pack_of(T, tile, 2 * J + p / row_packs, lane % side / 4, lane % 4, p % row_packs) = some;
    }
}

/* Writes the inverse of the factor of step J to the block on the diagonal: `own` holds the lane's column of the
 * inverse, which is the result of the lane's row of I. */
__device__ static void store_inverse(float *T, int bottom, int J, const float (&own)[step]) {
    int tile = lane_of() / side, quad = lane_of() % side / 4, rest = lane_of() % 4;
    for (int c = 0; c < step; c++)
        if (2 * J + c / side < bottom && tile <= c / side)
            pack_of(T, 2 * J + c / side, 2 * J + tile, c % side / 4, c % 4, quad)->value[rest] = own[result_of(c)];
}

/* Replaces the block on the diagonal of step J by the inverse of its factor. */
__device__ static void invert_step(float *T, int bottom, int J, const pivot_column *column) {
    float own[step];
    for (int k = 0; k < step; k++)
        own[k] = k == lane_of();
    eliminate_all(column, own);
    store_inverse(T, bottom, J, own);
}

/* The part of invert_factor for the 8 pivots from `begin` on. */
template <int begin>
__device__ static void invert_pivots(float *T, int bottom, int J, pivot_column *column, float (&own)[step]) {
    int lane = lane_of(), tile = lane / side, half = begin / side;
    bool there = 2 * J + tile < bottom && half <= tile;
    float pivot = 1;
    for (int p = 0; p < pivots / width; p++) {
        four some = {};
        if (there)
            some = *pack_of(T, 2 * J + tile, 2 * J + half, lane % side / 4, lane % 4, begin % side / width + p);
        for (int v = 0; v < width; v++) {
            int c = begin + p * width + v;
            float entry = 2 * J + tile < bottom ? some.value[v] : (float)(c == lane); /* rows of I */
            *place_in(column + c - begin, lane, c) = entry;
            pivot = lane == c ? entry : pivot;
        }
    }
    if (lane / pivots == begin / pivots)
        column[lane - begin].factor = {{1 / pivot, 1 / pivot}};
    __syncwarp();
    eliminate<begin>(column, own);
    __syncwarp();
}

/* Replaces the block on the diagonal of step J, which holds L, by its inverse. */
__device__ static void invert_factor(float *T, int bottom, int J, pivot_column *column) {
    float own[step];
    for (int k = 0; k < step; k++)
        own[k] = k == lane_of();
    invert_pivots<0>(T, bottom, J, column, own);
    invert_pivots<8>(T, bottom, J, column, own);
    invert_pivots<16>(T, bottom, J, column, own);
    invert_pivots<24>(T, bottom, J, column, own);
    store_inverse(T, bottom, J, own);
}

/* ---- the whole matrix ---- */

/* Writes rows 16 i .. 16 i + 15 of step J's columns to L [n, n]: L below the diagonal block, zeros above it. */
__device__ static void store_factor(float *T, int n, int i, int J, float *L) {
    int tile = lane_of() / side, pack = lane_of() % side / width, column = J * step + lane_of();
    float own[side] = {};
    for (int r = 0; r < side && J < i / 2; r++)
        own[r] = pack_of(T, i, 2 * J + tile, r / 4, r % 4, pack)->value[lane_of() % width];
    float *to = L + (int64_t)i * side * n + column;
    int rows = column < n ? min(side, n - i * side) : 0;
    for (int r = 0; r < side; r++, to += n)
        if (r < rows)
            *to = own[r];
}

/* Subtracts the products of step J from all later steps but for the next diagonal block, and writes the step's columns
 * to L. The first warp, which is late, has the last turn. */
__device__ static void update_rest(float *T, int bottom, int J, int n, float *L) {
    constexpr int most_parts = 2; /* number of sums for which there are registers */
    int warp = warp_of(), warps = (int)blockDim.x / 32, turn = 1;
    for (int I = J + 2; 2 * I <= bottom; I++)
        for (int K = J + 1, parts = 1; K <= I && 2 * K < bottom; K += parts) {
            bool own = turn == warp;
            turn = turn == warps - 1 ? 0 : turn + 1;
            parts = K < I && 2 * (K + 1) < bottom ? most_parts : 1;
            if (!own)
                continue;
            if (parts == most_parts)
                update<8, true, most_parts>(T, bottom, 2 * I, 0, J, K);
            else
                update<8, true, 1>(T, bottom, 2 * I, 0, J, K);
        }
    for (int i = warp - 1; warp > 0 && i < bottom; i += warps - 1)
        if (i / 2 != J)
            store_factor(T, n, i, J, L);
}

/* Replaces the rows of the panel below the diagonal block of step J by those of [L; (L^-1 B)^T], the block by its
 * factor's inverse, and writes the factor to L. */
__device__ static void finish_step(float *T, int bottom, int J, int n, float *L, pivot_column *column) {
    int lane = lane_of(), warp = warp_of(), warps = (int)blockDim.x / 32, at = J * step;
    int below = 2 * J + tiles_in(J, bottom), strips = (bottom - below) / 2 + 1;
    for (int strip = warp; strip < strips; strip += warps)
        eliminate_strip(T, bottom, below + 2 * strip, J, column);
    if (warp == strips % warps)
        invert_step(T, bottom, J, column);
    float root = column[lane].factor.value[0];
    for (int r = warp; r < step; r += warps)
        if (at + r < n && at + lane < n)
            L[(int64_t)(at + r) * n + at + lane] = lane <= r ? *place_in(column + lane, r, lane) * root : (float)0;
}

/* Replaces [A; B^T] in T by [L; (L^-1 B)^T], with inverses on the diagonal, and writes L. */
__device__ static void factor(float *T, int bottom, int n, float *L, pivot_column *column, int *failed) {
    int warp = warp_of(), warps = (int)blockDim.x / 32, steps = (bottom + 1) / 2;
    for (int J = 0; J < steps; J++) {
        for (int quad = warp; J && quad < 8 && 2 * J + quad / 4 <= bottom; quad += warps)
            update<1, true, 1>(T, bottom, 2 * J + quad / 4, quad % 4, J - 1, J);
        __syncthreads();
        if (warp == 0) {
            int found = factor_diagonal(T, J, tiles_in(J, bottom) * side, column);
            if (lane_of() == 0 && found && *failed == 0)
                *failed = found;
        }
        if (J)
            update_rest(T, bottom, J - 1, n, L);
        __syncthreads();
        if (*failed)
            return;
        finish_step(T, bottom, J, n, L, column);
        __syncthreads();
    }
    for (int i = warp; i < bottom; i += warps) /* zeros above the last block */
        if (i / 2 != steps - 1)
            store_factor(T, n, i, steps - 1, L);
}

/* Replaces B^T in T by (L^-1 B)^T (transposed) or B^T L^-1. The first warp is one step ahead of the updates by the
 * others. */
template <bool transposed> __device__ static void substitute(float *T, int bottom) {
    int warp = warp_of(), others = (int)blockDim.x / 32 - 1, steps = (bottom + 1) / 2;
    for (int s = 0; s < steps; s++) {
        int J = transposed ? s : steps - 1 - s, before = transposed ? J - 1 : J + 1;
        for (int k = warp; s && k < steps - s; k += k ? others : steps)
            update<4, transposed, 1>(T, bottom, bottom, 0, before, transposed ? J + k : J - k);
        if (warp == 0)
            multiply<transposed>(T, bottom, J);
        __syncthreads();
    }
}

/* Returns the pack at `from`; if packs are not aligned, only its first `left` + 1 values, then zeros. */
__device__ static inline four lower_pack(const float *from, bool aligned, int left) {
    if (aligned)
        return *reinterpret_cast<const four *>(from);
    four own = {};
    for (int v = 0; v < width; v++)
        if (v <= left)
            own.value[v] = from[v];
    return own;
}

/* Loads the lower triangle of A (or L) into T, with zeros above the diagonal and rows of I from row n on: a tile row of
 * 64 columns per warp at a time, so that a lane has 8 packs in flight. Sets *failed if a value of A is not finite. */
__device__ static void load(float *T, int bottom, const spd_system &s, int64_t b, int *failed) {
    constexpr int packs = 8;
    const float *from = (s.A ? s.A : s.L) + b * s.n * s.n;
    int n = (int)s.n, warp = warp_of(), last = (int)blockDim.x / 32 - 1, turn = 0;
    int rest = lane_of() / 8, pack = lane_of() % 4, other = lane_of() % 8 / 4;
    bool aligned = n % width == 0 && (uintptr_t)from % sizeof(four) == 0;
    for (int i = 0; i < bottom; i++)
        for (int j = 0; j <= i; j += packs / 2) {
            bool mine = turn == warp;
            turn = turn == last ? 0 : turn + 1;
            if (!mine)
                continue;
            four own[packs] = {};
            for (int k = 0; k < packs; k++) {
                int row = i * side + k % 4 * 4 + rest, column = (j + k / 4 * 2 + other) * side + pack * width;
                const float *at = from + (int64_t)row * n + column;
                if (row < n && column <= row)
                    own[k] = lower_pack(at, aligned, row - column);
            }
            float off = 0;
            for (int k = 0; k < packs; k++) {
                int tile = j + k / 4 * 2 + other, row = i * side + k % 4 * 4 + rest,
                    column = tile * side + pack * width;
                for (int v = 0; v < width; v++) {
                    float value = column + v > row ? 0 : row < n ? own[k].value[v] : (float)(column + v == row);
                    off += value - value;
                    own[k].value[v] = value;
                }
                if (tile <= i)
                    *pack_of(T, i, tile, k % 4, rest, pack) = own[k];
            }
            if (s.A && off != 0)
                atomicCAS(failed, 0, -1);
        }
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
    __shared__ pivot_column columns[columns_at_once];
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
            factor(T, bottom, n, s.L + b * n * n, columns, &failed);
            if (threadIdx.x == 0)
                s.info[b] = failed;
        } else {
            for (int J = warp_of(); 2 * J < bottom; J += (int)blockDim.x / 32)
                invert_factor(T, bottom, J, columns + pivots * warp_of());
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
    constexpr int64_t beside = 10240; /* room for the kernel's own shared variables */
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
