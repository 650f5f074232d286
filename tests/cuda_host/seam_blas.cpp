/* tests/cuda_host/seam_blas.cpp - the twin of tensor/cuda/seams/seam_blas.c: products, triangular solves, batched
 * LU. */
#include "tests/cuda_host/dense.h"
#include "tests/cuda_host/lapack.h"
#include "tests/cuda_host/lu.h"

#include <cstdlib>
#include <cstring>
#include <vector>

using namespace cuda_host;

/* Returns an element as the product reads it: bfloat16 widened, float32 cut to the 10 bits of TF32 if asked for. */
static float narrow(const void *data, std::int64_t i, seam_type type, seam_math math) {
    std::uint32_t bits;
    if (type == SEAM_BF16) {
        bits = std::uint32_t{static_cast<const std::uint16_t *>(data)[i]} << 16;
    } else {
        std::memcpy(&bits, static_cast<const float *>(data) + i, sizeof bits);
        bool finite = (bits & 0x7f800000) != 0x7f800000;
        if (math == SEAM_TF32 && finite)
            bits &= ~0x1fffu; /* cut off, not rounded: the worst that is documented of tensor cores */
    }
    float x;
    std::memcpy(&x, &bits, sizeof x);
    return x;
}

/* Copies a matrix in the precision of the product, with its leading dimension. */
static std::vector<float> narrowed(const void *data, std::int64_t n, seam_type type, seam_math math) {
    std::vector<float> copy((std::size_t)n);
    for (std::int64_t i = 0; i < n; i++)
        copy[(std::size_t)i] = narrow(data, i, type, math);
    return copy;
}

static std::int64_t elements(std::int64_t rows, std::int64_t columns, std::int64_t ld) {
    return ld * (columns - 1) + rows;
}

/* C = alpha A B + beta C over `terms` terms from `from` on. */
template <typename real>
static void add_terms(
    const seam_gemm &g, const real *A, const real *B, double beta, std::int64_t from, std::int64_t terms, real *C) {
    const real *a = A + (g.transposed_a ? from : from * g.lda), *b = B + (g.transposed_b ? from * g.ldb : from);
    lapack<real>::gemm(CblasColMajor, g.transposed_a ? CblasTrans : CblasNoTrans,
        g.transposed_b ? CblasTrans : CblasNoTrans, (int)g.m, (int)g.n, (int)terms, (real)g.alpha, a, (int)g.lda, b,
        (int)g.ldb, (real)beta, C, (int)g.ldc);
}

/* Adds the second half of the terms first, as a library has its own order. */
template <typename real> static void multiply_one(const seam_gemm &g, const real *A, const real *B, real *C) {
    std::int64_t half = g.k / 2;
    add_terms(g, A, B, g.beta, half, g.k - half, C);
    if (half > 0)
        add_terms(g, A, B, 1, 0, half, C);
    const real *bias = static_cast<const real *>(g.bias);
    for (std::int64_t j = 0; j < g.n; j++)
        for (std::int64_t i = 0; i < g.m; i++) {
            real &c = C[j * g.ldc + i];
            c = bias ? c + bias[i] : c;
            c = g.relu && !(c > 0) ? 0 : c; /* a maximum with 0, which drops NaN */
        }
    real *sums = static_cast<real *>(g.sums);
    for (std::int64_t j = 0; sums && j < g.n; j++) {
        sums[j] = 0;
        for (std::int64_t k = 0; k < g.k; k++)
            sums[j] += g.transposed_b ? B[k * g.ldb + j] : B[j * g.ldb + k];
    }
}

static const void *at(const void *data, std::int64_t i, seam_type type) {
    return static_cast<const char *>(data) + i * (std::int64_t)size_of(type);
}

static void multiply(const seam_gemm &g) {
    std::int64_t size_a = g.transposed_a ? elements(g.k, g.m, g.lda) : elements(g.m, g.k, g.lda);
    std::int64_t size_b = g.transposed_b ? elements(g.n, g.k, g.ldb) : elements(g.k, g.n, g.ldb);
    for (std::int64_t i = 0; i < g.batch; i++) {
        const void *A = at(g.A, i * g.stride_a, g.input), *B = at(g.B, i * g.stride_b, g.input);
        void *C = const_cast<void *>(at(g.C, i * g.stride_c, g.output));
        seam_gemm of = g;
        of.sums = g.sums ? const_cast<void *>(at(g.sums, i * g.stride_vector, g.output)) : nullptr;
        of.bias = g.bias ? at(g.bias, i * g.stride_vector, g.output) : nullptr;
        if (g.input == SEAM_F64) {
            multiply_one(of, static_cast<const double *>(A), static_cast<const double *>(B), static_cast<double *>(C));
        } else {
            std::vector<float> a = narrowed(A, size_a, g.input, g.math), b = narrowed(B, size_b, g.input, g.math);
            multiply_one(of, a.data(), b.data(), static_cast<float *>(C));
        }
    }
}

/* Checks the conditions that the library documents for its epilogues. */
static void require_epilogue(const seam_gemm &g) {
    if (!seam_has_epilogue(&g))
        return;
    if (g.output != SEAM_F32 || (g.batch != 1 && !(g.bias || g.sums)) || g.beta != 0)
        violation("product: an epilogue with a batch of %lld, beta %g and output of type %d", (long long)g.batch,
            g.beta, g.output);
    if (g.sums && (g.bias || g.relu))
        violation("product: sums beside another epilogue");
    if (g.bias)
        require_vector(g.bias, (g.batch - 1) * g.stride_vector + g.m, size_of(g.output), "product: bias");
    if (g.sums)
        require_vector(g.sums, (g.batch - 1) * g.stride_vector + g.n, size_of(g.output), "product: sums");
}

/* Our condition in bf16, not the library's: otherwise it has no kernel for tensor cores. */
static void require_wide_loads(const seam_gemm &g) {
    bool batch = g.batch > 1;
    std::int64_t elements = g.lda | g.ldb | (batch ? g.stride_a | g.stride_b : 0);
    if (elements % 8 != 0)
        violation(
            "product: bf16 with the leading dimensions %lld and %lld, strides %lld and %lld, expected multiples of 8",
            (long long)g.lda, (long long)g.ldb, (long long)g.stride_a, (long long)g.stride_b);
    require_aligned(g.A, 16, "product: A in bf16");
    require_aligned(g.B, 16, "product: B in bf16");
}

/* Whether there is an epilogue: all sizes must be multiples of MOCHI_CUDA_HOST_EPILOGUE, and the library's conditions
 * hold. */
bool seam_epilogue(seam *, const seam_gemm *g) {
    const char *text = std::getenv("MOCHI_CUDA_HOST_EPILOGUE");
    std::int64_t step = text ? std::atoi(text) : 1;
    return g->output == SEAM_F32 && g->m % step == 0 && g->n % step == 0 && g->k % step == 0 &&
           !planned_failure("seam_epilogue");
}

const char *seam_multiply(seam *s, const seam_gemm *g) {
    if (const char *why = library_failure(s, "seam_multiply"))
        return why;
    if (g->output != (g->input == SEAM_F64 ? SEAM_F64 : SEAM_F32))
        violation("product: inputs of type %d, output of type %d", g->input, g->output);
    require_size(g->k, "product: k");
    std::int64_t m = require_size(g->m, "product: m"), n = require_size(g->n, "product: n");
    bool ta = g->transposed_a, tb = g->transposed_b;
    require_matrices(
        {g->A, g->input, ta ? g->k : m, ta ? m : g->k, g->lda, g->stride_a, g->batch}, false, "product: A");
    require_matrices(
        {g->B, g->input, tb ? n : g->k, tb ? g->k : n, g->ldb, g->stride_b, g->batch}, false, "product: B");
    require_matrices({g->C, g->output, m, n, g->ldc, g->stride_c, g->batch}, true, "product: C");
    require_epilogue(*g);
    if (g->input == SEAM_BF16)
        require_wide_loads(*g);
    if (seam_has_epilogue(g) && !seam_epilogue(s, g))
        return "the requested functionality is not supported";
    stream_enqueue(stream_of(s), [g = *g] { multiply(g); });
    return nullptr;
}

static void solve_triangle(const seam_triangle &t, const void *T, void *B) {
    std::int64_t order = t.left ? t.m : t.n;
    require_matrices({T, t.type, order, order, t.ldt, 0, 1}, false, "trsm: T");
    require_matrices({B, t.type, t.m, t.n, t.ldb, 0, 1}, true, "trsm: B");
    with_type(t.type, [&](auto *type) {
        using real = std::remove_pointer_t<decltype(type)>;
        lapack<real>::trsm(CblasColMajor, t.left ? CblasLeft : CblasRight, t.lower ? CblasLower : CblasUpper,
            t.transposed ? CblasTrans : CblasNoTrans, t.unit ? CblasUnit : CblasNonUnit, (int)t.m, (int)t.n, real(1),
            static_cast<const real *>(T), (int)t.ldt, static_cast<real *>(B), (int)t.ldb);
    });
}

const char *seam_trsm(seam *s, const seam_triangle *t, const void *T, void *B) {
    if (const char *why = library_failure(s, "seam_trsm"))
        return why;
    require_size(t->m, "trsm: m");
    require_size(t->n, "trsm: n");
    require_device(T, 1, "trsm: T");
    require_device(B, 1, "trsm: B");
    stream_enqueue(stream_of(s), [t = *t, T, B] { solve_triangle(t, T, B); });
    return nullptr;
}

const char *seam_trsm_batched(seam *s, const seam_triangle *t, const void *const *T, void *const *B, int64_t batch) {
    if (const char *why = library_failure(s, "seam_trsm_batched"))
        return why;
    require_size(t->m, "trsm_batched: m");
    require_size(t->n, "trsm_batched: n");
    require_vector(T, require_size(batch, "trsm_batched: batch"), sizeof *T, "trsm_batched: T");
    require_vector(B, batch, sizeof *B, "trsm_batched: B");
    stream_enqueue(stream_of(s), [t = *t, T, B, batch] {
        for (std::int64_t i = 0; i < batch; i++)
            solve_triangle(t, T[i], B[i]);
    });
    return nullptr;
}

const char *seam_getrf_batched(
    seam *s, seam_type type, int64_t n, void *const *A, int64_t lda, int32_t *pivot, int32_t *info, int64_t batch) {
    if (const char *why = library_failure(s, "seam_getrf_batched"))
        return why;
    int order = require_size(n, "getrf_batched: n"), ld = require_size(lda, "getrf_batched: lda");
    require_vector(A, require_size(batch, "getrf_batched: batch"), sizeof *A, "getrf_batched: A");
    require_vector(pivot, batch * n, sizeof *pivot, "getrf_batched: pivot");
    require_vector(info, batch, sizeof *info, "getrf_batched: info");
    stream_enqueue(stream_of(s), [=] {
        for (std::int64_t i = 0; i < batch; i++) {
            require_matrices({A[i], type, order, order, lda, 0, 1}, true, "getrf_batched: A");
            with_type(type, [&](auto *of) {
                using real = std::remove_pointer_t<decltype(of)>;
                factor_lu(order, static_cast<real *>(A[i]), ld, pivot + i * n, info + i);
            });
        }
    });
    return nullptr;
}
