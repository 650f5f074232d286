/* tests/tensor/test_large_factors.c - LU and eigenproblems of orders past a warp, a block and what is decomposed in one
 * call: X and its gradients from residuals in float64, the verdict on singular matrices, and the same bits twice. */
#include "ops/inside.h"
#include "ops/ops.h"
#include "tests/device.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { BATCH = 2, COLUMNS = 5, MOST = 513 };

static double matrix[BATCH * MOST * MOST], right[BATCH * MOST * COLUMNS];
static char once[sizeof matrix], again[sizeof matrix];

static double *normals(double *x, int64_t n, uint64_t stream) {
    mo_random r = mo_random_at(41, MO_PURPOSE_CHECK, stream);
    for (int64_t i = 0; i < n; i++)
        x[i] = mo_random_normal(&r);
    return x;
}

static mo_tensor *drawn(mo_tape *t, mo_dtype real, double *x, int64_t n, int64_t m, uint64_t stream) {
    int64_t shape[] = {BATCH, n, m};
    return mo_cast(t, mo_from(t, MO_F64, 3, shape, normals(x, BATCH * n * m, stream)), real);
}

static double largest(mo_tape *t, mo_tensor *X) {
    mo_tensor *flat = mo_reshape(t, mo_cast(t, mo_contiguous(t, X), MO_F64), 1, (int64_t[]){mo_numel(X)});
    return sqrt(mo_item(mo_sum(t, mo_square(t, flat), MO_ALL, MO_DROP_AXES)));
}

/* A X = B, and of sum(X B): B_bar = A^-T B, A_bar = -B_bar X^T; each by its residual. */
static void solve_once(mo_tape *t, int64_t n) {
    mo_tensor *A = mo_require_grad(mo_stop_gradient(t, drawn(t, MO_F64, matrix, n, n, 1)));
    mo_tensor *B = mo_require_grad(mo_stop_gradient(t, drawn(t, MO_F64, right, n, COLUMNS, 2)));
    mo_tensor *in[] = {A, B}, *bar[2], *X = mo_keep(mo_solve(t, A, B)), *G = mo_stop_gradient(t, B);
    assert_int_equal(mo_grad(t, &X, &G, 1, in, bar, 2, MO_RETAIN | MO_CREATE_GRAPH), MO_OK);
    mo_tensor *residual[] = {mo_sub(t, mo_matmul(t, A, X), B), mo_sub(t, mo_matmul(t, mo_transpose(t, A), bar[1]), G),
        mo_add(t, bar[0], mo_matmul(t, bar[1], mo_transpose(t, X)))};
    mo_tensor *scale[] = {X, bar[1], bar[0]};
    for (int i = 0; i < 3; i++) {
        double ratio = largest(t, residual[i]) / (largest(t, A) * largest(t, scale[i]) * (double)n * DBL_EPSILON);
        if (!(ratio < 30)) /* as in LAPACK's own tests */
            fail_msg("order %d: residual %d is %g", (int)n, i, ratio);
    }
    size_t bytes = (size_t)mo_numel(X) * sizeof(double);
    mo_tensor_read(X, once, bytes);
    mo_tensor_read(mo_solve(t, A, B), again, bytes);
    assert_memory_equal(once, again, bytes);
    mo_tape_reset(t);
}

static void solves_leave_no_residual(void **state) {
    const int64_t orders[] = {31, 32, 33, 130, 257, 300};
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++)
        solve_once(*state, orders[i]);
}

/* A Householder reflection times a diagonal whose last entry is small: the condition is 1 / small. */
static mo_code solve_of_condition(mo_tape *t, int64_t n, double small) {
    double *v = normals(right, n, 3), square = 0;
    for (int64_t i = 0; i < n; i++)
        square += v[i] * v[i];
    for (int64_t b = 0; b < BATCH; b++)
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < n; j++)
                matrix[(b * n + i) * n + j] =
                    ((i == j) - 2 * v[i] * v[j] / square) * (b == 1 && j == n - 1 ? small : 1);
    mo_tensor *A = mo_from(t, MO_F64, 3, (int64_t[]){BATCH, n, n}, matrix);
    mo_solve(t, A, mo_full(t, MO_F64, 3, (int64_t[]){BATCH, n, 1}, 1));
    return mo_context_wait(mo_tape_context(t));
}

static void singular_is_what_the_precision_says_at_every_order(void **state) {
    mo_tape *t = *state;
    mo_context *ctx = mo_tape_context(t);
    const int64_t orders[] = {20, 32, 70, 130, 300};
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        assert_int_equal(solve_of_condition(t, orders[i], 1e-12), MO_OK);
        assert_int_equal(solve_of_condition(t, orders[i], 1e-18), MO_NUMERICAL);
        assert_non_null(strstr(mo_context_status(ctx)->message, "matrix 1 of 2 is singular to working precision"));
        mo_clear_error(ctx);
        mo_tape_reset(t);
    }
}

/* S V = V diag(w), V^T V = I; S is symmetric by its lower triangle. */
static void decompose_once(mo_tape *t, mo_dtype real, int64_t n) {
    mo_tensor *G = drawn(t, real, matrix, n, n, 4), *w, *V, *other_w, *other_V;
    mo_tensor *S = mo_add(t, G, mo_transpose(t, G));
    mo_eigh(t, S, &w, &V);
    mo_eigh(t, S, &other_w, &other_V);
    mo_tensor *row = mo_reshape(t, w, 3, (int64_t[]){BATCH, 1, n}), *one = mo_scalar(t, real, -1);
    mo_tensor *residual = mo_sub(t, mo_matmul(t, S, V), mo_mul(t, V, row));
    mo_tensor *skew = mo_add_diag(t, mo_matmul(t, mo_transpose(t, V), V), one);
    double epsilon = real == MO_F64 ? DBL_EPSILON : FLT_EPSILON;
    double ratio = largest(t, residual) / ((double)n * largest(t, S) * epsilon), off = largest(t, skew);
    if (!(ratio < 30 && off < 30 * (double)n * epsilon))
        fail_msg("order %d: residual %g, orthogonal to %g", (int)n, ratio, off);
    size_t bytes = (size_t)mo_numel(V) * mo_dtype_size(real);
    mo_tensor_read(V, once, bytes);
    mo_tensor_read(other_V, again, bytes);
    assert_memory_equal(once, again, bytes);
    mo_tape_reset(t);
}

static void eigenvectors_of_several_matrices_are_each_its_own(void **state) {
    decompose_once(*state, MO_F64, 33);
    decompose_once(*state, MO_F32, 130);
    decompose_once(*state, MO_F32, MOST); /* one by one on a device */
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
        cmocka_unit_test(solves_leave_no_residual),
        cmocka_unit_test(singular_is_what_the_precision_says_at_every_order),
        cmocka_unit_test(eigenvectors_of_several_matrices_are_each_its_own),
    };
    return cmocka_run_group_tests_name("large_factors", tests, open_tape, close_tape);
}
