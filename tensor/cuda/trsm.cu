/* tensor/cuda/trsm.cu - B := op(T)^-1 B in place, batched.
 *
 * To the library the row-major B is B^T and T is T^T: X^T = B^T op(T)^-T, a triangle on the right of B^T. */
#include "tensor/cuda/kernels.h"
#include "tensor/cuda/matrices.h"

template <typename real>
void solve_triangles(
    mo_context *ctx, bool lower, bool transposed, bool unit, const mo_view *T, const mo_view *B, void **scratch) {
    int64_t n = B->shape[B->ndim - 2], m = B->shape[B->ndim - 1], batch = matrix_count(B);
    seam_triangle t = {seam_type_of<real>(), false, !lower, transposed, unit, m, n, n, m};
    if (batch == 1) {
        cuda_ok(ctx, "triangular solve", seam_trsm(seam_of(ctx), &t, T->data, B->data));
        return;
    }
    matrix_addresses(ctx, B, T, sizeof(real), scratch);
    matrix_addresses(ctx, B, B, sizeof(real), scratch + batch);
    cuda_ok(ctx, "triangular solve", seam_trsm_batched(seam_of(ctx), &t, scratch, scratch + batch, batch));
}

template <typename real> void trsm_cuda(mo_context *ctx, mo_triangle triangle, const mo_view *T, const mo_view *B) {
    int64_t batch = matrix_count(B);
    if (batch * B->shape[B->ndim - 2] * B->shape[B->ndim - 1] == 0)
        return;
    void **scratch = static_cast<void **>(cuda_scratch(ctx, (size_t)(2 * batch) * sizeof *scratch));
    if (scratch)
        solve_triangles<real>(
            ctx, mo_triangle_is_lower(triangle), mo_triangle_is_transposed(triangle), false, T, B, scratch);
}

template void solve_triangles<float>(mo_context *, bool, bool, bool, const mo_view *, const mo_view *, void **);
template void solve_triangles<double>(mo_context *, bool, bool, bool, const mo_view *, const mo_view *, void **);
template void trsm_cuda<float>(mo_context *, mo_triangle, const mo_view *, const mo_view *);
template void trsm_cuda<double>(mo_context *, mo_triangle, const mo_view *, const mo_view *);
