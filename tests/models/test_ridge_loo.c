/* tests/models/test_ridge_loo.c - leave-one-out predictions against separate fits, also for rows with copies. */
#include "models/heads/heads.h"
#include "models/model.h"
#include "tests/largest_difference.h"
#include "tests/mixture_rows.h"

/* Returns the rows of X [n, d] except row i. */
static mo_tensor *without_row(mo_tape *t, mo_tensor *X, int64_t i) {
    int64_t n = mo_dim(X, 0);
    return mo_concat(
        t, (mo_tensor *[]){mo_slice(t, X, MO_AXIS(0), 0, i), mo_slice(t, X, MO_AXIS(0), i + 1, n)}, 2, MO_AXIS(0));
}

static void compare_with_separate_fits(mo_context *ctx, int64_t n, int64_t d, mo_ridge_form form) {
    enum { R = 3 };
    const double lambda[R] = {0.03, 1, 30};
    HELD(mo_tape) *t = mo_tape_create(ctx, MO_EVAL);
    HELD(mo_tensor) *Z = draw(ctx, 2, (int64_t[]){n, d}, 1, 1), *Y = labels(ctx, n, 3);
    mo_tensor *W, *Yloo, *A, *b;
    mo_tensor *grid = mo_from(t, MO_F64, 1, (int64_t[]){R}, lambda);
    mo_ridge_loo_fit(t, Z, Y, NULL, grid, form, &W, &Yloo);
    for (int r = 0; r < R; r++) {
        mo_tensor *penalty = mo_scalar(t, MO_F64, lambda[r]);
        mo_ridge_fit(t, Z, Y, penalty, MO_RIDGE_AUTO, &A, &b);
        mo_tensor *Wb = mo_concat(t, (mo_tensor *[]){A, b}, 2, MO_AXIS(0));
        assert_true(largest_difference(mo_slice(t, W, MO_AXIS(0), r, r + 1), Wb) < 1e-9);
        for (int64_t i = 0; i < n; i++) {
            mo_ridge_fit(t, without_row(t, Z, i), without_row(t, Y, i), penalty, MO_RIDGE_AUTO, &A, &b);
            mo_tensor *expected = mo_add(t, mo_matmul(t, mo_slice(t, Z, MO_AXIS(0), i, i + 1), A), b);
            mo_tensor *got = mo_slice(t, mo_slice(t, Yloo, MO_AXIS(0), r, r + 1), MO_AXIS(1), i, i + 1);
            assert_true(largest_difference(got, expected) < 1e-9);
        }
    }
    assert_true(mo_ok(ctx));
}

TEST_OF(leave_one_out_equals_refits, mo_context *ctx) {
    for (int form = MO_RIDGE_AUTO; form <= MO_RIDGE_PRIMAL; form++) {
        compare_with_separate_fits(ctx, 7, 12, (mo_ridge_form)form);
        compare_with_separate_fits(ctx, 13, 12, (mo_ridge_form)form); /* n_s = d + 1 */
        compare_with_separate_fits(ctx, 30, 5, (mo_ridge_form)form);
        compare_with_separate_fits(ctx, 2, 3, (mo_ridge_form)form);
    }
}

TEST_OF(one_factorization_a_penalty_serves_readout_and_gradient, mo_context *ctx) {
    for (int form = MO_RIDGE_DUAL; form <= MO_RIDGE_PRIMAL; form++) {
        mo_ridge_form f = (mo_ridge_form)form;
        HELD(leaves) in = {{draw(ctx, 2, (int64_t[]){6, 4}, 1, 4), draw(ctx, 2, (int64_t[]){6, 3}, 1, 5),
            draw(ctx, 1, (int64_t[]){3}, 0.5, 6)}};
        HELD(mo_tape) *t = mo_tape_create(ctx, MO_RECORD);
        mo_tensor *out[2], *first[3], *second[3];
        int64_t before = mo_context_counters(ctx).factorizations;
        mo_ridge_loo_fit(t, in.of[0], in.of[1], NULL, mo_exp(t, in.of[2]), f, &out[0], &out[1]);
        mo_grad(t, out, NULL, 2, in.of, first, 3, MO_CREATE_GRAPH);
        mo_grad(t, first, NULL, 3, in.of, second, 3, 0);
        assert_true(mo_ok(ctx));
        assert_int_equal(mo_context_counters(ctx).factorizations - before, 3);
    }
}

/* ---- rows that repeat ---- */

/* A support of 13 rows from six examples, some repeated. The first row of each example has the weight of all its
 * copies. */
enum { EXAMPLES = 6, ROWS = 13 };
static const int64_t example_of[ROWS] = {0, 1, 2, 1, 3, 4, 1, 4, 5, 0, 4, 4, 1};
static const double weight_of[ROWS] = {2, 4, 1, 0, 1, 4, 0, 0, 1, 0, 0, 0, 0}, times[EXAMPLES] = {2, 4, 1, 1, 4, 1};

/* Returns the support's rows from X [.., EXAMPLES, d]. */
static mo_tensor *repeat(mo_tape *t, mo_tensor *X) {
    int axis = mo_ndim(X) - 2;
    mo_tensor *row[ROWS];
    for (int i = 0; i < ROWS; i++)
        row[i] = mo_slice(t, X, MO_AXIS(axis), example_of[i], example_of[i] + 1);
    return mo_concat(t, row, ROWS, MO_AXIS(axis));
}

static mo_tensor *row_weights(mo_tape *t) {
    return mo_from(t, MO_F64, 1, (int64_t[]){ROWS}, weight_of);
}

/* Predicts example i by the ridge on the rows of all other examples. */
static mo_tensor *without_example(mo_tape *t, mo_tensor *Z, mo_tensor *Y, mo_tensor *lambda, int64_t example) {
    mo_tensor *kept[2][ROWS], *W, *b;
    int n = 0;
    for (int i = 0; i < ROWS; i++)
        if (example_of[i] != example) {
            kept[0][n] = mo_slice(t, Z, MO_AXIS(0), example_of[i], example_of[i] + 1);
            kept[1][n++] = mo_slice(t, Y, MO_AXIS(0), example_of[i], example_of[i] + 1);
        }
    mo_ridge_fit(
        t, mo_concat(t, kept[0], n, MO_AXIS(0)), mo_concat(t, kept[1], n, MO_AXIS(0)), lambda, MO_RIDGE_AUTO, &W, &b);
    return mo_add(t, mo_matmul(t, mo_slice(t, Z, MO_AXIS(0), example, example + 1), W), b);
}

/* An example leaves with all its copies. Without weights, a copy that stays would give its label away. */
TEST_OF(a_row_leaves_with_its_copies, mo_context *ctx) {
    enum { R = 2 };
    const double lambda[R] = {0.03, 3};
    HELD(mo_tape) *t = mo_tape_create(ctx, MO_EVAL);
    for (int64_t d = 3; d <= 20; d += 17) {
        HELD(mo_tensor) *Z = draw(ctx, 2, (int64_t[]){EXAMPLES, d}, 1, 1), *Y = labels(ctx, EXAMPLES, 3);
        mo_tensor *grid = mo_from(t, MO_F64, 1, (int64_t[]){R}, lambda), *W[3], *Yloo[3];
        mo_tensor *w = mo_from(t, MO_F64, 1, (int64_t[]){EXAMPLES}, times);
        for (int form = MO_RIDGE_AUTO; form <= MO_RIDGE_PRIMAL; form++) {
            mo_ridge_form f = (mo_ridge_form)form;
            mo_ridge_loo_fit(t, repeat(t, Z), repeat(t, Y), row_weights(t), grid, f, &W[0], &Yloo[0]);
            mo_ridge_loo_fit(t, Z, Y, w, grid, f, &W[1], &Yloo[1]);
            mo_ridge_loo_fit(t, repeat(t, Z), repeat(t, Y), NULL, grid, f, &W[2], &Yloo[2]);
            assert_true(largest_difference(W[0], W[2]) < 1e-9 && largest_difference(W[1], W[2]) < 1e-9);
            for (int64_t r = 0; r < R; r++)
                for (int64_t i = 0; i < ROWS; i++) {
                    mo_tensor *got[3],
                        *expected = without_example(t, Z, Y, mo_scalar(t, MO_F64, lambda[r]), example_of[i]);
                    for (int k = 0; k < 3; k++) {
                        int64_t at = k == 1 ? example_of[i] : i;
                        got[k] = mo_slice(t, mo_slice(t, Yloo[k], MO_AXIS(0), r, r + 1), MO_AXIS(1), at, at + 1);
                    }
                    assert_true(largest_difference(got[1], expected) < 1e-9);
                    if (weight_of[i] > 0)
                        assert_true(largest_difference(got[0], expected) < 1e-9);
                    if (times[example_of[i]] > 1)
                        assert_true(largest_difference(got[2], expected) > 0.05);
                }
        }
        assert_true(mo_ok(ctx));
        mo_tape_reset(t);
    }
}

/* 20 copies of each of 8 rows, in float32: in the fit of all rows G_ii is near 1 / lambda, and leaving out a block of
 * copies loses all digits. */
TEST_OF(many_copies_keep_the_digits_of_float32, mo_context *ctx) {
    enum { N = 8, COPIES = 20, DIMS = 32, R = 3 };
    HELD(mo_tape) *t = mo_tape_create(ctx, MO_EVAL);
    const double lambda[R] = {0.03, 1e-3, 1e-5};
    double weight[N * COPIES] = {0};
    HELD(mo_tensor) *Z = draw(ctx, 2, (int64_t[]){N, DIMS}, 0.2, 1), *Y = labels(ctx, N, 2);
    int64_t row[N * COPIES];
    for (int i = 0; i < N * COPIES; i++) {
        weight[i] = i < N ? COPIES : 0;
        row[i] = i % N;
    }
    mo_tensor *rows = mo_from(t, MO_I64, 1, (int64_t[]){N * COPIES}, row);
    mo_tensor *Zs = mo_cast(t, mo_gather_rows(t, Z, rows), MO_F32);
    mo_tensor *Ys = mo_cast(t, mo_gather_rows(t, Y, rows), MO_F32);
    mo_tensor *w = mo_cast(t, mo_from(t, MO_F64, 1, (int64_t[]){N * COPIES}, weight), MO_F32);
    mo_tensor *grid = mo_from(t, MO_F64, 1, (int64_t[]){R}, lambda), *narrow = mo_cast(t, grid, MO_F32), *alpha, *W;
    mo_tensor *Yloo, *exact, *K = mo_gram(t, mo_append_ones(t, Zs));
    mo_ridge_loo_fit(t, Z, Y, mo_full(t, MO_F64, 1, (int64_t[]){N}, COPIES), grid, MO_RIDGE_DUAL, &W, &exact);
    mo_kernel_loo_fit(t, K, Ys, w, narrow, &alpha, &Yloo);
    assert_true(largest_difference(mo_cast(t, mo_slice(t, Yloo, MO_AXIS(1), 0, N), MO_F64), exact) < 2e-5);
    assert_true(mo_ok(ctx));
}

typedef struct loo_problem {
    mo_ridge_form form;
    bool weighted; /* by the rows' copies */
} loo_problem;

/* in: Zs [2, ROWS, d], Ys, log lambda. */
static void weighted_loo_function(mo_tape *t, mo_tensor *const *in, int n_in, mo_tensor **out, int n_out, void *state) {
    const loo_problem *p = state;
    mo_tensor *w = p->weighted ? mo_with_axis(t, row_weights(t), MO_AXIS(0), 2) : NULL;
    mo_ridge_loo_fit(t, in[0], in[1], w, mo_exp(t, in[2]), p->form, &out[0], &out[1]);
}

TEST_OF(gradients_hold_to_order_two_with_and_without_copies, mo_context *ctx) {
    for (int i = 0; i < 8; i++) {
        loo_problem p = {i % 2 ? MO_RIDGE_PRIMAL : MO_RIDGE_DUAL, i / 4};
        HELD(mo_tape) *t = mo_tape_create(ctx, MO_EVAL);
        HELD(mo_tensor) *Z = draw(ctx, 3, (int64_t[]){2, EXAMPLES, 4}, 1, 4),
                        *Y = draw(ctx, 3, (int64_t[]){2, EXAMPLES, 3}, 1, 5);
        HELD(leaves) in = {{draw(ctx, 3, (int64_t[]){2, ROWS, 4}, 1, 4), draw(ctx, 3, (int64_t[]){2, ROWS, 3}, 1, 5),
            draw(ctx, 2, (int64_t[]){2, 3}, 0.5, 6)}};
        if (p.weighted) {
            mo_tensor_copy(in.of[0], repeat(t, Z));
            mo_tensor_copy(in.of[1], repeat(t, Y));
        }
        expect_pass(mo_check_function(ctx, weighted_loo_function, &p, in.of, 3, 2, 1 + i / 2 % 2, 1e-5, 7));
    }
}
