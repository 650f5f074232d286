/* tensor/cuda/seam_blas.c - products and triangles of cuBLAS, products with an epilogue of cuBLASLt. */
#include "tensor/cuda/seam_device.h"

#include <limits.h>
#include <stdlib.h>

enum { MOST_PLANS = 64, BLAS_WORKSPACE = 32 << 20 };

/* How cuBLASLt computes one shape of product, kept: the search for it takes longer than the product. */
struct seam_plan {
    seam_gemm shape; /* its addresses, alpha and beta do not matter */
    cublasLtMatmulDesc_t operation;
    cublasLtMatrixLayout_t a, b, c, d; /* c: the addend, or another d that is not read */
    uint32_t alignment;
    cublasLtMatmulAlgo_t algorithm;
};

static const char *text_of(cublasStatus_t code) {
    return code == CUBLAS_STATUS_SUCCESS ? NULL : cublasGetStatusString(code);
}

const char *seam_open_blas(seam *s) {
    cublasStatus_t code = cublasCreate(&s->blas);
    code = code ? code : cublasSetStream(s->blas, s->stream);
    code = code ? code : cublasSetMathMode(s->blas, CUBLAS_DEFAULT_MATH);
    /* Ours, so that graphs use the same every time; the library's own would become part of each graph. */
    s->blas_workspace = seam_allocate(s, BLAS_WORKSPACE);
    if (!s->blas_workspace)
        return "no memory for the workspace of cuBLAS";
    code = code ? code : cublasSetWorkspace(s->blas, s->blas_workspace, BLAS_WORKSPACE);
    code = code ? code : cublasLtCreate(&s->blas_lt);
    s->plans = calloc(MOST_PLANS, sizeof *s->plans);
    return code ? text_of(code) : s->plans ? NULL : "out of host memory";
}

static void release_plan(struct seam_plan *p) {
    if (p->a)
        cublasLtMatrixLayoutDestroy(p->a);
    if (p->b)
        cublasLtMatrixLayoutDestroy(p->b);
    if (p->c)
        cublasLtMatrixLayoutDestroy(p->c);
    if (p->d)
        cublasLtMatrixLayoutDestroy(p->d);
    if (p->operation)
        cublasLtMatmulDescDestroy(p->operation);
    *p = (struct seam_plan){0};
}

void seam_close_blas(seam *s) {
    for (int i = 0; i < s->n_plans; i++)
        release_plan(&s->plans[i]);
    free(s->plans);
    if (s->blas_lt)
        cublasLtDestroy(s->blas_lt);
    if (s->blas)
        cublasDestroy(s->blas);
    seam_release(s, s->blas_workspace);
}

/* ---- products ---- */

static cudaDataType data_type(seam_type type) {
    return type == SEAM_F64 ? CUDA_R_64F : type == SEAM_BF16 ? CUDA_R_16BF : CUDA_R_32F;
}

static cublasComputeType_t compute_type(const seam_gemm *g) {
    if (g->output == SEAM_F64)
        return CUBLAS_COMPUTE_64F;
    if (g->input == SEAM_BF16)
        return CUBLAS_COMPUTE_32F;
    return g->math == SEAM_TF32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
}

static cublasOperation_t operation(bool transposed) {
    return transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
}

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

static bool same_plan(const seam_gemm *a, const seam_gemm *b) {
    return a->input == b->input && a->output == b->output && a->math == b->math && a->transposed_a == b->transposed_a &&
           a->transposed_b == b->transposed_b && a->m == b->m && a->n == b->n && a->k == b->k && a->lda == b->lda &&
           a->ldb == b->ldb && a->ldc == b->ldc && a->relu == b->relu && !a->bias == !b->bias &&
           !a->addend == !b->addend && a->ld_addend == b->ld_addend && !a->bits == !b->bits &&
           a->ld_bits == b->ld_bits && !a->sums == !b->sums;
}

static cublasLtEpilogue_t epilogue_of(const seam_gemm *g) {
    if (g->sums)
        return CUBLASLT_EPILOGUE_BGRADB;
    if (!g->relu)
        return g->bits ? CUBLASLT_EPILOGUE_DRELU : g->bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
    if (g->bits)
        return g->bias ? CUBLASLT_EPILOGUE_RELU_AUX_BIAS : CUBLASLT_EPILOGUE_RELU_AUX;
    return g->bias ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_RELU;
}

/* What the epilogue reads and writes beside C. The search depends on it, too: on what the addresses are multiples of.
 */
static cublasStatus_t set_addresses(cublasLtMatmulDesc_t operation, const seam_gemm *g) {
    const void *vector = g->sums ? g->sums : g->bias;
    cublasStatus_t code = CUBLAS_STATUS_SUCCESS;
    if (vector)
        code = cublasLtMatmulDescSetAttribute(operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &vector, sizeof vector);
    if (g->bits && !code)
        code = cublasLtMatmulDescSetAttribute(
            operation, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, &g->bits, sizeof g->bits);
    if (g->bits && !code)
        code = cublasLtMatmulDescSetAttribute(
            operation, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, &g->ld_bits, sizeof g->ld_bits);
    return code;
}

static cublasStatus_t describe_matrix(
    cublasLtMatrixLayout_t *layout, cudaDataType type, bool transposed, int64_t rows, int64_t columns, int64_t ld) {
    return cublasLtMatrixLayoutCreate(
        layout, type, (uint64_t)(transposed ? columns : rows), (uint64_t)(transposed ? rows : columns), ld);
}

static cublasStatus_t describe(struct seam_plan *p) {
    const seam_gemm *g = &p->shape;
    cublasOperation_t a = operation(g->transposed_a), b = operation(g->transposed_b);
    cublasLtEpilogue_t epilogue = epilogue_of(g);
    cudaDataType in = data_type(g->input), out = data_type(g->output);
    cublasStatus_t code = cublasLtMatmulDescCreate(&p->operation, compute_type(g), out);
    code = code ? code : cublasLtMatmulDescSetAttribute(p->operation, CUBLASLT_MATMUL_DESC_TRANSA, &a, sizeof a);
    code = code ? code : cublasLtMatmulDescSetAttribute(p->operation, CUBLASLT_MATMUL_DESC_TRANSB, &b, sizeof b);
    code =
        code ? code
             : cublasLtMatmulDescSetAttribute(p->operation, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue);
    code = code ? code : set_addresses(p->operation, g);
    code = code ? code : describe_matrix(&p->a, in, g->transposed_a, g->m, g->k, g->lda);
    code = code ? code : describe_matrix(&p->b, in, g->transposed_b, g->k, g->n, g->ldb);
    code = code ? code : describe_matrix(&p->c, out, false, g->m, g->n, g->addend ? g->ld_addend : g->ldc);
    return code ? code : describe_matrix(&p->d, out, false, g->m, g->n, g->ldc);
}

static cublasStatus_t search(seam *s, struct seam_plan *p) {
    static const cublasLtMatmulPreferenceAttributes_t alignments[] = {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES};
    cublasLtMatmulPreference_t preference = NULL;
    cublasLtMatmulHeuristicResult_t found = {0};
    size_t most = BLAS_WORKSPACE;
    int count = 0;
    cublasStatus_t code = cublasLtMatmulPreferenceCreate(&preference);
    code = code ? code
                : cublasLtMatmulPreferenceSetAttribute(
                      preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &most, sizeof most);
    for (int i = 0; i < 4 && !code; i++)
        code = cublasLtMatmulPreferenceSetAttribute(preference, alignments[i], &p->alignment, sizeof p->alignment);
    code = code ? code
                : cublasLtMatmulAlgoGetHeuristic(
                      s->blas_lt, p->operation, p->a, p->b, p->c, p->d, preference, 1, &found, &count);
    if (preference)
        cublasLtMatmulPreferenceDestroy(preference);
    p->algorithm = found.algo;
    return code ? code : count ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}

/* The largest power of two, up to 256, that divides all addresses. */
static uint32_t alignment_of(const seam_gemm *g) {
    const void *const addresses[] = {g->A, g->B, g->C, g->bias, g->addend, g->bits, g->sums};
    uintptr_t bits = 256;
    for (size_t i = 0; i < sizeof addresses / sizeof *addresses; i++)
        bits |= (uintptr_t)addresses[i];
    return (uint32_t)(bits & -bits);
}

/* The plan of that shape; NULL where the library has none. A table that is full starts again. */
static struct seam_plan *find_plan(seam *s, const seam_gemm *g) {
    uint32_t alignment = alignment_of(g);
    for (int i = 0; i < s->n_plans; i++)
        if (s->plans[i].alignment == alignment && same_plan(&s->plans[i].shape, g))
            return &s->plans[i];
    for (bool full = s->n_plans == MOST_PLANS; full && s->n_plans > 0;)
        release_plan(&s->plans[--s->n_plans]);
    struct seam_plan *p = &s->plans[s->n_plans];
    *p = (struct seam_plan){.shape = *g, .alignment = alignment};
    if (describe(p) == CUBLAS_STATUS_SUCCESS && search(s, p) == CUBLAS_STATUS_SUCCESS) {
        s->n_plans++;
        return p;
    }
    release_plan(p);
    return NULL;
}

bool seam_epilogue(seam *s, const seam_gemm *g) {
    return g->output == SEAM_F32 && find_plan(s, g);
}

static cublasStatus_t multiply_and_finish(seam *s, const seam_gemm *g) {
    struct seam_plan *p = find_plan(s, g);
    void *workspace = p ? seam_workspace(s, BLAS_WORKSPACE) : NULL;
    if (!workspace)
        return p ? CUBLAS_STATUS_ALLOC_FAILED : CUBLAS_STATUS_NOT_SUPPORTED;
    scalar alpha = scalar_of(g->output, g->alpha), beta = scalar_of(g->output, g->addend ? 1 : 0);
    cublasStatus_t code = set_addresses(p->operation, g);
    return code ? code
                : cublasLtMatmul(s->blas_lt, p->operation, &alpha, g->A, p->a, g->B, p->b, &beta,
                      g->addend ? g->addend : g->C, p->c, g->C, p->d, &p->algorithm, workspace, BLAS_WORKSPACE,
                      s->stream);
}

const char *seam_multiply(seam *s, const seam_gemm *g) {
    if (seam_has_epilogue(g))
        return text_of(multiply_and_finish(s, g));
    scalar alpha = scalar_of(g->output, g->alpha), beta = scalar_of(g->output, g->beta);
    cudaDataType in = data_type(g->input);
    cublasStatus_t code = CUBLAS_STATUS_SUCCESS;
    for (int64_t first = 0; first < g->batch && !code; first += INT_MAX) {
        size_t element = g->input == SEAM_F64 ? 8 : g->input == SEAM_F32 ? 4 : 2, out = g->output == SEAM_F64 ? 8 : 4;
        int64_t count = g->batch - first < INT_MAX ? g->batch - first : INT_MAX;
        code = cublasGemmStridedBatchedEx_64(s->blas, operation(g->transposed_a), operation(g->transposed_b), g->m,
            g->n, g->k, &alpha, (const char *)g->A + (size_t)(first * g->stride_a) * element, in, g->lda, g->stride_a,
            (const char *)g->B + (size_t)(first * g->stride_b) * element, in, g->ldb, g->stride_b, &beta,
            (char *)g->C + (size_t)(first * g->stride_c) * out, data_type(g->output), g->ldc, g->stride_c, count,
            compute_type(g), CUBLAS_GEMM_DEFAULT);
    }
    return text_of(code);
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
    cublasOperation_t op = operation(t->transposed);
    if (t->type == SEAM_F64)
        return text_of(cublasDtrsmBatched_64(s->blas, side(t), fill(t), op, diagonal(t), t->m, t->n, &one,
            (const double *const *)T, t->ldt, (double *const *)B, t->ldb, batch));
    return text_of(cublasStrsmBatched_64(s->blas, side(t), fill(t), op, diagonal(t), t->m, t->n, &one_f,
        (const float *const *)T, t->ldt, (float *const *)B, t->ldb, batch));
}

const char *seam_trsm(seam *s, const seam_triangle *t, const void *T, void *B) {
    const double one = 1;
    const float one_f = 1;
    cublasOperation_t op = operation(t->transposed);
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
