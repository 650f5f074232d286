/* tensor/cpu/fast/onednn.h - products of float32 and bf16 by oneDNN, where the build has it (MO_ONEDNN, meson.build).
 */
#ifndef MO_CPU_ONEDNN_H
#define MO_CPU_ONEDNN_H

#include <cblas.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef MO_ONEDNN

/* Makes oneDNN generate its code, once in a process, in 35 ms. If it found no memory for that, it would end the
 * process, whereas a later product without memory is computed by OpenBLAS. Returns false if there is too little memory.
 */
bool onednn_start(void);

/* cblas_sgemm for order CblasRowMajor, on the calling thread, by the faster of the two. Leading dimensions are at least
 * the rows' lengths. */
void sgemm_onednn(enum CBLAS_ORDER order, enum CBLAS_TRANSPOSE op_A, enum CBLAS_TRANSPOSE op_B, blasint m, blasint n,
    blasint k, float alpha, const float *A, blasint lda, const float *B, blasint ldb, float beta, float *C,
    blasint ldc);

/* The name of the instructions that oneDNN uses, "avx512_core"; "" without oneDNN. */
const char *onednn_kernels(void);

/* Returns whether the processor multiplies bf16 faster than float32. */
bool onednn_has_bf16(void);

/* C := alpha op(A) op(B) + beta C, row-major, with A and B of bf16, C of float32 and sums of float32. */
void bf16_gemm_onednn(bool transposed_A, bool transposed_B, int64_t m, int64_t n, int64_t k, float alpha,
    const uint16_t *A, int64_t lda, const uint16_t *B, int64_t ldb, float beta, float *C, int64_t ldc);

#else

static inline bool onednn_start(void) {
    return true;
}

static inline const char *onednn_kernels(void) {
    return "";
}

static inline bool onednn_has_bf16(void) {
    return false;
}

#endif

#endif
