/* tensor/cpu/fast/onednn.h - float32 products by oneDNN. */
#ifndef MO_CPU_ONEDNN_H
#define MO_CPU_ONEDNN_H

#include <cblas.h>

/* cblas_sgemm for order CblasRowMajor, on the calling thread. Leading dimensions are at least the rows' lengths. */
void sgemm_onednn(enum CBLAS_ORDER order, enum CBLAS_TRANSPOSE op_A, enum CBLAS_TRANSPOSE op_B, blasint m, blasint n,
    blasint k, float alpha, const float *A, blasint lda, const float *B, blasint ldb, float beta, float *C,
    blasint ldc);

#endif
