/* tensor/cpu/fast/avx512.h - products of float32 matrices by vectors of 512 bits: the parts that one thread computes.
 * The entries of the factors are rounded to bf16 (for AVX512-BF16) or left as they are. */
#ifndef MO_CPU_AVX512_H
#define MO_CPU_AVX512_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* C [m, n] := alpha op(A) op(B) + beta C + bias + addend of float32 matrices with leading dimensions. */
typedef struct avx512_call {
    int64_t m, n, k;
    int64_t terms; /* terms after which a sum is closed: as for the whole k, of which this call's k may be a part */
    const float *A, *B;
    int64_t lda, ldb, ldc;
    bool transposed_A, transposed_B;
    float *C;
    float alpha, beta;
    const float *bias, *addend; /* [n], [m, n]; or NULL */
    int64_t ld_addend;
} avx512_call;

typedef enum avx512_side { AVX512_A, AVX512_B } avx512_side;

/* Packed operands; A may be NULL. Aligned to 64 bytes. */
typedef struct avx512_packed {
    void *A, *B;
} avx512_packed;

typedef struct avx512_kernels {
    /* The number of terms in a block, even and at least 2. Several calls can add up to one product if each call but the
     * last has a multiple of it as k. */
    int64_t (*terms)(int64_t k);
    /* packed_bytes: memory of a packed operand of n columns or rows; block_bytes: a thread's memory for a block of rows
     * of A. Multiples of 64 bytes; no smaller for larger sizes. */
    size_t (*packed_bytes)(int64_t n, int64_t k);
    size_t (*block_bytes)(int64_t k);
    /* packings: the number of calls of pack that pack an operand, in any order, on any threads. packed: packed_bytes of
     * memory. */
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
/* Returns whether the kernels are compiled for processors that have AVX-512. The processor is not asked: float32 is the
 * usual mode, in which a build gives the same bits on every processor that runs it. */
bool avx512_has_f32(void);

#endif
