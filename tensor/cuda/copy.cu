/* tensor/cuda/copy.cu - copies between any two dtypes and strides, and fills.
 *
 * The rules of cpu/copy.c: equal dtypes move bits, others pass through double and are rounded once; reals become
 * integers by truncation, saturating; NaN becomes 0. */
#include "tensor/cuda/kernels.h"
#include "tensor/cuda/loop_nest.h"
#include "tensor/files/conversion.h"

template <typename word> static __global__ void move_kernel(cuda_nest<2> N, const word *x, word *y) {
    for (int64_t i = first_item(); i < N.total; i += item_step()) {
        int64_t at[2];
        loop_nest_seek(N, i, at);
        y[at[1]] = x[at[0]];
    }
}

static __global__ void convert_kernel(cuda_nest<2> N, mo_dtype from, const void *x, mo_dtype to, void *y) {
    for (int64_t i = first_item(); i < N.total; i += item_step()) {
        int64_t at[2];
        loop_nest_seek(N, i, at);
        mo_store_element(to, y, at[1], mo_load_element(from, x, at[0]));
    }
}

static __global__ void fill_kernel(cuda_nest<1> N, mo_dtype dtype, void *y, double value) {
    for (int64_t i = first_item(); i < N.total; i += item_step()) {
        int64_t at[1];
        loop_nest_seek(N, i, at);
        mo_store_element(dtype, y, at[0], value);
    }
}

template <typename word> static void move(mo_context *ctx, const cuda_nest<2> &N, const mo_view *x, const mo_view *y) {
    mo_launch(move_kernel<word>, blocks_for(N.total), dim3(block_threads), 0, seam_of(ctx), N,
        static_cast<const word *>(x->data), static_cast<word *>(y->data));
}

static size_t element_bytes(mo_dtype dtype) {
    return dtype == MO_F64 || dtype == MO_I64 ? 8 : dtype == MO_U8 ? 1 : dtype == MO_F16 || dtype == MO_BF16 ? 2 : 4;
}

void copy_cuda(mo_context *ctx, const mo_view *x, const mo_view *y) {
    cuda_nest<2> N = loop_nest_of({x, y});
    size_t bytes = element_bytes(x->dtype);
    if (N.total == 0)
        return;
    if (x->dtype != y->dtype)
        mo_launch(convert_kernel, blocks_for(N.total), dim3(block_threads), 0, seam_of(ctx), N, x->dtype, x->data,
            y->dtype, y->data);
    else if (N.ndim == 0 || (N.ndim == 1 && N.stride[0][0] == 1 && N.stride[1][0] == 1))
        seam_copy(seam_of(ctx), y->data, x->data, (size_t)N.total * bytes);
    else if (bytes == 8)
        move<uint64_t>(ctx, N, x, y);
    else if (bytes == 4)
        move<uint32_t>(ctx, N, x, y);
    else if (bytes == 2)
        move<uint16_t>(ctx, N, x, y);
    else
        move<uint8_t>(ctx, N, x, y);
}

void fill_cuda(mo_context *ctx, double value, const mo_view *y) {
    cuda_nest<1> N = loop_nest_of({y});
    mo_launch(fill_kernel, blocks_for(N.total), dim3(block_threads), 0, seam_of(ctx), N, y->dtype, y->data, value);
}
