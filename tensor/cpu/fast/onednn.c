/* tensor/cpu/fast/onednn.c - float32 products by oneDNN, on the calling thread.
 *
 * oneDNN finds the processor's instructions by CPUID, whereas OpenBLAS goes by a list of processor models: on one that
 * it does not know, it takes kernels for SSE3. Rates on one thread of Zen 3, in GFLOP/s (oneDNN 2.6.3, OpenBLAS 0.3.21
 * as it chooses, and with kernels for Prescott): 900 x 512 x 512 87, 85, 20; 64 x 64 x 64 86, 63, 22.
 *
 * The work is cut by shape alone (product.c), for any number of threads, so each call must stay on its thread:
 * otherwise the order of sums would hang on how many there are. Outside a parallel region oneDNN takes as many threads
 * as OpenMP grants the caller, so the caller's grant is 1 for the time of the call. */
#include "tensor/cpu/fast/onednn.h"

#include <omp.h>
#include <oneapi/dnnl/dnnl.h>

static char letter(enum CBLAS_TRANSPOSE op) {
    return op == CblasNoTrans ? 'N' : 'T';
}

void sgemm_onednn(enum CBLAS_ORDER order, enum CBLAS_TRANSPOSE op_A, enum CBLAS_TRANSPOSE op_B, blasint m, blasint n,
    blasint k, float alpha, const float *A, blasint lda, const float *B, blasint ldb, float beta, float *C,
    blasint ldc) {
    dnnl_status_t status = dnnl_invalid_arguments;
    if (k > 0) { /* for k = 0 oneDNN leaves C as it is */
        int granted = omp_in_parallel() ? 1 : omp_get_max_threads();
        if (granted > 1)
            omp_set_num_threads(1);
        status = dnnl_sgemm(letter(op_A), letter(op_B), m, n, k, alpha, A, lda, B, ldb, beta, C, ldc);
        if (granted > 1)
            omp_set_num_threads(granted);
    }
    if (status != dnnl_success) /* it found no memory for its packed operands: OpenBLAS has its own */
        cblas_sgemm(order, op_A, op_B, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc);
}
