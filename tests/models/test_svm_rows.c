/* tests/models/test_svm_rows.c - the Crammer-Singer machine without its kernel matrix (ops/fits/svm_rows.c): the fit by
 * the kernel matrix where that is small, the same bits at any thread count, and the head on many rows. */
#include "models/inside.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/largest_difference.h"

/* Rows about the mean of their class. */
typedef struct problem {
    int64_t n, d, C, repeat; /* rows from `repeat` on copy earlier ones, with another label every third time */
    double lambda, distance; /* of the means */
    bool lacking;            /* no row of the last class */
    int64_t zeros;           /* rows that are 0 */
} problem;

static void draw(mo_tape *t, const problem *p, mo_tensor *in[3]) {
    mo_random r = mo_random_at(31, MO_PURPOSE_CHECK, 3);
    int64_t n = p->n, d = p->d, C = p->C, shown = C - p->lacking;
    double *x = calloc((size_t)(n * d), sizeof *x), *y = calloc((size_t)(n * C), sizeof *y);
    assert_true(x && y);
    for (int64_t i = 0; i < n; i++) {
        int64_t from = i - p->repeat, label = (from < 0 ? i : from + (i % 3 == 0)) % shown;
        for (int64_t j = 0; j < d; j++)
            x[i * d + j] = from >= 0 ? x[from * d + j]
                           : i < p->zeros
                               ? 0
                               : p->distance * cos((double)((j + 1) * (i % shown + 1))) + mo_random_normal(&r);
        y[i * C + label] = 1;
    }
    in[0] = mo_from(t, MO_F64, 2, (int64_t[]){n, d}, x);
    in[1] = mo_from(t, MO_F64, 2, (int64_t[]){n, C}, y);
    in[2] = mo_scalar(t, MO_F64, p->lambda);
    free(x);
    free(y);
}

static double largest(mo_tape *t, mo_tensor *X) {
    return mo_item(mo_max(t, mo_abs(t, X), MO_ALL, MO_DROP_AXES));
}

static const problem problems[] = {
    {.n = 300, .d = 8, .C = 4, .repeat = 300, .lambda = 1, .distance = 0.5},
    {.n = 400, .d = 12, .C = 2, .repeat = 400, .lambda = 0.1, .distance = 0.3},
    {.n = 300, .d = 6, .C = 3, .repeat = 200, .lambda = 0.5, .distance = 0.5}, /* copies */
    {.n = 300, .d = 10, .C = 4, .repeat = 300, .lambda = 2, .distance = 0.4, .lacking = true},
    {.n = 300, .d = 5, .C = 3, .repeat = 300, .lambda = 1, .distance = 0.4, .zeros = 20},
    {.n = 300, .d = 40, .C = 5, .repeat = 300, .lambda = 1e-2, .distance = 2}, /* separable */
    {.n = 2000, .d = 30, .C = 6, .repeat = 2000, .lambda = 1, .distance = 0.2},
    {.n = 300, .d = 3, .C = 1, .repeat = 300, .lambda = 1, .distance = 1},
};

/* The logits are unique; alpha is, where no rows are equal and no row lies in the span of the others' tie rows: its
 * value in the dual is compared. */
static void fit_by_rows_is_fit_by_kernel_matrix(void **state) {
    mo_context *ctx = *state;
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
        mo_tape *t = mo_tape_create(ctx, MO_EVAL);
        mo_tensor *in[3], *alpha, *W;
        draw(t, &problems[i], in);
        mo_tensor *X1 = mo_append_ones(t, in[0]), *X1t = mo_transpose(t, X1), *K = mo_matmul(t, X1, X1t);
        bool converged = mo_svm_row_weights(t, in, &W, &alpha);
        if (!converged || !mo_ok(ctx))
            fail_msg("problem %zu: %s", i, mo_context_status(ctx)->message);
        mo_tensor *variables = mo_svm_dual_variables(t, K, in[1], in[2]);
        mo_tensor *expected = mo_div(t, mo_matmul(t, X1t, mo_sub(t, in[1], variables)), in[2]);
        mo_tensor *by_alpha = mo_div(t, mo_matmul(t, X1t, mo_sub(t, in[1], alpha)), in[2]);
        mo_tensor *F = mo_matmul(t, X1, expected),
                  *value = mo_sub(t, mo_mul(t, in[1], alpha), mo_mul(t, in[1], variables));
        double size = fmax(1, largest(t, F)), least = -mo_item(mo_max(t, mo_neg(t, alpha), MO_ALL, MO_DROP_AXES));
        double off = largest(t, mo_sub(t, mo_matmul(t, X1, W), F)),
               dual = mo_item(mo_sum(t, value, MO_ALL, MO_DROP_AXES));
        mo_tensor *sums = mo_scale(t, mo_sum(t, alpha, MO_AXIS(1), MO_KEEP_AXES), 1, -1);
        if (!mo_ok(ctx))
            fail_msg("problem %zu: %s", i, mo_context_status(ctx)->message);
        if (!(off <= 1e-6 * size) || !(fabs(dual) <= 1e-6 * size * (double)problems[i].n))
            fail_msg("problem %zu: logits off by %g of %g, <Y, alpha> by %g", i, off, size, dual);
        if (!(largest(t, mo_sub(t, by_alpha, W)) <= 1e-6 * size) || least < 0 || largest(t, sums) > 1e-9)
            fail_msg("problem %zu: weights not those of alpha, or alpha not in the simplex: least %g", i, least);
        mo_tape_release(t);
    }
}

static void float32_is_near_float64(void **state) {
    mo_context *ctx = *state;
    for (size_t i = 0; i < 5; i++) {
        mo_tape *t = mo_tape_create(ctx, MO_EVAL);
        mo_tensor *in[3], *narrow[3], *expected, *W, *alpha;
        draw(t, &problems[i], in);
        for (int k = 0; k < 3; k++)
            narrow[k] = mo_cast(t, in[k], MO_F32);
        assert_true(mo_svm_row_weights(t, in, &expected, &alpha) && mo_svm_row_weights(t, narrow, &W, &alpha));
        W = mo_cast(t, W, MO_F64);
        double off = largest(t, mo_sub(t, W, expected)), size = largest(t, expected);
        if (!mo_ok(ctx))
            fail_msg("problem %zu: %s", i, mo_context_status(ctx)->message);
        if (!(off <= 1e-4 * fmax(1, size)))
            fail_msg("problem %zu: weights of %g off by %g", i, size, off);
        mo_tape_release(t);
    }
}

/* Twice as many rows as the head needs to do without K. */
static const problem many = {.n = 8200, .d = 7, .C = 3, .repeat = 8200, .lambda = 1, .distance = 0.5};

static void head_takes_many_rows_with_the_same_bits_at_any_thread_count(void **state) {
    (void)state;
    static double first[8200 * 3], again[8200 * 3];
    for (int threads = 1; threads <= 3; threads++) {
        mo_context *ctx = mo_context_create(&(mo_context_options){.threads = threads});
        mo_tape *t = mo_tape_create(ctx, MO_EVAL);
        mo_tensor *in[3];
        draw(t, &many, in);
        assert_true(mo_svm_fits_rows(t, in[0], in[1], in[2]));
        mo_tensor *F = mo_head_apply(t, &mo_head_svm, in[0], in[1], in[0], &in[2]);
        if (mo_tensor_read(F, threads > 1 ? again : first, sizeof first) != MO_OK)
            fail_msg("%s", mo_context_status(ctx)->message);
        if (threads > 1)
            assert_memory_equal(first, again, sizeof first);
        else {
            mo_tensor *W, *alpha;
            assert_true(mo_svm_row_weights(t, in, &W, &alpha));
            assert_true(largest(t, mo_sub(t, mo_matmul(t, mo_append_ones(t, in[0]), W), F)) < 1e-12);
            mo_tensor *X3 = mo_reshape(t, in[0], 3, (int64_t[]){1, many.n, many.d});
            mo_tensor *Y3 = mo_reshape(t, in[1], 3, (int64_t[]){1, many.n, many.C});
            mo_tensor *batch = mo_head_apply(t, &mo_head_svm, X3, Y3, X3, &in[2]);
            assert_true(largest(t, mo_sub(t, mo_reshape(t, batch, 2, (int64_t[]){many.n, many.C}), F)) == 0);
        }
        mo_tape_release(t);
        mo_context_release(ctx);
    }
}

static void kernel_matrix_stays_where_rows_are_few(void **state) {
    mo_tape *t = mo_tape_create(*state, MO_EVAL);
    problem p = many;
    mo_tensor *in[3];
    p.n = 2000;
    draw(t, &p, in);
    assert_false(mo_svm_fits_rows(t, in[0], in[1], in[2]));
    mo_tape_release(t);
}

static void expect(mo_context *ctx, mo_code code, const char *text) {
    assert_int_equal(mo_context_status(ctx)->code, code);
    if (!strstr(mo_context_status(ctx)->message, text))
        fail_msg("%s", mo_context_status(ctx)->message);
    mo_clear_error(ctx);
}

/* Rows far from 0 and near each other: the head has K for them. */
static void rounding_that_prevents_a_fit_is_told(void **state) {
    mo_tape *t = mo_tape_create(*state, MO_EVAL);
    mo_tensor *in[3], *W, *alpha;
    draw(t, &problems[0], in);
    in[0] = mo_scale(t, in[0], 1, 1e4);
    assert_false(mo_svm_row_weights(t, in, &W, &alpha));
    assert_true(mo_ok(*state));
    mo_tape_release(t);
}

static void bad_values_are_errors(void **state) {
    mo_context *ctx = *state;
    mo_tape *t = mo_tape_create(ctx, MO_EVAL);
    mo_tensor *in[3], *one = mo_scalar(t, MO_F64, 1), *nan = mo_scalar(t, MO_F64, NAN), *W, *alpha;
    draw(t, &problems[0], in);
    mo_svm_row_weights(t, (mo_tensor *[]){in[0], in[1], mo_scalar(t, MO_F64, 0)}, &W, &alpha);
    expect(ctx, MO_INVALID, "lambda 0, expected above 0");
    mo_svm_row_weights(t, (mo_tensor *[]){mo_mul(t, in[0], nan), in[1], one}, &W, &alpha);
    expect(ctx, MO_NUMERICAL, "a value that is not finite");
    mo_svm_row_weights(t, (mo_tensor *[]){in[0], mo_mul(t, in[1], nan), one}, &W, &alpha);
    expect(ctx, MO_NUMERICAL, "a value that is not finite");
    mo_tape_release(t);
}

static int open_context(void **state) {
    *state = mo_context_create(NULL);
    return *state ? 0 : -1;
}

static int close_context(void **state) {
    mo_context_release(*state);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fit_by_rows_is_fit_by_kernel_matrix),
        cmocka_unit_test(float32_is_near_float64),
        cmocka_unit_test(head_takes_many_rows_with_the_same_bits_at_any_thread_count),
        cmocka_unit_test(kernel_matrix_stays_where_rows_are_few),
        cmocka_unit_test(rounding_that_prevents_a_fit_is_told),
        cmocka_unit_test(bad_values_are_errors),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
