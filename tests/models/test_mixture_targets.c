/* tests/models/test_mixture_targets.c - the mixture of kernels with real targets against fits that leave a row out, in
 * plain loops. */
#include "models/heads/heads.h"
#include "models/model.h"
#include "tests/largest_difference.h"
#include "tests/mixture_rows.h"

enum { E = 3, R = 2, N = 9, Q = 4, D = 3 };

static const double lambda[R] = {0.2, 2}, prior[E] = {0.5, 0, 1}, sharpness = 0.4;

/* Kernels 1 + <x, y> of random rows, between N support rows, and between Q queries and these; targets y of the first.
 */
static void draw_problem(double K[E][N][N], double Kq[E][Q][N], double Kqq[E][Q], double y[N]) {
    mo_random random = mo_random_at(5, MO_PURPOSE_CHECK, 0);
    for (int e = 0; e < E; e++) {
        double x[N + Q][D];
        for (int i = 0; i < N + Q; i++)
            for (int d = 0; d < D; d++)
                x[i][d] = mo_random_normal(&random);
        for (int i = 0; i < N + Q; i++)
            for (int j = 0; j < N + Q; j++) {
                double k = 1;
                for (int d = 0; d < D; d++)
                    k += x[i][d] * x[j][d];
                if (i < N && j < N)
                    K[e][i][j] = k;
                else if (j < N)
                    Kq[e][i - N][j] = k;
                else if (i == j)
                    Kqq[e][i - N] = k;
            }
        for (int i = 0; i < N && e == 0; i++)
            y[i] = 0.7 * x[i][0] - 0.4 * x[i][1] + 0.3 * mo_random_normal(&random);
    }
}

/* The prediction and the leverage r + k(q, q) - k^T (K + r I)^-1 k, over r, of a point by the fit without row `out`
 * (-1: by all). */
static void process(
    double K[N][N], const double *y, double r, int out, const double *k, double kqq, double *f, double *leverage) {
    double A[N][N] = {{0}}, B[N][2] = {{0}};
    int row[N], n = 0;
    for (int i = 0; i < N; i++)
        if (i != out)
            row[n++] = i;
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++)
            A[i][j] = K[row[i]][row[j]] + (i == j ? r : 0);
        B[i][0] = y[row[i]];
        B[i][1] = k[row[i]];
    }
    solve_in_place(n, N, 2, A, B);
    *f = 0;
    *leverage = (r + kqq) / r;
    for (int i = 0; i < n; i++) {
        *f += k[row[i]] * B[i][0];
        *leverage -= k[row[i]] * B[i][1] / r;
    }
}

/* log pi from fits that leave rows out; `without` (-1: none): a row whose error is not counted. */
static double log_share(double K[N][N], const double *y, double prior_of, double r, int without, double *scale) {
    double sum = 0, logs = 0, n = without < 0 ? N : N - 1;
    for (int i = 0; i < N; i++) {
        double f, leverage;
        process(K, y, r, i, K[i], K[i][i], &f, &leverage);
        if (i == without)
            continue;
        sum += (y[i] - f) * (y[i] - f) / leverage;
        logs += log(leverage);
    }
    *scale = sum / n;
    return prior_of - sharpness / 2 * (n * log(sum / n) + logs);
}

static void shares(double K[E][N][N], const double *y, int without, double pi[E][R], double scale[E][R]) {
    double sum = 0;
    for (int e = 0; e < E; e++)
        for (int r = 0; r < R; r++)
            sum += pi[e][r] = exp(log_share(K[e], y, prior[e], lambda[r], without, &scale[e][r]));
    for (int e = 0; e < E; e++)
        for (int r = 0; r < R; r++)
            pi[e][r] /= sum;
}

static mo_expert_mixture mixture(mo_tape *t) {
    return (mo_expert_mixture){.lambda = mo_from(t, MO_F64, 1, (int64_t[]){R}, lambda),
        .prior = mo_from(t, MO_F64, 1, (int64_t[]){E}, prior),
        .sharpness = mo_scalar(t, MO_F64, sharpness)};
}

TEST_OF(what_is_left_out_is_that_of_fits_without_the_row, mo_context *ctx) {
    HELD(mo_tape) *t = mo_tape_create(ctx, MO_EVAL);
    double K[E][N][N], Kq[E][Q][N], Kqq[E][Q], y[N], pi[E][R], scale[E][R], unused[E][R], out[N], spread[N];
    draw_problem(K, Kq, Kqq, y);
    mo_expert_mixture mix = mixture(t);
    mo_target_mixture m = {0};
    mo_mix_targets(
        t, mo_from(t, MO_F64, 3, (int64_t[]){E, N, N}, K), mo_from(t, MO_F64, 2, (int64_t[]){N, 1}, y), &mix, &m);
    assert_true(mo_ok(ctx));
    shares(K, y, -1, pi, scale);
    assert_true(largest_difference(m.share, mo_from(t, MO_F64, 2, (int64_t[]){E, R}, pi)) < 1e-9);
    double most = 0;
    for (int i = 0; i < E * R; i++)
        most = fmax(most, pi[i / R][i % R]);
    assert_true(most > 1.5 / (E * R) && most < 0.95); /* the experts differ, and several count */
    for (int i = 0; i < N; i++) {
        shares(K, y, i, pi, unused);
        out[i] = spread[i] = 0;
        for (int e = 0; e < E; e++)
            for (int r = 0; r < R; r++) {
                double f, leverage;
                process(K[e], y, lambda[r], i, K[e][i], K[e][i][i], &f, &leverage);
                out[i] += pi[e][r] * f;
                spread[i] += pi[e][r] * scale[e][r] * leverage;
            }
    }
    assert_true(largest_difference(m.left_out, mo_from(t, MO_F64, 2, (int64_t[]){N, 1}, out)) < 1e-9);
    assert_true(largest_difference(m.left_spread, mo_from(t, MO_F64, 1, (int64_t[]){N}, spread)) < 1e-9);
}

/* By the head, whose experts are the given kernels and their mean, and whose targets are far from standard. */
TEST_OF(predictions_and_spread_are_those_of_the_processes, mo_context *ctx) {
    HELD(mo_tape) *t = mo_tape_create(ctx, MO_EVAL);
    double K[E][N][N], Kq[E][Q][N], Kqq[E][Q], y[N], far[N], f[Q] = {0}, s[Q] = {0}, pi[E + 1][5], mean = 0, size = 0;
    static const double ratio[5] = {0.1, 1, 10, 0.01, 100};
    draw_problem(K, Kq, Kqq, y);
    for (int i = 0; i < N; i++)
        mean += y[i] / N;
    for (int i = 0; i < N; i++)
        size += (y[i] - mean) * (y[i] - mean) / N;
    for (int i = 0; i < N; i++)
        far[i] = 1000 + 50 * y[i];
    mo_tensor *parameter[MO_MAX_HEAD_PARAMETERS];
    assert_int_equal(mo_head_start(t, &mo_head_mixture, MO_F64, D, NULL, 0, parameter), MO_OK);
    const mo_support support = {.Zs = mo_full(t, MO_F64, 2, (int64_t[]){N, D}, 0),
        .Ys = mo_from(t, MO_F64, 2, (int64_t[]){N, 1}, far),
        .targets = true,
        .of_rows = MO_ROWS_UNUSED,
        .kernels = mo_from(t, MO_F64, 3, (int64_t[]){E, N, N}, K)};
    mo_tensor *Zq = mo_full(t, MO_F64, 2, (int64_t[]){Q, D}, 0),
              *given = mo_from(t, MO_F64, 3, (int64_t[]){E, Q, N}, Kq);
    mo_state state;
    assert_int_equal(mo_head_fit(t, &mo_head_mixture, &support, parameter, &state), MO_OK);
    mo_tensor *found = mo_state_apply(t, &state, Zq, given);
    mo_tensor *spread = mo_mixture_spread(t, &state, Zq, given, mo_from(t, MO_F64, 2, (int64_t[]){E, Q}, Kqq));
    assert_int_equal(mo_tensor_read(mo_state_find(&state, "share"), pi, sizeof pi), MO_OK);
    for (int i = 0; i < N; i++)
        y[i] = (y[i] - mean) / sqrt(size);
    for (int e = 0; e <= E; e++) {
        double of[N][N], k[Q][N], kqq[Q];
        for (int i = 0; i < N + Q; i++)
            for (int j = 0; j < N; j++) {
                double *at = i < N ? &of[i][j] : &k[i - N][j], sum = 0;
                for (int d = 0; d < E; d++)
                    sum += (i < N ? K[d][i][j] : Kq[d][i - N][j]) / E;
                *at = e == E ? sum : i < N ? K[e][i][j] : Kq[e][i - N][j];
            }
        for (int q = 0; q < Q; q++)
            kqq[q] = e == E ? (Kqq[0][q] + Kqq[1][q] + Kqq[2][q]) / 3 : Kqq[e][q];
        for (int r = 0; r < 5; r++) {
            double scale, one, leverage;
            log_share(of, y, 0, 0.3 * ratio[r], -1, &scale);
            for (int q = 0; q < Q; q++) {
                process(of, y, 0.3 * ratio[r], -1, k[q], kqq[q], &one, &leverage);
                f[q] += pi[e][r] * one;
                s[q] += pi[e][r] * scale * leverage;
            }
        }
    }
    for (int q = 0; q < Q; q++) {
        f[q] = 1000 + 50 * (mean + sqrt(size) * f[q]);
        s[q] = 50 * sqrt(size * s[q]);
    }
    assert_true(largest_difference(found, mo_from(t, MO_F64, 2, (int64_t[]){Q, 1}, f)) < 1e-7);
    assert_true(largest_difference(spread, mo_from(t, MO_F64, 2, (int64_t[]){Q, 1}, s)) < 1e-7);
}

/* A row of weight 2 counts as two rows; one of weight 0 as none. */
TEST_OF(weights_count_rows, mo_context *ctx) {
    HELD(mo_tape) *t = mo_tape_create(ctx, MO_EVAL);
    HELD(mo_tensor) *Z = draw(ctx, 2, (int64_t[]){N, D}, 1, 1), *Y = draw(ctx, 2, (int64_t[]){N, 2}, 1, 2);
    static const double weight[2][N] = {{1, 1, 1, 1, 1, 1, 1, 0, 0}, {1, 1, 1, 1, 1, 1, 1, 1, 1}};
    mo_tensor *learned[2], *out[2];
    for (int i = 0; i < 2; i++) {
        mo_tensor *z = i ? mo_slice(t, Z, MO_AXIS(0), 0, 7) : Z, *y = i ? mo_slice(t, Y, MO_AXIS(0), 0, 7) : Y;
        mo_tensor *K = mo_with_axis(t, mo_scale(t, mo_matmul(t, z, mo_transpose(t, z)), 1, 1), MO_AXIS(0), E);
        mo_expert_mixture mix = mixture(t);
        mix.weight = mo_from(t, MO_F64, 1, (int64_t[]){i ? 7 : N}, weight[i]);
        mo_target_mixture m = {0};
        mo_mix_targets(t, K, y, &mix, &m);
        learned[i] = i ? m.learned : mo_slice(t, m.learned, MO_AXIS(1), 0, 7);
        out[i] = i ? m.left_out : mo_slice(t, m.left_out, MO_AXIS(0), 0, 7);
    }
    assert_true(mo_ok(ctx));
    assert_true(largest_difference(learned[0], learned[1]) < 1e-9);
    assert_true(largest_difference(out[0], out[1]) < 1e-9);
}

/* in: rows [N, D], targets [N, 2], queries [Q, D], log lambda, sharpness. out: predictions and their spread; `state`
 * set: the gradient of the sum of their squares by the rows, so that order 2 is the third derivative. Tolerances are
 * ten times those of classes: the penalties go down to a tenth of theirs, where a difference quotient has lost as much.
 */
static void head_of_targets(mo_tape *t, mo_tensor *const *in, int n_in, mo_tensor **out, int n_out, void *state) {
    mo_state fit;
    mo_tensor *parameter[2] = {mo_exp(t, in[3]), in[4]}, *grad;
    const mo_support support = {.Zs = in[0], .Ys = in[1], .targets = true};
    mo_head_fit(t, &mo_head_mixture, &support, parameter, &fit);
    out[0] = mo_state_apply(t, &fit, in[2], NULL);
    mo_tensor *spread = mo_mixture_spread(t, &fit, in[2], NULL, NULL);
    if (!state)
        out[1] = spread;
    else if (mo_ok(mo_tape_context(t))) {
        mo_tensor *loss =
            mo_sum(t, mo_square(t, mo_concat(t, (mo_tensor *[]){out[0], spread}, 2, MO_AXIS(0))), MO_ALL, MO_DROP_AXES);
        mo_tensor *rows = in[0];
        if (mo_grad(t, &loss, NULL, 1, &rows, &grad, 1, MO_CREATE_GRAPH | MO_ALLOW_UNUSED) == MO_OK)
            out[0] = grad;
    }
}

TEST_OF(gradients_hold_to_order_three, mo_context *ctx) {
    const double log_lambda = -0.5, sharp = 0.3;
    for (int order = 1; order <= 3; order++) {
        HELD(leaves) in = {{draw(ctx, 2, (int64_t[]){N, D}, 0.7, 1), draw(ctx, 2, (int64_t[]){N, 2}, 1, 2),
            draw(ctx, 2, (int64_t[]){Q, D}, 0.7, 3),
            mo_require_grad(mo_tensor_create_from(ctx, MO_F64, 0, NULL, &log_lambda)),
            mo_require_grad(mo_tensor_create_from(ctx, MO_F64, 0, NULL, &sharp))}};
        bool third = order == 3;
        expect_pass(mo_check_function(ctx, head_of_targets, third ? ctx : NULL, in.of, 5, third ? 1 : 2,
            third ? 2 : order, order == 1 ? 1e-5 : 1e-4, 9));
    }
}

TEST_OF(a_head_of_classes_refuses_targets, mo_context *ctx) {
    HELD(mo_tape) *t = mo_tape_create(ctx, MO_EVAL);
    HELD(mo_tensor) *Z = draw(ctx, 2, (int64_t[]){N, D}, 1, 1), *Y = draw(ctx, 2, (int64_t[]){N, 1}, 1, 2);
    const mo_support support = {.Zs = Z, .Ys = Y, .targets = true};
    mo_tensor *parameter[MO_MAX_HEAD_PARAMETERS];
    mo_state state;
    assert_int_equal(mo_head_start(t, &mo_head_logistic, MO_F64, D, NULL, 0, parameter), MO_OK);
    mo_head_fit(t, &mo_head_logistic, &support, parameter, &state);
    assert_failed(ctx, MO_UNSUPPORTED, PARTS("head logistic: it reads classes, and no real targets"));
}

/* The least squares of ridge are the same for targets and labels, and a row of zeros is a row, not padding. */
TEST_OF(ridge_keeps_rows_of_zeros, mo_context *ctx) {
    HELD(mo_tape) *t = mo_tape_create(ctx, MO_EVAL);
    HELD(mo_tensor) *Z = draw(ctx, 2, (int64_t[]){N, D}, 1, 1);
    double y[N] = {0, 1, 0, -2, 0, 0.5, 0, 0, 3}, w[D + 1];
    const mo_support support = {.Zs = Z, .Ys = mo_from(t, MO_F64, 2, (int64_t[]){N, 1}, y), .targets = true};
    mo_tensor *lambda_of = mo_scalar(t, MO_F64, 0.7), *W, *b;
    mo_state state;
    assert_int_equal(mo_head_fit(t, &mo_head_ridge, &support, &lambda_of, &state), MO_OK);
    mo_ridge_fit(t, Z, support.Ys, lambda_of, MO_RIDGE_AUTO, &W, &b);
    assert_int_equal(mo_tensor_read(mo_join_weights(t, W, b), w, sizeof w), MO_OK);
    assert_true(
        largest_difference(mo_state_find(&state, "W"), mo_from(t, MO_F64, 2, (int64_t[]){D + 1, 1}, w)) < 1e-12);
}
