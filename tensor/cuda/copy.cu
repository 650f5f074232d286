/* tensor/cuda/copy.cu - copies between any two dtypes and strides, and fills.
 *
 * The rules of cpu/copy.c: equal dtypes move bits, others pass through double and are rounded once; reals become
 * integers by truncation, saturating; NaN becomes 0. Operands of products in bf16 are rounded both in one launch, eight
 * values a thread where memory is read in order. */
#include "tensor/cuda/kernels.h"
#include "tensor/cuda/loop_nest.h"
#include "tensor/cuda/narrow.h"
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

/* ---- operands of products in bf16 ---- */

struct alignas(16) four_floats {
    float value[4];
};
struct alignas(16) eight_bfloats {
    uint16_t value[8];
};

struct narrowing {
    cuda_nest<2> N;
    int64_t eights; /* the number of groups of eight values that both sides have in order, from the first on */
    const float *x;
    uint16_t *y;
};

struct narrowings {
    narrowing of[2];
};

/* As double_to_bfloat, for a float. */
__device__ static uint16_t bfloat_of(float x) {
    uint32_t u = bits_of_float(x);
    return (u & 0x7fffffff) > 0x7f800000 ? (uint16_t)(u >> 16 | 0x40) : (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

static __global__ void narrow_kernel(narrowings both) {
    const narrowing &n = both.of[blockIdx.y];
    for (int64_t i = first_item(); i < n.eights; i += item_step()) {
        const four_floats *x = reinterpret_cast<const four_floats *>(n.x) + 2 * i;
        four_floats low = x[0], high = x[1];
        eight_bfloats y;
        for (int k = 0; k < 4; k++) {
            y.value[k] = bfloat_of(low.value[k]);
            y.value[k + 4] = bfloat_of(high.value[k]);
        }
        reinterpret_cast<eight_bfloats *>(n.y)[i] = y;
    }
    for (int64_t i = 8 * n.eights + first_item(); i < n.N.total; i += item_step()) {
        int64_t at[2];
        loop_nest_seek(n.N, i, at);
        n.y[at[1]] = bfloat_of(n.x[at[0]]);
    }
}

void narrow_cuda(mo_context *ctx, const mo_view (&x)[2], const mo_view (&y)[2]) {
    narrowings both = {};
    int64_t items = 0;
    for (int o = 0; o < 2; o++) {
        narrowing *n = &both.of[o];
        n->N = loop_nest_of({&x[o], &y[o]});
        n->x = static_cast<const float *>(x[o].data);
        n->y = static_cast<uint16_t *>(y[o].data);
        bool ordered = n->N.ndim == 1 && n->N.stride[0][0] == 1 && n->N.stride[1][0] == 1;
        bool aligned = ((uintptr_t)n->x | (uintptr_t)n->y) % 16 == 0;
        n->eights = ordered && aligned ? n->N.total / 8 : 0;
        items = most(items, n->eights ? n->eights : n->N.total);
    }
    dim3 blocks = blocks_for(items);
    mo_launch(narrow_kernel, dim3(blocks.x, 2), dim3(block_threads), 0, seam_of(ctx), both);
}
