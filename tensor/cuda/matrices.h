/* tensor/cuda/matrices.h - batches of matrices in the form that the vendor's libraries take.
 *
 * The libraries are column-major: a row-major matrix is its transpose to them, so "lower" here is their "upper". */
#ifndef MO_CUDA_MATRICES_H
#define MO_CUDA_MATRICES_H

#include "tensor/cuda/device.h"

template <typename real> constexpr seam_type seam_type_of() {
    return sizeof(real) == 4 ? SEAM_F32 : SEAM_F64;
}

constexpr int64_t batched_up_to = 512; /* larger matrices fill the device one by one */

/* The number of matrices [.., m, n]. */
inline int64_t matrix_count(const mo_view *A) {
    return leading(A, A->ndim - 2);
}

/* Writes the address of each matrix of T to the device array `address`. The batch has the leading axes of B; T's may be
 * broadcast. */
void matrix_addresses(mo_context *ctx, const mo_view *B, const mo_view *T, size_t element, void **address);

/* Solves with triangles: B := op(T)^-1 B, row-major, B [.., n, m] contiguous. scratch holds 2 * batch addresses. */
template <typename real>
void solve_triangles(
    mo_context *ctx, bool lower, bool transposed, bool unit, const mo_view *T, const mo_view *B, void **scratch);

/* info[b] = -1 where matrix b of A holds a value that is not finite; other words stay. */
template <typename real> void find_not_finite(mo_context *ctx, const mo_view *A, int32_t *info);

/* info[b] = found[b], the library's word, where info[b] is 0. */
void settle_info(mo_context *ctx, const int32_t *found, int32_t *info, int64_t batch);

#endif
