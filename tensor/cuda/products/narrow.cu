/* tensor/cuda/products/narrow.cu - operands of products rounded to bf16: those of a group in one launch, a row of
 * blocks each, eight values a thread wherever a row of the copy has room for them: they are written in 16 bytes, and
 * read in 16 bytes where x is aligned. The rows of [n, 513] are aligned in the copy and not in x. */
#include "tensor/cuda/map.h"
#include "tensor/cuda/products/narrow.h"
#include "tensor/files/conversion.h"

/* One copy. If `columns` is not 0, rows have that number of values, and an item of N is eight neighbours of a row or
 * the end of the row; otherwise an item is one value. */
struct narrowing {
    cuda_nest<2> N;
    int64_t columns;
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
    for (int64_t i = first_item(); i < n.N.total; i += item_step()) {
        int64_t at[2], eight = loop_nest_seek(n.N, i, at), there = n.columns - 8 * eight;
        if (!n.columns) {
            n.y[at[1]] = bfloat_of(n.x[at[0]]);
            continue;
        }
        neighbours<float, 4> low = load_part<4>(n.x + at[0], there), high = load_part<4>(n.x + at[0] + 4, there - 4);
        neighbours<uint16_t, 8> y;
        for (int k = 0; k < 4; k++) {
            y.value[k] = bfloat_of(low.value[k]);
            y.value[k + 4] = bfloat_of(high.value[k]);
        }
        *reinterpret_cast<neighbours<uint16_t, 8> *>(n.y + at[1]) = y;
    }
}

/* Makes the items eight neighbours where all rows of y begin at multiples of 16 bytes. */
static void take_eights(narrowing *n) {
    cuda_nest<2> *N = &n->N;
    int64_t last = N->ndim - 1;
    if (N->total == 0 || last < 0 || N->stride[0][last] != 1 || N->stride[1][last] != 1 || (uintptr_t)n->y % 16)
        return;
    for (int64_t i = 0; i < last; i++)
        if (N->stride[1][i] % 8)
            return;
    n->columns = N->size[last];
    N->size[last] = ceil_div(n->columns, 8);
    N->stride[0][last] = N->stride[1][last] = 8;
    N->total = N->total / n->columns * N->size[last];
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
            take_eights(to);
            items = most(items, to->N.total);
        }
        dim3 blocks = blocks_for(items);
        mo_launch(narrow_kernel, dim3(blocks.x, (unsigned)count), dim3(block_threads), 0, seam_of(ctx), all);
    }
}
