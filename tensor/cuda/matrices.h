/* tensor/cuda/matrices.h - batches of matrices in the form that the vendor's libraries take.
 *
 * The libraries are column-major: they read a row-major matrix as its transpose, so that a lower triangle here is their
 * "upper". */
#ifndef MO_CUDA_MATRICES_H
#define MO_CUDA_MATRICES_H

#include "tensor/cuda/device.h"

template <typename real> constexpr seam_type seam_type_of() {
    return sizeof(real) == 4 ? SEAM_F32 : SEAM_F64;
}

constexpr int64_t batched_up_to = 512; /* largest order for batched calls; larger matrices fill the device one by one */

/* The tiles of a lower triangle are counted row by row: tile (i, j) is number i (i + 1) / 2 + j, so that rows 0 .. i -
 * 1 have tile_number(i, 0) tiles. tile_of: the inverse. */
template <typename integer> __host__ __device__ inline integer tile_number(integer i, integer j) {
    return i * (i + 1) / 2 + j;
}

/* The number of tiles of `side` rows in a lower triangle of order n. */
__host__ __device__ inline int64_t tiles_of(int64_t n, int64_t side) {
    return tile_number<int64_t>((n + side - 1) / side, 0);
}

struct tile_index {
    int64_t i, j;
};

__device__ inline tile_index tile_of(int64_t k) {
    int64_t i = (int64_t)((sqrt(8.0 * (double)k + 1) - 1) / 2);
    i += tile_number<int64_t>(i + 1, 0) <= k ? 1 : tile_number<int64_t>(i, 0) > k ? -1 : 0; /* the root is rounded */
    return {i, k - tile_number<int64_t>(i, 0)};
}

/* Writes to the device array `address` the address of the matrix of T that belongs to each matrix of B; leading axes of
 * T may be broadcast (stride 0). */
void matrix_addresses(mo_context *ctx, const mo_view *B, const mo_view *T, size_t element, void **address);

/* B := op(T)^-1 B for triangles T, row-major, B [.., n, m] contiguous and not empty. scratch: triangles_bytes(B) bytes,
 * aligned for a pack. */
template <typename real>
void solve_triangles(
    mo_context *ctx, bool lower, bool transposed, bool unit, const mo_view *T, const mo_view *B, void *scratch);
template <typename real> size_t triangles_bytes(const mo_view *B);

/* info[b] = -1 where matrix b of A has a value that is not finite; the rest of info does not change. */
template <typename real> void find_not_finite(mo_context *ctx, const mo_view *A, int32_t *info);

/* The same, and sets these matrices to zero: the library's iterations need not end on them. */
template <typename real> void clear_not_finite(mo_context *ctx, const mo_view *A, int32_t *info);

/* info[b] = found[b], the library's info, where info[b] is 0. */
void settle_info(mo_context *ctx, const int32_t *found, int32_t *info, int64_t batch);

#endif
