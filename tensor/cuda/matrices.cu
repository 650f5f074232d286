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

constexpr int together = 4; /* number of 16-byte loads that a thread has in flight */

/* The number of elements that a block checks. */
template <typename real> constexpr int64_t finite_piece = together *block_threads *pack<real>::width;

/* Returns 0 if the entries of the i-th 16 bytes of x are finite, else NaN. */
template <typename real> __device__ static real off_finite(bool aligned, const real *x, int64_t i) {
    pack<real> p = pack_at(aligned, x, i);
    real off = 0;
    for (int k = 0; k < pack<real>::width; k++)
        off += p.value[k] - p.value[k];
    return off;
}

/* Whether the thread's share of x [n] is finite; n is at most finite_piece. */
template <typename real> __device__ static bool share_is_finite(const real *x, int64_t n) {
    bool aligned = reinterpret_cast<uintptr_t>(x) % 16 == 0;
    int64_t packs = n / pack<real>::width, i = threadIdx.x, step = blockDim.x;
    real off = 0;
    if (n == finite_piece<real>)
        for (int k = 0; k < together; k++)
            off += off_finite(aligned, x, i + k * step);
    for (; n < finite_piece<real> && i < packs; i += step)
        off += off_finite(aligned, x, i);
    for (int64_t j = packs * pack<real>::width + threadIdx.x; j < n; j += step)
        off += x[j] - x[j];
    return off == 0;
}

/* One block for each piece of a matrix. */
template <typename real>
static __global__ void finite_kernel(int64_t batch, int64_t length, const real *A, int32_t *info) {
    constexpr int64_t piece = finite_piece<real>;
    int64_t pieces = (length + piece - 1) / piece;
    for (int64_t item = blockIdx.x; item < batch * pieces; item += gridDim.x) {
        int64_t b = item / pieces, begin = (item - b * pieces) * piece, rest = length - begin;
        if (!share_is_finite(A + b * length + begin, rest < piece ? rest : piece))
            info[b] = -1;
    }
}

template <typename real> void find_not_finite(mo_context *ctx, const mo_view *A, int32_t *info) {
    int64_t batch = matrix_count(A), length = A->shape[A->ndim - 2] * A->shape[A->ndim - 1];
    mo_launch(finite_kernel<real>, blocks_for(batch * ceil_div(length, finite_piece<real>), 1), dim3(block_threads), 0,
        seam_of(ctx), batch, length, static_cast<const real *>(A->data), info);
}

template <typename real>
static __global__ void clear_kernel(int64_t batch, int64_t length, const int32_t *bad, real *A) {
    for (int64_t i = first_item(); i < batch * length; i += item_step())
        if (bad[i / length])
            A[i] = 0;
}

template <typename real> void clear_not_finite(mo_context *ctx, const mo_view *A, int32_t *info) {
    int64_t batch = matrix_count(A), length = A->shape[A->ndim - 2] * A->shape[A->ndim - 1];
    find_not_finite<real>(ctx, A, info);
    mo_launch(clear_kernel<real>, blocks_for(batch * length), dim3(block_threads), 0, seam_of(ctx), batch, length,
        static_cast<const int32_t *>(info), static_cast<real *>(A->data));
}

static __global__ void settle_kernel(int64_t batch, const int32_t *found, int32_t *info) {
    for (int64_t b = first_item(); b < batch; b += item_step())
        if (info[b] == 0)
            info[b] = found[b];
}

void settle_info(mo_context *ctx, const int32_t *found, int32_t *info, int64_t batch) {
    mo_launch(settle_kernel, blocks_for(batch), dim3(block_threads), 0, seam_of(ctx), batch, found, info);
}

template void find_not_finite<float>(mo_context *, const mo_view *, int32_t *);
template void find_not_finite<double>(mo_context *, const mo_view *, int32_t *);
template void clear_not_finite<float>(mo_context *, const mo_view *, int32_t *);
template void clear_not_finite<double>(mo_context *, const mo_view *, int32_t *);
