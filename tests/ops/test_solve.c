/* tests/ops/test_solve.c - linear systems: residuals, factors that backward reuses, and the messages for bad
 * matrices. */
#include "tests/host_matrices.h"

/* |B - op(A) X| / (n |A| |X| eps). */
static void expect_solved(fixture *f, const double *A, const double *B, const mo_tensor *X, int n, bool turned) {
    double *x = values_of(f, X), *r = product(A, x, n, n, COLUMNS, turned);
    for (int i = 0; i < n * COLUMNS; i++)
        r[i] = B[i] - r[i];
    double ratio = norm(r, n, COLUMNS) / (n * norm(A, n, n) * norm(x, n, COLUMNS) * epsilon(mo_tensor_dtype(X)));
    if (!(ratio < threshold))
        fail_msg("n = %d: residual ratio %g", n, ratio);
    free(x);
    free(r);
}

static void solve_once(fixture *f, mo_dtype dtype, int n) {
    double *A = normals(f, n, n), *B = normals(f, n, COLUMNS);
    A[0] = n > 1 ? 0 : A[0]; /* a first pivot of 0 */
    mo_tensor *a = matrix(f, dtype, n, n, A), *b = matrix(f, dtype, n, COLUMNS, B);
    expect_solved(f, A, B, mo_solve(f->t, a, b), n, false);
    const mo_op *op = mo_find_op(f->ctx, "solve");
    expect_solved(f, A, B, mo_apply(f->t, op, (mo_tensor *[]){a, b}, 2, &(struct {
        bool transposed;
        int failure;
    }){true, 0}),
        n, true);
    free(A);
    free(B);
}

static void solve_leaves_a_small_residual(void **state) {
    fixture *f = *state;
    mo_register_ops(f->ctx);
    for_each_size(f, solve_once);
}

static void solve_spd_once(fixture *f, mo_dtype dtype, int n) {
    double *Z = normals(f, n, n), *A = product(Z, Z, n, n, n, true), *B = normals(f, n, COLUMNS);
    for (int i = 0; i < n; i++)
        A[i * n + i] += 0.01 * n;
    mo_tensor *a = matrix(f, dtype, n, n, A), *b = matrix(f, dtype, n, COLUMNS, B);
    expect_solved(f, A, B, mo_solve_spd(f->t, a, b), n, false);
    expect_solved(f, A, B, mo_cholesky_solve(f->t, mo_cholesky(f->t, a), b), n, false);
    free(Z);
    free(A);
    free(B);
}

static void solve_spd_leaves_a_small_residual(void **state) {
    for_each_size(*state, solve_spd_once);
}

static void solve_triangular_once(fixture *f, mo_dtype dtype, int n) {
    double *T = normals(f, n, n), *B = normals(f, n, COLUMNS), *lower = zeros(n, n), *upper = zeros(n, n);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            T[i * n + j] = (float)(i == j ? 1 + fabs(T[i * n + j]) : T[i * n + j] / n);
            *(i >= j ? &lower[i * n + j] : &upper[i * n + j]) = T[i * n + j];
            upper[i * n + i] = T[i * n + i];
        }
    mo_tensor *t = matrix(f, dtype, n, n, T), *b = matrix(f, dtype, n, COLUMNS, B);
    for (int turned = 0; turned < 2; turned++) {
        mo_triangle low = turned ? MO_LOWER_TRANSPOSED : MO_LOWER, high = turned ? MO_UPPER_TRANSPOSED : MO_UPPER;
        expect_solved(f, lower, B, mo_solve_triangular(f->t, t, b, low), n, turned);
        expect_solved(f, upper, B, mo_solve_triangular(f->t, t, b, high), n, turned);
    }
    free(T);
    free(B);
    free(lower);
    free(upper);
}

static void solve_triangular_reads_one_triangle(void **state) {
    for_each_size(*state, solve_triangular_once);
}

/* ---- factors are kept ---- */

typedef mo_tensor *(*solver)(mo_tape *t, mo_tensor *A, mo_tensor *B);

/* Gradients of order one and two of a batch of three: factorizations stay at the three of the forward. */
static void expect_three_factorizations(fixture *f, solver solve) {
    int64_t shape[] = {3, 5, 5};
    double *A = zeros(75, 1), *B = normals(f, 75, 1);
    for (int i = 0; i < 75; i++)
        A[i] = (i % 25) % 6 == 0 ? 4 : 0.1 * (i % 25 % 5 + i % 25 / 5); /* symmetric, diagonally dominant */
    mo_tensor *xs[] = {
        mo_require_grad(tensor_of(f, MO_F64, 3, shape, A)), mo_require_grad(tensor_of(f, MO_F64, 3, shape, B))};
    int64_t before = mo_context_counters(f->ctx).factorizations;
    mo_tensor *X = solve(f->t, xs[0], xs[1]), *first[2], *second[2];
    mo_tensor *y = mo_sum(f->t, mo_square(f->t, X), MO_ALL, MO_DROP_AXES);
    assert_int_equal(mo_grad(f->t, &y, NULL, 1, xs, first, 2, MO_CREATE_GRAPH), MO_OK);
    mo_tensor *z = mo_add(f->t, mo_sum(f->t, mo_square(f->t, first[0]), MO_ALL, MO_DROP_AXES),
        mo_sum(f->t, mo_square(f->t, first[1]), MO_ALL, MO_DROP_AXES));
    assert_int_equal(mo_grad(f->t, &z, NULL, 1, xs, second, 2, MO_CREATE_GRAPH), MO_OK);
    mo_tensor *s = mo_sum(f->t, mo_square(f->t, second[0]), MO_ALL, MO_DROP_AXES), *third[2];
    assert_int_equal(mo_grad(f->t, &s, NULL, 1, xs, third, 2, 0), MO_OK);
    assert_int_equal(mo_context_counters(f->ctx).factorizations - before, 3);
    free(A);
    free(B);
}

static void solve_reuses_factors_at_every_order(void **state) {
    expect_three_factorizations(*state, mo_solve);
}

static void solve_spd_reuses_its_factor_at_every_order(void **state) {
    expect_three_factorizations(*state, mo_solve_spd);
}

/* ---- bad matrices ---- */

/* A condition of 1e10 is far from singular in float64, and singular in float32. */
static void singular_is_relative_to_the_precision(void **state) {
    fixture *f = *state;
    double A[] = {1, 0, 0, 0, 1e-10, 0, 0, 0, 1}, ones[6] = {1, 1, 1, 1, 1, 1};
    mo_solve(f->t, second_of_two(f, MO_F64, A), tensor_of(f, MO_F64, 3, (int64_t[]){2, 3, 1}, ones));
    assert_true(mo_ok(f->ctx));
    mo_solve(f->t, second_of_two(f, MO_F32, A), tensor_of(f, MO_F32, 3, (int64_t[]){2, 3, 1}, ones));
    expect_error(
        f->ctx, "solve: matrix 1 of 2 is singular to working precision; got [2, 3, 3] float32, [2, 3, 1] float32");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(solve_leaves_a_small_residual, set_up, tear_down),
        cmocka_unit_test_setup_teardown(solve_spd_leaves_a_small_residual, set_up, tear_down),
        cmocka_unit_test_setup_teardown(solve_triangular_reads_one_triangle, set_up, tear_down),
        cmocka_unit_test_setup_teardown(solve_reuses_factors_at_every_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(solve_spd_reuses_its_factor_at_every_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(singular_is_relative_to_the_precision, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
