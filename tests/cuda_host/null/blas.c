/* tests/cuda_host/null/blas.c - cuBLAS and cuBLASLt that compute nothing. */
#include "tests/cuda_host/null/vendor.h"

#include <cublasLt.h>
#include <cublas_v2.h>
#include <stdlib.h>
#include <string.h>

static cublasStatus_t blas(const char *function, const char *what, int64_t m, int64_t n, int64_t k) {
    return vendor_done(vendor_work(function, "%s %lld %lld %lld", what, (long long)m, (long long)n, (long long)k))
               ? CUBLAS_STATUS_SUCCESS
               : CUBLAS_STATUS_EXECUTION_FAILED;
}

/* ---- cuBLAS ---- */

cublasStatus_t cublasCreate(cublasHandle_t *handle) {
    *handle = malloc(1);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasDestroy(cublasHandle_t handle) {
    free(handle);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream) {
    return handle && stream ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasSetWorkspace(cublasHandle_t handle, void *workspace, size_t bytes) {
    return handle && workspace && bytes ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode) {
    return handle && mode == CUBLAS_DEFAULT_MATH ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasGetProperty(libraryPropertyType type, int *value) {
    *value = type == MAJOR_VERSION;
    return CUBLAS_STATUS_SUCCESS;
}

const char *cublasGetStatusString(cublasStatus_t code) {
    return code == CUBLAS_STATUS_NOT_SUPPORTED      ? "the requested functionality is not supported"
           : code == CUBLAS_STATUS_EXECUTION_FAILED ? "the function failed to launch on the GPU"
                                                    : "cuBLAS failed";
}

cublasStatus_t cublasGemmStridedBatchedEx_64(cublasHandle_t handle, cublasOperation_t a, cublasOperation_t b, int64_t m,
    int64_t n, int64_t k, const void *alpha, const void *A, cudaDataType type_a, int64_t lda, long long stride_a,
    const void *B, cudaDataType type_b, int64_t ldb, long long stride_b, const void *beta, void *C, cudaDataType type_c,
    int64_t ldc, long long stride_c, int64_t batch, cublasComputeType_t compute, cublasGemmAlgo_t algorithm) {
    vendor.gemms++;
    return blas("cublasGemmStridedBatchedEx", "product", m, n, k);
}

cublasStatus_t cublasStrsm_64(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t fill, cublasOperation_t op,
    cublasDiagType_t diagonal, int64_t m, int64_t n, const float *alpha, const float *T, int64_t ldt, float *B,
    int64_t ldb) {
    return blas("cublasStrsm", "trsm", m, n, 0);
}

cublasStatus_t cublasDtrsm_64(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t fill, cublasOperation_t op,
    cublasDiagType_t diagonal, int64_t m, int64_t n, const double *alpha, const double *T, int64_t ldt, double *B,
    int64_t ldb) {
    return blas("cublasDtrsm", "trsm", m, n, 0);
}

cublasStatus_t cublasStrsmBatched_64(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t fill,
    cublasOperation_t op, cublasDiagType_t diagonal, int64_t m, int64_t n, const float *alpha, const float *const T[],
    int64_t ldt, float *const B[], int64_t ldb, int64_t batch) {
    return blas("cublasStrsmBatched", "trsm", m, n, batch);
}

cublasStatus_t cublasDtrsmBatched_64(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t fill,
    cublasOperation_t op, cublasDiagType_t diagonal, int64_t m, int64_t n, const double *alpha, const double *const T[],
    int64_t ldt, double *const B[], int64_t ldb, int64_t batch) {
    return blas("cublasDtrsmBatched", "trsm", m, n, batch);
}

cublasStatus_t cublasSgetrfBatched(
    cublasHandle_t handle, int n, float *const A[], int lda, int *pivot, int *info, int batch) {
    return blas("cublasSgetrfBatched", "getrf", n, n, batch);
}

cublasStatus_t cublasDgetrfBatched(
    cublasHandle_t handle, int n, double *const A[], int lda, int *pivot, int *info, int batch) {
    return blas("cublasDgetrfBatched", "getrf", n, n, batch);
}

/* ---- cuBLASLt: descriptors keep what a search asks for ---- */

struct null_operation {
    cublasLtEpilogue_t epilogue;
};

cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle) {
    *handle = malloc(1);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
    free(handle);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *out, cublasComputeType_t compute, cudaDataType scale) {
    struct null_operation *o = calloc(1, sizeof *o);
    *out = (cublasLtMatmulDesc_t)o;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t o) {
    free(o);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescSetAttribute(
    cublasLtMatmulDesc_t o, cublasLtMatmulDescAttributes_t name, const void *value, size_t bytes) {
    if (name == CUBLASLT_MATMUL_DESC_EPILOGUE && bytes == sizeof(cublasLtEpilogue_t))
        memcpy(&((struct null_operation *)o)->epilogue, value, bytes);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutCreate(
    cublasLtMatrixLayout_t *out, cudaDataType type, uint64_t rows, uint64_t columns, int64_t ld) {
    uint64_t *shape = malloc(2 * sizeof *shape);
    shape[0] = rows, shape[1] = columns;
    *out = (cublasLtMatrixLayout_t)shape;
    return ld >= (int64_t)rows ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
    free(layout);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutSetAttribute(
    cublasLtMatrixLayout_t layout, cublasLtMatrixLayoutAttribute_t name, const void *value, size_t bytes) {
    bool count = name == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT && bytes == sizeof(int32_t);
    bool stride = name == CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET && bytes == sizeof(int64_t);
    return count || stride ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *out) {
    *out = malloc(1);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
    free(preference);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(
    cublasLtMatmulPreference_t preference, cublasLtMatmulPreferenceAttributes_t name, const void *value, size_t bytes) {
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t o, cublasLtMatrixLayout_t a,
    cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d, cublasLtMatmulPreference_t preference,
    int asked, cublasLtMatmulHeuristicResult_t *results, int *found) {
    vendor.searches++;
    memset(results, 0, (size_t)asked * sizeof *results);
    *found = 1;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t o, const void *alpha, const void *A,
    cublasLtMatrixLayout_t a, const void *B, cublasLtMatrixLayout_t b, const void *beta, const void *C,
    cublasLtMatrixLayout_t c, void *D, cublasLtMatrixLayout_t d, const cublasLtMatmulAlgo_t *algorithm, void *workspace,
    size_t bytes, cudaStream_t stream) {
    const uint64_t *out = (const uint64_t *)d, *left = (const uint64_t *)a;
    bool epilogue = ((struct null_operation *)o)->epilogue != CUBLASLT_EPILOGUE_DEFAULT;
    vendor.plans++;
    return blas("cublasLtMatmul", epilogue ? "product+" : "product", (int64_t)out[0], (int64_t)out[1],
        (int64_t)(left[0] == out[0] ? left[1] : left[0]));
}
