/* tests/ops/test_qr.c - Q R = A with orthonormal Q and a diagonal of R that is not negative; least squares: the normal
 * equations, the gradient. (test_bad_matrices.c has dependent columns.) */
#include "tests/host_matrices.h"

static void expect_ratio(const char *what, int m, int n, double ratio) {
    if (!(ratio < threshold))
        fail_msg("%s, %d x %d: ratio %g", what, m, n, ratio);
}

static void qr_once(fixture *f, mo_dtype dtype, int n) {
    int m = 2 * n + 3;
    double *A = normals(f, m, n);
    mo_tensor *Q_tensor, *R_tensor;
    mo_qr(f->t, matrix(f, dtype, m, n, A), &Q_tensor, &R_tensor);
    double *Q = values_of(f, Q_tensor), *R = values_of(f, R_tensor);
    double *QR = product(Q, R, m, n, n, false), *QQ = product(Q, Q, n, m, n, true);
    for (int k = 0; k < m * n; k++)
        QR[k] -= A[k];
    for (int k = 0; k < n * n; k++) {
        QQ[k] -= k / n == k % n;
        assert_true(k / n > k % n ? R[k] == 0 : k / n < k % n || R[k] >= 0);
    }
    expect_ratio("|Q R - A|", m, n, norm(QR, m, n) / (m * norm(A, m, n) * epsilon(dtype)));
    expect_ratio("|Q^T Q - I|", m, n, norm(QQ, n, n) / (m * epsilon(dtype)));
}

TEST(qr_is_orthonormal_and_unique) {
    for_each_size(*state, qr_once);
}

/* Checks A^T (B - A X) = 0. */
static void least_squares_once(fixture *f, mo_dtype dtype, int n) {
    int m = 2 * n + 3;
    double *A = normals(f, m, n), *B = normals(f, m, COLUMNS);
    mo_tensor *a = matrix(f, dtype, m, n, A);
    double *x = values_of(f, mo_least_squares(f->t, a, matrix(f, dtype, m, COLUMNS, B)));
    double *r = product(A, x, m, n, COLUMNS, false), size = norm(B, m, COLUMNS) * norm(A, m, n);
    for (int k = 0; k < m * COLUMNS; k++)
        r[k] = B[k] - r[k];
    double *g = product(A, r, n, m, COLUMNS, true);
    expect_ratio("|A^T (B - A X)|", m, n, norm(g, n, COLUMNS) / (m * size * epsilon(dtype)));
}

TEST(the_residual_is_orthogonal_to_the_columns) {
    for_each_size(*state, least_squares_once);
}

/* Of the CPU's kernels here; of a device's see test_device_memory. */
TEST_OF(a_trim_gives_back_scratch, fixture *f) {
    double *A = normals(f, 70, 30), *B = normals(f, 70, COLUMNS);
    mo_least_squares(f->t, matrix(f, MO_F64, 70, 30, A), matrix(f, MO_F64, 70, COLUMNS, B));
    int64_t live = mo_context_counters(f->ctx).bytes_live;
    assert_int_equal(mo_context_trim(f->ctx), MO_OK);
    assert_true(live - mo_context_counters(f->ctx).bytes_live >= 70 * 30 * (int64_t)sizeof *A);
    assert_int_equal(mo_context_trim(NULL), MO_INVALID);
}

static void solution(mo_tape *t, mo_tensor *const *in, int n_in, mo_tensor **out, int n_out, void *state) {
    assert_int_equal(n_in + n_out, 3);
    out[0] = mo_least_squares(t, in[0], in[1]);
}

TEST_OF(least_squares_has_its_gradient, fixture *f) {
    double *A = normals(f, 36, 1), *B = normals(f, 24, 1);
    for (int i = 0; i < 36; i++)
        A[i] = 0.4 * A[i] + 2 * (i / 3 % 6 == i % 3);
    HELD(mo_tensor) *a = mo_require_grad(mo_tensor_create_from(f->ctx, MO_F64, 3, (int64_t[]){2, 6, 3}, A)),
                    *b = mo_require_grad(mo_tensor_create_from(f->ctx, MO_F64, 3, (int64_t[]){2, 6, 2}, B));
    mo_tensor *in[] = {a, b};
    mo_check_result r = mo_check_function(f->ctx, solution, NULL, in, 2, 1, 2, 1e-6, 3);
    expect_pass(r);
    int64_t before = mo_context_counters(f->ctx).factorizations;
    mo_tensor *X = mo_least_squares(f->t, in[0], in[1]), *grads[2], *second[2];
    mo_grad(f->t, &X, NULL, 1, in, grads, 2, MO_CREATE_GRAPH);
    assert_int_equal(mo_grad(f->t, grads, NULL, 2, in, second, 2, 0), MO_OK);
    assert_int_equal(mo_context_counters(f->ctx).factorizations - before, 2);
}

/* Rank is judged relative to each column's size, so a column of 1e-30 beside one of 1 is not dependent, even in
 * float32. */
TEST_OF(scaled_columns_are_not_dependent, fixture *f) {
    mo_tensor *Q, *R;
    for (int d = 0; d < 2; d++) {
        double A[] = {1e-30, 1, 1e18, 2e-30, 1, 3e18, 1e-30, 2, -1e18, 0, 1, 1e18};
        mo_qr(f->t, matrix(f, d ? MO_F64 : MO_F32, 4, 3, A), &Q, &R);
        assert_string_equal(mo_context_status(f->ctx)->message, "");
    }
}
