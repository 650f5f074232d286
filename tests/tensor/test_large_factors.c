/* tests/tensor/test_large_factors.c - Cholesky, LU and eigenproblems at orders just below and above the sizes of a
 * warp, a panel, a tile, a block, one kernel's and one call's limit. X and its gradients have small residuals, and the
 * same bits twice; only the lower triangle is read; factors have zeros above the diagonal; singular matrices are
 * recognised. */
#include "ops/inside.h"
#include "ops/ops.h"
#include "tests/drawn.h"

enum { BATCH = 3, COLUMNS = 5, MOST = 513 };

static double matrix[BATCH * MOST * MOST], factor[BATCH * MOST * MOST];

/* Fails unless the residual has the size of rounding errors, by the measure of LAPACK's own tests. */
static void assert_small(const char *what, int64_t n, mo_dtype real, double residual, double scale) {
    double ratio = residual / (scale * (double)n * (real == MO_F64 ? DBL_EPSILON : FLT_EPSILON));
    if (!(ratio < 30))
        fail_msg("%s, order %d: %g", what, (int)n, ratio);
}

static void assert_same_bits(const mo_tensor *A, const mo_tensor *B) {
    static char a[sizeof matrix], b[sizeof matrix];
    size_t bytes = (size_t)mo_numel(A) * mo_dtype_size(mo_tensor_dtype(A));
    mo_tensor_read(A, a, bytes);
    mo_tensor_read(B, b, bytes);
    assert_memory_equal(a, b, bytes);
}

static double size_of(mo_tape *t, mo_tensor *X) {
    mo_tensor *flat = mo_reshape(t, mo_cast(t, mo_contiguous(t, X), MO_F64), 1, (int64_t[]){mo_numel(X)});
    return sqrt(mo_item(mo_sum(t, mo_square(t, flat), MO_ALL, MO_DROP_AXES)));
}

/* Returns the positive definite G G^T / n + I. */
static mo_tensor *system_of(mo_tape *t, mo_dtype real, int64_t batch, int64_t n) {
    mo_tensor *K = mo_scale(t, mo_gram(t, drawn(t, real, (uint64_t)n, 3, (int64_t[]){batch, n, n})), 1 / (double)n, 0);
    return mo_add_diag(t, K, mo_scalar(t, real, 1));
}

/* Solves A X = B, and takes the gradients of sum(X B): B_bar = A^-T B, A_bar = -B_bar X^T, of which a definite A has
 * the symmetric part. Checks the residual of each. */
static void solve_once(mo_tape *t, bool definite, mo_dtype real, int64_t batch, int64_t n, int64_t columns) {
    mo_tensor *drawn_A = definite ? system_of(t, real, batch, n) : drawn(t, real, 1, 3, (int64_t[]){batch, n, n});
    mo_tensor *A = mo_require_grad(mo_stop_gradient(t, drawn_A));
    mo_tensor *B = drawn_leaf(t, real, 2, 3, (int64_t[]){batch, n, columns});
    mo_tensor *(*solve)(mo_tape *, mo_tensor *, mo_tensor *) = definite ? mo_solve_spd : mo_solve;
    mo_tensor *in[] = {A, B}, *bar[2], *X = mo_keep(solve(t, A, B)), *G = mo_stop_gradient(t, B);
    assert_int_equal(mo_grad(t, &X, &G, 1, in, bar, 2, MO_RETAIN | MO_CREATE_GRAPH), MO_OK);
    mo_tensor *outer = mo_matmul(t, bar[1], mo_transpose(t, X));
    if (definite)
        outer = mo_scale(t, mo_add(t, outer, mo_transpose(t, outer)), 0.5, 0);
    mo_tensor *residual[] = {mo_sub(t, mo_matmul(t, A, X), B), mo_sub(t, mo_matmul(t, mo_transpose(t, A), bar[1]), G),
        mo_add(t, bar[0], outer)};
    mo_tensor *scale[] = {X, bar[1], bar[0]};
    static const char *const what[] = {"A X", "A^T B_bar", "A_bar"};
    for (int i = 0; i < 3; i++)
        assert_small(what[i], n, real, size_of(t, residual[i]), size_of(t, A) * size_of(t, scale[i]));
    assert_same_bits(X, solve(t, A, B));
    mo_tape_reset(t);
}

TEST_OF(solves_leave_no_residual, mo_tape *t) {
    const int64_t orders[] = {31, 32, 33, 130, 257, 300}, definite[] = {1, 2, 15, 16, 17, 33, 64, 65, 131, 210};
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        solve_once(t, false, MO_F64, 2, orders[i], COLUMNS);
        solve_once(t, false, i % 2 ? MO_F64 : MO_F32, 1, orders[i], i % 3 ? 19 : 1);
    }
    for (size_t i = 0; i < sizeof definite / sizeof *definite; i++) {
        solve_once(t, true, MO_F64, i % 2 ? BATCH : 1, definite[i], i % 3 ? COLUMNS : 19);
        solve_once(t, true, MO_F32, i % 2 ? 1 : BATCH, definite[i], i % 3 ? 19 : 1);
    }
    for (int64_t n = 16; n < 288; n += 16) /* every number of tiles: an H100 refused that of 113 to 128 rows */
        solve_once(t, true, MO_F32, 1, n, 6);
    solve_once(t, true, MO_F32, 1, 288, 35); /* an even number of tiles; B's columns in three passes */
    solve_once(t, true, MO_F32, 1, 304, 16); /* the largest that a block with 227 KiB holds */
}

/* Solves with a Householder reflection times a diagonal whose last entry is `small`: the condition is 1 / small. */
static mo_code solve_of_condition(mo_tape *t, mo_dtype real, int64_t n, double small) {
    double v[300], square = 0;
    assert_int_equal(mo_tensor_read(drawn(t, MO_F64, 3, 1, &n), v, (size_t)n * sizeof *v), MO_OK);
    for (int64_t i = 0; i < n; i++)
        square += v[i] * v[i];
    for (int64_t b = 0; b < 2; b++)
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < n; j++)
                matrix[(b * n + i) * n + j] =
                    ((i == j) - 2 * v[i] * v[j] / square) * (b == 1 && j == n - 1 ? small : 1);
    mo_tensor *A = mo_cast(t, mo_from(t, MO_F64, 3, (int64_t[]){2, n, n}, matrix), real);
    mo_solve(t, A, mo_full(t, real, 3, (int64_t[]){2, n, 1}, 1));
    return mo_context_wait(mo_tape_context(t));
}

TEST_OF(singular_is_what_the_precision_says_at_every_order, mo_tape *t) {
    mo_context *ctx = mo_tape_context(t);
    const int64_t orders[] = {20, 32, 70, 130, 300};
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        assert_int_equal(solve_of_condition(t, MO_F64, orders[i], 1e-12), MO_OK);
        for (int wide = 0; wide < 2; wide++) {
            solve_of_condition(t, wide ? MO_F64 : MO_F32, orders[i], wide ? 1e-18 : 1e-12);
            assert_failed(ctx, MO_NUMERICAL, PARTS("matrix 1 of 2 is singular to working precision"));
        }
        mo_tape_reset(t);
    }
}

/* Checks S V = V diag(w) and V^T V = I, and that only the lower triangle of S is read. */
static void decompose_once(mo_tape *t, mo_dtype real, int64_t n) {
    mo_tensor *G = drawn(t, real, 4, 3, (int64_t[]){2, n, n}), *w, *V, *other_w, *other_V;
    mo_tensor *S = mo_add(t, G, mo_transpose(t, G));
    mo_eigh(t, S, &w, &V);
    mo_eigh(t, S, &other_w, &other_V);
    mo_tensor *row = mo_reshape(t, w, 3, (int64_t[]){2, 1, n}), *one = mo_scalar(t, real, -1);
    mo_tensor *residual = mo_sub(t, mo_matmul(t, S, V), mo_mul(t, V, row));
    mo_tensor *skew = mo_add_diag(t, mo_matmul(t, mo_transpose(t, V), V), one);
    assert_small("S V", n, real, size_of(t, residual), size_of(t, S));
    assert_small("V^T V", n, real, size_of(t, skew), 1);
    assert_same_bits(V, other_V);
    mo_tape_reset(t);
}

TEST_OF(eigenvectors_of_several_matrices_are_each_its_own, mo_tape *t) {
    decompose_once(t, MO_F64, 33);
    decompose_once(t, MO_F32, 130);
    decompose_once(t, MO_F32, MOST); /* a device decomposes these one by one */
}

/* ---- Cholesky ---- */

/* Returns A with NaN and Inf above the diagonal; overwrites `matrix`. */
static mo_tensor *lower_of(mo_tape *t, mo_tensor *A) {
    int64_t n = mo_dim(A, -1), all = mo_numel(A);
    assert_int_equal(mo_tensor_read(mo_cast(t, A, MO_F64), matrix, (size_t)all * sizeof *matrix), MO_OK);
    for (int64_t i = 0; i < all; i++)
        if (i % n > i / n % n)
            matrix[i] = i % 2 ? (double)NAN : (double)INFINITY;
    return mo_cast(t, mo_from(t, MO_F64, 3, (int64_t[]){all / n / n, n, n}, matrix), mo_tensor_dtype(A));
}

static void factor_once(mo_tape *t, mo_dtype real, int64_t batch, int64_t n) {
    mo_tensor *A = system_of(t, real, batch, n), *lower = lower_of(t, A), *L = mo_cholesky(t, lower);
    mo_tensor *B = drawn(t, real, 5, 3, (int64_t[]){batch, n, COLUMNS}), *X = mo_solve_spd(t, lower, B);
    assert_small("L L^T", n, real, size_of(t, mo_sub(t, mo_matmul(t, L, mo_transpose(t, L)), A)), size_of(t, A));
    assert_small("A X", n, real, size_of(t, mo_sub(t, mo_matmul(t, A, X), B)), size_of(t, A) * size_of(t, X));
    int64_t all = mo_numel(L);
    assert_int_equal(mo_tensor_read(mo_cast(t, L, MO_F64), factor, (size_t)all * sizeof *factor), MO_OK);
    for (int64_t i = 0; i < all; i++)
        assert_true(i % n > i / n % n ? factor[i] == 0 : i % n < i / n % n || factor[i] > 0);
    assert_same_bits(L, mo_cholesky(t, lower));
    mo_tape_reset(t);
}

TEST_OF(factors_leave_no_residual_and_read_the_lower_triangle, mo_tape *t) {
    static const int64_t orders[] = {1, 2, 16, 31, 32, 33, 64, 65, 320, 321, 513};
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        factor_once(t, MO_F32, i % 2 ? 1 : BATCH, orders[i]);
        factor_once(t, MO_F64, i % 2 ? BATCH : 1, orders[i]);
    }
    factor_once(t, MO_F32, 2, MOST); /* a device factors these one by one */
}
