/* tensor/cuda/seams/seam_blas.c - products by plans of cuBLASLt (seam_plans.c), triangles and batched LU of cuBLAS. */
#include "tensor/cuda/seams/seam_plans.h"

#include <limits.h>

static const char *text_of(cublasStatus_t code) {
    return code == CUBLAS_STATUS_SUCCESS ? NULL : cublasGetStatusString(code);
}

const char *seam_open_blas(seam *s) {
    cublasStatus_t code = cublasCreate(&s->blas);
    code = code ? code : cublasSetStream(s->blas, s->stream);
    code = code ? code : cublasSetMathMode(s->blas, CUBLAS_DEFAULT_MATH);
    /* A workspace of ours, so that all graphs use the same memory; the library's own would become part of each graph.
     * cuBLASLt uses it too: on one stream, each library's work ends before the next begins. */
    s->blas_workspace = seam_allocate(s, BLAS_WORKSPACE);
    if (!s->blas_workspace)
        return "no memory for the workspace of cuBLAS";
    code = code ? code : cublasSetWorkspace(s->blas, s->blas_workspace, BLAS_WORKSPACE);
    code = code ? code : cublasLtCreate(&s->blas_lt);
    s->plans = seam_plans_create();
    return code ? text_of(code) : s->plans ? NULL : "out of host memory";
}

void seam_close_blas(seam *s) {
    seam_plans_release(s->plans);
    if (s->blas_lt)
        cublasLtDestroy(s->blas_lt);
    if (s->blas)
        cublasDestroy(s->blas);
    seam_release(s, s->blas_workspace);
}

/* ---- products ---- */

/* alpha and beta in the type of C. */
typedef union scalar {
    float f;
    double d;
} scalar;

static scalar scalar_of(seam_type type, double value) {
    scalar x;
    if (type == SEAM_F64)
        x.d = value;
    else
        x.f = (float)value;
    return x;
}

bool seam_epilogue(seam *s, const seam_gemm *g) {
    return g->output == SEAM_F32 && seam_find_plan(s, g);
}

static cublasStatus_t multiply_by_plan(seam *s, const seam_gemm *g, struct seam_plan *p) {
    scalar alpha = scalar_of(g->output, g->alpha), beta = scalar_of(g->output, g->addend ? 1 : g->beta);
    cublasStatus_t code = seam_set_addresses(p->operation, g);
    return code ? code
                : cublasLtMatmul(s->blas_lt, p->operation, &alpha, g->A, p->a, g->B, p->b, &beta,
                      g->addend ? g->addend : g->C, p->c, g->C, p->d, &p->algorithm, s->blas_workspace, BLAS_WORKSPACE,
                      s->stream);
}

/* For products that cuBLASLt has no algorithm for. The library's number of matrices is an int. */
static cublasStatus_t multiply_without_plan(seam *s, const seam_gemm *g) {
    scalar alpha = scalar_of(g->output, g->alpha), beta = scalar_of(g->output, g->beta);
    size_t element = g->input == SEAM_F64 ? 8 : g->input == SEAM_F32 ? 4 : 2, out = g->output == SEAM_F64 ? 8 : 4;
    cudaDataType in = seam_data_type(g->input);
    cublasStatus_t code = CUBLAS_STATUS_SUCCESS;
    for (int64_t first = 0; first < g->batch && !code; first += INT_MAX) {
        int64_t count = g->batch - first < INT_MAX ? g->batch - first : INT_MAX;
        code = cublasGemmStridedBatchedEx_64(s->blas, seam_operation(g->transposed_a), seam_operation(g->transposed_b),
            g->m, g->n, g->k, &alpha, (const char *)g->A + (size_t)(first * g->stride_a) * element, in, g->lda,
            g->stride_a, (const char *)g->B + (size_t)(first * g->stride_b) * element, in, g->ldb, g->stride_b, &beta,
            (char *)g->C + (size_t)(first * g->stride_c) * out, seam_data_type(g->output), g->ldc, g->stride_c, count,
            seam_compute_type(g), CUBLAS_GEMM_DEFAULT);
    }
    return code;
}

const char *seam_multiply(seam *s, const seam_gemm *g) {
    struct seam_plan *p = seam_find_plan(s, g);
    if (p)
        return text_of(multiply_by_plan(s, g, p));
    return text_of(seam_has_epilogue(g) ? CUBLAS_STATUS_NOT_SUPPORTED : multiply_without_plan(s, g));
}

/* ---- triangles and batches of factorizations ---- */

static cublasSideMode_t side(const seam_triangle *t) {
    return t->left ? CUBLAS_SIDE_LEFT : CUBLAS_SIDE_RIGHT;
}

static cublasFillMode_t fill(const seam_triangle *t) {
    return t->lower ? CUBLAS_FILL_MODE_LOWER : CUBLAS_FILL_MODE_UPPER;
}

static cublasDiagType_t diagonal(const seam_triangle *t) {
    return t->unit ? CUBLAS_DIAG_UNIT : CUBLAS_DIAG_NON_UNIT;
}

const char *seam_trsm_batched(seam *s, const seam_triangle *t, const void *const *T, void *const *B, int64_t batch) {
    const double one = 1;
    const float one_f = 1;
    cublasOperation_t op = seam_operation(t->transposed);
    if (t->type == SEAM_F64)
        return text_of(cublasDtrsmBatched_64(s->blas, side(t), fill(t), op, diagonal(t), t->m, t->n, &one,
            (const double *const *)T, t->ldt, (double *const *)B, t->ldb, batch));
    return text_of(cublasStrsmBatched_64(s->blas, side(t), fill(t), op, diagonal(t), t->m, t->n, &one_f,
        (const float *const *)T, t->ldt, (float *const *)B, t->ldb, batch));
}

const char *seam_trsm(seam *s, const seam_triangle *t, const void *T, void *B) {
    const double one = 1;
    const float one_f = 1;
    cublasOperation_t op = seam_operation(t->transposed);
    if (t->type == SEAM_F64)
        return text_of(
            cublasDtrsm_64(s->blas, side(t), fill(t), op, diagonal(t), t->m, t->n, &one, T, t->ldt, B, t->ldb));
    return text_of(
        cublasStrsm_64(s->blas, side(t), fill(t), op, diagonal(t), t->m, t->n, &one_f, T, t->ldt, B, t->ldb));
}

const char *seam_getrf_batched(
    seam *s, seam_type type, int64_t n, void *const *A, int64_t lda, int32_t *pivot, int32_t *info, int64_t batch) {
    if (type == SEAM_F64)
        return text_of(cublasDgetrfBatched(s->blas, (int)n, (double *const *)A, (int)lda, pivot, info, (int)batch));
    return text_of(cublasSgetrfBatched(s->blas, (int)n, (float *const *)A, (int)lda, pivot, info, (int)batch));
}
