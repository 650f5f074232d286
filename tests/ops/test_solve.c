/* tests/ops/test_solve.c - linear systems: every triangle, and what singular means. The residuals of the other solves
 * are those of test_lapack.c, bad matrices those of test_bad_matrices.c, factors that are kept those of test_logdet.c.
 */
#include "tests/host_matrices.h"

static const fixtures around_each = {set_up, tear_down};

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

TEST(solve_triangular_reads_one_triangle) {
    for_each_size(*state, solve_triangular_once);
}

/* A condition of 1e10 is far from singular in float64, and singular in float32. */
TEST(singular_is_relative_to_the_precision) {
    fixture *f = *state;
    double A[] = {1, 0, 0, 0, 1e-10, 0, 0, 0, 1}, ones[6] = {1, 1, 1, 1, 1, 1};
    mo_solve(f->t, second_of_two(f, MO_F64, A), tensor_of(f, MO_F64, 3, (int64_t[]){2, 3, 1}, ones));
    assert_true(mo_ok(f->ctx));
    mo_solve(f->t, second_of_two(f, MO_F32, A), tensor_of(f, MO_F32, 3, (int64_t[]){2, 3, 1}, ones));
    expect_error(
        f->ctx, "solve: matrix 1 of 2 is singular to working precision; got [2, 3, 3] float32, [2, 3, 1] float32");
}
