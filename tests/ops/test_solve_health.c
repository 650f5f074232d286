/* tests/ops/test_solve_health.c - mo_solve_check: condition numbers of LAPACK's kinds of matrices against inverses in
 * long double, batches with one bad matrix, and the estimated error against the true errors of X and of its
 * gradients. */
#include "autograd/sample.h"
#include "tests/lapack_matrices.h"

/* Solves A X = B (with NaN if A is singular) and returns the health of the solve; *X receives X. */
static mo_solve_health check(fixture *f, mo_tensor *A, mo_tensor *B, bool spd, mo_tensor **X) {
    mo_solve_health h;
    mo_tensor *own = (spd ? mo_solve_spd_or_nan : mo_solve_or_nan)(f->t, A, B);
    assert_int_equal(mo_solve_check(f->t, A, B, own, spd, &h), MO_OK);
    if (X)
        *X = own;
    return h;
}

static double figure(fixture *f, mo_tensor *T, int64_t i) {
    return values_of(f, T)[i];
}

/* ---- condition numbers ---- */

/* Returns |A^-1| by Gauss-Jordan elimination in long double; infinity if A is singular. */
static double inverse_norm(const double *A, int n) {
    long double *W = test_memory((size_t)(2 * n * n + 1) * sizeof *W);
    double *V = zeros(n, n), size;
    bool singular = false;
    for (int i = 0; i < n; i++) {
        W[i * 2 * n + n + i] = 1;
        for (int j = 0; j < n; j++)
            W[i * 2 * n + j] = A[i * n + j];
    }
    for (int k = 0; k < n; k++) {
        int row = k;
        for (int i = k + 1; i < n; i++)
            row = fabsl(W[i * 2 * n + k]) > fabsl(W[row * 2 * n + k]) ? i : row;
        long double pivot = W[row * 2 * n + k];
        singular |= pivot == 0;
        for (int j = 0; j < 2 * n; j++) {
            long double held = W[k * 2 * n + j];
            W[k * 2 * n + j] = W[row * 2 * n + j] / (pivot == 0 ? 1 : pivot);
            W[row * 2 * n + j] = row == k ? W[k * 2 * n + j] : held;
        }
        for (int i = 0; i < n; i++) {
            long double factor = W[i * 2 * n + k];
            for (int j = 0; i != k && j < 2 * n; j++)
                W[i * 2 * n + j] -= factor * W[k * 2 * n + j];
        }
    }
    for (int i = 0; i < n * n; i++)
        V[i] = (double)W[i / n * 2 * n + n + i % n];
    size = singular ? INFINITY : norm(V, n, n);
    return size;
}

typedef struct tally {
    int compared;
    double worst; /* largest factor between an estimate and the true value */
} tally;

/* Checks the estimates for one matrix. If a float64 matrix has a condition near 1 / eps, rounding errors decide it. */
static void check_condition(fixture *f, kind k, bool spd, mo_dtype dtype, int n, tally *sum) {
    double *A = zeros(n, n), *B = normals(f, n, 2), size;
    (spd ? draw_spd : draw_general)(f, A, n, condition_of(k, dtype));
    if (k > OVER)
        shape_kind(A, n, k, spd, dtype);
    mo_tensor *a = matrix(f, dtype, n, n, A), *b = matrix(f, dtype, n, 2, B);
    mo_solve_health h = check(f, a, b, spd, NULL);
    double rcond = figure(f, h.rcond, 0), word = figure(f, h.info, 0), error = figure(f, h.error, 0);
    size = norm(A, n, n);
    double expected = 1 / size / inverse_norm(A, n), off = rcond > expected ? rcond / expected : expected / rcond;
    if (is_singular(k, n)) {
        if (!(rcond == 0 && word > 0 && error == 1))
            fail_msg("%s, n = %d: rcond %g, info %g, error %g", kinds[k], n, rcond, word, error);
    } else {
        bool rounding = dtype == MO_F64 && expected < 10 * DBL_EPSILON;
        if (rounding ? !(rcond < 1000 * DBL_EPSILON) : !(off < 10))
            fail_msg("%s, n = %d, %s: rcond %g, expected %g", kinds[k], n, mo_dtype_name(dtype), rcond, expected);
        sum->worst = rounding ? sum->worst : fmax(sum->worst, off);
        if (word == 0)
            assert_true(figure(f, h.residual, 0) < threshold);
        assert_true(fabs(error - fmin(1, epsilon(dtype) / rcond)) <= 1e-12 * error);
    }
    sum->compared++;
    end_round(f);
}

TEST(condition_numbers_are_right_within_a_factor_of_ten) {
    static const int orders[] = {1, 2, 3, 5, 10, 50};
    tally sum = {0};
    for (int k = 0; k < KINDS; k++)
        for (int i = 0; i < 6 * 4; i++)
            if (!(i & 1) || (k != UPPER && k != LOWER))
                check_condition(*state, (kind)k, i & 1, i & 2 ? MO_F64 : MO_F32, orders[i / 4], &sum);
    print_message("%d matrices, off by a factor of %.6f at most\n", sum.compared, sum.worst);
    assert_true(sum.compared > 200);
}

/* For I + e_1 v^T with v = (0, 1, .., 1) and for its transpose: the norms of matrix and inverse are 2 by columns, n by
 * rows. */
TEST_OF(condition_numbers_are_those_of_columns, fixture *f) {
    enum { N_WIDE = 50 };
    for (int turned = 0; turned < 2; turned++) {
        double *A = zeros(N_WIDE, N_WIDE), expected = turned ? 1.0 / N_WIDE / N_WIDE : 0.25;
        for (int i = 0; i < N_WIDE; i++)
            A[i * N_WIDE + i] = A[turned ? i * N_WIDE : i] = 1;
        mo_tensor *ones = mo_full(f->t, MO_F64, 2, (int64_t[]){N_WIDE, 1}, 1);
        mo_solve_health h = check(f, matrix(f, MO_F64, N_WIDE, N_WIDE, A), ones, false, NULL);
        double rcond = figure(f, h.rcond, 0);
        if (!(fabs(rcond - expected) < 1e-12))
            fail_msg("turned %d: rcond %g, expected %g", turned, rcond, expected);
    }
}

/* ---- batches ---- */

enum { N = 4, M = 2, BATCH = 3 };

static const int64_t matrices[] = {BATCH, N, N}, sides[] = {BATCH, N, M};

/* Matrices of condition 10, but item 1 is singular: its second row and column equal its first or, if spd, are 0. */
typedef struct batch {
    double A[BATCH * N * N], B[BATCH * N * M];
    mo_tensor *xs[2];
} batch;

static batch draw_batch(fixture *f, mo_dtype dtype, bool spd) {
    batch b = {0};
    for (int i = 0; i < BATCH; i++) {
        double *A = b.A + i * N * N;
        (spd ? draw_spd : draw_general)(f, A, N, 10);
        for (int j = 0; j < N && i == 1; j++)
            A[1 * N + j] = spd ? 0 : A[j];
        for (int j = 0; j < N && i == 1 && spd; j++)
            A[j * N + 1] = 0;
    }
    for (int i = 0; i < BATCH * N * M; i++)
        b.B[i] = mo_random_normal(&f->r);
    b.xs[0] = mo_require_grad(tensor_of(f, dtype, 3, matrices, b.A));
    b.xs[1] = mo_require_grad(tensor_of(f, dtype, 3, sides, b.B));
    return b;
}

static void run_batch(fixture *f, mo_dtype dtype, bool spd) {
    batch b = draw_batch(f, dtype, spd);
    mo_tensor *X;
    mo_solve_health h = check(f, b.xs[0], b.xs[1], spd, &X);
    assert_true(mo_needs_grad(X));
    assert_false(mo_needs_grad(h.rcond) || mo_needs_grad(h.residual) || mo_needs_grad(h.error));
    for (int i = 0; i < BATCH; i++) {
        assert_true((figure(f, h.info, i) != 0) == (i == 1));
        assert_true(i == 1 ? figure(f, h.rcond, i) < 1e-6 : figure(f, h.rcond, i) > 0.005);
        assert_true(i == 1 ? figure(f, h.error, i) == 1 : figure(f, h.residual, i) < threshold);
    }
    b.A[2 * N * N] = NAN;
    mo_tensor *A = tensor_of(f, dtype, 3, matrices, b.A);
    h = check(f, A, b.xs[1], spd, NULL);
    assert_true(figure(f, h.info, 2) == -1 && figure(f, h.rcond, 2) == 0 && figure(f, h.error, 2) == 1);
    assert_true(figure(f, h.info, 0) == 0 && figure(f, h.rcond, 0) > 0.005);
}

static void for_each_form(fixture *f, void (*run)(fixture *f, mo_dtype dtype, bool spd)) {
    for (int i = 0; i < 4; i++) {
        run(f, i & 1 ? MO_F64 : MO_F32, i & 2);
        end_round(f);
    }
}

TEST(a_bad_matrix_and_one_that_is_not_finite_have_figures_of_their_own) {
    for_each_form(*state, run_batch);
}

/* One matrix with a batch of right-hand sides has one condition number, and a residual for each system. */
TEST_OF(leading_axes_are_those_of_the_solve, fixture *f) {
    double A[N * N] = {0}, *B = normals(f, BATCH * N, M);
    draw_general(f, A, N, 10);
    mo_solve_health h = check(f, matrix(f, MO_F64, N, N, A), tensor_of(f, MO_F64, 3, sides, B), false, NULL);
    assert_int_equal(mo_ndim(h.rcond), 0);
    assert_int_equal(mo_dim(h.residual, 0), BATCH);
    assert_true(figure(f, h.residual, BATCH - 1) < threshold);
}

/* ---- a condition of 1e8 in float32 ---- */

/* Returns |X - Y| / |Y| in the Frobenius norm. */
static double relative_error(fixture *f, mo_tensor *X, mo_tensor *Y) {
    double *x = values_of(f, X), *y = values_of(f, Y), error = 0, size = 0;
    for (int64_t i = 0; i < mo_numel(X); i++) {
        error += (x[i] - y[i]) * (x[i] - y[i]);
        size += y[i] * y[i];
    }
    return sqrt(error / size);
}

/* Computes the errors of X and of the gradients of <G, X> in float32, against float64 on the same numbers. */
static void errors_of(fixture *f, bool spd, mo_tensor *const in[3], double errors[3]) {
    mo_tensor *results[2][3];
    for (int wide = 0; wide < 2; wide++) {
        mo_tensor *xs[2], *G = mo_cast(f->t, in[2], wide ? MO_F64 : MO_F32);
        for (int i = 0; i < 2; i++)
            xs[i] = mo_require_grad(mo_stop_gradient(f->t, mo_cast(f->t, in[i], wide ? MO_F64 : MO_F32)));
        mo_tensor *X = results[wide][0] = (spd ? mo_solve_spd : mo_solve)(f->t, xs[0], xs[1]);
        assert_int_equal(mo_grad(f->t, &X, &G, 1, xs, results[wide] + 1, 2, MO_RETAIN), MO_OK);
    }
    for (int i = 0; i < 3; i++)
        errors[i] = relative_error(f, results[0][i], results[1][i]);
}

TEST_OF(the_expected_error_bounds_that_of_X_and_of_its_gradients, fixture *f) {
    static const int orders[] = {4, 10, 33, 70};
    int solved = 0;
    for (int i = 0; i < 16; i++) {
        int n = orders[i / 4], m = i & 1 ? 5 : 1;
        bool spd = i & 2;
        double *A = zeros(n, n), *B = normals(f, n, m), *G = normals(f, n, m), errors[3];
        (spd ? draw_spd : draw_general)(f, A, n, 1e8);
        if (spd) /* rounding to float32 moves the smallest eigenvalue by about its own size */
            for (int k = 0; k < n; k++)
                A[k * n + k] += 2e-7;
        mo_tensor *in[] = {matrix(f, MO_F32, n, n, A), matrix(f, MO_F32, n, m, B), matrix(f, MO_F32, n, m, G)};
        mo_solve_health h = check(f, in[0], in[1], spd, NULL);
        assert_true(figure(f, h.rcond, 0) < 1e-6 && figure(f, h.error, 0) > 0.01);
        if (figure(f, h.info, 0) == 0) {
            errors_of(f, spd, in, errors);
            assert_true(errors[0] > 1e-4 && errors[2] > 1e-4);
            for (int k = 0; k < 3; k++)
                assert_true(errors[k] < 10 * figure(f, h.error, 0));
            solved++;
        }
        end_round(f);
    }
    assert_true(solved > 2);
}

/* ---- edges and wrong calls ---- */

static void run_edges(fixture *f, mo_dtype dtype, bool spd) {
    static const int64_t A[][3] = {{2, 0, 0}, {0, 3, 3}, {2, 3, 3}}, B[][3] = {{2, 0, 4}, {0, 3, 2}, {2, 3, 0}};
    for (int i = 0; i < 3; i++) {
        mo_tensor *I = mo_broadcast_to(f->t, mo_eye(f->t, dtype, A[i][2]), 3, A[i]);
        mo_solve_health h = check(f, I, mo_full(f->t, dtype, 3, B[i], 1), spd, NULL);
        assert_true(mo_ndim(h.rcond) == 1 && mo_dim(h.error, 0) == A[i][0]);
        for (int j = 0; j < A[i][0]; j++)
            assert_true(figure(f, h.rcond, j) == 1 && figure(f, h.residual, j) == 0);
    }
}

static void run_indefinite(fixture *f, mo_dtype dtype, bool spd) {
    mo_tensor *A = matrix(f, dtype, 2, 2, (double[]){1, 2, 2, 1}), *B = matrix(f, dtype, 2, 1, (double[]){1, 1}), *X;
    mo_solve_health h = check(f, A, B, spd, &X);
    double eps = dtype == MO_F64 ? DBL_EPSILON : FLT_EPSILON;
    assert_true(isnan(figure(f, X, 0)) == spd);
    assert_true(figure(f, h.info, 0) == (spd ? 2 : 0));
    assert_true(figure(f, h.error, 0) == (spd ? 1 : eps / figure(f, h.rcond, 0)));
    assert_true(spd ? figure(f, h.rcond, 0) <= eps : fabs(figure(f, h.rcond, 0) - 1 / 3.0) < 1e-6);
}

TEST(a_matrix_that_is_not_positive_definite_is_no_healthy_one) {
    for_each_form(*state, run_indefinite);
}

TEST(systems_without_entries_are_healthy) {
    for_each_form(*state, run_edges);
}

TEST_OF(wrong_calls_are_named, fixture *f) {
    mo_tape *t = f->t;
    mo_tensor *I = mo_eye(t, MO_F64, 3), *b = mo_full(t, MO_F64, 2, (int64_t[]){3, 1}, 1);
    mo_tensor *rows = mo_full(t, MO_F64, 2, (int64_t[]){2, 1}, 1), *narrow = mo_cast(t, b, MO_F32);
    mo_solve_health h;
    mo_solve_check(t, I, rows, rows, false, &h);
    assert_failed(
        f->ctx, MO_INVALID, PARTS("solve_check: expected A [.., n, n], B [.., n, m] and the X of their solve"));
    mo_solve_check(t, I, b, rows, false, &h);
    assert_failed(f->ctx, MO_INVALID, PARTS("got [3, 3] float64, [3, 1] float64, [2, 1] float64"));
    mo_solve_check(t, b, I, I, false, &h);
    assert_failed(f->ctx, MO_INVALID, PARTS("got [3, 1] float64, [3, 3] float64"));
    mo_solve_check(t, I, b, narrow, false, &h);
    assert_failed(f->ctx, MO_MISMATCH, PARTS("got [3, 3] float64, [3, 1] float64, [3, 1] float32"));
    mo_solve_check(t, I, NULL, b, false, &h);
    assert_failed(f->ctx, MO_INVALID, PARTS("solve_check: input 1 is null"));
    assert_true(mo_is_null(h.info) && mo_is_null(h.error));
    mo_solve_check(t, I, b, b, false, NULL);
    assert_failed(f->ctx, MO_INVALID, PARTS("solve_check"));
}
