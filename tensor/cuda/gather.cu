/* tensor/cuda/gather.cu - rows or entries picked by an index, and the adjoints, which add to the picked rows or
 * entries.
 *
 * The adjoint of gather_rows adds to every destination in rising order of the positions, as the serial loop does. Each
 * destination scans a short list of positions, in one launch. Longer lists are sorted by destination, and rise within
 * each destination: then one thread per column adds the positions of a destination. Indices out of their range pick
 * zeros and add nothing. */
#include "tensor/cuda/kernels.h"
#include "tensor/cuda/sort.h"

constexpr int64_t one_scan = 4096;      /* most positions of a list that is scanned */
constexpr int64_t most_looks = 1 << 27; /* most (destination, position) pairs in a scan: some 40 us of comparisons */

template <typename real>
static __global__ void gather_kernel(int64_t m, int64_t d, int64_t n, const real *x, const int64_t *index, real *y) {
    for (int64_t i = first_item(); i < m * d; i += item_step()) {
        int64_t from = index[i / d];
        y[i] = from >= 0 && from < n ? x[from * d + i % d] : (real)0;
    }
}

template <typename real>
void gather_rows_cuda(mo_context *ctx, const mo_view *x, const mo_view *index, const mo_view *y) {
    int64_t m = index->shape[0], d = entry_length(x);
    mo_launch(gather_kernel<real>, blocks_for(m * d), dim3(block_threads), 0, seam_of(ctx), m, d, x->shape[0],
        static_cast<const real *>(x->data), static_cast<const int64_t *>(index->data), static_cast<real *>(y->data));
}

/* ---- positions by destination ---- */

static __global__ void positions_kernel(int64_t m, int64_t *order) {
    for (int64_t i = first_item(); i < m; i += item_step())
        order[i] = i;
}

struct by_destination {
    const int64_t *index;
    __device__ bool operator()(int64_t a, int64_t b) const {
        return index[a] < index[b] || (index[a] == index[b] && a < b);
    }
};

static __global__ void round_kernel(int64_t m, int64_t distance, bool mirrored, const int64_t *index, int64_t *order) {
    sort_round(order, m, distance, mirrored, first_item(), item_step(), by_destination{index});
}

static void sort_positions(mo_context *ctx, int64_t m, const int64_t *index, int64_t *order) {
    mo_launch(positions_kernel, blocks_for(m), dim3(block_threads), 0, seam_of(ctx), m, order);
    for (int64_t width = 1; width < m; width *= 2)
        for (int64_t distance = width; distance > 0; distance /= 2)
            mo_launch(round_kernel, blocks_for(m / 2 + distance), dim3(block_threads), 0, seam_of(ctx), m, distance,
                distance == width, index, order);
}

template <typename real>
static __global__ void add_runs_kernel(
    int64_t m, int64_t d, int64_t n, const real *x, const int64_t *index, const int64_t *order, real *y) {
    for (int64_t i = first_item(); i < m * d; i += item_step()) {
        int64_t k = i / d, j = i % d, to = index[order[k]];
        if ((k > 0 && index[order[k - 1]] == to) || to < 0 || to >= n)
            continue;
        real sum = 0;
        for (; k < m && index[order[k]] == to; k++)
            sum += x[order[k] * d + j];
        y[to * d + j] = sum;
    }
}

/* A block for each destination. Bit k % 32 of named[k / 32] says whether index[k] is the destination: the block's warps
 * ask for 32 positions each, then every thread adds, in its columns, the rows that are named. */
template <typename real>
static __global__ void __launch_bounds__(block_threads)
    scan_rows_kernel(int64_t m, int64_t d, int64_t n, const real *x, const int64_t *index, real *y) {
    __shared__ unsigned named[one_scan / 32];
    int words = (int)((m + 31) / 32), warps = (int)blockDim.x / 32;
    for (int64_t to = blockIdx.x; to < n; to += gridDim.x) {
#pragma unroll 4 /* loads in flight */
        for (int w = (int)threadIdx.x / 32; w < words; w += warps) {
            int64_t k = 32 * w + lane_of();
            unsigned hits = __ballot_sync(whole_warp, k < m && index[k] == to);
            if (lane_of() == 0)
                named[w] = hits;
        }
        __syncthreads();
        for (int64_t first = 0; first < d; first += blockDim.x) {
            int64_t j = first + threadIdx.x;
            real sum = 0;
            for (int w = 0; w < words; w += 32) {
                unsigned own = w + lane_of() < words ? named[w + lane_of()] : 0;
                for (unsigned any = __ballot_sync(whole_warp, own != 0); any != 0; any &= any - 1) {
                    int of = __ffs((int)any) - 1;
                    for (unsigned hits = __shfl_sync(whole_warp, own, of); hits != 0; hits &= hits - 1)
                        if (j < d)
                            sum += x[(32 * (w + of) + __ffs((int)hits) - 1) * d + j];
                }
            }
            if (j < d)
                y[to * d + j] = sum;
        }
        __syncthreads();
    }
}

template <typename real>
void scatter_add_rows_cuda(mo_context *ctx, const mo_view *x, const mo_view *index, const mo_view *y) {
    int64_t m = index->shape[0], d = entry_length(y), n = y->shape[0];
    const int64_t *to = static_cast<const int64_t *>(index->data);
    if (n * d > 0 && m <= one_scan && n * m <= most_looks) {
        mo_launch(scan_rows_kernel<real>, blocks_for(n, 1), dim3(d > 128 ? block_threads : 128), 0, seam_of(ctx), m, d,
            n, static_cast<const real *>(x->data), to, static_cast<real *>(y->data));
        return;
    }
    if (n * d > 0)
        seam_fill(seam_of(ctx), y->data, 0, (size_t)(n * d) * sizeof(real));
    if (m * d == 0)
        return;
    int64_t *order = static_cast<int64_t *>(cuda_scratch(ctx, (size_t)m * sizeof *order));
    if (!order)
        return;
    sort_positions(ctx, m, to, order);
    mo_launch(add_runs_kernel<real>, blocks_for(m * d), dim3(block_threads), 0, seam_of(ctx), m, d, n,
        static_cast<const real *>(x->data), to, static_cast<const int64_t *>(order), static_cast<real *>(y->data));
}

/* ---- entries of rows ---- */

template <typename real>
static __global__ void take_kernel(int64_t rows, int64_t k, int64_t n, const real *x, const int64_t *index, real *y) {
    for (int64_t i = first_item(); i < rows * k; i += item_step())
        y[i] = index[i] >= 0 && index[i] < n ? x[i / k * n + index[i]] : (real)0;
}

/* A thread for each entry of y, which adds the entries of x that the row's k indices put there. */
template <typename real>
static __global__ void put_kernel(int64_t rows, int64_t k, int64_t n, const real *x, const int64_t *index, real *y) {
    for (int64_t i = first_item(); i < rows * n; i += item_step()) {
        int64_t first = i / n * k, column = i % n;
        real sum = 0;
        for (int64_t j = first; j < first + k; j++)
            if (index[j] == column)
                sum += x ? x[j] : (real)1;
        y[i] = sum;
    }
}

/* A thread for each row of y, which is 0 before. */
template <typename real>
static __global__ void put_row_kernel(
    int64_t rows, int64_t k, int64_t n, const real *x, const int64_t *index, real *y) {
    for (int64_t i = first_item(); i < rows; i += item_step())
        for (int64_t j = i * k; j < (i + 1) * k; j++)
            if (index[j] >= 0 && index[j] < n)
                y[i * n + index[j]] += x ? x[j] : (real)1;
}

template <typename real>
void take_along_cuda(mo_context *ctx, const mo_view *x, const mo_view *index, const mo_view *y) {
    int64_t k = row_length(index), rows = row_count(index);
    mo_launch(take_kernel<real>, blocks_for(rows * k), dim3(block_threads), 0, seam_of(ctx), rows, k, row_length(x),
        static_cast<const real *>(x->data), static_cast<const int64_t *>(index->data), static_cast<real *>(y->data));
}

template <typename real>
void put_along_cuda(mo_context *ctx, const mo_view *x, const mo_view *index, const mo_view *y) {
    constexpr int64_t few = 8; /* up to this number of indices, every entry of a row looks at all of them */
    int64_t n = row_length(y), rows = row_count(index), k = row_length(index);
    const real *from = static_cast<const real *>(x->data);
    const int64_t *to = static_cast<const int64_t *>(index->data);
    real *out = static_cast<real *>(y->data);
    if (rows * n > 0 && k <= few)
        mo_launch(
            put_kernel<real>, blocks_for(rows * n), dim3(block_threads), 0, seam_of(ctx), rows, k, n, from, to, out);
    if (rows * n == 0 || k <= few)
        return;
    seam_fill(seam_of(ctx), out, 0, (size_t)(rows * n) * sizeof(real));
    mo_launch(put_row_kernel<real>, blocks_for(rows), dim3(block_threads), 0, seam_of(ctx), rows, k, n, from, to, out);
}

template void gather_rows_cuda<float>(mo_context *, const mo_view *, const mo_view *, const mo_view *);
template void gather_rows_cuda<double>(mo_context *, const mo_view *, const mo_view *, const mo_view *);
template void scatter_add_rows_cuda<float>(mo_context *, const mo_view *, const mo_view *, const mo_view *);
template void scatter_add_rows_cuda<double>(mo_context *, const mo_view *, const mo_view *, const mo_view *);
template void take_along_cuda<float>(mo_context *, const mo_view *, const mo_view *, const mo_view *);
template void take_along_cuda<double>(mo_context *, const mo_view *, const mo_view *, const mo_view *);
template void put_along_cuda<float>(mo_context *, const mo_view *, const mo_view *, const mo_view *);
template void put_along_cuda<double>(mo_context *, const mo_view *, const mo_view *, const mo_view *);
