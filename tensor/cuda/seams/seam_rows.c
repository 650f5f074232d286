/* tensor/cuda/seams/seam_rows.c - softmax of rows by cuDNN, products of sparse rows by cuSPARSE.
 *
 * cuDNN is opened at its first use, not linked: its libraries are large and many machines lack them; a kernel of ours
 * then computes instead. cuSPARSE comes with the toolkit (cuSOLVER needs it). */
#include "tensor/cuda/seams/seam_device.h"

#include <cusparse.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- cuDNN ---- */

#ifdef MO_CUDNN /* defined if the build has cuDNN's headers */
#include <cudnn.h>

#define TEXT_OF(x) #x
#define LIBRARY_OF(major) "libcudnn.so." TEXT_OF(major)

/* cuDNN's functions that we call, and its handle. */
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
    cudnnTensorDescriptor_t rows;
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

/* Returns cuDNN with a handle on our stream; NULL if it is not installed, which only the first call looks for. */
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

static void describe_dnn(char *text, size_t bytes) {
    struct seam_dnn d = {0};
    size_t v = find_functions(&d) ? d.version() : 0;
    if (v)
        snprintf(text, bytes, ", cuDNN %zu.%zu.%zu", v / 10000, v / 100 % 100, v % 100);
    else
        snprintf(text, bytes, ", no cuDNN");
    seam_library_close(d.object);
}

/* Passes rows to cuDNN as images of n channels and one pixel, in several calls if their number or that of their
 * elements exceeds an int. y_bar NULL: x is the input, `out` receives y. Otherwise x is y, and `out` receives x_bar. */
static bool softmax(seam *s, const seam_rows *r, const void *x, const void *y_bar, void *out) {
    static const float one_f = 1, zero_f = 0;
    static const double one_d = 1, zero_d = 0;
    struct seam_dnn *d = r->n <= INT_MAX ? open_dnn(s) : NULL;
    bool wide = r->type == SEAM_F64;
    size_t element = wide ? sizeof(double) : sizeof(float);
    const void *one = wide ? (const void *)&one_d : &one_f, *zero = wide ? (const void *)&zero_d : &zero_f;
    cudnnSoftmaxAlgorithm_t way = r->log ? CUDNN_SOFTMAX_LOG : CUDNN_SOFTMAX_ACCURATE;
    cudnnSoftmaxMode_t mode = CUDNN_SOFTMAX_MODE_INSTANCE;
    cudnnDataType_t real = wide ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT;
    cudnnStatus_t code = CUDNN_STATUS_SUCCESS;
    for (int64_t first = 0; d && first < r->rows && !code;) {
        int64_t most = INT_MAX / r->n, count = r->rows - first < most ? r->rows - first : most;
        size_t skip = (size_t)(first * r->n) * element;
        const void *in = (const char *)x + skip;
        void *to = (char *)out + skip;
        code = d->set_tensor(d->rows, CUDNN_TENSOR_NCHW, real, (int)count, (int)r->n, 1, 1);
        if (!code && !y_bar)
            code = d->forward(d->handle, way, mode, one, d->rows, in, zero, d->rows, to);
        else if (!code)
            code = d->backward(
                d->handle, way, mode, one, d->rows, in, d->rows, (const char *)y_bar + skip, zero, d->rows, to);
        first += count;
    }
    return d && !code;
}

#else
struct seam_dnn;

static void close_dnn(struct seam_dnn *d) {
    (void)d;
}

static void describe_dnn(char *text, size_t bytes) {
    snprintf(text, bytes, ", built without cuDNN");
}

static bool softmax(seam *s, const seam_rows *r, const void *x, const void *y_bar, void *out) {
    return s && r && x && y_bar && out && false;
}
#endif

bool seam_softmax(seam *s, const seam_rows *r, const void *x, void *y) {
    return softmax(s, r, x, NULL, y);
}

bool seam_softmax_adjoint(seam *s, const seam_rows *r, const void *y, const void *y_bar, void *x_bar) {
    return softmax(s, r, y, y_bar, x_bar);
}

/* ---- cuSPARSE ---- */

/* The only algorithm for compressed rows that is documented to repeat its bits. */
static const cusparseSpMMAlg_t algorithm = CUSPARSE_SPMM_CSR_ALG3;

struct seam_sparse {
    cusparseConstSpMatDescr_t matrix;
    cudaDataType type;
    int64_t rows, columns;
    void *buffer; /* the library's analysis, for products of width d */
    size_t bytes;
    int64_t d;
};

/* Returns the address of a host 0 or 1 of a type. */
static const void *number(cudaDataType type, int value) {
    static const float narrow[] = {0, 1};
    static const double wide[] = {0, 1};
    return type == CUDA_R_64F ? (const void *)&wide[value] : &narrow[value];
}

seam_sparse *seam_sparse_create(seam *s, const seam_csr *A) {
    if (s->capturing || (!s->sparse && (cusparseCreate(&s->sparse) || cusparseSetStream(s->sparse, s->stream))))
        return NULL;
    seam_sparse *P = calloc(1, sizeof *P);
    if (!P)
        return NULL;
    *P = (seam_sparse){
        .type = A->type == SEAM_F64 ? CUDA_R_64F : CUDA_R_32F, .rows = A->rows, .columns = A->columns, .d = -1};
    if (cusparseCreateConstCsr(&P->matrix, A->rows, A->columns, A->nnz, A->row_pointer, A->column, A->values,
            CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, P->type) == CUSPARSE_STATUS_SUCCESS)
        return P;
    free(P);
    return NULL;
}

void seam_sparse_release(seam *s, seam_sparse *P) {
    cusparseDestroySpMat(P->matrix);
    seam_release(s, P->buffer);
    free(P);
}

/* Makes P->buffer, with the library's analysis of the matrix, for products of X and Y, whose width is d. */
static cusparseStatus_t prepare(
    seam *s, seam_sparse *P, int64_t d, cusparseConstDnMatDescr_t X, cusparseDnMatDescr_t Y) {
    const cusparseOperation_t plain = CUSPARSE_OPERATION_NON_TRANSPOSE;
    const void *one = number(P->type, 1), *zero = number(P->type, 0);
    size_t bytes = 0;
    cusparseStatus_t code =
        cusparseSpMM_bufferSize(s->sparse, plain, plain, one, P->matrix, X, zero, Y, P->type, algorithm, &bytes);
    if (!code && (bytes > P->bytes || !P->buffer)) {
        if (s->capturing)
            return CUSPARSE_STATUS_ALLOC_FAILED;
        seam_release(s, P->buffer);
        s->moves++;
        P->buffer = seam_allocate(s, bytes ? bytes : 1);
        P->bytes = P->buffer ? bytes : 0;
        code = P->buffer ? code : CUSPARSE_STATUS_ALLOC_FAILED;
    }
    if (!code)
        code =
            cusparseSpMM_preprocess(s->sparse, plain, plain, one, P->matrix, X, zero, Y, P->type, algorithm, P->buffer);
    P->d = code ? -1 : d;
    return code;
}

bool seam_sparse_multiply(seam *s, seam_sparse *P, const seam_dense *X, const seam_dense *Y) {
    const cusparseOperation_t plain = CUSPARSE_OPERATION_NON_TRANSPOSE;
    cusparseConstDnMatDescr_t x = NULL;
    cusparseDnMatDescr_t y = NULL;
    cusparseStatus_t code =
        cusparseCreateConstDnMat(&x, P->columns, X->columns, X->ld, X->data, P->type, CUSPARSE_ORDER_ROW);
    code = code ? code : cusparseCreateDnMat(&y, P->rows, Y->columns, Y->ld, Y->data, P->type, CUSPARSE_ORDER_ROW);
    code = code || P->d == X->columns ? code : prepare(s, P, X->columns, x, y);
    code = code ? code
                : cusparseSpMM(s->sparse, plain, plain, number(P->type, 1), P->matrix, x, number(P->type, 0), y,
                      P->type, algorithm, P->buffer);
    if (x)
        cusparseDestroyDnMat(x);
    if (y)
        cusparseDestroyDnMat(y);
    return code == CUSPARSE_STATUS_SUCCESS;
}

/* ---- both ---- */

void seam_close_rows(seam *s) {
    if (s->dnn)
        close_dnn(s->dnn);
    if (s->sparse)
        cusparseDestroy(s->sparse);
}

void seam_describe_rows(char *text, size_t bytes) {
    int part[3] = {0};
    for (int i = 0; i < 3; i++)
        cusparseGetProperty((libraryPropertyType)i, &part[i]);
    int n = snprintf(text, bytes, ", cuSPARSE %d.%d.%d", part[0], part[1], part[2]);
    if (n > 0 && (size_t)n < bytes)
        describe_dnn(text + n, bytes - (size_t)n);
}
