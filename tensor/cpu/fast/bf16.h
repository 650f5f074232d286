/* tensor/cpu/fast/bf16.h - products whose factors are rounded to bf16, on processors that have AVX512-BF16. */
#ifndef MO_CPU_BF16_H
#define MO_CPU_BF16_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* C [m, n] := alpha op(A) op(B) + beta C of float32 matrices with leading dimensions. */
typedef struct bf16_call {
    int64_t m, n, k;
    const float *A, *B;
    int64_t lda, ldb, ldc;
    bool transposed_A, transposed_B;
    float *C;
    float alpha, beta;
    void *scratch; /* bf16_scratch_bytes of memory, aligned to 64 bytes, that no other thread uses */
} bf16_call;

/* Returns whether the processor has AVX512-BF16 and the operating system keeps its registers. */
bool bf16_available(void);
/* The scratch memory of a product of these sizes; a multiple of 64, and no larger for smaller sizes. */
size_t bf16_scratch_bytes(int64_t m, int64_t n, int64_t k);
/* Computes one product on the calling thread. Only where bf16_available. */
void bf16_product(const bf16_call *g);

#endif
