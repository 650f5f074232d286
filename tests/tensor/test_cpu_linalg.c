/* tests/tensor/test_cpu_linalg.c - LU, eigenvectors and QR on the CPU: residuals against plain products. Cholesky and
 * triangles are tested by test_lapack.c and test_large_factors.c, refused matrices by test_bad_matrices.c. */
#include "tests/tensor/cpu_views.h"

typedef struct batch {
    int64_t b, n, m;
} batch;

static const batch SHAPES[] = {{0, 3, 2}, {1, 1, 1}, {3, 31, 5}, {2, 33, 33}, {700, 6, 3}, {40, 32, 1}, {1, 130, 150},
    {5, 60, 0}, {2, 0, 3}, {2, 200, 3}};
enum { SHAPE_COUNT = 10 };

/* More shapes for LU: its lanes, its rows, and LAPACK, which computes from order 33 on. */
static const batch LU_SHAPES[] = {{3, 48, 1}, {2, 64, 1}, {9, 50, 1}, {1, 128, 1}, {1, 257, 1}, {37, 4, 1}, {21, 4, 3}};
enum { LU_SHAPE_COUNT = 7 };

static double entry(const mo_view *A, int64_t b, int64_t i, int64_t j) {
    int64_t rows = A->shape[1], columns = A->shape[2];
    return element(A, (b * rows + i) * columns + j);
}

/* Returns A = M M^T / n + I, with condition below about 10. */
static mo_view spd_view(mo_dtype dtype, int64_t b, int64_t n) {
    mo_view M = UNIFORM_VIEW(MO_F64, 3, b, n, n), A = NEW_VIEW(dtype, b, n, n);
    for (int64_t s = 0; s < b; s++)
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j <= i; j++) {
                double sum = i == j;
                for (int64_t k = 0; k < n; k++)
                    sum += entry(&M, s, i, k) * entry(&M, s, j, k) / (double)n;
                set_element(&A, (s * n + i) * n + j, sum);
                set_element(&A, (s * n + j) * n + i, sum);
            }
    return A;
}

static void assert_info_zero(const mo_view *info) {
    for (int64_t i = 0; i < count_of(info); i++)
        assert_int_equal((int)element(info, i), 0);
}

/* Returns entry (i, j) of op(L) op(R) for matrix s of the batch; the inner size is n. */
static double product_entry(
    const mo_view *L, bool tl, const mo_view *R, bool tr, int64_t s, int64_t i, int64_t j, int64_t n) {
    double sum = 0;
    for (int64_t k = 0; k < n; k++)
        sum += (tl ? entry(L, s, k, i) : entry(L, s, i, k)) * (tr ? entry(R, s, j, k) : entry(R, s, k, j));
    return sum;
}

/* With partial pivoting no entry of L exceeds 1. L^T is stored above the diagonal. */
static void assert_pivoted(const mo_view *LU) {
    int64_t n = LU->shape[1];
    for (int64_t s = 0; s < LU->shape[0]; s++)
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = i + 1; j < n; j++)
                assert_true(fabs(entry(LU, s, i, j)) <= 1 + 4 * epsilon_of(LU->dtype));
}

static void check_lu(mo_dtype dtype, batch z, bool transposed) {
    mo_context *ctx = context_with(2);
    mo_view A = UNIFORM_VIEW(dtype, 3, z.b, z.n, z.n), LU = NEW_VIEW(dtype, z.b, z.n, z.n);
    for (int64_t s = 0; s < z.b; s++) /* well conditioned, but elimination must exchange rows */
        for (int64_t i = 0; i < z.n; i++) {
            int64_t at = (s * z.n + i) * z.n + (i * 7 + 3) % z.n;
            set_element(&A, at, element(&A, at) + (z.n % 7 ? 2.0 * sqrt((double)z.n) : 0));
        }
    memcpy(LU.data, A.data, (size_t)count_of(&A) * mo_dtype_size(dtype));
    mo_view pivot = NEW_VIEW(MO_I32, z.b, z.n), info = NEW_VIEW(MO_I32, z.b);
    mo_view X = UNIFORM_VIEW(dtype, 5, z.b, z.n, z.m), B = clone_view(&X);
    mo_kernels_of(ctx, dtype)->getrf(ctx, &LU, &pivot, &info);
    assert_info_zero(&info);
    assert_pivoted(&LU);
    assert_int_equal(mo_context_counters(ctx).factorizations, z.b);
    mo_kernels_of(ctx, dtype)->getrs(ctx, transposed, &LU, &pivot, &X);
    for (int64_t s = 0; s < z.b; s++)
        for (int64_t i = 0; i < z.n; i++)
            for (int64_t j = 0; j < z.m; j++)
                assert_near("A X", i * z.m + j, product_entry(&A, transposed, &X, false, s, i, j, z.n),
                    entry(&B, s, i, j), 400 * epsilon_of(dtype));
    free_views();
}

TEST(lu_solves_both_ways) {
    for (int c = 0; c < 4 * SHAPE_COUNT; c++)
        check_lu(REALS[c & 1], SHAPES[c / 4], c & 2);
    for (int c = 0; c < 4 * LU_SHAPE_COUNT; c++)
        check_lu(REALS[c & 1], LU_SHAPES[c / 4], c & 2);
}

TEST(eigenvectors_diagonalize) {
    for (int c = 0; c < 2 * SHAPE_COUNT; c++) {
        batch z = SHAPES[c / 2];
        mo_dtype dtype = REALS[c & 1];
        mo_context *ctx = context_with(2);
        mo_view A = spd_view(dtype, z.b, z.n), V = clone_view(&A), w = NEW_VIEW(dtype, z.b, z.n);
        mo_view info = NEW_VIEW(MO_I32, z.b);
        mo_kernels_of(ctx, dtype)->syevd(ctx, &V, &w, &info);
        assert_info_zero(&info);
        for (int64_t s = 0; s < z.b; s++)
            for (int64_t i = 0; i < z.n; i++)
                for (int64_t j = 0; j < z.n; j++) {
                    double expected = element(&w, s * z.n + j) * entry(&V, s, i, j);
                    assert_near(
                        "A V", i, product_entry(&A, false, &V, false, s, i, j, z.n), expected, 100 * epsilon_of(dtype));
                    assert_near(
                        "V^T V", i, product_entry(&V, true, &V, false, s, i, j, z.n), i == j, 100 * epsilon_of(dtype));
                    assert_true(j == 0 || element(&w, s * z.n + j - 1) <= element(&w, s * z.n + j));
                }
        free_views();
    }
}

TEST(qr_is_orthonormal_and_unique) {
    const batch shapes[] = {{0, 3, 4}, {1, 1, 1}, {2, 5, 5}, {3, 31, 200}, {1, 33, 1023}, {200, 3, 7}, {2, 0, 4}};
    for (int c = 0; c < 14; c++) {
        batch z = shapes[c / 2];
        mo_dtype dtype = REALS[c & 1];
        mo_context *ctx = context_with(2);
        mo_view A = UNIFORM_VIEW(dtype, 3, z.b, z.m, z.n), Q = clone_view(&A), R = NEW_VIEW(dtype, z.b, z.n, z.n);
        mo_view info = NEW_VIEW(MO_I32, z.b);
        mo_kernels_of(ctx, dtype)->qr(ctx, &Q, &R, &info);
        assert_info_zero(&info);
        double tolerance = 100 * epsilon_of(dtype);
        for (int64_t s = 0; s < z.b; s++) {
            for (int64_t i = 0; i < z.m; i++)
                for (int64_t j = 0; j < z.n; j++)
                    assert_near(
                        "Q R", i, product_entry(&Q, false, &R, false, s, i, j, z.n), entry(&A, s, i, j), tolerance);
            for (int64_t i = 0; i < z.n; i++)
                for (int64_t j = 0; j < z.n; j++) {
                    assert_near("Q^T Q", i, product_entry(&Q, true, &Q, false, s, i, j, z.m), i == j, tolerance);
                    assert_true(i < j ? true : i == j ? entry(&R, s, i, j) >= 0 : entry(&R, s, i, j) == 0);
                }
        }
        free_views();
    }
}
