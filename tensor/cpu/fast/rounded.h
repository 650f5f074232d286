/* tensor/cpu/fast/rounded.h - products of float32 whose factors are rounded to bf16, on several threads. */
#ifndef MO_CPU_ROUNDED_H
#define MO_CPU_ROUNDED_H

#include "tensor/cpu/fast/product.h"

#if MO_REAL_BITS == 32

/* Bytes that rounded_product needs for so many threads, a multiple of 64. */
size_t rounded_bytes(const product *p, int threads);
/* Computes all of p. scratch: that memory, aligned to 64 bytes. */
void rounded_product(const product *p, int threads, void *scratch);

#else /* float64 is never rounded */

static inline size_t rounded_bytes(const product *p, int threads) {
    (void)p, (void)threads;
    return 0;
}

static inline void rounded_product(const product *p, int threads, void *scratch) {
    (void)p, (void)threads, (void)scratch;
}

#endif

#endif
