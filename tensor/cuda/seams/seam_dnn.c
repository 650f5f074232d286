/* tensor/cuda/seams/seam_dnn.c - softmax of rows, its logarithm, and the adjoints of both, by cuDNN.
 *
 * cuDNN is opened at its first use, not linked: its libraries are large, many machines lack them, and there our kernels
 * compute softmax (softmax.cu). */
#include "tensor/cuda/seams/seam_device.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef MO_CUDNN /* defined if the build has cuDNN's headers */
#include <cudnn.h>

#define TEXT_OF(x) #x
#define LIBRARY_OF(major) "libcudnn.so." TEXT_OF(major)

/* cuDNN's functions that we call, its handle, and the form of the rows. */
struct seam_dnn {
    void *object;
    size_t (*version)(void);
    cudnnStatus_t (*create)(cudnnHandle_t *);
    cudnnStatus_t (*destroy)(cudnnHandle_t);
    cudnnStatus_t (*set_stream)(cudnnHandle_t, cudaStream_t);
    cudnnStatus_t (*create_tensor)(cudnnTensorDescriptor_t *);
    cudnnStatus_t (*destroy_tensor)(cudnnTensorDescriptor_t);
    cudnnStatus_t (*set_tensor)(cudnnTensorDescriptor_t, cudnnTensorFormat_t, cudnnDataType_t, int, int, int, int);
    cudnnStatus_t (*forward)(cudnnHandle_t, cudnnSoftmaxAlgorithm_t, cudnnSoftmaxMode_t, const void *,
        const cudnnTensorDescriptor_t, const void *, const void *, const cudnnTensorDescriptor_t, void *);
    cudnnStatus_t (*backward)(cudnnHandle_t, cudnnSoftmaxAlgorithm_t, cudnnSoftmaxMode_t, const void *,
        const cudnnTensorDescriptor_t, const void *, const cudnnTensorDescriptor_t, const void *, const void *,
        const cudnnTensorDescriptor_t, void *);
    cudnnHandle_t handle;
    cudnnTensorDescriptor_t rows; /* the form of x, y and their adjoints */
};

static bool find_functions(struct seam_dnn *d) {
    const seam_function functions[] = {
        {"cudnnGetVersion", &d->version},
        {"cudnnCreate", &d->create},
        {"cudnnDestroy", &d->destroy},
        {"cudnnSetStream", &d->set_stream},
        {"cudnnCreateTensorDescriptor", &d->create_tensor},
        {"cudnnDestroyTensorDescriptor", &d->destroy_tensor},
        {"cudnnSetTensor4dDescriptor", &d->set_tensor},
        {"cudnnSoftmaxForward", &d->forward},
        {"cudnnSoftmaxBackward", &d->backward},
    };
    d->object = seam_library_open(LIBRARY_OF(CUDNN_MAJOR), functions, sizeof functions / sizeof *functions);
    return d->object;
}

static void close_dnn(struct seam_dnn *d) {
    if (d->rows)
        d->destroy_tensor(d->rows);
    if (d->handle)
        d->destroy(d->handle);
    seam_library_close(d->object);
    free(d);
}

/* Returns cuDNN with a handle on our stream; NULL if it is not installed, or if it would have to be opened in a
 * capture. */
static struct seam_dnn *open_dnn(seam *s) {
    if (s->looked_for_dnn)
        return s->dnn;
    if (s->capturing) /* opening allocates memory */
        return NULL;
    s->looked_for_dnn = true;
    struct seam_dnn *d = calloc(1, sizeof *d);
    if (d && find_functions(d) && d->create(&d->handle) == CUDNN_STATUS_SUCCESS &&
        d->set_stream(d->handle, s->stream) == CUDNN_STATUS_SUCCESS &&
        d->create_tensor(&d->rows) == CUDNN_STATUS_SUCCESS)
        s->dnn = d;
    else if (d)
        close_dnn(d);
    return s->dnn;
}

/* out = softmax(x); if y_bar is not NULL, out is the adjoint of softmax instead, and x holds y. To cuDNN a row is an
 * image of n channels and one pixel. cuDNN counts images and elements by ints, so 2^31 elements and more take several
 * calls. Each call takes a multiple of 4 rows, so that the next begins at a multiple of 16 bytes. */
static bool softmax(seam *s, const seam_rows *r, const void *x, const void *y_bar, void *out) {
    static const float one_f = 1, zero_f = 0;
    static const double one_d = 1, zero_d = 0;
    bool wide = r->type == SEAM_F64;
    const void *one = wide ? (const void *)&one_d : &one_f, *zero = wide ? (const void *)&zero_d : &zero_f;
    const cudnnDataType_t type = wide ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT;
    const cudnnSoftmaxAlgorithm_t how = r->log ? CUDNN_SOFTMAX_LOG : CUDNN_SOFTMAX_ACCURATE;
    const cudnnSoftmaxMode_t mode = CUDNN_SOFTMAX_MODE_INSTANCE;
    struct seam_dnn *d = r->n <= INT_MAX / 4 ? open_dnn(s) : NULL;
    cudnnStatus_t code = CUDNN_STATUS_SUCCESS;
    int64_t most = INT_MAX / r->n / 4 * 4, count = 0;
    for (int64_t first = 0; d && !code && first < r->rows; first += count) {
        size_t skip = (size_t)(first * r->n) * (wide ? sizeof(double) : sizeof(float));
        const void *of = (const char *)x + skip;
        void *to = (char *)out + skip;
        count = r->rows - first < most ? r->rows - first : most;
        code = d->set_tensor(d->rows, CUDNN_TENSOR_NCHW, type, (int)count, (int)r->n, 1, 1);
        if (!code && y_bar)
            code = d->backward(
                d->handle, how, mode, one, d->rows, of, d->rows, (const char *)y_bar + skip, zero, d->rows, to);
        else if (!code)
            code = d->forward(d->handle, how, mode, one, d->rows, of, zero, d->rows, to);
    }
    return d && !code;
}

void seam_close_dnn(seam *s) {
    if (s->dnn)
        close_dnn(s->dnn);
}

void seam_describe_dnn(char *text, size_t bytes) {
    struct seam_dnn d = {0};
    size_t v = find_functions(&d) ? d.version() : 0;
    if (v)
        snprintf(text, bytes, ", cuDNN %zu.%zu.%zu", v / 10000, v / 100 % 100, v % 100);
    else
        snprintf(text, bytes, ", no cuDNN");
    seam_library_close(d.object);
}

#else
static bool softmax(seam *s, const seam_rows *r, const void *x, const void *y_bar, void *out) {
    return s && r && x && y_bar && out && false;
}

void seam_close_dnn(seam *s) {
    (void)s;
}

void seam_describe_dnn(char *text, size_t bytes) {
    snprintf(text, bytes, ", built without cuDNN");
}
#endif

bool seam_softmax(seam *s, const seam_rows *r, const void *x, void *y) {
    return softmax(s, r, x, NULL, y);
}

bool seam_softmax_adjoint(seam *s, const seam_rows *r, const void *y, const void *y_bar, void *x_bar) {
    return softmax(s, r, y, y_bar, x_bar);
}
