/* tests/cuda_host/null/dnn.c - a cuDNN that computes nothing, as the shared object that seam_rows.c opens. It counts.
 */
#include <cudnn.h>
#include <stdlib.h>

/* Counters for test_null_dnn.c: live handles and descriptors, softmax calls. */
int null_dnn_held, null_dnn_calls;

size_t cudnnGetVersion(void) {
    return 91900;
}

cudnnStatus_t cudnnCreate(cudnnHandle_t *handle) {
    *handle = malloc(1);
    null_dnn_held++;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) {
    free(handle);
    null_dnn_held--;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
    return handle && stream ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_BAD_PARAM;
}

cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t *rows) {
    *rows = malloc(1);
    null_dnn_held++;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t rows) {
    free(rows);
    null_dnn_held--;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetTensor4dDescriptor(
    cudnnTensorDescriptor_t rows, cudnnTensorFormat_t format, cudnnDataType_t type, int n, int c, int h, int w) {
    return rows && h == 1 && w == 1 ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_BAD_PARAM;
}

cudnnStatus_t cudnnSoftmaxForward(cudnnHandle_t handle, cudnnSoftmaxAlgorithm_t way, cudnnSoftmaxMode_t mode,
    const void *alpha, const cudnnTensorDescriptor_t x_rows, const void *x, const void *beta,
    const cudnnTensorDescriptor_t y_rows, void *y) {
    null_dnn_calls++;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSoftmaxBackward(cudnnHandle_t handle, cudnnSoftmaxAlgorithm_t way, cudnnSoftmaxMode_t mode,
    const void *alpha, const cudnnTensorDescriptor_t y_rows, const void *y, const cudnnTensorDescriptor_t y_bar_rows,
    const void *y_bar, const void *beta, const cudnnTensorDescriptor_t x_rows, void *x_bar) {
    null_dnn_calls++;
    return CUDNN_STATUS_SUCCESS;
}
