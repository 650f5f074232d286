/* tensor/cuda/products/operands.h - operands of products as the library sees them. */
#ifndef MO_CUDA_OPERANDS_H
#define MO_CUDA_OPERANDS_H

#include "tensor/cuda/device.h"

extern "C" {
#include "tensor/backend.h"
}

struct operand {
    const void *data;
    bool transposed;
    int64_t ld;
    mo_view view; /* batch strides */
};

constexpr int most_in_group = 40; /* products whose operands are copied together */

/* Describes A and B of n products, up to most_in_group, that have entries to multiply. What the library cannot read, or
 * has another type than `input`, is copied to scratch memory, once for all that read it: a matrix and its transpose are
 * one copy, and so are a matrix and its first rows. Rows of a copy begin at multiples of 16 bytes. Returns false (and
 * MO_MEMORY is raised) if there is no memory. */
bool find_operands(mo_context *ctx, const mo_gemm *const *g, int n, mo_dtype input, operand (*found)[2]);

#endif
