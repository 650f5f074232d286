/* tensor/cpu/fast/bf16.h - products whose factors are rounded to bf16, on processors that have AVX512-BF16: the parts
 * that one thread computes. */
#ifndef MO_CPU_BF16_H
#define MO_CPU_BF16_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* C [m, n] := alpha op(A) op(B) + beta C + bias + addend of float32 matrices with leading dimensions. */
typedef struct bf16_call {
    int64_t m, n, k;
    int64_t terms; /* a sum is closed after as many terms: bf16_terms of the whole k, of which this k may be a part */
    const float *A, *B;
    int64_t lda, ldb, ldc;
    bool transposed_A, transposed_B;
    float *C;
    float alpha, beta;
    const float *bias, *addend; /* [n], [m, n]; or NULL */
    int64_t ld_addend;
} bf16_call;

/* Returns whether the processor has AVX512-BF16 and the operating system keeps its registers. */
bool bf16_available(void);
/* Even, at least 2; a multiple of it may be the first k of several calls that add up to one product. */
int64_t bf16_terms(int64_t k);

/* Memory that an operand of n columns or rows takes when it is packed, and a thread's memory for a block of rows of A.
 * Multiples of 64 bytes; no smaller for larger sizes. */
size_t bf16_packed_bytes(int64_t n, int64_t k);
size_t bf16_block_bytes(int64_t k);

typedef enum bf16_side { BF16_A, BF16_B } bf16_side;

/* Packed operands; A may be NULL. Aligned to 64 bytes. */
typedef struct bf16_packed {
    void *A, *B;
} bf16_packed;

/* An operand is packed by that many calls, in any order, on any threads; only where bf16_available. packed:
 * bf16_packed_bytes of memory. */
int64_t bf16_packings(const bf16_call *g, bf16_side side);
void bf16_pack(const bf16_call *g, bf16_side side, int64_t task, void *packed);
/* Computes rows i0 .. end - 1 of C, i0 a multiple of 8. block: where A is not packed, bf16_block_bytes of memory,
 * aligned to 64 bytes, that no other thread uses. */
void bf16_multiply(const bf16_call *g, const bf16_packed *packed, int64_t i0, int64_t end, void *block);

#endif
