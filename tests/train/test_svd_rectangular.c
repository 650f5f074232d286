/* tests/train/test_svd_rectangular.c - the SVD of attribute matrices, tall, wide and rank-deficient, and the
 * orthonormal bases that it is made of. */
#include "tests/decomposition.h"
#include "train/svd/svd_parts.h"

static const fixtures around_all = {scratch_create, scratch_release};

/* Returns the entries of a sparse [n, m] matrix of rank at most `rank` (0: full), determined by the seed. */
static double *drawn(int64_t n, int64_t m, int64_t rank, uint64_t seed) {
    double *X = calloc((size_t)(n * m), sizeof *X);
    mo_random r = mo_random_at(seed, MO_PURPOSE_CHECK, 1);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < m; j++)
            if (rank && i >= rank)
                X[i * m + j] = X[i % rank * m + j] * (double)(1 + i / rank);
            else if (mo_random_uniform(&r) < 0.2)
                X[i * m + j] = mo_random_normal(&r);
    return X;
}

static void check_rectangular(mo_context *ctx, int64_t n, int64_t m, int64_t true_rank, int rank, int exact_below) {
    HELD_MEMORY double *X = drawn(n, m, true_rank, 6);
    for (int real = MO_F32; real <= MO_F64; real++) {
        double tolerance = real == MO_F64 ? 1e-7 : 2e-4; /* in float32 errors reach 1.02e-4 if OpenBLAS does not know
                                                          * the CPU */
        HELD(mo_csr) *A = sparse(ctx, X, n, m, (mo_dtype)real);
        result x = decompose(ctx, A, rank, 2, exact_below);
        expect_orthonormal(&x, real == MO_F64 ? 1e-7 : 2e-3); /* V = B W / s, so its error is eps / s */
        double *product = calloc((size_t)(n * m), sizeof *product);
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < m; j++)
                for (int64_t k = 0; k < rank; k++)
                    product[i * m + j] += x.U[i * rank + k] * x.S[k] * x.V[j * rank + k];
        expect_near("U S V^T", product, X, n * m, tolerance);
        assert_true(x.residual < tolerance);
        free(product);
        free_result(&x);
    }
}

TEST(a_matrix_of_the_rank_asked_for_is_reproduced) {
    mo_context *ctx = ((scratch *)*state)->ctx;
    check_rectangular(ctx, 90, 30, 0, 30, 64);  /* tall */
    check_rectangular(ctx, 30, 90, 0, 30, 64);  /* wide */
    check_rectangular(ctx, 120, 80, 9, 12, 0);  /* randomized, rank 9 */
    check_rectangular(ctx, 80, 120, 9, 9, 0);   /* randomized, wide */
    check_rectangular(ctx, 70, 40, 11, 40, 64); /* exact, rank 11 of 40 */
    check_rectangular(ctx, 1, 7, 0, 1, 64);
    check_rectangular(ctx, 7, 1, 0, 1, 64);
}

TEST(two_power_iterations_come_near_the_best_approximation) {
    mo_context *ctx = ((scratch *)*state)->ctx;
    double *X = drawn(300, 200, 0, 7);
    HELD(mo_csr) *A = sparse(ctx, X, 300, 200, MO_F32);
    result best = decompose(ctx, A, 40, 2, 200), fast = decompose(ctx, A, 40, 2, 0);
    for (int j = 0; j < 40; j++)
        assert_true(fast.S[j] <= best.S[j] * 1.00001 && fast.S[j] >= best.S[j] * 0.9);
    free(X);
    free_result(&best);
    free_result(&fast);
}

/* ---- orthonormal bases ---- */

TEST(missing_rank_is_filled_up) {
    mo_context *ctx = ((scratch *)*state)->ctx;
    mo_random r = mo_random_at(8, MO_PURPOSE_CHECK, 2);
    for (int real = MO_F32; real <= MO_F64; real++) {
        HELD(mo_tape) *t = mo_tape_create(ctx, MO_EVAL);
        double Y[50 * 6], condition;
        for (int i = 0; i < 50; i++)
            for (int j = 0; j < 6; j++) /* columns 3 to 5 repeat columns 0 to 2 */
                Y[i * 6 + j] = j < 3 ? mo_random_normal(&r) : Y[i * 6 + j - 3];
        mo_tensor *T = mo_cast(t, mo_from(t, MO_F64, 2, (int64_t[]){50, 6}, Y), (mo_dtype)real);
        mo_orthonormalize(t, T, 2, &condition);
        HELD_MEMORY double *Q = host(t, T), *P = outer(Q, NULL, 50, 6);
        assert_true(condition > 1e3);
        assert_true(orthogonality(Q, 50, 6) < (real == MO_F64 ? 1e-13 : 2e-6));
        double PY[50 * 6] = {0};
        for (int i = 0; i < 50; i++)
            for (int j = 0; j < 6; j++)
                for (int k = 0; k < 50; k++)
                    PY[i * 6 + j] += P[i * 50 + k] * Y[k * 6 + j];
        expect_near("Q Q^T Y", PY, Y, 300, real == MO_F64 ? 1e-12 : 1e-5);
    }
}
