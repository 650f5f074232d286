/* tests/tensor/test_large_cholesky.c - Cholesky factors of orders on either side of a tile, of what one kernel solves
 * and of what is factored in one call: residuals, zeros above the diagonal, the same bits twice; only the lower
 * triangle is read; the matrix and the leading minor that an error names. */
#include "ops/inside.h"
#include "ops/ops.h"
#include "tests/device.h"
#include "tests/scratch.h"

#include <float.h>
#include <math.h>

enum { BATCH = 3, COLUMNS = 5, MOST = 513 };

static double matrix[BATCH * MOST * MOST], factor[BATCH * MOST * MOST];
static char once[sizeof matrix], again[sizeof matrix];

static mo_tensor *drawn(mo_tape *t, mo_dtype real, int64_t batch, int64_t n, int64_t m) {
    mo_random r = mo_random_at(43, MO_PURPOSE_CHECK, (uint64_t)(batch * n + m));
    for (int64_t i = 0; i < batch * n * m; i++)
        factor[i] = mo_random_normal(&r);
    return mo_cast(t, mo_from(t, MO_F64, 3, (int64_t[]){batch, n, m}, factor), real);
}

/* G G^T / n + I. */
static mo_tensor *system_of(mo_tape *t, mo_dtype real, int64_t batch, int64_t n) {
    mo_tensor *K = mo_scale(t, mo_gram(t, drawn(t, real, batch, n, n)), 1 / (double)n, 0);
    return mo_add_diag(t, K, mo_scalar(t, real, 1));
}

static double size_of(mo_tape *t, mo_tensor *X) {
    mo_tensor *flat = mo_reshape(t, mo_cast(t, mo_contiguous(t, X), MO_F64), 1, (int64_t[]){mo_numel(X)});
    return sqrt(mo_item(mo_sum(t, mo_square(t, flat), MO_ALL, MO_DROP_AXES)));
}

/* A with NaN and Inf above the diagonal, by way of `matrix`. */
static mo_tensor *lower_of(mo_tape *t, mo_tensor *A) {
    int64_t n = mo_dim(A, -1), all = mo_numel(A);
    assert_int_equal(mo_tensor_read(mo_cast(t, A, MO_F64), matrix, (size_t)all * sizeof *matrix), MO_OK);
    for (int64_t i = 0; i < all; i++)
        if (i % n > i / n % n)
            matrix[i] = i % 2 ? (double)NAN : (double)INFINITY;
    return mo_cast(t, mo_from(t, MO_F64, 3, (int64_t[]){all / n / n, n, n}, matrix), mo_tensor_dtype(A));
}

static void assert_small(const char *what, int64_t n, mo_dtype real, double residual, double scale) {
    double ratio = residual / (scale * (double)n * (real == MO_F64 ? DBL_EPSILON : FLT_EPSILON));
    if (!(ratio < 30)) /* as in LAPACK's own tests */
        fail_msg("%s, order %d: %g", what, (int)n, ratio);
}

static void factor_once(mo_tape *t, mo_dtype real, int64_t batch, int64_t n) {
    mo_tensor *A = system_of(t, real, batch, n), *lower = lower_of(t, A), *L = mo_cholesky(t, lower);
    mo_tensor *B = drawn(t, real, batch, n, COLUMNS), *X = mo_solve_spd(t, lower, B);
    assert_small("L L^T", n, real, size_of(t, mo_sub(t, mo_matmul(t, L, mo_transpose(t, L)), A)), size_of(t, A));
    assert_small("A X", n, real, size_of(t, mo_sub(t, mo_matmul(t, A, X), B)), size_of(t, A) * size_of(t, X));
    int64_t all = mo_numel(L);
    size_t bytes = (size_t)all * mo_dtype_size(real);
    assert_int_equal(mo_tensor_read(mo_cast(t, L, MO_F64), factor, (size_t)all * sizeof *factor), MO_OK);
    for (int64_t i = 0; i < all; i++)
        assert_true(i % n > i / n % n ? factor[i] == 0 : i % n < i / n % n || factor[i] > 0);
    mo_tensor_read(L, once, bytes);
    mo_tensor_read(mo_cholesky(t, lower), again, bytes);
    assert_memory_equal(once, again, bytes);
    mo_tape_reset(t);
}

static void factors_leave_no_residual_and_read_the_lower_triangle(void **state) {
    static const int64_t orders[] = {1, 2, 31, 32, 33, 64, 65, 320, 321, 513};
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        factor_once(*state, MO_F32, i % 2 ? 1 : BATCH, orders[i]);
        factor_once(*state, MO_F64, i % 2 ? BATCH : 1, orders[i]);
    }
    factor_once(*state, MO_F32, 2, MOST); /* one by one on a device */
}

/* 4 I, but for the entry (i, j) of the last matrix. */
static void expect(mo_tape *t, int64_t batch, int64_t n, int64_t i, int64_t j, double x, const char *reason) {
    mo_context *ctx = mo_tape_context(t);
    char named[80];
    for (int64_t k = 0; k < batch * n * n; k++)
        matrix[k] = k / n % n == k % n ? 4 : 0;
    matrix[((batch - 1) * n + i) * n + j] = x;
    mo_tensor *A = mo_from(t, MO_F64, 3, (int64_t[]){batch, n, n}, matrix);
    for (int k = 0; k < 2; k++) {
        mo_cholesky(t, mo_cast(t, A, k ? MO_F64 : MO_F32));
        assert_int_not_equal(mo_context_wait(ctx), MO_OK);
        snprintf(named, sizeof named, "cholesky: matrix %d of %d", (int)batch - 1, (int)batch);
        assert_failed(ctx, MO_NUMERICAL, PARTS(named, reason));
    }
    mo_tape_reset(t);
}

static void the_matrix_without_a_factor_is_named(void **state) {
    static const int64_t orders[] = {33, 321, 513};
    for (size_t k = 0; k < sizeof orders / sizeof *orders; k++) {
        int64_t n = orders[k], batch = k == 2 ? 2 : BATCH;
        char minor[40];
        for (int64_t i = 0; i < n; i += n - 2) { /* the first row, and the last but one */
            snprintf(minor, sizeof minor, "(leading minor %d)", (int)i + 1);
            expect(*state, batch, n, i, i, -1, minor);
            expect(*state, batch, n, i, i, NAN, "holds a value that is not finite");
        }
        expect(*state, batch, n, n - 1, 0, INFINITY, "holds a value that is not finite");
        expect(*state, batch, n, n - 1, n - 2, NAN, "holds a value that is not finite");
    }
}

static int open_tape(void **state) {
    *state = mo_tape_create(device_context(test_device()), MO_RECORD);
    return 0;
}

static int close_tape(void **state) {
    mo_context *ctx = mo_tape_context(*state);
    mo_tape_release(*state);
    mo_context_release(ctx);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(factors_leave_no_residual_and_read_the_lower_triangle),
        cmocka_unit_test(the_matrix_without_a_factor_is_named),
    };
    return cmocka_run_group_tests_name("large_cholesky", tests, open_tape, close_tape);
}
