/* tensor/cuda/copy.cu - copies between any two dtypes and strides, and fills.
 *
 * As in cpu/copy.c, equal dtypes are copied bit by bit, others pass through double and are rounded once; reals become
 * integers by truncation, saturating; NaN becomes 0. */
#include "tensor/cuda/kernels.h"
#include "tensor/cuda/map.h"
#include "tensor/files/conversion.h"

struct unchanged {
    template <typename word> __device__ static word of(const coefficients<word> &, word x) {
        return x;
    }
};

struct constant {
    template <typename word> __device__ static word of(const coefficients<word> &c) {
        return c.a;
    }
};

template <typename word> static __global__ void move_kernel(cuda_nest<2> N, int64_t groups, word *y, const word *x) {
    map_items<unchanged>(N, groups, coefficients<word>{}, y, x);
}

template <typename word>
static __global__ void fill_kernel(cuda_nest<1> N, int64_t groups, coefficients<word> value, word *y) {
    map_items<constant>(N, groups, value, y);
}

static __global__ void convert_kernel(cuda_nest<2> N, mo_dtype from, const void *x, mo_dtype to, void *y) {
    for (int64_t i = first_item(); i < N.total; i += item_step()) {
        int64_t at[2];
        loop_nest_seek(N, i, at);
        mo_store_element(to, y, at[1], mo_load_element(from, x, at[0]));
    }
}

template <typename word> static void move(mo_context *ctx, const mo_view *x, const mo_view *y) {
    cuda_nest<2> N = loop_nest_of({y, x});
    const word *from = static_cast<const word *>(x->data);
    word *to = static_cast<word *>(y->data);
    int64_t groups = groups_of(N, to, from);
    mo_launch(
        move_kernel<word>, blocks_for_map(N.total, groups), dim3(block_threads), 0, seam_of(ctx), N, groups, to, from);
}

/* Fills y with the value that the first bytes of `element` hold. */
template <typename word> static void fill(mo_context *ctx, const unsigned char *element, const mo_view *y) {
    cuda_nest<1> N = loop_nest_of({y});
    word *to = static_cast<word *>(y->data);
    int64_t groups = groups_of(N, to);
    coefficients<word> c = {};
    memcpy(&c.a, element, sizeof c.a);
    mo_launch(
        fill_kernel<word>, blocks_for_map(N.total, groups), dim3(block_threads), 0, seam_of(ctx), N, groups, c, to);
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
        move<uint64_t>(ctx, x, y);
    else if (bytes == 4)
        move<uint32_t>(ctx, x, y);
    else if (bytes == 2)
        move<uint16_t>(ctx, x, y);
    else
        move<uint8_t>(ctx, x, y);
}

void fill_cuda(mo_context *ctx, double value, const mo_view *y) {
    alignas(8) unsigned char element[8] = {};
    mo_store_element(y->dtype, element, 0, value);
    size_t bytes = element_bytes(y->dtype);
    if (bytes == 8)
        fill<uint64_t>(ctx, element, y);
    else if (bytes == 4)
        fill<uint32_t>(ctx, element, y);
    else if (bytes == 2)
        fill<uint16_t>(ctx, element, y);
    else
        fill<uint8_t>(ctx, element, y);
}
