/* tests/cuda_host/fault_host_pointer.h - the planted fault: Cholesky factors are asked to leave their info word in host
 * memory. */
#include "tensor/cuda/seam.h"

static inline const char *potrf_with_fault(
    seam *s, seam_type type, bool lower, int64_t n, void *A, int64_t lda, int32_t *info) {
    static int32_t word;
    (void)info;
    return seam_potrf(s, type, lower, n, A, lda, &word);
}
#define seam_potrf potrf_with_fault
