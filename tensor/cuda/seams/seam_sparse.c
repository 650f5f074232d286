/* tensor/cuda/seams/seam_sparse.c - products of sparse rows by cuSPARSE, which comes with the toolkit (cuSOLVER needs
 * it). */
#include "tensor/cuda/seams/seam_device.h"

#include <cusparse.h>
#include <stdio.h>
#include <stdlib.h>

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

void seam_close_sparse(seam *s) {
    if (s->sparse)
        cusparseDestroy(s->sparse);
}

void seam_describe_sparse(char *text, size_t bytes) {
    int part[3] = {0};
    for (int i = 0; i < 3; i++)
        cusparseGetProperty((libraryPropertyType)i, &part[i]);
    snprintf(text, bytes, ", cuSPARSE %d.%d.%d", part[0], part[1], part[2]);
}
