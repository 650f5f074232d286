/* tensor/cuda/spmm.cu - Y = A X for a CSR matrix: a block for each row of Y, a thread for each of its columns, which
 * adds the entries of the row of A in their order. The same bits every time, of A and of its transpose. */
#include "tensor/cuda/kernels.h"

constexpr unsigned spmm_threads = 128;

struct csr_rows {
    const int64_t *first;
    const int32_t *column;
    int64_t n, d, x_step, y_step;
};

template <typename real> static __global__ void spmm_kernel(csr_rows A, const real *value, const real *X, real *Y) {
    for (int64_t i = blockIdx.x; i < A.n; i += gridDim.x) {
        int64_t first = A.first[i], last = A.first[i + 1];
        for (int64_t j = threadIdx.x; j < A.d; j += blockDim.x) {
            real sum = 0;
            for (int64_t k = first; k < last; k++)
                sum += value[k] * X[A.column[k] * A.x_step + j];
            Y[i * A.y_step + j] = sum;
        }
    }
}

template <typename real>
void spmm_cuda(mo_context *ctx, const mo_view *row_pointer, const mo_view *column, const mo_view *values,
    const mo_view *X, const mo_view *Y) {
    csr_rows A = {static_cast<const int64_t *>(row_pointer->data), static_cast<const int32_t *>(column->data),
        Y->shape[0], Y->shape[1], X->stride[0], Y->stride[0]};
    if (A.d > 0)
        mo_launch(spmm_kernel<real>, blocks_for(A.n, 1), dim3(spmm_threads), 0, seam_of(ctx), A,
            static_cast<const real *>(values->data), static_cast<const real *>(X->data), static_cast<real *>(Y->data));
}

template void spmm_cuda<float>(
    mo_context *, const mo_view *, const mo_view *, const mo_view *, const mo_view *, const mo_view *);
template void spmm_cuda<double>(
    mo_context *, const mo_view *, const mo_view *, const mo_view *, const mo_view *, const mo_view *);
