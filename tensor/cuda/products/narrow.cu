/* tensor/cuda/products/narrow.cu - operands of products rounded to bf16: those of a group in one launch, a row of
 * blocks each, eight values a thread wherever eight neighbours can be read and written in 16 bytes. */
#include "tensor/cuda/loop_nest.h"
#include "tensor/cuda/products/narrow.h"
#include "tensor/files/conversion.h"

struct alignas(16) four_floats {
    float value[4];
};
struct alignas(16) eight_bfloats {
    uint16_t value[8];
};

struct narrowing {
    cuda_nest<2> N;
    int64_t eights; /* the number of groups of eight neighbours, from the first value on */
    const float *x;
    uint16_t *y;
};

constexpr int most_narrowed = 16; /* what a launch carries: 3 of the 4 KiB that its arguments may have */

struct narrowings {
    narrowing of[most_narrowed];
};

/* As double_to_bfloat, for a float. */
__device__ static uint16_t bfloat_of(float x) {
    uint32_t u = bits_of_float(x);
    return (u & 0x7fffffff) > 0x7f800000 ? (uint16_t)(u >> 16 | 0x40) : (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

static __global__ void narrow_kernel(narrowings all) {
    const narrowing &n = all.of[blockIdx.y];
    for (int64_t i = first_item(); i < n.eights; i += item_step()) {
        int64_t at[2];
        loop_nest_seek(n.N, 8 * i, at);
        const four_floats *x = reinterpret_cast<const four_floats *>(n.x + at[0]);
        four_floats low = x[0], high = x[1];
        eight_bfloats y;
        for (int k = 0; k < 4; k++) {
            y.value[k] = bfloat_of(low.value[k]);
            y.value[k + 4] = bfloat_of(high.value[k]);
        }
        *reinterpret_cast<eight_bfloats *>(n.y + at[1]) = y;
    }
    for (int64_t i = 8 * n.eights + first_item(); i < n.N.total; i += item_step()) {
        int64_t at[2];
        loop_nest_seek(n.N, i, at);
        n.y[at[1]] = bfloat_of(n.x[at[0]]);
    }
}

/* Whether eight neighbours begin at multiples of 16 bytes, on both sides and in every row. */
static bool in_eights(const narrowing &n) {
    int64_t last = n.N.ndim - 1;
    if (last < 0 || n.N.stride[0][last] != 1 || n.N.stride[1][last] != 1 || ((uintptr_t)n.x | (uintptr_t)n.y) % 16)
        return false;
    for (int64_t i = 0; i < last; i++)
        if (n.N.stride[0][i] % 4 || n.N.stride[1][i] % 8)
            return false;
    return last == 0 || n.N.size[last] % 8 == 0;
}

void narrow_cuda(mo_context *ctx, const operand_copy *copies, int n) {
    for (int first = 0; first < n; first += most_narrowed) {
        narrowings all = {};
        int count = (int)least(n - first, most_narrowed);
        int64_t items = 0;
        for (int o = 0; o < count; o++) {
            const operand_copy *c = &copies[first + o];
            narrowing *to = &all.of[o];
            to->N = loop_nest_of({&c->x, &c->y});
            to->x = static_cast<const float *>(c->x.data);
            to->y = static_cast<uint16_t *>(c->y.data);
            to->eights = in_eights(*to) ? to->N.total / 8 : 0;
            items = most(items, to->eights ? to->eights : to->N.total);
        }
        dim3 blocks = blocks_for(items);
        mo_launch(narrow_kernel, dim3(blocks.x, (unsigned)count), dim3(block_threads), 0, seam_of(ctx), all);
    }
}
