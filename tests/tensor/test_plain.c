/* tests/tensor/test_plain.c - tensor/plain/ gives the results of BLAS and LAPACK, in float64, in all cases that the
 * kernels use. The plain routines are compiled under the names plain_... */
#define MO_REAL_BITS 64
#include "tensor/cpu/matrices.h"
#include "tests/suite.h"

extern __typeof__(cblas_dgemm) plain_gemm;
extern __typeof__(cblas_dgemv) plain_gemv;
extern __typeof__(cblas_dsymm) plain_symm;
extern __typeof__(cblas_dsymv) plain_symv;
extern __typeof__(cblas_dsyrk) plain_syrk;
extern __typeof__(cblas_dtrsm) plain_trsm;
extern __typeof__(cblas_dtrsv) plain_trsv;
extern __typeof__(dpotrf_) plain_potrf;
extern __typeof__(dpotri_) plain_potri;
extern __typeof__(dgetrf_) plain_getrf;
extern __typeof__(dsyevd_) plain_syevd;
extern __typeof__(dgeqrf_) plain_geqrf;
extern __typeof__(dorgqr_) plain_orgqr;
extern __typeof__(dgesdd_) plain_gesdd;

enum { M = 7, N = 5, K = 6, LD = 9, SIZE = LD * LD };

typedef struct matrices {
    double A[SIZE], B[SIZE], C[SIZE], D[SIZE]; /* C: result of the library; D: of plain loops */
} matrices;

/* Draws entries in -1 .. 1; A has a large diagonal, so that triangles and systems are well conditioned. */
static matrices drawn(uint64_t seed) {
    matrices m;
    mo_random r = mo_random_at(seed, MO_PURPOSE_OWN, 0);
    for (int i = 0; i < SIZE; i++) {
        m.A[i] = 2 * mo_random_uniform(&r) - 1 + 3 * (i / LD == i % LD);
        m.B[i] = 2 * mo_random_uniform(&r) - 1;
        m.C[i] = m.D[i] = 2 * mo_random_uniform(&r) - 1;
    }
    return m;
}

static void assert_same(const double *a, const double *b, int n) {
    for (int i = 0; i < n; i++)
        if (!(fabs(a[i] - b[i]) <= 1e-13 * (1 + fabs(a[i]))))
            fail_msg("entry %d: %.17g by the library, %.17g by loops", i, a[i], b[i]);
}

static const CBLAS_TRANSPOSE OPS[] = {CblasNoTrans, CblasTrans};
static const CBLAS_UPLO SIDES[] = {CblasLower, CblasUpper};
static const CBLAS_DIAG DIAGONALS[] = {CblasNonUnit, CblasUnit};

TEST(products_are_those_of_a_blas) {
    for (int i = 0; i < 8; i++) {
        matrices m = drawn((uint64_t)i);
        const double beta = i & 4 ? 0.5 : 0;
        if (beta == 0)
            m.D[3] = NAN; /* overwritten */
        cblas_dgemm(CblasRowMajor, OPS[i & 1], OPS[i >> 1 & 1], M, N, K, 1.5, m.A, LD, m.B, LD, beta, m.C, LD);
        plain_gemm(CblasRowMajor, OPS[i & 1], OPS[i >> 1 & 1], M, N, K, 1.5, m.A, LD, m.B, LD, beta, m.D, LD);
        assert_same(m.C, m.D, SIZE);
        m = drawn((uint64_t)i);
        cblas_dgemv(CblasRowMajor, OPS[i & 1], M, N, 2, m.A, LD, m.B, 2, beta, m.C, 3);
        plain_gemv(CblasRowMajor, OPS[i & 1], M, N, 2, m.A, LD, m.B, 2, beta, m.D, 3);
        cblas_dsyrk(CblasRowMajor, SIDES[i >> 1 & 1], OPS[i & 1], N, K, 2, m.A, LD, beta, m.C + 30, LD);
        plain_syrk(CblasRowMajor, SIDES[i >> 1 & 1], OPS[i & 1], N, K, 2, m.A, LD, beta, m.D + 30, LD);
        assert_same(m.C, m.D, SIZE);
        m = drawn((uint64_t)i);
        cblas_dsymm(
            CblasRowMajor, i & 1 ? CblasLeft : CblasRight, SIDES[i >> 1 & 1], M, N, 2, m.A, LD, m.B, LD, beta, m.C, LD);
        plain_symm(
            CblasRowMajor, i & 1 ? CblasLeft : CblasRight, SIDES[i >> 1 & 1], M, N, 2, m.A, LD, m.B, LD, beta, m.D, LD);
        assert_same(m.C, m.D, SIZE);
        cblas_dsymv(CblasRowMajor, SIDES[i & 1], N, 2, m.A, LD, m.B, 2, beta, m.C, 3);
        plain_symv(CblasRowMajor, SIDES[i & 1], N, 2, m.A, LD, m.B, 2, beta, m.D, 3);
        assert_same(m.C, m.D, SIZE);
    }
}

TEST(triangles_are_solved_as_by_a_blas) {
    for (int i = 0; i < 16; i++) {
        matrices m = drawn((uint64_t)i);
        CBLAS_SIDE side = i & 8 ? CblasLeft : CblasRight;
        cblas_dtrsm(
            CblasRowMajor, side, SIDES[i & 1], OPS[i >> 1 & 1], DIAGONALS[i >> 2 & 1], M, N, 0.5, m.A, LD, m.C, LD);
        plain_trsm(
            CblasRowMajor, side, SIDES[i & 1], OPS[i >> 1 & 1], DIAGONALS[i >> 2 & 1], M, N, 0.5, m.A, LD, m.D, LD);
        cblas_dtrsv(CblasRowMajor, SIDES[i & 1], OPS[i >> 1 & 1], DIAGONALS[i >> 2 & 1], N, m.A, LD, m.C + 1, 2);
        plain_trsv(CblasRowMajor, SIDES[i & 1], OPS[i >> 1 & 1], DIAGONALS[i >> 2 & 1], N, m.A, LD, m.D + 1, 2);
        assert_same(m.C, m.D, SIZE);
    }
}

/* Sets C = D = B B^T + I, of order n. */
static void make_definite(matrices *m, int n) {
    for (int i = 0; i < SIZE; i++)
        m->C[i] = i / LD == i % LD;
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, n, n, n, 1, m->B, LD, m->B, LD, 1, m->C, LD);
    memcpy(m->D, m->C, sizeof m->C);
}

TEST(factorizations_are_those_of_lapack) {
    int n = M, rows = LD, ld = LD, info, other, pivot[LD], same[LD], length = 600;
    double tau[LD], work[600], plain_tau[LD];
    matrices m = drawn(1);
    make_definite(&m, n);
    dpotrf_("U", &n, m.C, &ld, &info);
    plain_potrf("U", &n, m.D, &ld, &other);
    assert_int_equal(info, other);
    assert_same(m.C, m.D, SIZE);
    dpotri_("U", &n, m.C, &ld, &info);
    plain_potri("U", &n, m.D, &ld, &other);
    assert_same(m.C, m.D, SIZE);
    make_definite(&m, n);
    m.C[3 * LD + 3] = m.D[3 * LD + 3] = -1;
    dpotrf_("U", &n, m.C, &ld, &info);
    plain_potrf("U", &n, m.D, &ld, &other);
    assert_int_equal(info, 4);
    assert_int_equal(other, 4);
    m = drawn(2);
    dgetrf_(&n, &n, m.C, &ld, pivot, &info);
    plain_getrf(&n, &n, m.D, &ld, same, &other);
    assert_memory_equal(pivot, same, (size_t)n * sizeof *pivot);
    assert_same(m.C, m.D, SIZE);
    m = drawn(3);
    dgeqrf_(&rows, &n, m.C, &ld, tau, work, &length, &info);
    plain_geqrf(&rows, &n, m.D, &ld, plain_tau, work, &length, &other);
    assert_same(m.C, m.D, SIZE);
    dorgqr_(&rows, &n, &n, m.C, &ld, tau, work, &length, &info);
    plain_orgqr(&rows, &n, &n, m.D, &ld, plain_tau, work, &length, &other);
    assert_same(m.C, m.D, SIZE);
}

TEST(eigenvalues_are_those_of_lapack_and_vectors_up_to_sign) {
    int n = M, ld = LD, info, other, places[100], length = 600, n_places = 100;
    double w[LD], v[LD], work[600];
    matrices m = drawn(4);
    dsyevd_("V", "U", &n, m.C, &ld, w, work, &length, places, &n_places, &info);
    plain_syevd("V", "U", &n, m.D, &ld, v, work, &length, places, &n_places, &other);
    assert_int_equal(other, 0);
    assert_same(w, v, n);
    for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++)
            assert_true(fabs(fabs(m.C[j * LD + i]) - fabs(m.D[j * LD + i])) <= 1e-12);
}

/* Of full rank; with a column twice; zero. */
TEST(singular_values_are_those_of_lapack_and_the_factors_give_the_matrix) {
    int rows = M, n = N, ld = LD, info, other, places[100], length = 600;
    double s[LD], plain_s[LD], unused, VT[SIZE], work[600], gram[SIZE], back[SIZE];
    for (int kind = 0; kind < 3; kind++) {
        matrices m = drawn(5);
        for (int i = 0; i < M; i++)
            for (int j = 0; j < N; j++)
                m.C[j * LD + i] = kind == 2 ? 0 : m.B[(kind == 1 && j == N - 1 ? 1 : j) * LD + i];
        memcpy(m.A, m.C, sizeof m.A);
        memcpy(m.D, m.C, sizeof m.D);
        dgesdd_("O", &rows, &n, m.C, &ld, s, &unused, &ld, VT, &ld, work, &length, places, &info);
        plain_gesdd("O", &rows, &n, m.D, &ld, plain_s, &unused, &ld, VT, &ld, work, &length, places, &other);
        assert_int_equal(other, 0);
        assert_same(s, plain_s, n);
        cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, N, N, M, 1, m.D, LD, m.D, LD, 0, gram, LD);
        for (int k = 0; k < N * N; k++)
            assert_true(fabs(gram[k / N * LD + k % N] - (k / N == k % N)) < 1e-13);
        for (int j = 0; j < N; j++)
            cblas_dscal(M, plain_s[j], m.D + j * LD, 1);
        cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, M, N, N, 1, m.D, LD, VT, LD, 0, back, LD);
        for (int k = 0; k < M * N; k++)
            assert_true(fabs(back[k / M * LD + k % M] - m.A[k / M * LD + k % M]) < 1e-13);
    }
}
