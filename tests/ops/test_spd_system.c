/* tests/ops/test_spd_system.c - solve_spd, which a GPU computes in one kernel, against cholesky and two triangular
 * solves: values, gradients of both orders, sizes just below and above those of a panel, a warp and a block's limit;
 * the same bits twice; and the error names the bad matrix while the others of its batch are solved. */
#include "ops/inside.h"
#include "ops/ops.h"
#include "tests/device.h"
#include "tests/scratch.h"
#include "tests/worst_of.h"

#include <math.h>

enum { MOST = 3 * 400 * 400 };

static double value[MOST], other[MOST];

static mo_tensor *drawn(mo_tape *t, mo_dtype real, uint64_t stream, const int64_t shape[3]) {
    mo_random r = mo_random_at(24, MO_PURPOSE_CHECK, stream);
    for (int64_t i = 0; i < shape[0] * shape[1] * shape[2]; i++)
        value[i] = mo_random_normal(&r);
    return mo_cast(t, mo_from(t, MO_F64, 3, shape, value), real);
}

/* Returns G G^T / n + I, a leaf. */
static mo_tensor *system_of(mo_tape *t, mo_dtype real, int64_t batch, int64_t n) {
    mo_tensor *K = mo_scale(t, mo_gram(t, drawn(t, real, 1, (int64_t[]){batch, n, n})), 1 / (double)n, 0);
    return mo_require_grad(mo_stop_gradient(t, mo_add_diag(t, K, mo_scalar(t, real, 1))));
}

static void read_into(mo_tensor *T, double *out) {
    int64_t n = mo_numel(T);
    bool wide = mo_tensor_dtype(T) == MO_F64;
    assert_int_equal(mo_tensor_read(T, out, (size_t)n * (wide ? 8 : 4)), MO_OK);
    for (int64_t i = n - 1; i >= 0 && !wide; i--) { /* widens in place, from the end */
        float x;
        memcpy(&x, (char *)out + i * (int64_t)sizeof x, sizeof x);
        out[i] = x;
    }
}

/* tolerance 0: equal bits. */
static void compare(const char *what, int64_t n, mo_tensor *got, mo_tensor *want, double tolerance) {
    double difference = 0, largest = 0;
    read_into(got, value);
    read_into(want, other);
    for (int64_t i = 0; i < mo_numel(want); i++) {
        difference = worst_of(difference, fabs(value[i] - other[i]));
        largest = fmax(largest, fabs(other[i]));
    }
    if (!(difference <= tolerance * largest) || largest == 0)
        fail_msg("%s, n = %d: off by %g of %g", what, (int)n, difference, largest);
}

static mo_tensor *unfused(mo_tape *t, mo_tensor *A, mo_tensor *B) {
    return mo_cholesky_solve(t, mo_cholesky(t, A), B);
}

static void gradients(
    mo_tape *t, mo_tensor *X, mo_tensor *bar, mo_tensor *const x[2], mo_tensor *g[2], unsigned flags) {
    assert_int_equal(mo_grad(t, &X, &bar, 1, x, g, 2, flags), MO_OK);
}

/* The gradients of <first gradients, first gradients>. */
static void second(mo_tape *t, mo_tensor *X, mo_tensor *bar, mo_tensor *const x[2], mo_tensor *g[2]) {
    mo_tensor *first[2];
    gradients(t, X, bar, x, first, MO_CREATE_GRAPH);
    mo_tensor *sum = mo_add(t, mo_sum(t, mo_square(t, first[0]), MO_ALL, MO_DROP_AXES),
        mo_sum(t, mo_square(t, first[1]), MO_ALL, MO_DROP_AXES));
    assert_int_equal(mo_grad(t, &sum, NULL, 1, x, g, 2, MO_RETAIN), MO_OK);
}

static void check(mo_tape *t, mo_dtype real, int64_t batch, int64_t n, int64_t m, bool twice) {
    double tolerance = real == MO_F64 ? 1e-12 : 5e-5; /* n roundings, and a condition below 10 */
    mo_tensor *A = system_of(t, real, batch, n), *B = mo_require_grad(drawn(t, real, 2, (int64_t[]){batch, n, m}));
    mo_tensor *x[2] = {A, B}, *bar = drawn(t, real, 3, (int64_t[]){batch, n, m}), *g[2], *want[2];
    mo_tensor *X = mo_keep(mo_solve_spd(t, A, B)), *Y = mo_keep(unfused(t, A, B));
    compare("X", n, X, Y, tolerance);
    compare("X again", n, mo_solve_spd(t, A, B), X, 0);
    gradients(t, X, bar, x, g, MO_RETAIN);
    gradients(t, Y, bar, x, want, MO_RETAIN);
    for (int i = 0; i < 2; i++)
        compare(i ? "B_bar" : "A_bar", n, g[i], want[i], tolerance);
    if (twice) {
        second(t, X, bar, x, g);
        second(t, Y, bar, x, want);
        for (int i = 0; i < 2; i++)
            compare(i ? "second gradient in B" : "second gradient in A", n, g[i], want[i], 10 * tolerance);
    }
    mo_tape_reset(t);
}

TEST(one_kernel_is_cholesky_and_two_solves) {
    static const int64_t sizes[] = {1, 2, 15, 16, 17, 33, 64, 65, 131};
    mo_context *ctx = *state;
    mo_tape *t = mo_tape_create(ctx, MO_RECORD);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        check(t, MO_F64, i % 2 ? 3 : 1, sizes[i], i % 3 ? 5 : 19, true);
        check(t, MO_F32, i % 2 ? 1 : 2, sizes[i], i % 3 ? 19 : 1, false);
    }
    check(t, MO_F32, 1, 210, 3, false);
    check(t, MO_F32, 1, 288, 35, false); /* an even number of tiles; B's columns in three passes */
    check(t, MO_F32, 1, 304, 16, false); /* the largest that a block with 227 KiB holds */
    check(t, MO_F64, 2, 181, 2, false);  /* larger than a block of any device can hold */
    mo_tape_release(t);
}

static int open_device(void **state) {
    *state = device_context(test_device());
    return 0;
}

static int close_device(void **state) {
    mo_context_release(*state);
    return 0;
}

static const fixtures around_all = {open_device, close_device};
