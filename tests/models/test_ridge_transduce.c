/* tests/models/test_ridge_transduce.c - refits an expert of a readout on all rows, against loops that follow the
 * formulas. */
#include "tests/largest_difference.h"
#include "tests/mixture_rows.h"

enum { DIM = 3, C = 3, WIDTH = DIM + 1, SUPPORT = 7, ROUNDS = 4, N = 26 };

static const int64_t label[SUPPORT] = {0, 1, 2, 0, 1, 2, 0};
static const double sharpness = 6;

static mo_tensor *support_labels(mo_tape *t) {
    return mo_one_hot(t, mo_from(t, MO_I64, 1, (int64_t[]){SUPPORT}, label), C, MO_F64);
}

static const int64_t support[SUPPORT] = {4, 20, 11, 4, 0, 25, 7}; /* row 4 occurs twice */
static const double penalty = 0.4, scale = 1.7;

static mo_tensor *support_rows(mo_tape *t) {
    return mo_from(t, MO_I64, 1, (int64_t[]){SUPPORT}, support);
}

/* ---- the reference: loops over [N, WIDTH] ---- */

/* P = softmax(sharpness logits), then columns scaled to equal sums, rows to sum 1, and known labels put in. */
static void reference_predictions(double logits[N][C], double P[N][C]) {
    for (int i = 0; i < N; i++) {
        double sum = 0;
        for (int c = 0; c < C; c++)
            sum += exp(sharpness * logits[i][c]);
        for (int c = 0; c < C; c++)
            P[i][c] = exp(sharpness * logits[i][c]) / sum;
    }
    for (int c = 0; c < C; c++) {
        double sum = 0;
        for (int i = 0; i < N; i++)
            sum += P[i][c];
        for (int i = 0; i < N; i++)
            P[i][c] /= sum;
    }
    for (int i = 0; i < N; i++) {
        double sum = P[i][0] + P[i][1] + P[i][2];
        for (int c = 0; c < C; c++)
            P[i][c] /= sum;
    }
    for (int s = 0; s < SUPPORT; s++)
        for (int c = 0; c < C; c++)
            P[support[s]][c] = label[s] == c;
}

static void reference_round(double Z[N][WIDTH], double fixed[N][C], double logits[N][C]) {
    static double P[N][C];
    double A[WIDTH][WIDTH] = {{0}}, B[WIDTH][C] = {{0}}, r = (double)SUPPORT / N;
    reference_predictions(logits, P);
    for (int i = 0; i < WIDTH; i++) {
        A[i][i] = penalty;
        for (int n = 0; n < N; n++) {
            for (int j = 0; j < WIDTH; j++)
                A[i][j] += r * Z[n][i] * Z[n][j];
            for (int c = 0; c < C; c++)
                B[i][c] += r * Z[n][i] * P[n][c];
        }
        for (int s = 0; s < SUPPORT; s++) {
            for (int j = 0; j < WIDTH; j++)
                A[i][j] += Z[support[s]][i] * Z[support[s]][j];
            B[i][label[s]] += Z[support[s]][i];
        }
    }
    solve_in_place(WIDTH, WIDTH, C, A, B);
    for (int n = 0; n < N; n++)
        for (int c = 0; c < C; c++) {
            logits[n][c] = fixed[n][c];
            for (int i = 0; i < WIDTH; i++)
                logits[n][c] += scale * Z[n][i] * B[i][c];
        }
}

/* Z [N, WIDTH], rows whose last entry is 1; the logits so far, and the part of them that does not change. */
typedef struct problem {
    double Z[N][WIDTH], logits[N][C], fixed[N][C];
} problem;

static void draw_problem(problem *p) {
    mo_random r = mo_random_at(4, MO_PURPOSE_CHECK, 1);
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < WIDTH; j++)
            p->Z[i][j] = j < DIM ? 0.6 * mo_random_normal(&r) : 1;
        for (int c = 0; c < C; c++) {
            p->fixed[i][c] = 0.1 * mo_random_normal(&r);
            p->logits[i][c] = 0.3 * mo_random_normal(&r);
        }
    }
}

static mo_tensor *transduce(mo_tape *t, mo_tensor *Z, mo_tensor *lambda_Z, const problem *p, int rounds) {
    mo_population all = {Z, mo_matmul(t, mo_transpose(t, Z), Z)};
    mo_transduction o = {rounds, mo_scalar(t, MO_F64, sharpness)};
    mo_refitted readout = {.logits = mo_from(t, MO_F64, 2, (int64_t[]){N, C}, p->logits),
        .fixed = mo_from(t, MO_F64, 2, (int64_t[]){N, C}, p->fixed),
        .scale = mo_scalar(t, MO_F64, scale),
        .lambda = lambda_Z};
    return mo_ridge_transduce(t, &all, support_rows(t), support_labels(t), &readout, &o, NULL);
}

TEST_OF(every_round_equals_the_formulas_in_loops, mo_context *ctx) {
    HELD(mo_tape) *t = mo_tape_create(ctx, MO_EVAL);
    static problem p;
    double logits[N][C];
    draw_problem(&p);
    memcpy(logits, p.logits, sizeof logits);
    mo_tensor *Z = mo_from(t, MO_F64, 2, (int64_t[]){N, WIDTH}, p.Z);
    for (int round = 0; round <= ROUNDS; round++) {
        mo_tensor *got = transduce(t, Z, mo_scalar(t, MO_F64, penalty), &p, round);
        assert_true(largest_difference(got, mo_from(t, MO_F64, 2, (int64_t[]){N, C}, logits)) < 1e-10);
        reference_round(p.Z, p.fixed, logits);
    }
    assert_true(mo_ok(ctx));
}

/* in: Z, log lambda. */
static void transduce_function(mo_tape *t, mo_tensor *const *in, int n_in, mo_tensor **out, int n_out, void *state) {
    out[0] = transduce(t, in[0], mo_exp(t, in[1]), state, 2);
}

TEST_OF(gradients_hold_to_order_two, mo_context *ctx) {
    static problem p;
    draw_problem(&p);
    const double log_penalty = log(penalty);
    HELD(leaves) in = {{mo_require_grad(mo_tensor_create_from(ctx, MO_F64, 2, (int64_t[]){N, WIDTH}, p.Z)),
        mo_require_grad(mo_tensor_create_from(ctx, MO_F64, 0, NULL, &log_penalty))}};
    expect_pass(mo_check_function(ctx, transduce_function, &p, in.of, 2, 1, 2, 1e-5, 3));
}

TEST_OF(one_factorization_serves_all_rounds, mo_context *ctx) {
    HELD(mo_tape) *t = mo_tape_create(ctx, MO_EVAL);
    static problem p;
    draw_problem(&p);
    mo_tensor *Z = mo_from(t, MO_F64, 2, (int64_t[]){N, WIDTH}, p.Z);
    for (int i = 0; i < 2; i++) {
        int64_t before = mo_context_counters(ctx).factorizations;
        assert_false(mo_is_null(transduce(t, Z, mo_scalar(t, MO_F64, penalty), &p, 1 + 4 * i)));
        assert_int_equal(mo_context_counters(ctx).factorizations - before, 1);
    }
}

TEST_OF(shapes_that_do_not_fit_are_named, mo_context *ctx) {
    HELD(mo_tape) *t = mo_tape_create(ctx, MO_EVAL);
    static problem p;
    mo_tensor *Z = mo_full(t, MO_F64, 2, (int64_t[]){N - 1, WIDTH}, 1);
    assert_true(mo_is_null(transduce(t, Z, mo_scalar(t, MO_F64, 1), &p, 1)));
    assert_non_null(strstr(mo_context_status(ctx)->message, "ridge_transduce: expected Z [N, d + 1]"));
    assert_non_null(strstr(mo_context_status(ctx)->message, "[25, 4], [4, 4], [7, 3], [26, 3], [26, 3], 1"));
}
