/* tensor/cuda/seams/seam_blas.c - products by cuBLASLt, which needs a plan for each shape; triangles and batched LU by
 * cuBLAS. */
#include "tensor/cuda/seams/seam_device.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { BLAS_WORKSPACE = 32 << 20 }; /* bytes */

/* ---- plans: how cuBLASLt computes a product of some shape. They are kept, because the search for an algorithm takes
 * longer than most products, and because a shape must be computed by the same algorithm every time, in a graph or not.
 * ---- */

/* The properties that decide the algorithm: sizes, strides, types, epilogue, alignment. */
typedef struct plan_key {
    int64_t word[12];
} plan_key;

struct seam_plan {
    plan_key key;
    bool known, fine; /* fine: the library has an algorithm */
    uint64_t used;    /* plans->asked at the last use */
    cublasLtMatmulDesc_t operation;
    cublasLtMatrixLayout_t a, b, c;
    cublasLtMatmulAlgo_t algorithm;
};

enum { SETS = 2048, WAYS = 4, MOST_ALIGNED = 16 }; /* no algorithm needs an alignment above 16 bytes */

struct seam_plans {
    uint64_t asked;
    struct seam_plan plan[SETS][WAYS];
};

static struct seam_plans *plans_create(void) {
    return calloc(1, sizeof(struct seam_plans));
}

static void release_plan(struct seam_plan *p) {
    if (!p->known)
        return;
    cublasLtMatrixLayout_t layouts[] = {p->a, p->b, p->c};
    for (int i = 0; i < 3; i++)
        if (layouts[i])
            cublasLtMatrixLayoutDestroy(layouts[i]);
    if (p->operation)
        cublasLtMatmulDescDestroy(p->operation);
    *p = (struct seam_plan){0};
}

static void plans_release(struct seam_plans *plans) {
    for (int i = 0; plans && i < SETS * WAYS; i++)
        release_plan(&plans->plan[i / WAYS][i % WAYS]);
    free(plans);
}

/* ---- the key of a plan ---- */

/* Returns the largest power of two, up to MOST_ALIGNED, that divides all addresses. */
static int64_t alignment_of(const seam_gemm *g) {
    const void *const addresses[] = {g->A, g->B, g->C, g->bias, g->sums};
    uintptr_t bits = MOST_ALIGNED;
    for (size_t i = 0; i < sizeof addresses / sizeof *addresses; i++)
        bits |= (uintptr_t)addresses[i];
    return (int64_t)(bits & -bits);
}

static plan_key key_of(const seam_gemm *g) {
    bool flags[] = {g->transposed_a, g->transposed_b, g->relu, g->bias, g->sums};
    int64_t kind = g->input + 4 * g->output + 16 * g->math + 64 * alignment_of(g);
    for (size_t i = 0; i < sizeof flags; i++)
        kind = 2 * kind + flags[i];
    return (plan_key){{kind, g->m, g->n, g->k, g->lda, g->ldb, g->ldc, g->batch, g->batch > 1 ? g->stride_a : 0,
        g->batch > 1 ? g->stride_b : 0, g->batch > 1 ? g->stride_c : 0,
        g->batch > 1 && (g->bias || g->sums) ? g->stride_vector : 0}};
}

static size_t set_of(const plan_key *key) {
    uint64_t h = 0xcbf29ce484222325;
    for (size_t i = 0; i < sizeof key->word / sizeof *key->word; i++)
        h = (h ^ (uint64_t)key->word[i]) * 0x100000001b3;
    return (h ^ h >> 32) % SETS;
}

/* ---- a product as cuBLASLt describes it ---- */

/* The library's name of a type. */
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

static cublasOperation_t operation_of(bool transposed) {
    return transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
}

static cublasLtEpilogue_t epilogue_of(const seam_gemm *g) {
    if (g->sums)
        return CUBLASLT_EPILOGUE_BGRADB;
    if (!g->relu)
        return g->bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
    return g->bias ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_RELU;
}

/* Sets the address of the epilogue's bias or sums. */
static cublasStatus_t set_address(cublasLtMatmulDesc_t operation, const seam_gemm *g) {
    const void *vector = g->sums ? g->sums : g->bias;
    if (!vector)
        return CUBLAS_STATUS_SUCCESS;
    return cublasLtMatmulDescSetAttribute(operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &vector, sizeof vector);
}

/* A matrix [rows, columns] as it lies in memory, and its batch. */
typedef struct lying {
    cudaDataType type;
    int64_t rows, columns, ld, batch, stride;
} lying;

static lying lies(seam_type type, bool transposed, int64_t rows, int64_t columns, int64_t ld) {
    return (lying){data_type(type), transposed ? columns : rows, transposed ? rows : columns, ld, 1, 0};
}

static cublasStatus_t describe_matrix(cublasLtMatrixLayout_t *layout, lying m, int64_t batch, int64_t stride) {
    int32_t count = (int32_t)batch;
    cublasStatus_t code = cublasLtMatrixLayoutCreate(layout, m.type, (uint64_t)m.rows, (uint64_t)m.columns, m.ld);
    if (code || batch == 1)
        return code;
    code = cublasLtMatrixLayoutSetAttribute(*layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count);
    return code ? code
                : cublasLtMatrixLayoutSetAttribute(
                      *layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof stride);
}

static cublasStatus_t describe_operation(struct seam_plan *p, const seam_gemm *g) {
    cublasOperation_t a = operation_of(g->transposed_a), b = operation_of(g->transposed_b);
    cublasLtEpilogue_t epilogue = epilogue_of(g);
    const struct {
        cublasLtMatmulDescAttributes_t name;
        const void *value;
        size_t bytes;
    } attributes[] = {{CUBLASLT_MATMUL_DESC_TRANSA, &a, sizeof a}, {CUBLASLT_MATMUL_DESC_TRANSB, &b, sizeof b},
        {CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue}};
    cublasStatus_t code = cublasLtMatmulDescCreate(&p->operation, compute_type(g), data_type(g->output));
    for (int i = 0; i < 3 && !code; i++)
        code =
            cublasLtMatmulDescSetAttribute(p->operation, attributes[i].name, attributes[i].value, attributes[i].bytes);
    if ((g->bias || g->sums) && g->batch > 1 && !code)
        code = cublasLtMatmulDescSetAttribute(
            p->operation, CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE, &g->stride_vector, sizeof g->stride_vector);
    return code ? code : set_address(p->operation, g);
}

static cublasStatus_t describe(struct seam_plan *p, const seam_gemm *g) {
    cublasStatus_t code = describe_operation(p, g);
    code = code ? code
                : describe_matrix(&p->a, lies(g->input, g->transposed_a, g->m, g->k, g->lda), g->batch, g->stride_a);
    code = code ? code
                : describe_matrix(&p->b, lies(g->input, g->transposed_b, g->k, g->n, g->ldb), g->batch, g->stride_b);
    return code ? code : describe_matrix(&p->c, lies(g->output, false, g->m, g->n, g->ldc), g->batch, g->stride_c);
}

static cublasStatus_t search(seam *s, struct seam_plan *p, uint32_t alignment) {
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
        code = cublasLtMatmulPreferenceSetAttribute(preference, alignments[i], &alignment, sizeof alignment);
    code = code ? code
                : cublasLtMatmulAlgoGetHeuristic(
                      s->blas_lt, p->operation, p->a, p->b, p->c, p->c, preference, 1, &found, &count);
    if (preference)
        cublasLtMatmulPreferenceDestroy(preference);
    p->algorithm = found.algo;
    return code ? code : count ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}

/* ---- the table ---- */

static struct seam_plan *find(struct seam_plans *plans, const plan_key *key) {
    struct seam_plan *set = plans->plan[set_of(key)], *oldest = set;
    for (int i = 0; i < WAYS; i++) {
        if (set[i].known && memcmp(&set[i].key, key, sizeof *key) == 0)
            return &set[i];
        if (set[i].used < oldest->used)
            oldest = &set[i];
    }
    release_plan(oldest);
    oldest->key = *key;
    return oldest;
}

/* Returns the plan of g's shape, after a search at the first use of the shape; NULL if the library has no algorithm. If
 * all WAYS plans of the shape's set are in use, the least recently used one is replaced. */
static struct seam_plan *find_plan(seam *s, const seam_gemm *g) {
    plan_key key = key_of(g);
    struct seam_plan *p = find(s->plans, &key);
    p->used = ++s->plans->asked;
    if (!p->known) {
        uint32_t alignment = (uint32_t)alignment_of(g);
        p->fine = g->batch <= INT32_MAX && describe(p, g) == CUBLAS_STATUS_SUCCESS &&
                  search(s, p, alignment) == CUBLAS_STATUS_SUCCESS;
        p->known = true;
    }
    return p->fine ? p : NULL;
}

/* ---- the library ---- */

static const char *text_of(cublasStatus_t code) {
    return code == CUBLAS_STATUS_SUCCESS ? NULL : cublasGetStatusString(code);
}

const char *seam_open_blas(seam *s) {
    cublasStatus_t code = cublasCreate(&s->blas);
    code = code ? code : cublasSetStream(s->blas, s->stream);
    code = code ? code : cublasSetMathMode(s->blas, CUBLAS_DEFAULT_MATH);
    /* All graphs use this workspace of ours; one of the library's own would become part of each graph. cuBLASLt uses it
     * too, because on one stream each library's work ends before the next begins. */
    s->blas_workspace = seam_allocate(s, BLAS_WORKSPACE);
    if (!s->blas_workspace)
        return "no memory for the workspace of cuBLAS";
    code = code ? code : cublasSetWorkspace(s->blas, s->blas_workspace, BLAS_WORKSPACE);
    code = code ? code : cublasLtCreate(&s->blas_lt);
    s->plans = plans_create();
    return code ? text_of(code) : s->plans ? NULL : "out of host memory";
}

void seam_close_blas(seam *s) {
    plans_release(s->plans);
    if (s->blas_lt)
        cublasLtDestroy(s->blas_lt);
    if (s->blas)
        cublasDestroy(s->blas);
    seam_release(s, s->blas_workspace);
}

/* ---- products ---- */

/* alpha or beta in the type of C. */
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
    return g->output == SEAM_F32 && find_plan(s, g);
}

static cublasStatus_t multiply_by_plan(seam *s, const seam_gemm *g, struct seam_plan *p) {
    scalar alpha = scalar_of(g->output, g->alpha), beta = scalar_of(g->output, g->beta);
    cublasStatus_t code = set_address(p->operation, g);
    return code ? code
                : cublasLtMatmul(s->blas_lt, p->operation, &alpha, g->A, p->a, g->B, p->b, &beta, g->C, p->c, g->C,
                      p->c, &p->algorithm, s->blas_workspace, BLAS_WORKSPACE, s->stream);
}

/* Computes products for which cuBLASLt has no algorithm; in parts, as the library counts matrices by an int. */
static cublasStatus_t multiply_without_plan(seam *s, const seam_gemm *g) {
    scalar alpha = scalar_of(g->output, g->alpha), beta = scalar_of(g->output, g->beta);
    size_t element = g->input == SEAM_F64 ? 8 : g->input == SEAM_F32 ? 4 : 2, out = g->output == SEAM_F64 ? 8 : 4;
    cudaDataType in = data_type(g->input);
    cublasStatus_t code = CUBLAS_STATUS_SUCCESS;
    for (int64_t first = 0; first < g->batch && !code; first += INT_MAX) {
        int64_t count = g->batch - first < INT_MAX ? g->batch - first : INT_MAX;
        code = cublasGemmStridedBatchedEx_64(s->blas, operation_of(g->transposed_a), operation_of(g->transposed_b),
            g->m, g->n, g->k, &alpha, (const char *)g->A + (size_t)(first * g->stride_a) * element, in, g->lda,
            g->stride_a, (const char *)g->B + (size_t)(first * g->stride_b) * element, in, g->ldb, g->stride_b, &beta,
            (char *)g->C + (size_t)(first * g->stride_c) * out, data_type(g->output), g->ldc, g->stride_c, count,
            compute_type(g), CUBLAS_GEMM_DEFAULT);
    }
    return code;
}

const char *seam_multiply(seam *s, const seam_gemm *g) {
    struct seam_plan *p = find_plan(s, g);
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
    cublasOperation_t op = operation_of(t->transposed);
    if (t->type == SEAM_F64)
        return text_of(cublasDtrsmBatched_64(s->blas, side(t), fill(t), op, diagonal(t), t->m, t->n, &one,
            (const double *const *)T, t->ldt, (double *const *)B, t->ldb, batch));
    return text_of(cublasStrsmBatched_64(s->blas, side(t), fill(t), op, diagonal(t), t->m, t->n, &one_f,
        (const float *const *)T, t->ldt, (float *const *)B, t->ldb, batch));
}

const char *seam_trsm(seam *s, const seam_triangle *t, const void *T, void *B) {
    const double one = 1;
    const float one_f = 1;
    cublasOperation_t op = operation_of(t->transposed);
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
