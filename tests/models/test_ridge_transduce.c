/* tests/models/test_transduce.c - the mixture refitted on all rows, against loops that follow the formulas. */
#include "tests/models/transduced.h"

enum { N = 26 };

static const int64_t support[SUPPORT] = {4, 20, 11, 4, 0, 25, 7}; /* row 4 twice */

static mo_tensor *support_rows(mo_tape *t) {
    return mo_from(t, MO_I64, 1, (int64_t[]){SUPPORT}, support);
}

/* ---- the reference: loops over [N, D] ---- */

static void reference_round(double Z[N][D], double penalty, double logits[N][C]) {
    static double P[N][C];
    double A[D][D] = {{0}}, B[D][C] = {{0}}, r = (double)SUPPORT / N;
    reference_predictions(N, logits, support, P);
    for (int i = 0; i < D; i++) {
        A[i][i] = penalty;
        for (int n = 0; n < N; n++) {
            for (int j = 0; j < D; j++)
                A[i][j] += r * Z[n][i] * Z[n][j];
            for (int c = 0; c < C; c++)
                B[i][c] += r * Z[n][i] * P[n][c];
        }
        for (int s = 0; s < SUPPORT; s++) {
            for (int j = 0; j < D; j++)
                A[i][j] += Z[support[s]][i] * Z[support[s]][j];
            B[i][label[s]] += Z[support[s]][i];
        }
    }
    eliminate(D, A, B);
    for (int n = 0; n < N; n++)
        for (int c = 0; c < C; c++) {
            logits[n][c] = 0;
            for (int i = 0; i < D; i++)
                logits[n][c] += Z[n][i] * B[i][c];
        }
}

static mo_tensor *transduce(mo_tape *t, mo_tensor *Z, const mo_mixture *mix, int rounds) {
    mo_population all = {Z, mo_matmul(t, mo_transpose(t, Z), Z)};
    mo_transduction o = {rounds, mo_scalar(t, MO_F64, sharpness)};
    return mo_ridge_transduce(t, &all, support_rows(t), support_labels(t), mix, &o);
}

static void every_round_equals_the_formulas_in_loops(void **state) {
    mo_tape *t = mo_tape_create(*state, MO_EVAL);
    static double z[N * D], Z[N][D], logits[N][C], first[N][C];
    double share[M][R], penalty = 0;
    draw_rows(N, z);
    mo_mixture mix = constant_mixture(t, NULL);
    inductive(t, N, z, support, &mix, logits, share);
    memcpy(first, logits, sizeof first);
    for (int m = 0; m < M; m++)
        for (int r = 0; r < R; r++)
            penalty += share[m][r] * log(lambda[m * R + r]);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < D; j++)
            Z[i][j] = z[i * D + j] * sqrt(share[j / WIDTH][0] + share[j / WIDTH][1]);
    mo_tensor *rows = mo_from(t, MO_F64, 2, (int64_t[]){N, D}, z);
    for (int round = 0; round <= ROUNDS; round++) {
        assert_true(largest_difference(transduce(t, rows, &mix, round), N, logits) < 1e-10);
        reference_round(Z, exp(penalty), logits);
    }
    assert_true(largest_difference(transduce(t, rows, &mix, ROUNDS), N, first) > 1e-2); /* the rounds do something */
    assert_true(mo_ok(*state));
    mo_tape_release(t);
}

/* in: Z, log lambda. */
static void transduce_function(mo_tape *t, mo_tensor *const *in, int n_in, mo_tensor **out, int n_out, void *state) {
    (void)n_in;
    (void)n_out;
    (void)state;
    mo_mixture mix = constant_mixture(t, NULL);
    mix.lambda = mo_exp(t, in[1]);
    out[0] = transduce(t, in[0], &mix, 2);
}

static void gradients_hold_to_order_two(void **state) {
    static double z[N * D];
    double log_lambda[M * R];
    draw_rows(N, z);
    for (int i = 0; i < M * R; i++)
        log_lambda[i] = log(lambda[i]);
    mo_tensor *in[] = {mo_require_grad(mo_tensor_from(*state, MO_F64, 2, (int64_t[]){N, D}, z)),
        mo_require_grad(mo_tensor_from(*state, MO_F64, 2, (int64_t[]){M, R}, log_lambda))};
    mo_check_result r = mo_check_function(*state, transduce_function, NULL, in, 2, 1, 2, 1e-5, 3);
    if (!r.pass)
        print_message("%s\n", r.worst);
    assert_true(r.pass);
    mo_tensor_release(in[0]);
    mo_tensor_release(in[1]);
}

static void one_factorization_serves_all_rounds(void **state) {
    mo_tape *t = mo_tape_create(*state, MO_EVAL);
    static double z[N * D];
    draw_rows(N, z);
    mo_tensor *Z = mo_from(t, MO_F64, 2, (int64_t[]){N, D}, z);
    mo_mixture mix = constant_mixture(t, NULL);
    int64_t count[2];
    for (int i = 0; i < 2; i++) {
        int64_t before = mo_context_counters(*state).factorizations;
        assert_false(mo_is_null(transduce(t, Z, &mix, 1 + 4 * i)));
        count[i] = mo_context_counters(*state).factorizations - before;
    }
    assert_int_equal(count[0], count[1]);
    assert_int_equal(count[0], M * R + 1);
    mo_tape_release(t);
}

/* Two groups apart along one axis; their labelled rows differ by more along the other, which is uninformative. */
static void rows_without_labels_correct_a_misleading_support(void **state) {
    enum { ROWS = 60 };
    mo_tape *t = mo_tape_create(*state, MO_EVAL);
    mo_random r = mo_random_at(8, MO_PURPOSE_CHECK, 5);
    double z[ROWS][3], y[2][ROWS][2];
    int right[2] = {0};
    for (int i = 0; i < ROWS; i++) {
        z[i][0] = (i % 2 ? 1 : -1) + 0.1 * mo_random_normal(&r);
        z[i][1] = i < 2 ? (i ? 2 : -2) : 2 * mo_random_normal(&r);
        z[i][2] = 1;
    }
    mo_tensor *Z = mo_from(t, MO_F64, 2, (int64_t[]){ROWS, 3}, z);
    mo_tensor *Y = mo_one_hot(t, mo_from(t, MO_I64, 1, (int64_t[]){2}, (int64_t[]){0, 1}), 2, MO_F64);
    mo_tensor *rows = mo_from(t, MO_I64, 1, (int64_t[]){2}, (int64_t[]){0, 1});
    mo_mixture mix = {mo_full(t, MO_F64, 2, (int64_t[]){1, 1}, 0.1), mo_full(t, MO_F64, 2, (int64_t[]){1, 1}, 0),
        mo_scalar(t, MO_F64, 1), mo_scalar(t, MO_F64, 0.5), mo_scalar(t, MO_F64, 8), NULL, NULL};
    mo_population all = {Z, mo_matmul(t, mo_transpose(t, Z), Z)};
    for (int i = 0; i < 2; i++) {
        mo_transduction o = {20 * i, mo_scalar(t, MO_F64, 8)};
        mo_tensor *logits = mo_ridge_transduce(t, &all, rows, Y, &mix, &o);
        assert_int_equal(mo_tensor_read(logits, y[i], sizeof y[i]), MO_OK);
        for (int n = 0; n < ROWS; n++)
            right[i] += (y[i][n][1] > y[i][n][0]) == n % 2;
    }
    assert_true(right[0] < 45);
    assert_true(right[1] > right[0] + 5);
    mo_tape_release(t);
}

static void shapes_that_do_not_fit_are_named(void **state) {
    mo_context *ctx = *state;
    mo_tape *t = mo_tape_create(ctx, MO_EVAL);
    mo_mixture mix = constant_mixture(t, NULL);
    mo_tensor *Z = mo_full(t, MO_F64, 2, (int64_t[]){N, D - 1}, 1);
    assert_true(mo_is_null(transduce(t, Z, &mix, 1)));
    assert_non_null(strstr(mo_context_status(ctx)->message, "ridge_transduce: expected Z [N, M (d + 1)]"));
    assert_non_null(strstr(mo_context_status(ctx)->message, "[26, 7]"));
    mo_clear_error(ctx);
    assert_true(mo_is_null(transduce(t, mo_full(t, MO_F64, 2, (int64_t[]){N, D}, 1), &mix, -1)));
    assert_int_equal(mo_context_status(ctx)->code, MO_INVALID);
    mo_tape_release(t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_round_equals_the_formulas_in_loops, open_context, close_context),
        cmocka_unit_test_setup_teardown(gradients_hold_to_order_two, open_context, close_context),
        cmocka_unit_test_setup_teardown(one_factorization_serves_all_rounds, open_context, close_context),
        cmocka_unit_test_setup_teardown(rows_without_labels_correct_a_misleading_support, open_context, close_context),
        cmocka_unit_test_setup_teardown(shapes_that_do_not_fit_are_named, open_context, close_context),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
