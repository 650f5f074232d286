/* tensor/cuda/products/narrow.h - operands of products rounded to bf16. */
#ifndef MO_CUDA_NARROW_H
#define MO_CUDA_NARROW_H

#include "tensor/cuda/device.h"

/* x of any strides goes to y of the same shape. */
struct operand_copy {
    mo_view x, y;
};

/* y := x rounded, from float32 to bf16, for n copies; up to 16 are one launch. Empty views are legal. Where all rows of
 * y begin at multiples of 16 bytes, the kernel fills each row up to a multiple of 16 bytes with zeros: y has that room.
 */
void narrow_cuda(mo_context *ctx, const operand_copy *copies, int n);

#endif
