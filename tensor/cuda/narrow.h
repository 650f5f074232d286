/* tensor/cuda/narrow.h - operands of a product rounded to bf16 (copy.cu). */
#ifndef MO_CUDA_NARROW_H
#define MO_CUDA_NARROW_H

#include "tensor/cuda/device.h"

/* y[i] := x[i] rounded, from float32 to bf16, in one launch. */
void narrow_cuda(mo_context *ctx, const mo_view (&x)[2], const mo_view (&y)[2]);

#endif
