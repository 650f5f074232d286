/* tensor/cuda/spmm.cu - Y = A X for a CSR matrix.
 *
 * Our kernel has one block per row of Y and one thread per column, which adds the entries of the row of A in their
 * order: the same bits every time. cuSPARSE divides the work by entries, which spreads rows with many entries over the
 * device. It computes the larger matrices; their int32 row pointers and its analysis are kept with the matrix. */
#include "tensor/cuda/kernels.h"
#include "tensor/cuda/matrices.h"

#include <cstdlib>

constexpr unsigned spmm_threads = 128;
constexpr int64_t many_entries = 1 << 16; /* with fewer entries, our one launch is faster than the library's several */

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

/* ---- by the library ---- */

struct prepared_csr {
    seam_sparse *of;
    void *row_pointer; /* int32 */
    size_t bytes;
};

void forget_cuda(mo_context *ctx, void *prepared) {
    prepared_csr *P = static_cast<prepared_csr *>(prepared);
    if (P->of)
        seam_sparse_release(seam_of(ctx), P->of);
    cuda_give(ctx, P->row_pointer, P->bytes);
    free(P);
}

/* Returns the matrix in the library's form, which the first product makes; NULL if that failed, also for all later
 * products. */
static seam_sparse *prepare(mo_context *ctx, seam_type type, const mo_csr_view *A, int64_t columns) {
    if (*A->prepared)
        return static_cast<prepared_csr *>(*A->prepared)->of;
    prepared_csr *P = static_cast<prepared_csr *>(calloc(1, sizeof *P));
    mo_view narrow = A->row_pointer;
    int64_t n = narrow.shape[0];
    *A->prepared = P;
    if (P)
        P->row_pointer = cuda_take(ctx, P->bytes = (size_t)n * sizeof(int32_t));
    if (!P || !P->row_pointer)
        return nullptr;
    narrow.dtype = MO_I32;
    narrow.data = P->row_pointer;
    copy_cuda(ctx, &A->row_pointer, &narrow);
    seam_csr matrix = {type, n - 1, columns, A->values.shape[0], static_cast<const int32_t *>(P->row_pointer),
        static_cast<const int32_t *>(A->column.data), A->values.data};
    P->of = seam_sparse_create(seam_of(ctx), &matrix);
    return P->of;
}

static bool aligned(const void *address) {
    return (uintptr_t)address % 16 == 0;
}

/* Whether cuSPARSE can take the product. For one column it would use another routine, which does not promise the same
 * bits every time. */
static bool fits_library(const mo_csr_view *A, const mo_view *X, const mo_view *Y) {
    int64_t nnz = A->values.shape[0], limit = INT32_MAX;
    return A->prepared && nnz > 0 && nnz < limit && Y->shape[0] < limit && X->shape[0] < limit && X->shape[1] > 1 &&
           X->shape[1] < limit && aligned(A->column.data) && aligned(A->values.data) && aligned(X->data) &&
           aligned(Y->data) && X->stride[0] >= X->shape[1];
}

template <typename real>
static bool multiply(mo_context *ctx, const mo_csr_view *A, const mo_view *X, const mo_view *Y) {
    if (!fits_library(A, X, Y) || !library_first(ctx, A->values.shape[0] >= many_entries))
        return false;
    seam_sparse *of = prepare(ctx, seam_type_of<real>(), A, X->shape[0]);
    seam_dense x = {X->data, X->shape[1], X->stride[0]}, y = {Y->data, X->shape[1], Y->stride[0]};
    return of && seam_sparse_multiply(seam_of(ctx), of, &x, &y);
}

template <typename real> void spmm_cuda(mo_context *ctx, const mo_csr_view *A, const mo_view *X, const mo_view *Y) {
    csr_rows rows = {static_cast<const int64_t *>(A->row_pointer.data), static_cast<const int32_t *>(A->column.data),
        Y->shape[0], Y->shape[1], X->stride[0], Y->stride[0]};
    if (rows.d == 0 || multiply<real>(ctx, A, X, Y))
        return;
    mo_launch(spmm_kernel<real>, blocks_for(rows.n, 1), dim3(spmm_threads), 0, seam_of(ctx), rows,
        static_cast<const real *>(A->values.data), static_cast<const real *>(X->data), static_cast<real *>(Y->data));
}

template void spmm_cuda<float>(mo_context *, const mo_csr_view *, const mo_view *, const mo_view *);
template void spmm_cuda<double>(mo_context *, const mo_csr_view *, const mo_view *, const mo_view *);
