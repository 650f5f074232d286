/* tensor/cuda/gather.cu - rows or entries picked by an index, and the adjoints, which add to the picked rows or
 * entries.
 *
 * The adjoint of gather_rows adds to every destination in rising order of the positions, as the serial loop does. If
 * there are few enough pairs, each destination scans all positions, in one launch. Longer lists are sorted by
 * destination, rising within each: then one thread per column adds the positions of a destination. Indices out of their
 * range pick zeros and add nothing. */
#include "tensor/cuda/kernels.h"
#include "tensor/cuda/sort.h"

constexpr int64_t one_block = 4096;     /* positions that one block sorts alone */
constexpr int64_t most_looks = 1 << 24; /* most (destination, position) pairs in a scan: some 20 us of comparisons */

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

static __global__ void sort_kernel(int64_t m, const int64_t *index, int64_t *order) {
    sort_block(order, m, by_destination{index});
}

static __global__ void round_kernel(int64_t m, int64_t distance, bool mirrored, const int64_t *index, int64_t *order) {
    sort_round(order, m, distance, mirrored, first_item(), item_step(), by_destination{index});
}

static void sort_positions(mo_context *ctx, int64_t m, const int64_t *index, int64_t *order) {
    mo_launch(positions_kernel, blocks_for(m), dim3(block_threads), 0, seam_of(ctx), m, order);
    if (m <= one_block) {
        mo_launch(sort_kernel, dim3(1), dim3(m > 256 ? 1024 : 128), 0, seam_of(ctx), m, index, order);
        return;
    }
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

/* A block for each destination: `named` has a bit for each of 32 positions, set if its index is the destination. */
template <typename real>
static __global__ void scan_rows_kernel(int64_t m, int64_t d, int64_t n, const real *x, const int64_t *index, real *y) {
    for (int64_t to = blockIdx.x; to < n; to += gridDim.x)
        for (int64_t first = 0; first < d; first += blockDim.x) {
            int64_t j = first + threadIdx.x;
            real sum = 0;
            for (int64_t k = 0; k < m; k += 32) {
                bool hit = k + lane_of() < m && index[k + lane_of()] == to;
                unsigned named = __ballot_sync(whole_warp, hit);
                for (int64_t i = k; named != 0; i++, named >>= 1)
                    if ((named & 1) && j < d)
                        sum += x[i * d + j];
            }
            if (j < d)
                y[to * d + j] = sum;
        }
}

template <typename real>
void scatter_add_rows_cuda(mo_context *ctx, const mo_view *x, const mo_view *index, const mo_view *y) {
    int64_t m = index->shape[0], d = entry_length(y), n = y->shape[0];
    const int64_t *to = static_cast<const int64_t *>(index->data);
    if (n * d > 0 && m <= one_block && n * m <= most_looks) {
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

/* A thread for each row; `zeroed`: y is 0 already. */
template <typename real>
static __global__ void put_kernel(
    bool zeroed, int64_t rows, int64_t k, int64_t n, const real *x, const int64_t *index, real *y) {
    for (int64_t i = first_item(); i < rows; i += item_step()) {
        for (int64_t j = 0; j < n && !zeroed; j++)
            y[i * n + j] = 0;
        for (int64_t j = 0; j < k; j++) {
            int64_t to = index[i * k + j];
            if (to >= 0 && to < n)
                y[i * n + to] += x ? x[i * k + j] : (real)1;
        }
    }
}

template <typename real>
void take_along_cuda(mo_context *ctx, const mo_view *x, const mo_view *index, const mo_view *y) {
    int64_t k = row_length(index), rows = row_count(index);
    mo_launch(take_kernel<real>, blocks_for(rows * k), dim3(block_threads), 0, seam_of(ctx), rows, k, row_length(x),
        static_cast<const real *>(x->data), static_cast<const int64_t *>(index->data), static_cast<real *>(y->data));
}

template <typename real>
void put_along_cuda(mo_context *ctx, const mo_view *x, const mo_view *index, const mo_view *y) {
    constexpr int64_t short_row = 64; /* a thread zeroes a row of up to 64 values in less time than a launch takes */
    int64_t n = row_length(y), rows = row_count(index);
    if (rows * n == 0)
        return;
    bool zeroed = n > short_row;
    if (zeroed)
        seam_fill(seam_of(ctx), y->data, 0, (size_t)(rows * n) * sizeof(real));
    mo_launch(put_kernel<real>, blocks_for(rows), dim3(block_threads), 0, seam_of(ctx), zeroed, rows, row_length(index),
        n, static_cast<const real *>(x->data), static_cast<const int64_t *>(index->data), static_cast<real *>(y->data));
}

template void gather_rows_cuda<float>(mo_context *, const mo_view *, const mo_view *, const mo_view *);
template void gather_rows_cuda<double>(mo_context *, const mo_view *, const mo_view *, const mo_view *);
template void scatter_add_rows_cuda<float>(mo_context *, const mo_view *, const mo_view *, const mo_view *);
template void scatter_add_rows_cuda<double>(mo_context *, const mo_view *, const mo_view *, const mo_view *);
template void take_along_cuda<float>(mo_context *, const mo_view *, const mo_view *, const mo_view *);
template void take_along_cuda<double>(mo_context *, const mo_view *, const mo_view *, const mo_view *);
template void put_along_cuda<float>(mo_context *, const mo_view *, const mo_view *, const mo_view *);
template void put_along_cuda<double>(mo_context *, const mo_view *, const mo_view *, const mo_view *);
