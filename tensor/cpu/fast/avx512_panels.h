/* tensor/cpu/fast/avx512_panels.h - how operands are packed.
 *
 * An operand is cut into blocks of `terms` terms, and a block into panels of LANES rows of A (columns of B). A panel is
 * a list of vectors of LANES words of 32 bits, a word for each row. In float32 a vector holds one term. In bf16 it
 * holds two, because the instruction VDPBF16PS adds a[2l] b[2l] + a[2l+1] b[2l+1] to each of 16 float32 sums. Entries
 * beyond the edges are zero.
 *
 * Each source that includes this is compiled twice, with MO_PANEL_BITS 16 and 32: the bits of an entry. PANEL(name) is
 * name_bf16 or name_f32. */
#ifndef MO_CPU_AVX512_PANELS_H
#define MO_CPU_AVX512_PANELS_H

#include "tensor/cpu/fast/avx512.h"

#if MO_PANEL_BITS == 16
#define PANEL(name) name##_bf16
#elif MO_PANEL_BITS == 32
#define PANEL(name) name##_f32
#else
#error "MO_PANEL_BITS is 16 or 32"
#endif

enum {
    LANES = 16,
    IN_WORD = 32 / MO_PANEL_BITS, /* terms in a word */
    BLOCK_M = 64,                 /* rows of A that a thread packs at once: 96 KiB at most */
    BLOCK_K = 384 * IN_WORD       /* terms of a block, so that two panels of B take 48 KiB */
};

static inline int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static inline int64_t packed_words(int64_t lanes, int64_t terms) {
    return (lanes + LANES - 1) / LANES * LANES * ((terms + IN_WORD - 1) / IN_WORD);
}

/* An operand of n rows (of op(A)) or columns (of op(B)). along: the terms of a row (column) are neighbours in
 * memory. */
typedef struct panel_operand {
    const float *data;
    int64_t n, ld;
    bool along;
} panel_operand;

static inline panel_operand panel_operand_of(const avx512_call *g, avx512_side side) {
    return side == AVX512_A ? (panel_operand){g->A, g->m, g->lda, !g->transposed_A}
                            : (panel_operand){g->B, g->n, g->ldb, g->transposed_B};
}

#define pack_panels PANEL(pack_panels)
#define panel_terms PANEL(panel_terms)
#define panel_packed_bytes PANEL(panel_packed_bytes)
#define panel_block_bytes PANEL(panel_block_bytes)
#define panel_packings PANEL(panel_packings)
#define panel_pack PANEL(panel_pack)

/* Packs n rows or columns of X from number i0 on, terms l0 .. l0 + k - 1, into panels. */
void pack_panels(const panel_operand *X, int64_t i0, int64_t n, int64_t l0, int64_t k, uint32_t *panels);

/* The functions of avx512_kernels for entries of MO_PANEL_BITS. */
int64_t panel_terms(int64_t k);
size_t panel_packed_bytes(int64_t n, int64_t k);
size_t panel_block_bytes(int64_t k);
int64_t panel_packings(const avx512_call *g, avx512_side side);
void panel_pack(const avx512_call *g, avx512_side side, int64_t task, void *packed);

#if defined(__x86_64__)
#include <immintrin.h>

#if MO_PANEL_BITS == 16
#define PANEL_FUNCTION static __attribute__((target("avx512f,avx512bw,avx512vl,avx512bf16,prfchw")))
#else
#define PANEL_FUNCTION static __attribute__((target("avx512f,avx512bw,avx512vl,prfchw")))
#endif
#define PANEL_INLINE PANEL_FUNCTION inline __attribute__((always_inline))

static inline __mmask16 first_lanes(int64_t n) {
    return n >= LANES ? 0xffff : n <= 0 ? 0 : (__mmask16)((1 << n) - 1);
}

#endif

#endif
