/* tensor/cpu/fast/bf16_panels.h - how operands of products in bf16 are packed.
 *
 * The instruction VDPBF16PS adds a[2l] b[2l] + a[2l+1] b[2l+1] to each of 16 float32 sums. Hence the layout: blocks of
 * `terms` terms, a block is panels of LANES rows of A (columns of B), a panel is [terms / 2][LANES] words, a word is
 * the pair (2l, 2l + 1) of one row (column); what is missing at the edges is zero. */
#ifndef MO_CPU_BF16_PANELS_H
#define MO_CPU_BF16_PANELS_H

#include "tensor/cpu/fast/bf16.h"

enum {
    LANES = 16,
    BLOCK_M = 64, /* rows of A that a thread packs at once: 96 KiB at most */
    BLOCK_K = 768 /* two panels of B: 48 KiB */
};

static inline int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static inline int64_t packed_words(int64_t lanes, int64_t terms) {
    return (lanes + LANES - 1) / LANES * LANES * ((terms + 1) / 2);
}

/* An operand of n rows (of op(A)) or columns (of op(B)); along: the terms of one are neighbours in memory. */
typedef struct bf16_operand {
    const float *data;
    int64_t n, ld;
    bool along;
} bf16_operand;

static inline bf16_operand bf16_operand_of(const bf16_call *g, bf16_side side) {
    return side == BF16_A ? (bf16_operand){g->A, g->m, g->lda, !g->transposed_A}
                          : (bf16_operand){g->B, g->n, g->ldb, g->transposed_B};
}

/* Panels of n rows or columns of X from number i0 on, terms l0 .. l0 + k - 1. */
void bf16_pack_panels(const bf16_operand *X, int64_t i0, int64_t n, int64_t l0, int64_t k, uint32_t *panels);

#if defined(__x86_64__)
#include <immintrin.h>

#define BF16_FUNCTION static __attribute__((target("avx512f,avx512bw,avx512vl,avx512bf16,prfchw")))
#define BF16_INLINE BF16_FUNCTION inline __attribute__((always_inline))

static inline __mmask16 first_lanes(int64_t n) {
    return n >= LANES ? 0xffff : n <= 0 ? 0 : (__mmask16)((1 << n) - 1);
}

#endif

#endif
