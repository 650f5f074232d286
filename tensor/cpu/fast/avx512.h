/* tensor/cpu/fast/avx512.h - products of float32 matrices by 512-bit instructions: the parts that one thread computes.
 * The entries of the factors are rounded to bf16 (for AVX512-BF16) or left as they are. */
#ifndef MO_CPU_AVX512_H
#define MO_CPU_AVX512_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* C [m, n] := alpha op(A) op(B) + beta C + bias + addend of float32 matrices with leading dimensions. */
typedef struct avx512_call {
    int64_t m, n, k;
    int64_t terms; /* terms per block, after which sums are added to C: avx512_kernels.terms at the whole product's k */
    const float *A, *B;
    int64_t lda, ldb, ldc;
    bool transposed_A, transposed_B;
    float *C;
    float alpha, beta;
    const float *bias, *addend; /* [n], [m, n]; or NULL */
    int64_t ld_addend;
} avx512_call;

typedef enum avx512_side { AVX512_A, AVX512_B } avx512_side;

/* Packed operands, aligned to 64 bytes. A NULL: `multiply` packs the rows of A that it needs. */
typedef struct avx512_packed {
    void *A, *B;
} avx512_packed;

typedef struct avx512_kernels {
    /* Returns the number of terms in a block, even and at least 2. A product may be split along k into several calls,
     * if k is a multiple of this number in every call but the last. */
    int64_t (*terms)(int64_t k);
    /* packed_bytes: memory of a packed operand of n columns or rows; block_bytes: a thread's memory for a block of rows
     * of A. Both are multiples of 64 bytes, and do not fall when a size grows. */
    size_t (*packed_bytes)(int64_t n, int64_t k);
    size_t (*block_bytes)(int64_t k);
    /* An operand is packed by the calls pack(g, side, task, packed) with task = 0 .. packings(g, side) - 1, in any
     * order, on any threads; `packed` has packed_bytes of memory. */
    int64_t (*packings)(const avx512_call *g, avx512_side side);
    void (*pack)(const avx512_call *g, avx512_side side, int64_t task, void *packed);
    /* Computes rows i0 .. end - 1 of C, i0 a multiple of 8. block: if A is not packed, block_bytes of memory, aligned
     * to 64 bytes, that no other thread uses. */
    void (*multiply)(const avx512_call *g, const avx512_packed *packed, int64_t i0, int64_t end, void *block);
} avx512_kernels;

/* pack and multiply may be called only if the functions below return true. */
extern const avx512_kernels avx512_bf16, avx512_f32;

/* Returns whether the processor has AVX512-BF16 and the operating system keeps its registers. */
bool avx512_has_bf16(void);
/* Returns whether the kernels are compiled for processors that have AVX-512. The build decides, not the processor, so
 * that a build gives the same float32 bits on every processor that runs it. */
bool avx512_has_f32(void);

#endif
