/* tensor/cuda/matrices.cu - addresses of the matrices of a batch; the search for values that are not finite. */
#include "tensor/cuda/matrices.h"

struct batch_axes {
    int64_t count, size[MO_MAX_AXES], stride[MO_MAX_AXES];
};

static __global__ void address_kernel(batch_axes axes, int64_t batch, size_t element, char *data, void **address) {
    for (int64_t b = first_item(); b < batch; b += item_step()) {
        int64_t offset = 0, rest = b;
        for (int64_t i = axes.count - 1; i >= 0; i--) {
            offset += rest % axes.size[i] * axes.stride[i];
            rest /= axes.size[i];
        }
        address[b] = data + offset * (int64_t)element;
    }
}

void matrix_addresses(mo_context *ctx, const mo_view *B, const mo_view *T, size_t element, void **address) {
    batch_axes axes = {};
    axes.count = B->ndim - 2;
    for (int i = 0; i < axes.count; i++) {
        axes.size[i] = B->shape[i];
        axes.stride[i] = T->stride[i];
    }
    int64_t batch = matrix_count(B);
    mo_launch(address_kernel, blocks_for(batch), dim3(block_threads), 0, seam_of(ctx), axes, batch, element,
        static_cast<char *>(T->data), address);
}

/* One block for each matrix. */
template <typename real>
static __global__ void finite_kernel(
    bool lower_only, int64_t batch, int64_t rows, int64_t columns, const real *A, int32_t *flags) {
    __shared__ int32_t found;
    for (int64_t b = blockIdx.x; b < batch; b += gridDim.x) {
        if (threadIdx.x == 0)
            found = 0;
        __syncthreads();
        for (int64_t i = threadIdx.x; i < rows * columns; i += blockDim.x) {
            real x = A[b * rows * columns + i];
            if (x - x != 0 && (!lower_only || i % columns <= i / columns))
                atomicCAS(&found, 0, 1);
        }
        __syncthreads();
        if (threadIdx.x == 0)
            flags[b] = found;
        __syncthreads();
    }
}

template <typename real> void find_not_finite(mo_context *ctx, bool lower_only, const mo_view *A, int32_t *flags) {
    int64_t batch = matrix_count(A);
    mo_launch(finite_kernel<real>, blocks_for(batch, 1), dim3(block_threads), 0, seam_of(ctx), lower_only, batch,
        A->shape[A->ndim - 2], A->shape[A->ndim - 1], static_cast<const real *>(A->data), flags);
}

static __global__ void settle_kernel(int64_t batch, const int32_t *flags, const int32_t *found, int32_t *info) {
    for (int64_t b = first_item(); b < batch; b += item_step())
        info[b] = flags[b] ? -1 : found[b];
}

void settle_info(mo_context *ctx, const int32_t *flags, const int32_t *found, int32_t *info, int64_t batch) {
    mo_launch(settle_kernel, blocks_for(batch), dim3(block_threads), 0, seam_of(ctx), batch, flags, found, info);
}

template void find_not_finite<float>(mo_context *, bool, const mo_view *, int32_t *);
template void find_not_finite<double>(mo_context *, bool, const mo_view *, int32_t *);
