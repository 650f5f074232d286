/* tensor/cpu/fast/packed_product.h - products of packed operands, on several threads: float32 alone. */
#ifndef MO_CPU_PACKED_PRODUCT_H
#define MO_CPU_PACKED_PRODUCT_H

#include "tensor/cpu/fast/product.h"

#if MO_REAL_BITS == 32

/* The number of bytes of scratch that packed_product needs if it is given `threads` threads; a multiple of 64. */
size_t packed_product_bytes(const product *p, int threads);
/* Computes all of p by the kernels p->packed. scratch: that memory, aligned to 64 bytes. */
void packed_product(const product *p, int threads, void *scratch);

#else /* float64 has no such kernels: p->packed is NULL */

static inline size_t packed_product_bytes(const product *p, int threads) {
    (void)p, (void)threads;
    return 0;
}

static inline void packed_product(const product *p, int threads, void *scratch) {
    (void)p, (void)threads, (void)scratch;
}

#endif

#endif
