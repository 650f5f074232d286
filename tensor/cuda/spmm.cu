/* tensor/cuda/spmm.cu - Y = A X for a CSR matrix.
 *
 * A warp computes a row of Y. If a row has many entries, all warps of its block add a share each, and the shares are
 * added in order. So the order of a sum follows from the row's length alone, and a product repeats its bits. cuSPARSE
 * did not repeat them on an H100, although its algorithm CSR_ALG3 is documented to do so: features made twice differed
 * in their last digits. */
#include "tensor/cuda/kernels.h"
#include "tensor/cuda/map.h"

constexpr int warps = 8;          /* warps of a block */
constexpr int64_t long_row = 256; /* the warps of a block share a row of more entries */

/* The columns that a warp adds at once: each lane has `packs` groups of 16 bytes, 32 groups apart. */
constexpr int packs = 4;
template <typename real> constexpr int in_pack = 16 / sizeof(real);
template <typename real> struct lane_columns { neighbours<real, in_pack<real>> of[packs]; };

template <typename real> struct csr_rows {
    const int64_t *first;
    const int32_t *column;
    const real *value, *X;
    real *Y;
    int64_t n, d, x_step, y_step;
};

/* Returns the first column of a lane's group q, in the columns that begin with `begin`. */
template <typename real> __device__ static int64_t column_of(int64_t begin, int q) {
    return begin + (q * 32 + lane_of()) * in_pack<real>;
}

/* Adds the entries first .. last - 1, in their order; the lanes read 32 of them at once. `aligned`: every group of X
 * begins at a multiple of 16 bytes and ends within its row, so that a load waits only for its entry's column. */
template <bool aligned, typename real>
__device__ static lane_columns<real> add_entries(const csr_rows<real> &A, int64_t first, int64_t last, int64_t begin) {
    using group = neighbours<real, in_pack<real>>;
    lane_columns<real> sum = {};
    for (; first < last; first += 32) {
        int count = (int)(last - first < 32 ? last - first : 32);
        int32_t column = lane_of() < count ? A.column[first + lane_of()] : 0;
        real value = lane_of() < count ? A.value[first + lane_of()] : (real)0;
#pragma unroll 4 /* loads in flight */
        for (int k = 0; k < count; k++) {
            const real *x = A.X + __shfl_sync(whole_warp, column, k) * A.x_step;
            real factor = __shfl_sync(whole_warp, value, k);
            for (int q = 0; q < packs; q++) {
                int64_t j = column_of<real>(begin, q);
                group part = {};
                if (!aligned)
                    part = load_part<in_pack<real>>(x + j, A.d - j);
                else if (j < A.d)
                    part = *reinterpret_cast<const group *>(x + j);
                for (int e = 0; e < in_pack<real>; e++)
                    sum.of[q].value[e] += factor * part.value[e];
            }
        }
    }
    return sum;
}

template <typename real>
__device__ static void store(const csr_rows<real> &A, int64_t row, int64_t begin, const lane_columns<real> &sum) {
    for (int q = 0; q < packs; q++) {
        int64_t j = column_of<real>(begin, q);
        store_part(A.Y + row * A.y_step + j, sum.of[q], A.d - j);
    }
}

/* All warps of the block add one row; share [warps, 32] holds the sums of each lane. */
template <bool aligned, typename real>
__device__ static void share_row(const csr_rows<real> &A, int64_t row, int64_t begin, lane_columns<real> *share) {
    int warp = (int)threadIdx.x / 32;
    int64_t first = A.first[row], entries = A.first[row + 1] - first;
    share[threadIdx.x] =
        add_entries<aligned>(A, first + entries * warp / warps, first + entries * (warp + 1) / warps, begin);
    __syncthreads();
    if (warp == 0) {
        lane_columns<real> sum = share[lane_of()];
        for (int w = 1; w < warps; w++)
            for (int q = 0; q < packs; q++)
                for (int e = 0; e < in_pack<real>; e++)
                    sum.of[q].value[e] += share[32 * w + lane_of()].of[q].value[e];
        store(A, row, begin, sum);
    }
    __syncthreads();
}

template <bool aligned, typename real>
static __global__ void __launch_bounds__(32 * warps, 2) spmm_kernel(csr_rows<real> A) {
    auto share = mo_shared_as<lane_columns<real>>();
    constexpr int64_t columns = 32 * packs * in_pack<real>;
    for (int64_t top = (int64_t)blockIdx.x * warps; top < A.n; top += (int64_t)gridDim.x * warps) {
        int64_t own = top + threadIdx.x / 32;
        if (own < A.n && A.first[own + 1] - A.first[own] <= long_row)
            for (int64_t begin = 0; begin < A.d; begin += columns)
                store(A, own, begin, add_entries<aligned>(A, A.first[own], A.first[own + 1], begin));
        for (int64_t row = top; row < top + warps && row < A.n; row++)
            for (int64_t begin = 0; begin < A.d && A.first[row + 1] - A.first[row] > long_row; begin += columns)
                share_row<aligned>(A, row, begin, share);
    }
}

template <typename real> void spmm_cuda(mo_context *ctx, const mo_csr_view *A, const mo_view *X, const mo_view *Y) {
    csr_rows<real> rows = {static_cast<const int64_t *>(A->row_pointer.data),
        static_cast<const int32_t *>(A->column.data), static_cast<const real *>(A->values.data),
        static_cast<const real *>(X->data), static_cast<real *>(Y->data), Y->shape[0], Y->shape[1], X->stride[0],
        Y->stride[0]};
    bool aligned = (uintptr_t)rows.X % 16 == 0 && rows.x_step % in_pack<real> == 0 && rows.d % in_pack<real> == 0;
    if (rows.n > 0 && rows.d > 0)
        mo_launch(aligned ? spmm_kernel<true, real> : spmm_kernel<false, real>, blocks_for(rows.n, warps),
            dim3(32 * warps), 32 * warps * sizeof(lane_columns<real>), seam_of(ctx), rows);
}

template void spmm_cuda<float>(mo_context *, const mo_csr_view *, const mo_view *, const mo_view *);
template void spmm_cuda<double>(mo_context *, const mo_csr_view *, const mo_view *, const mo_view *);
