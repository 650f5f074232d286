/* tests/cuda_host/seam_solver.cpp - the twin of tensor/cuda/seams/seam_solver.c: factorizations. */
#include "tests/cuda_host/dense.h"
#include "tests/cuda_host/lapack.h"
#include "tests/cuda_host/lu.h"

#include <vector>

using namespace cuda_host;

/* Returns why the library does not begin: a failure, or no memory for its workspace; NULL: it begins. */
static const char *refusal(seam *s, const char *function, std::size_t workspace) {
    if (const char *why = library_failure(s, function))
        return why;
    return has_workspace(s, workspace) ? nullptr : "no memory for the workspace of cuSOLVER";
}

static void factor_cholesky(seam_type type, bool lower, int n, void *A, int lda, std::int32_t *info) {
    require_matrices({A, type, n, n, lda, 0, 1}, true, "potrf: A");
    with_type(type, [&](auto *of) {
        using real = std::remove_pointer_t<decltype(of)>;
        lapack<real>::potf2(lower ? "L" : "U", &n, static_cast<real *>(A), &lda, info);
    });
}

const char *seam_potrf(seam *s, seam_type type, bool lower, int64_t n, void *A, int64_t lda, int32_t *info) {
    if (const char *why = refusal(s, "seam_potrf", (std::size_t)(n)*128))
        return why;
    int order = require_size(n, "potrf: n"), ld = require_size(lda, "potrf: lda");
    require_matrices({A, type, n, n, lda, 0, 1}, true, "potrf: A");
    require_vector(info, 1, sizeof *info, "potrf: info");
    stream_enqueue(stream_of(s), [=] { factor_cholesky(type, lower, order, A, ld, info); });
    return nullptr;
}

const char *seam_potrf_batched(
    seam *s, seam_type type, bool lower, int64_t n, void *const *A, int64_t lda, int32_t *info, int64_t batch) {
    if (const char *why = library_failure(s, "seam_potrf_batched"))
        return why;
    int order = require_size(n, "potrf_batched: n"), ld = require_size(lda, "potrf_batched: lda");
    require_vector(A, require_size(batch, "potrf_batched: batch"), sizeof *A, "potrf_batched: A");
    require_vector(info, batch, sizeof *info, "potrf_batched: info");
    stream_enqueue(stream_of(s), [=] {
        for (std::int64_t i = 0; i < batch; i++)
            factor_cholesky(type, lower, order, A[i], ld, info + i);
    });
    return nullptr;
}

const char *seam_getrf(seam *s, seam_type type, int64_t n, void *A, int64_t lda, int64_t *pivot, int32_t *info) {
    if (const char *why = refusal(s, "seam_getrf", (std::size_t)(n)*160))
        return why;
    int order = require_size(n, "getrf: n"), ld = require_size(lda, "getrf: lda");
    require_matrices({A, type, n, n, lda, 0, 1}, true, "getrf: A");
    require_vector(pivot, n, sizeof *pivot, "getrf: pivot");
    require_vector(info, 1, sizeof *info, "getrf: info");
    stream_enqueue(stream_of(s), [=] {
        std::vector<std::int32_t> rows((std::size_t)order);
        with_type(type, [&](auto *of) {
            using real = std::remove_pointer_t<decltype(of)>;
            factor_lu(order, static_cast<real *>(A), ld, rows.data(), info);
        });
        for (int i = 0; i < order; i++)
            pivot[i] = rows[(std::size_t)i];
    });
    return nullptr;
}

template <typename real> static void eigenvectors(bool lower, int n, real *A, int lda, real *w, std::int32_t *info) {
    int query = -1, size = 0;
    real best = 0;
    lapack<real>::syevd("V", lower ? "L" : "U", &n, A, &lda, w, &best, &query, &size, &query, info);
    int words = (int)best;
    std::vector<real> work((std::size_t)words);
    std::vector<int> integers((std::size_t)size);
    lapack<real>::syevd("V", lower ? "L" : "U", &n, A, &lda, w, work.data(), &words, integers.data(), &size, info);
    for (int j = 1; j < n; j += 2) /* flips signs, which a library can choose freely */
        for (int i = 0; i < n; i++)
            A[(std::int64_t)j * lda + i] = -A[(std::int64_t)j * lda + i];
}

const char *seam_syevd(seam *s, seam_type type, bool lower, int64_t n, void *A, int64_t lda, void *w, int32_t *info) {
    if (const char *why = refusal(s, "seam_syevd", (std::size_t)(n)*256))
        return why;
    int order = require_size(n, "syevd: n"), ld = require_size(lda, "syevd: lda");
    require_matrices({A, type, n, n, lda, 0, 1}, true, "syevd: A");
    require_vector(w, n, size_of(type), "syevd: w");
    require_vector(info, 1, sizeof *info, "syevd: info");
    enqueue_typed(s, type, [=](auto *of) {
        using real = std::remove_pointer_t<decltype(of)>;
        eigenvectors(lower, order, static_cast<real *>(A), ld, static_cast<real *>(w), info);
    });
    return nullptr;
}

bool seam_has_syevd_batched(void) {
    return true;
}

const char *seam_syevd_batched(
    seam *s, seam_type type, bool lower, int64_t n, void *A, int64_t lda, void *w, int32_t *info, int64_t batch) {
    if (const char *why = refusal(s, "seam_syevd_batched", (std::size_t)(n * batch) * 256))
        return why;
    int order = require_size(n, "syevd_batched: n"), ld = require_size(lda, "syevd_batched: lda");
    require_size(batch, "syevd_batched: batch");
    require_matrices({A, type, n, n, lda, n * lda, batch}, true, "syevd_batched: A");
    require_vector(w, n * batch, size_of(type), "syevd_batched: w");
    require_vector(info, batch, sizeof *info, "syevd_batched: info");
    enqueue_typed(s, type, [=](auto *of) {
        using real = std::remove_pointer_t<decltype(of)>;
        for (std::int64_t b = 0; b < batch; b++)
            eigenvectors(
                lower, order, static_cast<real *>(A) + b * n * lda, ld, static_cast<real *>(w) + b * n, info + b);
    });
    return nullptr;
}

const char *seam_geqrf(seam *s, seam_type type, int64_t m, int64_t n, void *A, int64_t lda, void *tau, int32_t *info) {
    if (const char *why = refusal(s, "seam_geqrf", (std::size_t)(m + n) * 192))
        return why;
    int rows = require_size(m, "geqrf: m"), columns = require_size(n, "geqrf: n"), ld = require_size(lda, "geqrf: lda");
    require_matrices({A, type, m, n, lda, 0, 1}, true, "geqrf: A");
    require_vector(tau, m < n ? m : n, size_of(type), "geqrf: tau");
    require_vector(info, 1, sizeof *info, "geqrf: info");
    enqueue_typed(s, type, [=](auto *of) {
        using real = std::remove_pointer_t<decltype(of)>;
        int words = 64 * columns;
        std::vector<real> work((std::size_t)words);
        lapack<real>::geqrf(
            &rows, &columns, static_cast<real *>(A), &ld, static_cast<real *>(tau), work.data(), &words, info);
    });
    return nullptr;
}

const char *seam_orgqr(
    seam *s, seam_type type, int64_t m, int64_t n, void *A, int64_t lda, const void *tau, int32_t *info) {
    if (const char *why = refusal(s, "seam_orgqr", (std::size_t)(m + n) * 224))
        return why;
    int rows = require_size(m, "orgqr: m"), columns = require_size(n, "orgqr: n"), ld = require_size(lda, "orgqr: lda");
    if (m < n)
        violation("orgqr: %lld rows, %lld columns", (long long)m, (long long)n);
    require_matrices({A, type, m, n, lda, 0, 1}, true, "orgqr: A");
    require_vector(tau, n, size_of(type), "orgqr: tau");
    require_vector(info, 1, sizeof *info, "orgqr: info");
    enqueue_typed(s, type, [=](auto *of) {
        using real = std::remove_pointer_t<decltype(of)>;
        int words = 64 * columns;
        std::vector<real> work((std::size_t)words);
        lapack<real>::orgqr(&rows, &columns, &columns, static_cast<real *>(A), &ld, static_cast<const real *>(tau),
            work.data(), &words, info);
    });
    return nullptr;
}

template <typename real>
static void singular_vectors(int m, int n, real *A, int lda, real *values, real *VT, int ldvt, std::int32_t *info) {
    int query = -1;
    real best = 0;
    std::vector<int> integers((std::size_t)(8 * n));
    lapack<real>::gesdd("O", &m, &n, A, &lda, values, nullptr, &lda, VT, &ldvt, &best, &query, integers.data(), info);
    int words = (int)best + 1;
    std::vector<real> work((std::size_t)words);
    lapack<real>::gesdd(
        "O", &m, &n, A, &lda, values, nullptr, &lda, VT, &ldvt, work.data(), &words, integers.data(), info);
    for (int j = 1; j < n; j += 2) { /* flips signs, which a library can choose freely */
        for (int i = 0; i < m; i++)
            A[(std::int64_t)j * lda + i] = -A[(std::int64_t)j * lda + i];
        for (int i = 0; i < n; i++)
            VT[(std::int64_t)i * ldvt + j] = -VT[(std::int64_t)i * ldvt + j];
    }
}

const char *seam_gesvd(seam *s, seam_type type, int64_t m, int64_t n, void *A, int64_t lda, void *values, void *VT,
    int64_t ldvt, int32_t *info) {
    if (const char *why = refusal(s, "seam_gesvd", (std::size_t)(m + n) * 256))
        return why;
    int rows = require_size(m, "gesvd: m"), columns = require_size(n, "gesvd: n"), ld = require_size(lda, "gesvd: lda");
    int ld_vt = require_size(ldvt, "gesvd: ldvt");
    if (m < n)
        violation("gesvd: %lld rows, %lld columns", (long long)m, (long long)n);
    require_matrices({A, type, m, n, lda, 0, 1}, true, "gesvd: A");
    require_matrices({VT, type, n, n, ldvt, 0, 1}, true, "gesvd: VT");
    require_vector(values, n, size_of(type), "gesvd: s");
    require_vector(info, 1, sizeof *info, "gesvd: info");
    enqueue_typed(s, type, [=](auto *of) {
        using real = std::remove_pointer_t<decltype(of)>;
        singular_vectors(rows, columns, static_cast<real *>(A), ld, static_cast<real *>(values),
            static_cast<real *>(VT), ld_vt, info);
    });
    return nullptr;
}
