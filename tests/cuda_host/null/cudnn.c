/* tests/cuda_host/null/cudnn.c - cuDNN's library, which the seams open, as functions that compute nothing. It keeps
 * what each softmax was asked for. */
#include "tests/cuda_host/null/vendor.h"

#include <cudnn.h>

vendor_softmaxes softmaxes;
static int object, rows, row_length; /* object: what every handle points to */
static cudnnDataType_t row_type;

size_t cudnnGetVersion(void) {
    return CUDNN_VERSION;
}

cudnnStatus_t cudnnCreate(cudnnHandle_t *handle) {
    *handle = (cudnnHandle_t)&object;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) {
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t *descriptor) {
    *descriptor = (cudnnTensorDescriptor_t)&object;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t descriptor) {
    return CUDNN_STATUS_SUCCESS;
}

/* Refuses what the library refuses: an empty tensor, and one of 2^31 values or more. */
cudnnStatus_t cudnnSetTensor4dDescriptor(cudnnTensorDescriptor_t descriptor, cudnnTensorFormat_t format,
    cudnnDataType_t type, int images, int channels, int height, int width) {
    long long values = (long long)images * channels;
    rows = images, row_length = channels, row_type = type;
    bool fits = values > 0 && values < 1LL << 31 && height == 1 && width == 1 && format == CUDNN_TENSOR_NCHW;
    return fits ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_NOT_SUPPORTED;
}

static cudnnStatus_t keep(cudnnSoftmaxAlgorithm_t how, const void *in, const void *y_bar, void *out) {
    if (softmaxes.count == VENDOR_SOFTMAXES)
        return CUDNN_STATUS_EXECUTION_FAILED;
    softmaxes.of[softmaxes.count++] = (vendor_softmax){
        rows, row_length, row_type == CUDNN_DATA_DOUBLE ? 8 : 4, how == CUDNN_SOFTMAX_LOG, in, y_bar, out};
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSoftmaxForward(cudnnHandle_t handle, cudnnSoftmaxAlgorithm_t how, cudnnSoftmaxMode_t mode,
    const void *alpha, const cudnnTensorDescriptor_t of_x, const void *x, const void *beta,
    const cudnnTensorDescriptor_t of_y, void *y) {
    return keep(how, x, NULL, y);
}

cudnnStatus_t cudnnSoftmaxBackward(cudnnHandle_t handle, cudnnSoftmaxAlgorithm_t how, cudnnSoftmaxMode_t mode,
    const void *alpha, const cudnnTensorDescriptor_t of_y, const void *y, const cudnnTensorDescriptor_t of_y_bar,
    const void *y_bar, const void *beta, const cudnnTensorDescriptor_t of_x_bar, void *x_bar) {
    return keep(how, y, y_bar, x_bar);
}
