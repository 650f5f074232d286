/* tests/ops/test_qr.c - Q R = A with orthonormal Q and a diagonal of R that is not negative. (test_bad_matrices.c has
 * dependent columns.) */
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

/* Of the CPU's kernels here; of a device's see test_device_memory. */
TEST_OF(a_trim_gives_back_scratch, fixture *f) {
    double *A = normals(f, 70, 30);
    mo_tensor *Q, *R;
    mo_qr(f->t, matrix(f, MO_F64, 70, 30, A), &Q, &R);
    int64_t live = mo_context_counters(f->ctx).bytes_live;
    assert_int_equal(mo_context_trim(f->ctx), MO_OK);
    assert_true(live - mo_context_counters(f->ctx).bytes_live >= 70 * 30 * (int64_t)sizeof *A);
    assert_int_equal(mo_context_trim(NULL), MO_INVALID);
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
