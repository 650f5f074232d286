/* tests/models/test_mixture.c - the mixture of kernels against its formulas in plain loops, with a fit of its own for
 * every left-out support row. */
#include "models/heads/heads.h"
#include "models/model.h"
#include "tests/largest_difference.h"
#include "tests/mixture_rows.h"

enum { E = 3, R = 3, N = 10, C = 4, Q = 4, D = 4 };

static const double lambda[R] = {0.03, 0.3, 3}, prior[E] = {1, 0, 0}, doublings[E] = {3, 2, 1};
static const int64_t label[N] = {3, 0, 0, 0, 1, 1, 1, 1, 2, 2}; /* row 0 is the only one of its class */
static const double times[N] = {2, 1, 3, 1, 1, 2, 1, 1, 1, 5};
static const double class_weight[N] = {2.5, .9, .9, .9, .6, .6, .6, .6, 1.2, 1.2};

/* ---- the formulas in loops, for examples without copies ---- */

/* Predicts f [C] for a point with kernel row k [N], by the fit without row `out` (-1: with all rows). */
static void predict_without(double K[N][N], const double *w, double r, int out, const double k[N], double f[C]) {
    double A[N][N] = {{0}}, B[N][C] = {{0}};
    int row[N], n = 0;
    for (int i = 0; i < N; i++)
        if (i != out)
            row[n++] = i;
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++)
            A[i][j] = K[row[i]][row[j]] + (i == j ? r / w[row[i]] : 0);
        B[i][label[row[i]]] = 1;
    }
    solve_in_place(n, N, C, A, B);
    for (int c = 0; c < C; c++) {
        f[c] = 0;
        for (int i = 0; i < n; i++)
            f[c] += k[row[i]] * B[i][c];
    }
}

/* Returns n times the weighted mean cross-entropy of T L with the labels, over the n rows that are not alone in their
 * class. */
static double n_times_cross_entropy(double L[N][C], const double *w, double T) {
    double sum = 0, all = 0;
    for (int i = 1; i < N; i++) {
        double z = 0;
        for (int c = 0; c < C; c++)
            z += exp(T * L[i][c]);
        sum += w[i] * (log(z) - T * L[i][label[i]]);
        all += w[i];
    }
    return (N - 1) * sum / all;
}

/* Returns the calibrated evidence of one expert and penalty, and its temperature *T. w: weights of the rows; v: their
 * weights in the fit. */
static double evidence(double K[N][N], const double *w, const double *v, double r, double expected, double *T) {
    double L[N][C], n_c[C] = {0}, least = INFINITY;
    for (int i = 0; i < N; i++)
        n_c[label[i]] += w[i];
    for (int i = 0; i < N; i++) {
        predict_without(K, v, r, i, K[i], L[i]);
        if (n_c[label[i]] > 1)
            L[i][label[i]] *= n_c[label[i]] / (n_c[label[i]] - 1);
    }
    for (int j = 0; j <= 5; j++) {
        double cost = n_times_cross_entropy(L, w, 1 << j) + (j - expected) * (j - expected);
        if (cost < least) {
            least = cost;
            *T = 1 << j;
        }
    }
    return n_times_cross_entropy(L, w, *T);
}

/* Computes the mixture's logits and shares pi. b [N]: class weights, or NULL. */
static void mix_in_loops(
    double K[E][N][N], double Kq[E][Q][N], const double *w, const double *b, double logits[Q][C], double pi[E][R]) {
    double T[E][R], v[N], sum = 0;
    for (int i = 0; i < N; i++)
        v[i] = w[i] * (b ? b[i] : 1);
    for (int e = 0; e < E; e++)
        for (int r = 0; r < R; r++)
            sum += pi[e][r] = exp(prior[e] - 0.3 * evidence(K[e], w, v, lambda[r], doublings[e], &T[e][r]));
    memset(logits, 0, Q * sizeof *logits);
    for (int e = 0; e < E; e++)
        for (int r = 0; r < R; r++) {
            pi[e][r] /= sum;
            for (int q = 0; q < Q; q++) {
                double f[C];
                predict_without(K[e], v, lambda[r], -1, Kq[e][q], f);
                for (int c = 0; c < C; c++)
                    logits[q][c] += pi[e][r] * T[e][r] * f[c];
            }
        }
}

/* ---- kernels of drawn rows ---- */

/* Draws kernels 1 + <x, y>. The rows of expert 0 separate the classes well, those of expert 1 only a little. */
static void draw_kernels(double K[E][N][N], double Kq[E][Q][N]) {
    mo_random random = mo_random_at(3, MO_PURPOSE_CHECK, 0);
    for (int e = 0; e < E; e++) {
        double x[N + Q][D];
        for (int i = 0; i < N + Q; i++)
            for (int j = 0; j < D; j++)
                x[i][j] = 0.4 * mo_random_normal(&random) + (i < N && j == label[i] ? 0.9 / (1 << e) : 0);
        for (int i = 0; i < N + Q; i++)
            for (int j = 0; j < N; j++) {
                double *k = i < N ? &K[e][i][j] : &Kq[e][i - N][j];
                *k = 1;
                for (int d = 0; d < D; d++)
                    *k += x[i][d] * x[j][d];
            }
    }
}

static mo_expert_mixture mixture_of(mo_tape *t, int experts, mo_tensor *weight) {
    return (mo_expert_mixture){.lambda = mo_from(t, MO_F64, 1, (int64_t[]){R}, lambda),
        .prior = mo_from(t, MO_F64, 1, (int64_t[]){experts}, prior),
        .doublings = mo_from(t, MO_F64, 1, (int64_t[]){experts}, doublings),
        .sharpness = mo_scalar(t, MO_F64, 0.3),
        .weight = weight};
}

/* Returns sum_e Kq_e alpha_e for Kq [.., E, n_q, n_s], alpha [.., E, n_s, C]. */
static mo_tensor *combined(mo_tape *t, mo_tensor *Kq, mo_tensor *alpha) {
    return mo_sum(t, mo_matmul(t, Kq, alpha), MO_AXIS(mo_ndim(Kq) - 3), MO_DROP_AXES);
}

static mo_tensor *one_hot_labels(mo_tape *t) {
    return mo_one_hot(t, mo_from(t, MO_I64, 1, (int64_t[]){N}, label), C, MO_F64);
}

TEST_OF(logits_and_shares_are_those_of_the_recipe, mo_context *ctx) {
    static const double once[N] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    HELD(mo_tape) *t = mo_tape_create(ctx, MO_EVAL);
    double K[E][N][N], Kq[E][Q][N], logits[Q][C], pi[E][R];
    draw_kernels(K, Kq);
    mo_tensor *Ks = mo_from(t, MO_F64, 3, (int64_t[]){E, N, N}, K);
    for (int i = 0; i < 4; i++) {
        bool repeated = i % 2, unequal = i / 2;
        mix_in_loops(K, Kq, repeated ? times : once, unequal ? class_weight : NULL, logits, pi);
        mo_expert_mixture mix = mixture_of(t, E, repeated ? mo_from(t, MO_F64, 1, (int64_t[]){N}, times) : NULL);
        mix.class_weight = unequal ? mo_from(t, MO_F64, 1, (int64_t[]){N}, class_weight) : NULL;
        mo_mixed_experts fit = mo_kernel_mixture(t, Ks, one_hot_labels(t), &mix, NULL);
        mo_tensor *got = combined(t, mo_from(t, MO_F64, 3, (int64_t[]){E, Q, N}, Kq), fit.learned);
        assert_true(largest_difference(got, mo_from(t, MO_F64, 2, (int64_t[]){Q, C}, logits)) < 1e-9);
        assert_true(largest_difference(fit.share, mo_from(t, MO_F64, 2, (int64_t[]){E, R}, pi)) < 1e-10);
        assert_true(pi[0][0] + pi[0][1] + pi[0][2] > 0.5); /* the experts differ, so the test means something */
    }
}

/* A class of two nodes of which four are asked for: each row comes twice and counts twice, but a copy must not help to
 * predict its own example. */
TEST_OF(copies_leave_with_their_example, mo_context *ctx) {
    HELD(mo_tape) *t = mo_tape_create(ctx, MO_EVAL);
    double K[E][N][N], Kq[E][Q][N], weight[N + 2];
    int64_t row[N + 2];
    draw_kernels(K, Kq);
    for (int i = 0; i < N + 2; i++) {
        row[i] = i < N ? i : N - 2 + i - N;
        weight[i] = i < N - 2 ? 1 : i < N ? 2 : 0;
    }
    mo_tensor *at = mo_from(t, MO_I64, 1, (int64_t[]){N + 2}, row), *logits[2];
    mo_mixed_experts fit[2];
    mo_tensor *all = mo_from(t, MO_F64, 2, (int64_t[]){E * N, N}, K), *Ks[E], *Kqs[E];
    for (int e = 0; e < E; e++) { /* repeats rows, then columns, of the kernels */
        mo_tensor *k = mo_gather_rows(t, mo_slice(t, all, MO_AXIS(0), e * N, (e + 1) * N), at);
        Ks[e] = mo_with_axis(t, mo_gather_rows(t, mo_transpose(t, k), at), MO_AXIS(0), 1);
        mo_tensor *kq = mo_from(t, MO_F64, 2, (int64_t[]){Q, N}, Kq[e]);
        Kqs[e] = mo_with_axis(t, mo_transpose(t, mo_gather_rows(t, mo_transpose(t, kq), at)), MO_AXIS(0), 1);
    }
    mo_expert_mixture mix = mixture_of(t, E, mo_from(t, MO_F64, 1, (int64_t[]){N + 2}, weight));
    mo_tensor *Y = mo_gather_rows(t, one_hot_labels(t), at);
    fit[0] = mo_kernel_mixture(t, mo_concat(t, Ks, E, MO_AXIS(0)), Y, &mix, NULL);
    logits[0] = combined(t, mo_concat(t, Kqs, E, MO_AXIS(0)), fit[0].learned);
    mix.weight = mo_slice(t, mix.weight, MO_AXIS(0), 0, N);
    fit[1] = mo_kernel_mixture(t, mo_from(t, MO_F64, 3, (int64_t[]){E, N, N}, K), one_hot_labels(t), &mix, NULL);
    logits[1] = combined(t, mo_from(t, MO_F64, 3, (int64_t[]){E, Q, N}, Kq), fit[1].learned);
    assert_true(largest_difference(fit[0].share, fit[1].share) < 1e-10);
    assert_true(largest_difference(logits[0], logits[1]) < 1e-10);
}

/* in: rows [B, E, N, D], labels [B, N, C], log lambda, prior, sharpness. out: alpha and the shares. */
static void kernel_function(mo_tape *t, mo_tensor *const *in, int n_in, mo_tensor **out, int n_out, void *state) {
    mo_expert_mixture mix = {
        mo_exp(t, in[2]), in[3], mo_from(t, MO_F64, 1, (int64_t[]){E}, doublings), in[4], NULL, NULL};
    if (state) {
        mix.weight = mo_with_axis(t, mo_from(t, MO_F64, 1, (int64_t[]){N}, times), MO_AXIS(0), 2);
        mix.class_weight = mo_with_axis(t, mo_from(t, MO_F64, 1, (int64_t[]){N}, class_weight), MO_AXIS(0), 2);
    }
    mo_mixed_experts fit =
        mo_kernel_mixture(t, mo_scale(t, mo_gram(t, in[0]), 1, 1), mo_softmax(t, in[1], MO_AXIS(-1)), &mix, NULL);
    out[0] = fit.learned;
    out[1] = fit.share;
}

TEST_OF(gradients_hold_to_order_two, mo_context *ctx) {
    const double sharp = 0.3;
    for (int weighted = 0; weighted < 2; weighted++)
        for (int order = 1; order <= 2; order++) {
            HELD(leaves) in = {{draw(ctx, 4, (int64_t[]){2, E, N, D}, 0.5, 1), draw(ctx, 3, (int64_t[]){2, N, C}, 1, 2),
                draw(ctx, 1, (int64_t[]){R}, 0.5, 3), draw(ctx, 1, (int64_t[]){E}, 0.5, 4),
                mo_require_grad(mo_tensor_create_from(ctx, MO_F64, 0, NULL, &sharp))}};
            expect_pass(mo_check_function(
                ctx, kernel_function, weighted ? ctx : NULL, in.of, 5, 2, order, order == 1 ? 1e-6 : 1e-5, 9));
        }
}

/* With one label per class, leaving a row out leaves nothing of its class: the shares are the prior's. */
TEST_OF(one_label_of_each_class_leaves_the_prior, mo_context *ctx) {
    HELD(mo_tape) *t = mo_tape_create(ctx, MO_EVAL);
    HELD(mo_tensor) *Z = draw(ctx, 3, (int64_t[]){2, 3, D}, 0.5, 1), *Y = labels(ctx, 3, 3);
    mo_expert_mixture mix = mixture_of(t, 2, NULL);
    mo_mixed_experts fit = mo_kernel_mixture(t, mo_scale(t, mo_gram(t, Z), 1, 1), Y, &mix, NULL);
    double pi[2][R], factor[2][R];
    assert_true(isfinite(mo_item(mo_sum(t, fit.learned, MO_ALL, MO_DROP_AXES))));
    assert_int_equal(mo_tensor_read(fit.share, pi, sizeof pi), MO_OK);
    assert_int_equal(mo_tensor_read(fit.factor, factor, sizeof factor), MO_OK);
    for (int e = 0; e < 2; e++)
        for (int r = 0; r < R; r++) {
            assert_true(fabs(pi[e][r] - exp(prior[e]) / (R * (exp(1) + 1))) < 1e-12);
            assert_true(fabs(factor[e][r] / pi[e][r] - exp2(doublings[e])) < 1e-9);
        }
}

/* Fits without rows 2, 5 and 8 equal fits on the other rows and columns of K [E, N, N]. */
TEST_OF(fits_without_rows_are_those_of_the_others, mo_context *ctx) {
    enum { LEFT = 3 };
    static const int64_t left[LEFT] = {2, 5, 8}, rest[N - LEFT] = {0, 1, 3, 4, 6, 7, 9};
    HELD(mo_tape) *t = mo_tape_create(ctx, MO_EVAL);
    double K[E][N][N], Kq[E][Q][N], part[E][N - LEFT][N - LEFT], of_left[E][LEFT][N - LEFT];
    draw_kernels(K, Kq);
    for (int e = 0; e < E; e++)
        for (int j = 0; j < N - LEFT; j++) {
            for (int i = 0; i < N - LEFT; i++)
                part[e][i][j] = K[e][rest[i]][rest[j]];
            for (int i = 0; i < LEFT; i++)
                of_left[e][i][j] = K[e][left[i]][rest[j]];
        }
    mo_tensor *Y = one_hot_labels(t), *at = mo_from(t, MO_I64, 1, (int64_t[]){N - LEFT}, rest), *alone = NULL,
              *expected;
    for (int unequal = 1; unequal >= 0; unequal--) {
        mo_expert_mixture mix = mixture_of(t, E, NULL), of_rest = mix;
        mix.class_weight = unequal ? mo_from(t, MO_F64, 1, (int64_t[]){N}, class_weight) : NULL;
        if (unequal) {
            double b[N - LEFT];
            for (int i = 0; i < N - LEFT; i++)
                b[i] = class_weight[rest[i]];
            of_rest.class_weight = mo_from(t, MO_F64, 1, (int64_t[]){N - LEFT}, b);
        }
        mo_inverted_mixture all;
        mo_kernel_mixture(t, mo_from(t, MO_F64, 3, (int64_t[]){E, N, N}, K), Y, &mix, &all);
        mo_tensor *got = mo_kernel_mixture_without(t, &all, Y, &mix, left, LEFT);
        mo_mixed_experts fit = mo_kernel_mixture(t, mo_from(t, MO_F64, 3, (int64_t[]){E, N - LEFT, N - LEFT}, part),
            mo_gather_rows(t, Y, at), &of_rest, NULL);
        expected = combined(t, mo_from(t, MO_F64, 3, (int64_t[]){E, LEFT, N - LEFT}, of_left), fit.learned);
        assert_true(largest_difference(got, expected) < 1e-9);
        if (!unequal) {
            mo_state state = {.head = &mo_head_mixture, .real = MO_F64};
            mo_state_put(&state, "inverse", all.G);
            mo_state_put(&state, "dual", all.alpha);
            mo_state_put(&state, "Ys", Y);
            alone = mo_expert_without(t, &state, 1, 1, left, LEFT);
        }
    }
    mo_tensor *Km = mo_from(t, MO_F64, 2, (int64_t[]){N - LEFT, N - LEFT}, part[1]); /* fits expert 1 alone, with the
                                                                                      * middle penalty */
    mo_tensor *alpha = mo_solve_spd(t, mo_add_diag(t, Km, mo_scalar(t, MO_F64, lambda[1])), mo_gather_rows(t, Y, at));
    expected = mo_matmul(t, mo_from(t, MO_F64, 2, (int64_t[]){LEFT, N - LEFT}, of_left[1]), alpha);
    assert_true(largest_difference(alone, expected) < 1e-9);
}

/* ---- a large support ---- */

/* The kernel of rows of four numbers, 1 + <x, y>, has rank five, which nine centres among 14 rows span. With one expert
 * and one penalty the fit in their span equals the ridge on all rows, at the centres' temperature. */
TEST_OF(centres_that_span_all_rows_lose_nothing, mo_context *ctx) {
    enum { ALL = 14 };
    HELD(mo_tape) *t = mo_tape_create(ctx, MO_EVAL);
    HELD(mo_tensor) *Z = draw(ctx, 3, (int64_t[]){1, ALL, D}, 0.5, 1), *Zq = draw(ctx, 3, (int64_t[]){1, Q, D}, 0.5, 2);
    HELD(mo_tensor) *Y = labels(ctx, ALL, C);
    mo_tensor *Zm = mo_slice(t, Z, MO_AXIS(1), 0, N), *Zmt = mo_transpose(t, Zm);
    mo_tensor *K = mo_scale(t, mo_matmul(t, Z, Zmt), 1, 1), *Km = mo_scale(t, mo_matmul(t, Zm, Zmt), 1, 1);
    mo_tensor *Kq = mo_scale(t, mo_matmul(t, Zq, Zmt), 1, 1);
    mo_expert_mixture mix = mixture_of(t, 1, NULL);
    mix.lambda = mo_slice(t, mix.lambda, MO_AXIS(0), 1, 2);
    for (int unequal = 0; unequal < 2; unequal++) {
        double b[ALL], part[ALL]; /* b: class weights; part: lambda / b */
        for (int i = 0; i < ALL; i++) {
            b[i] = unequal ? 0.5 + i % C : 1;
            part[i] = lambda[1] / b[i];
        }
        mo_tensor *of_all = unequal ? mo_from(t, MO_F64, 1, (int64_t[]){ALL}, b) : NULL;
        mix.class_weight = unequal ? mo_slice(t, of_all, MO_AXIS(0), 0, N) : NULL;
        mo_mixed_experts fit = mo_centred_mixture(t, K, Km, Y, mo_slice(t, Y, MO_AXIS(0), 0, N), of_all, &mix);
        mo_tensor *diagonal = mo_mul(t, mo_eye(t, MO_F64, ALL), mo_from(t, MO_F64, 1, (int64_t[]){ALL}, part));
        mo_tensor *G = mo_add(t, mo_scale(t, mo_gram(t, Z), 1, 1), diagonal);
        mo_tensor *alpha = mo_solve_spd(t, G, mo_with_axis(t, Y, MO_AXIS(0), 1));
        mo_tensor *expected = combined(t, mo_scale(t, mo_matmul(t, Zq, mo_transpose(t, Z)), 1, 1), alpha);
        double T = mo_item(mo_sum(t, fit.factor, MO_ALL, MO_DROP_AXES));
        assert_true(largest_difference(combined(t, Kq, fit.learned), mo_scale(t, expected, T, 0)) < 5e-3 * T);
    }
}

/* in: rows [2, 12, D], log lambda. */
static void centred_function(mo_tape *t, mo_tensor *const *in, int n_in, mo_tensor **out, int n_out, void *state) {
    mo_expert_mixture mix = mixture_of(t, 2, NULL);
    mix.lambda = mo_exp(t, in[1]);
    mo_tensor *Zm = mo_slice(t, in[0], MO_AXIS(1), 0, D + 1), *Zmt = mo_transpose(t, Zm), *Y = state;
    out[0] = mo_centred_mixture(t, mo_scale(t, mo_matmul(t, in[0], Zmt), 1, 1),
        mo_scale(t, mo_matmul(t, Zm, Zmt), 1, 1), Y, mo_slice(t, Y, MO_AXIS(0), 0, D + 1), NULL, &mix)
                 .learned;
}

TEST_OF(gradients_through_centres_hold_to_order_two, mo_context *ctx) {
    HELD(leaves) in = {{draw(ctx, 3, (int64_t[]){2, 12, D}, 0.8, 1), draw(ctx, 1, (int64_t[]){R}, 0.5, 3)}};
    HELD(mo_tensor) *Y = labels(ctx, 12, C);
    expect_pass(mo_check_function(ctx, centred_function, Y, in.of, 2, 1, 2, 1e-5, 9));
}

/* ---- the head ---- */

static mo_tensor *head_logits(mo_tape *t, mo_tensor *Zs, mo_tensor *Ys, mo_tensor *Zq) {
    mo_tensor *parameter[] = {mo_scalar(t, MO_F64, 0.3), mo_scalar(t, MO_F64, 0.3)};
    return mo_head_apply(t, &mo_head_mixture, Zs, Ys, Zq, parameter);
}

/* d = 4 has fewer columns than rows: the head then solves systems of the columns' size. */
TEST_OF(the_head_is_the_mixture_of_one_kernel, mo_context *ctx) {
    HELD(mo_tape) *t = mo_tape_create(ctx, MO_EVAL);
    for (int64_t d = 4; d <= 12; d += 8) {
        HELD(mo_tensor) *Z = draw(ctx, 2, (int64_t[]){N + Q, d}, 0.5, 1);
        mo_tensor *Y = one_hot_labels(t), *K = mo_scale(t, mo_gram(t, Z), 1, 1);
        mo_tensor *columns = mo_slice(t, K, MO_AXIS(1), 0, N);
        mo_tensor *Ks = mo_with_axis(t, mo_slice(t, columns, MO_AXIS(0), 0, N), MO_AXIS(0), 1);
        mo_tensor *Kq = mo_with_axis(t, mo_slice(t, columns, MO_AXIS(0), N, N + Q), MO_AXIS(0), 1);
        mo_expert_mixture mix = mixture_of(t, 1, NULL);
        mix.doublings = mo_full(t, MO_F64, 1, (int64_t[]){1}, 2);
        mo_tensor *expected = combined(t, Kq, mo_kernel_mixture(t, Ks, Y, &mix, NULL).learned);
        mo_tensor *got = head_logits(t, mo_slice(t, Z, MO_AXIS(0), 0, N), Y, mo_slice(t, Z, MO_AXIS(0), N, N + Q));
        assert_true(largest_difference(got, expected) < 1e-9);
    }
    assert_true(mo_ok(ctx));
}

TEST_OF(shapes_that_do_not_fit_are_named, mo_context *ctx) {
    HELD(mo_tape) *t = mo_tape_create(ctx, MO_EVAL);
    mo_tensor *K = mo_full(t, MO_F64, 3, (int64_t[]){2, 6, 5}, 1), *Y = mo_full(t, MO_F64, 2, (int64_t[]){6, 2}, 1);
    mo_expert_mixture mix = mixture_of(t, 2, NULL);
    mo_mixed_experts none = mo_kernel_mixture(t, K, Y, &mix, NULL);
    assert_true(mo_is_null(none.learned) && mo_is_null(none.share) && mo_is_null(none.factor));
    assert_failed(ctx, MO_INVALID, PARTS("[2, 6, 5], [6, 2], none, [3], [2]"));
    mix.prior = mo_full(t, MO_F64, 1, (int64_t[]){3}, 0);
    mo_kernel_mixture(t, mo_full(t, MO_F64, 3, (int64_t[]){2, 6, 6}, 1), Y, &mix, NULL);
    assert_non_null(strstr(mo_context_status(ctx)->message, "prior [E]"));
}
