/* tests/cuda_host/fault_leading_dimension.h - the planted fault: products are given a leading dimension of A that is
 * one too large. */
#include "tensor/cuda/seam.h"

static inline const char *multiply_with_fault(seam *s, const seam_gemm *g) {
    seam_gemm wrong = *g;
    wrong.lda++;
    return seam_multiply(s, &wrong);
}
#define seam_multiply multiply_with_fault
