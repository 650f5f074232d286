/* tensor/cpu/fast/onednn.h - float32 products by oneDNN, where the build has it (MO_ONEDNN, meson.build). */
#ifndef MO_CPU_ONEDNN_H
#define MO_CPU_ONEDNN_H

#include <cblas.h>
#include <stdbool.h>

#ifdef MO_ONEDNN

/* Makes oneDNN generate its code, once in a process, in 35 ms. If it found no memory for that, it would end the
 * process, whereas a later product without memory is computed by OpenBLAS. Returns false if there is too little memory.
 */
bool onednn_start(void);

/* cblas_sgemm for order CblasRowMajor, on the calling thread. Leading dimensions are at least the rows' lengths. */
void sgemm_onednn(enum CBLAS_ORDER order, enum CBLAS_TRANSPOSE op_A, enum CBLAS_TRANSPOSE op_B, blasint m, blasint n,
    blasint k, float alpha, const float *A, blasint lda, const float *B, blasint ldb, float beta, float *C,
    blasint ldc);

#else

static inline bool onednn_start(void) {
    return true;
}

#endif

#endif
