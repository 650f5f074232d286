/* tests/models/test_transduce.c - the mixture of kernels refitted on all graphs, against loops that follow the
 * formulas in their unscaled form, alpha = (K + lambda W^-1)^-1 P. */
#include "tests/models/transduced.h"

enum { N = 17 };

static const int64_t support[SUPPORT] = {4, 16, 11, 4, 0, 15, 7}; /* row 4 twice */
static const double width = 0.4;

static mo_tensor *support_rows(mo_tape *t) {
    return mo_from(t, MO_I64, 1, (int64_t[]){SUPPORT}, support);
}

/* ---- the reference ---- */

/* The kernel of the mixture: per expert 1 + <x, y> and 1 + exp(-width |x - y|^2), each times its share. */
static void reference_kernel(const double *z, double share[2 * M][R], int kernels, double K[N][N]) {
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            K[i][j] = 0;
            for (int m = 0; m < M; m++) {
                const double *x = z + i * D + m * WIDTH, *y = z + j * D + m * WIDTH;
                double inner = 1, square = 0;
                for (int k = 0; k < DIM; k++) {
                    inner += x[k] * y[k];
                    square += (x[k] - y[k]) * (x[k] - y[k]);
                }
                K[i][j] += (share[m][0] + share[m][1]) * inner;
                if (kernels == 2)
                    K[i][j] += (share[M + m][0] + share[M + m][1]) * (1 + exp(-width * square));
            }
        }
}

static void reference_round(double K[N][N], double penalty, double logits[N][C]) {
    static double A[N][N], P[N][C];
    double weight[N];
    reference_predictions(N, logits, support, P);
    for (int i = 0; i < N; i++)
        weight[i] = (double)SUPPORT / N;
    for (int s = 0; s < SUPPORT; s++)
        weight[support[s]] += 1;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            A[i][j] = K[i][j] + (i == j ? penalty / weight[i] : 0);
    eliminate(N, A, P);
    for (int i = 0; i < N; i++)
        for (int c = 0; c < C; c++) {
            logits[i][c] = 0;
            for (int j = 0; j < N; j++)
                logits[i][c] += K[i][j] * P[j][c];
        }
}

static mo_tensor *transduce(mo_tape *t, mo_tensor *Z, const mo_mixture *mix, int rounds) {
    mo_tensor *experts = mo_permute(t, mo_reshape(t, Z, 3, (int64_t[]){N, M, WIDTH}), (const int[]){1, 0, 2});
    mo_population all = {Z, mo_matmul(t, experts, mo_transpose(t, experts))};
    mo_transduction o = {rounds, mo_scalar(t, MO_F64, sharpness)};
    return mo_kernel_transduce(t, &all, support_rows(t), support_labels(t), mix, &o);
}

static void every_round_equals_the_formulas_in_loops(void **state) {
    mo_tape *t = mo_tape_create(*state, MO_EVAL);
    static double z[N * D], K[N][N], logits[N][C], first[N][C];
    draw_rows(N, z);
    for (int kernels = 1; kernels <= 2; kernels++) {
        double share[2 * M][R], penalty = 0;
        mo_mixture mix = constant_mixture(t, kernels == 2 ? &width : NULL);
        inductive(t, N, z, support, &mix, logits, share);
        memcpy(first, logits, sizeof first);
        for (int i = 0; i < kernels * M * R; i++)
            penalty += share[i / R][i % R] * log(lambda[i]);
        reference_kernel(z, share, kernels, K);
        mo_tensor *rows = mo_from(t, MO_F64, 2, (int64_t[]){N, D}, z);
        for (int round = 0; round <= ROUNDS; round++) {
            assert_true(largest_difference(transduce(t, rows, &mix, round), N, logits) < 1e-9);
            reference_round(K, exp(penalty), logits);
        }
        assert_true(
            largest_difference(transduce(t, rows, &mix, ROUNDS), N, first) > 1e-2); /* the rounds do something */
    }
    assert_true(mo_ok(*state));
    mo_tape_release(t);
}

/* in: Z, log lambda, log gamma. */
static void transduce_function(mo_tape *t, mo_tensor *const *in, int n_in, mo_tensor **out, int n_out, void *state) {
    (void)n_in;
    (void)n_out;
    (void)state;
    mo_mixture mix = constant_mixture(t, &width);
    mix.lambda = mo_exp(t, in[1]);
    mix.gamma = mo_exp(t, in[2]);
    out[0] = transduce(t, in[0], &mix, 2);
}

static void gradients_hold_to_order_two(void **state) {
    static double z[N * D];
    double log_lambda[2 * M * R], log_gamma = log(width);
    draw_rows(N, z);
    for (int i = 0; i < 2 * M * R; i++)
        log_lambda[i] = log(lambda[i]);
    mo_tensor *in[] = {mo_require_grad(mo_tensor_from(*state, MO_F64, 2, (int64_t[]){N, D}, z)),
        mo_require_grad(mo_tensor_from(*state, MO_F64, 2, (int64_t[]){2 * M, R}, log_lambda)),
        mo_require_grad(mo_tensor_from(*state, MO_F64, 0, NULL, &log_gamma))};
    mo_check_result r = mo_check_function(*state, transduce_function, NULL, in, 3, 1, 2, 1e-5, 3);
    if (!r.pass)
        print_message("%s\n", r.worst);
    assert_true(r.pass);
    for (int i = 0; i < 3; i++)
        mo_tensor_release(in[i]);
}

static void one_factorization_serves_all_rounds(void **state) {
    mo_tape *t = mo_tape_create(*state, MO_EVAL);
    static double z[N * D];
    draw_rows(N, z);
    mo_tensor *Z = mo_from(t, MO_F64, 2, (int64_t[]){N, D}, z);
    mo_mixture mix = constant_mixture(t, &width);
    int64_t count[2];
    for (int i = 0; i < 2; i++) {
        int64_t before = mo_context_counters(*state).factorizations;
        assert_false(mo_is_null(transduce(t, Z, &mix, 1 + 4 * i)));
        count[i] = mo_context_counters(*state).factorizations - before;
    }
    assert_int_equal(count[0], count[1]);
    assert_int_equal(count[0], 2 * M * R + 1);
    mo_tape_release(t);
}

static void shapes_that_do_not_fit_are_named(void **state) {
    mo_context *ctx = *state;
    mo_tape *t = mo_tape_create(ctx, MO_EVAL);
    mo_mixture mix = constant_mixture(t, &width);
    mo_tensor *Z = mo_full(t, MO_F64, 2, (int64_t[]){N, D}, 1);
    mo_population flat = {Z, mo_gram(t, Z)};
    mo_transduction o = {1, mo_scalar(t, MO_F64, sharpness)};
    assert_true(mo_is_null(mo_kernel_transduce(t, &flat, support_rows(t), support_labels(t), &mix, &o)));
    assert_non_null(
        strstr(mo_context_status(ctx)->message, "kernel_transduce: expected Z [N, M (d + 1)], gram [M, N, N]"));
    assert_non_null(strstr(mo_context_status(ctx)->message, "[17, 17]"));
    mo_clear_error(ctx);
    assert_true(mo_is_null(transduce(t, Z, &mix, -1)));
    assert_int_equal(mo_context_status(ctx)->code, MO_INVALID);
    mo_tape_release(t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_round_equals_the_formulas_in_loops, open_context, close_context),
        cmocka_unit_test_setup_teardown(gradients_hold_to_order_two, open_context, close_context),
        cmocka_unit_test_setup_teardown(one_factorization_serves_all_rounds, open_context, close_context),
        cmocka_unit_test_setup_teardown(shapes_that_do_not_fit_are_named, open_context, close_context),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
