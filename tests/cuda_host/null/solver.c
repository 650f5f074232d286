/* tests/cuda_host/null/solver.c - cuSOLVER and cuSPARSE that compute nothing. */
#include "tests/cuda_host/null/vendor.h"

#include <cusolverDn.h>
#include <cusparse.h>
#include <stdlib.h>

/* ---- cuSOLVER ---- */

static cusolverStatus_t solver(const char *function, const char *what, int64_t n, int64_t batch) {
    return vendor_done(vendor_work(function, "%s %lld %lld", what, (long long)n, (long long)batch))
               ? CUSOLVER_STATUS_SUCCESS
               : CUSOLVER_STATUS_EXECUTION_FAILED;
}

static cusolverStatus_t sizes(int64_t n, size_t *device, size_t *host) {
    *device = (size_t)n * 256;
    *host = 0;
    return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t cusolverDnCreate(cusolverDnHandle_t *handle) {
    *handle = malloc(1);
    return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t cusolverDnDestroy(cusolverDnHandle_t handle) {
    free(handle);
    return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t cusolverDnCreateParams(cusolverDnParams_t *parameters) {
    *parameters = malloc(1);
    return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t cusolverDnDestroyParams(cusolverDnParams_t parameters) {
    free(parameters);
    return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t cusolverDnSetStream(cusolverDnHandle_t handle, cudaStream_t stream) {
    return handle && stream ? CUSOLVER_STATUS_SUCCESS : CUSOLVER_STATUS_INVALID_VALUE;
}

cusolverStatus_t cusolverGetProperty(libraryPropertyType type, int *value) {
    *value = type == MAJOR_VERSION;
    return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t cusolverDnXpotrf_bufferSize(cusolverDnHandle_t handle, cusolverDnParams_t parameters,
    cublasFillMode_t side, int64_t n, cudaDataType type, const void *A, int64_t lda, cudaDataType compute,
    size_t *device, size_t *host) {
    return sizes(n, device, host);
}

cusolverStatus_t cusolverDnXpotrf(cusolverDnHandle_t handle, cusolverDnParams_t parameters, cublasFillMode_t side,
    int64_t n, cudaDataType type, void *A, int64_t lda, cudaDataType compute, void *workspace, size_t bytes, void *host,
    size_t host_bytes, int *info) {
    return solver("cusolverDnXpotrf", "potrf", n, 1);
}

cusolverStatus_t cusolverDnSpotrfBatched(
    cusolverDnHandle_t handle, cublasFillMode_t side, int n, float *A[], int lda, int *info, int batch) {
    return solver("cusolverDnSpotrfBatched", "potrf", n, batch);
}

cusolverStatus_t cusolverDnDpotrfBatched(
    cusolverDnHandle_t handle, cublasFillMode_t side, int n, double *A[], int lda, int *info, int batch) {
    return solver("cusolverDnDpotrfBatched", "potrf", n, batch);
}

cusolverStatus_t cusolverDnXgetrf_bufferSize(cusolverDnHandle_t handle, cusolverDnParams_t parameters, int64_t m,
    int64_t n, cudaDataType type, const void *A, int64_t lda, cudaDataType compute, size_t *device, size_t *host) {
    return sizes(n, device, host);
}

cusolverStatus_t cusolverDnXgetrf(cusolverDnHandle_t handle, cusolverDnParams_t parameters, int64_t m, int64_t n,
    cudaDataType type, void *A, int64_t lda, int64_t *pivot, cudaDataType compute, void *workspace, size_t bytes,
    void *host, size_t host_bytes, int *info) {
    return solver("cusolverDnXgetrf", "getrf", n, 1);
}

cusolverStatus_t cusolverDnXsyevd_bufferSize(cusolverDnHandle_t handle, cusolverDnParams_t parameters,
    cusolverEigMode_t mode, cublasFillMode_t side, int64_t n, cudaDataType type, const void *A, int64_t lda,
    cudaDataType type_w, const void *w, cudaDataType compute, size_t *device, size_t *host) {
    return sizes(n, device, host);
}

cusolverStatus_t cusolverDnXsyevd(cusolverDnHandle_t handle, cusolverDnParams_t parameters, cusolverEigMode_t mode,
    cublasFillMode_t side, int64_t n, cudaDataType type, void *A, int64_t lda, cudaDataType type_w, void *w,
    cudaDataType compute, void *workspace, size_t bytes, void *host, size_t host_bytes, int *info) {
    return solver("cusolverDnXsyevd", "syevd", n, 1);
}

cusolverStatus_t cusolverDnXsyevBatched_bufferSize(cusolverDnHandle_t handle, cusolverDnParams_t parameters,
    cusolverEigMode_t mode, cublasFillMode_t side, int64_t n, cudaDataType type, const void *A, int64_t lda,
    cudaDataType type_w, const void *w, cudaDataType compute, size_t *device, size_t *host, int64_t batch) {
    return sizes(n * batch, device, host);
}

cusolverStatus_t cusolverDnXsyevBatched(cusolverDnHandle_t handle, cusolverDnParams_t parameters,
    cusolverEigMode_t mode, cublasFillMode_t side, int64_t n, cudaDataType type, void *A, int64_t lda,
    cudaDataType type_w, void *w, cudaDataType compute, void *workspace, size_t bytes, void *host, size_t host_bytes,
    int *info, int64_t batch) {
    return solver("cusolverDnXsyevBatched", "syevd", n, batch);
}

cusolverStatus_t cusolverDnXgeqrf_bufferSize(cusolverDnHandle_t handle, cusolverDnParams_t parameters, int64_t m,
    int64_t n, cudaDataType type, const void *A, int64_t lda, cudaDataType type_tau, const void *tau,
    cudaDataType compute, size_t *device, size_t *host) {
    return sizes(n, device, host);
}

cusolverStatus_t cusolverDnXgeqrf(cusolverDnHandle_t handle, cusolverDnParams_t parameters, int64_t m, int64_t n,
    cudaDataType type, void *A, int64_t lda, cudaDataType type_tau, void *tau, cudaDataType compute, void *workspace,
    size_t bytes, void *host, size_t host_bytes, int *info) {
    return solver("cusolverDnXgeqrf", "geqrf", n, 1);
}

cusolverStatus_t cusolverDnSorgqr_bufferSize(
    cusolverDnHandle_t handle, int m, int n, int k, const float *A, int lda, const float *tau, int *length) {
    *length = 64 * n;
    return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t cusolverDnDorgqr_bufferSize(
    cusolverDnHandle_t handle, int m, int n, int k, const double *A, int lda, const double *tau, int *length) {
    *length = 64 * n;
    return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t cusolverDnSorgqr(cusolverDnHandle_t handle, int m, int n, int k, float *A, int lda, const float *tau,
    float *work, int length, int *info) {
    return solver("cusolverDnSorgqr", "orgqr", n, 1);
}

cusolverStatus_t cusolverDnDorgqr(cusolverDnHandle_t handle, int m, int n, int k, double *A, int lda, const double *tau,
    double *work, int length, int *info) {
    return solver("cusolverDnDorgqr", "orgqr", n, 1);
}

/* ---- cuSPARSE ---- */

cusparseStatus_t cusparseCreate(cusparseHandle_t *handle) {
    *handle = malloc(1);
    return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseDestroy(cusparseHandle_t handle) {
    free(handle);
    return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseSetStream(cusparseHandle_t handle, cudaStream_t stream) {
    return handle && stream ? CUSPARSE_STATUS_SUCCESS : CUSPARSE_STATUS_INVALID_VALUE;
}

cusparseStatus_t cusparseGetProperty(libraryPropertyType type, int *value) {
    *value = type == MAJOR_VERSION;
    return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseCreateConstCsr(cusparseConstSpMatDescr_t *out, int64_t rows, int64_t columns, int64_t nnz,
    const void *row_pointer, const void *column, const void *values, cusparseIndexType_t row_type,
    cusparseIndexType_t column_type, cusparseIndexBase_t base, cudaDataType type) {
    *out = malloc(1);
    return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseDestroySpMat(cusparseConstSpMatDescr_t A) {
    free((void *)A);
    return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseCreateConstDnMat(cusparseConstDnMatDescr_t *out, int64_t rows, int64_t columns, int64_t ld,
    const void *values, cudaDataType type, cusparseOrder_t order) {
    *out = malloc(1);
    return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseCreateDnMat(cusparseDnMatDescr_t *out, int64_t rows, int64_t columns, int64_t ld, void *values,
    cudaDataType type, cusparseOrder_t order) {
    *out = malloc(1);
    return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseDestroyDnMat(cusparseConstDnMatDescr_t X) {
    free((void *)X);
    return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseSpMM_bufferSize(cusparseHandle_t handle, cusparseOperation_t a, cusparseOperation_t x,
    const void *alpha, cusparseConstSpMatDescr_t A, cusparseConstDnMatDescr_t X, const void *beta,
    cusparseDnMatDescr_t Y, cudaDataType compute, cusparseSpMMAlg_t algorithm, size_t *bytes) {
    *bytes = 4096;
    return CUSPARSE_STATUS_SUCCESS;
}

static cusparseStatus_t sparse(const char *function, const char *what) {
    return vendor_done(vendor_work(function, "%s", what)) ? CUSPARSE_STATUS_SUCCESS : CUSPARSE_STATUS_EXECUTION_FAILED;
}

cusparseStatus_t cusparseSpMM_preprocess(cusparseHandle_t handle, cusparseOperation_t a, cusparseOperation_t x,
    const void *alpha, cusparseConstSpMatDescr_t A, cusparseConstDnMatDescr_t X, const void *beta,
    cusparseDnMatDescr_t Y, cudaDataType compute, cusparseSpMMAlg_t algorithm, void *buffer) {
    return sparse("cusparseSpMM_preprocess", "spmm prepared");
}

cusparseStatus_t cusparseSpMM(cusparseHandle_t handle, cusparseOperation_t a, cusparseOperation_t x, const void *alpha,
    cusparseConstSpMatDescr_t A, cusparseConstDnMatDescr_t X, const void *beta, cusparseDnMatDescr_t Y,
    cudaDataType compute, cusparseSpMMAlg_t algorithm, void *buffer) {
    return sparse("cusparseSpMM", "spmm");
}
