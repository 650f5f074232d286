/* tests/ops/test_singular_values.c - singular values and vectors, least squares of any rank: residuals, known values,
 * the gradients that exist and those that do not. (test_bad_matrices.c has matrices that are not finite;
 * tests/python/test_svd.py conditions up to 1e12.) */
#include "tests/host_matrices.h"

static void expect_ratio(const char *what, int m, int n, double ratio) {
    if (!(ratio < threshold))
        fail_msg("%s, %d x %d: ratio %g", what, m, n, ratio);
}

static double skew(const double *X, int m, int k) {
    double *XX = product(X, X, k, m, k, true);
    for (int i = 0; i < k; i++)
        XX[i * k + i] -= 1;
    return norm(XX, k, k);
}

static void svd_once(fixture *f, mo_dtype dtype, int m, int n) {
    int k = m < n ? m : n;
    double *A = normals(f, m, n), *back = zeros(m, n);
    mo_tensor *out[3];
    mo_svd(f->t, matrix(f, dtype, m, n, A), &out[0], &out[1], &out[2]);
    double *U = values_of(f, out[0]), *s = values_of(f, out[1]), *V = values_of(f, out[2]);
    for (int i = 0; i < m * n; i++) {
        back[i] = -A[i];
        for (int j = 0; j < k; j++)
            back[i] += U[i / n * k + j] * s[j] * V[i % n * k + j];
    }
    for (int j = 0; j < k; j++) {
        double largest = 0;
        for (int i = 0; i < m; i++)
            largest = fabs(U[i * k + j]) > fabs(largest) ? U[i * k + j] : largest;
        assert_true(largest > 0 && s[j] >= 0 && (j == 0 || s[j] <= s[j - 1]));
    }
    int larger = m > n ? m : n;
    expect_ratio("|U S V^T - A|", m, n, norm(back, m, n) / (larger * norm(A, m, n) * epsilon(dtype)));
    expect_ratio("|U^T U - I|", m, n, skew(U, m, k) / (larger * epsilon(dtype)));
    expect_ratio("|V^T V - I|", m, n, skew(V, n, k) / (larger * epsilon(dtype)));
}

static void svd_of_size(fixture *f, mo_dtype dtype, int n) {
    svd_once(f, dtype, 2 * n + 3, n);
    svd_once(f, dtype, n, 2 * n + 3);
    svd_once(f, dtype, n, n);
}

TEST(svd_gives_the_matrix_with_fixed_signs) {
    for_each_size(*state, svd_of_size);
}

/* Checks values to 1e-14 of 1. */
static void expect_values(fixture *f, const mo_tensor *T, const double *expected) {
    double *x = values_of(f, T);
    for (int64_t i = 0; i < mo_numel(T); i++)
        if (!(fabs(x[i] - expected[i]) < 1e-14))
            fail_msg("entry %" PRId64 ": %.17g, expected %.17g", i, x[i], expected[i]);
}

TEST_OF(svd_of_a_matrix_in_closed_form, fixture *f) {
    double five = sqrt(5), half = sqrt(0.5), tenth = sqrt(0.1);
    mo_tensor *A = matrix(f, MO_F64, 2, 2, (double[]){3, 0, 4, 5}), *U, *s, *V;
    mo_svd(f->t, A, &U, &s, &V);
    expect_values(f, s, (double[]){3 * five, five});
    expect_values(f, U, (double[]){tenth, 3 * tenth, 3 * tenth, -tenth});
    expect_values(f, V, (double[]){half, half, half, -half});
}

static mo_tensor *sum_of_squares(fixture *f, mo_tensor *X) {
    return mo_sum(f->t, mo_square(f->t, X), MO_ALL, MO_DROP_AXES);
}

/* Checks the code and the message that a gradient of y in A meets; no message: it exists. */
static void expect_gradient(fixture *f, mo_tensor *y, mo_tensor *A, const char *message) {
    mo_tensor *grad;
    mo_grad(f->t, &y, NULL, 1, &A, &grad, 1, MO_RETAIN);
    if (message)
        assert_told(f->ctx, MO_NUMERICAL, message);
    assert_string_equal(mo_context_status(f->ctx)->message, "");
}

TEST_OF(equal_singular_values_refuse_a_gradient_through_vectors_alone, fixture *f) {
    mo_tensor *A = mo_require_grad(second_of_two(f, MO_F64, (double[]){0, 0, -2, 0, 2, 0, 1, 0, 0})), *U, *s, *V, *grad;
    mo_svd(f->t, A, &U, &s, &V);
    mo_tensor *norm_of_A = mo_sum(f->t, s, MO_ALL, MO_DROP_AXES);
    mo_grad(f->t, &norm_of_A, NULL, 1, &A, &grad, 1, MO_RETAIN); /* U V^T */
    expect_values(f, grad, (double[]){1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, -1, 0, 1, 0, 1, 0, 0});
    const char *told =
        "svd: a gradient through U or V was asked for, but singular values 0 and 1 of matrix 0 of 2 agree "
        "to a relative 0: U or V has no derivative there";
    expect_gradient(f, sum_of_squares(f, U), A, told);
    expect_gradient(f, sum_of_squares(f, V), A, told);
}

/* V has none, because its column changes its sign where s does; U has one unless it has columns outside the range. */
TEST_OF(a_singular_value_of_zero_refuses_the_vectors_that_turn_there, fixture *f) {
    const char *told = "svd: a gradient through U or V was asked for, but singular value 1 of the matrix is 0 to a "
                       "relative 0: U or V has no derivative there";
    for (int m = 2; m <= 3; m++) {
        mo_tensor *A = mo_require_grad(matrix(f, MO_F64, m, 2, (double[]){3, 0, 4, 0, 0, 0})), *U, *s, *V, *grad;
        mo_svd(f->t, A, &U, &s, &V);
        expect_gradient(f, sum_of_squares(f, V), A, told);
        expect_gradient(f, sum_of_squares(f, U), A, m == 2 ? NULL : told);
        mo_tensor *norm_of_A = mo_sum(f->t, s, MO_ALL, MO_DROP_AXES);
        mo_grad(f->t, &norm_of_A, NULL, 1, &A, &grad, 1, MO_RETAIN); /* nothing of the value at its kink */
        expect_values(f, grad, (double[]){0.6, 0, 0.8, 0, 0, 0});
    }
}

TEST_OF(svd_of_nothing_is_empty, fixture *f) {
    mo_tensor *A = mo_require_grad(mo_full(f->t, MO_F64, 2, (int64_t[]){3, 0}, 0)), *out[3], *grad;
    mo_svd(f->t, A, &out[0], &out[1], &out[2]);
    assert_int_equal(mo_numel(out[0]) + mo_numel(out[1]) + mo_numel(out[2]), 0);
    mo_tensor *y = mo_add(f->t, sum_of_squares(f, out[0]), sum_of_squares(f, out[2]));
    assert_int_equal(mo_grad(f->t, &y, NULL, 1, &A, &grad, 1, 0), MO_OK);
    mo_tensor *X = mo_least_squares(f->t, A, mo_full(f->t, MO_F64, 2, (int64_t[]){3, 2}, 1), -1);
    assert_int_equal(mo_dim(X, 0) * 10 + mo_dim(X, 1), 2);
    X = mo_least_squares(f->t, mo_transpose(f->t, A), mo_full(f->t, MO_F64, 2, (int64_t[]){0, 2}, 1), -1);
    expect_values(f, X, (double[6]){0});
}

/* ---- least squares ---- */

/* Checks A^T (B - A X) = 0. */
static void least_squares_once(fixture *f, mo_dtype dtype, int n) {
    int m = 2 * n + 3;
    double *A = normals(f, m, n), *B = normals(f, m, COLUMNS);
    mo_tensor *a = matrix(f, dtype, m, n, A);
    double *x = values_of(f, mo_least_squares(f->t, a, matrix(f, dtype, m, COLUMNS, B), -1));
    double *r = product(A, x, m, n, COLUMNS, false), size = norm(B, m, COLUMNS) * norm(A, m, n);
    for (int k = 0; k < m * COLUMNS; k++)
        r[k] = B[k] - r[k];
    double *g = product(A, r, n, m, COLUMNS, true);
    expect_ratio("|A^T (B - A X)|", m, n, norm(g, n, COLUMNS) / (m * size * epsilon(dtype)));
}

TEST(the_residual_is_orthogonal_to_the_columns) {
    for_each_size(*state, least_squares_once);
}

/* Of rank one: A^+ = A^T / |A|^2. */
TEST_OF(the_solution_of_least_norm, fixture *f) {
    double A[] = {1, 2, 2, 4, 3, 6}, B[] = {1, 0, 1};
    mo_tensor *a = matrix(f, MO_F64, 3, 2, A), *b = matrix(f, MO_F64, 3, 1, B);
    expect_values(f, mo_least_squares(f->t, a, b, -1), (double[]){4.0 / 70, 8.0 / 70});
    expect_values(f, mo_least_squares(f->t, mo_transpose(f->t, a), matrix(f, MO_F64, 2, 1, B), -1),
        (double[]){1.0 / 70, 2.0 / 70, 3.0 / 70});
    double D[] = {1, 0, 0, 0.01}, C[] = {1, 1};
    a = matrix(f, MO_F64, 2, 2, D), b = matrix(f, MO_F64, 2, 1, C);
    expect_values(f, mo_least_squares(f->t, a, b, -1), (double[]){1, 100});
    expect_values(f, mo_least_squares(f->t, a, b, 0.1), (double[]){1, 0});
}

/* A column from 30 to 30.1 beside one of ones: singular values in the ratio 3e-5, a thousand times the rounding of
 * float32 left in a column that is there twice, which is cut off. */
TEST_OF(the_rank_does_not_depend_on_the_number_of_rows, fixture *f) {
    int m = 100000;
    double *A = zeros(m, 3), *B = zeros(m, 1);
    for (int i = 0; i < m; i++) {
        A[3 * i] = A[3 * i + 1] = (float)(30 + 0.1 * i / m);
        A[3 * i + 2] = 1;
        B[i] = 1.25 - A[3 * i] / 64;
    }
    double *x = values_of(f, mo_least_squares(f->t, matrix(f, MO_F32, m, 3, A), matrix(f, MO_F32, m, 1, B), -1));
    for (int j = 0; j < 2; j++)
        assert_true(fabs(x[j] + 1.0 / 128) < 1e-4);
    assert_true(fabs(x[2] - 1.25) < 1e-2);
}

static void solution(mo_tape *t, mo_tensor *const *in, int n_in, mo_tensor **out, int n_out, void *state) {
    assert_int_equal(n_in + n_out, 4);
    out[0] = mo_least_squares(t, mo_matmul(t, in[0], in[1]), in[2], -1);
}

/* A = L R of rank r is moved within the matrices of its rank. */
TEST_OF(least_squares_has_its_gradient_at_every_rank, fixture *f) {
    static const int of[][3] = {{6, 3, 3}, {6, 3, 1}, {3, 6, 3}, {3, 6, 2}, {4, 4, 4}, {4, 4, 2}}; /* m, n, r */
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        int64_t m = of[i][0], n = of[i][1], r = of[i][2];
        double *L = normals(f, 12, 6), *R = normals(f, 12, 6), *B = normals(f, 12, 2);
        for (int k = 0; k < 2 * m * r; k++)
            L[k] = 0.4 * L[k] + 2 * (k / r % m == k % r);
        for (int k = 0; k < 2 * r * n; k++)
            R[k] = 0.4 * R[k] + 2 * (k / n % r == k % n);
        HELD(mo_tensor) *l = mo_require_grad(mo_tensor_create_from(f->ctx, MO_F64, 3, (int64_t[]){2, m, r}, L)),
                        *q = mo_require_grad(mo_tensor_create_from(f->ctx, MO_F64, 3, (int64_t[]){2, r, n}, R)),
                        *b = mo_require_grad(mo_tensor_create_from(f->ctx, MO_F64, 2, (int64_t[]){m, 2}, B));
        mo_tensor *in[] = {l, q, b};
        mo_check_result result = mo_check_function(f->ctx, solution, NULL, in, 3, 1, 2, 1e-6, 3);
        expect_pass(result);
        int64_t before = mo_context_counters(f->ctx).factorizations;
        mo_tensor *X = mo_least_squares(f->t, mo_matmul(f->t, l, q), b, -1), *grads[3], *second[3];
        mo_grad(f->t, &X, NULL, 1, in, grads, 3, MO_CREATE_GRAPH);
        assert_int_equal(mo_grad(f->t, grads, NULL, 3, in, second, 3, 0), MO_OK);
        assert_int_equal(mo_context_counters(f->ctx).factorizations - before, 2);
    }
}
