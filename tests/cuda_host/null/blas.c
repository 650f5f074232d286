/* tests/cuda_host/null/blas.c - the functions of cuBLAS that need more than libraries.txt can say: the text of an
 * error, and an algorithm for every product. */
#include "tests/cuda_host/null/vendor.h"

#include <cublasLt.h>
#include <cublas_v2.h>
#include <string.h>

const char *cublasGetStatusString(cublasStatus_t code) {
    return code == CUBLAS_STATUS_EXECUTION_FAILED ? "the function failed to launch on the GPU" : "cuBLAS failed";
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t o, cublasLtMatrixLayout_t a,
    cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d, cublasLtMatmulPreference_t preference,
    int asked, cublasLtMatmulHeuristicResult_t *results, int *found) {
    memset(results, 0, (size_t)asked * sizeof *results);
    *found = 1;
    return CUBLAS_STATUS_SUCCESS;
}
