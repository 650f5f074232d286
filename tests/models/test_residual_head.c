/* tests/models/test_residual_head.c - heads that give only a residual: the weights and their gradients equal the closed
 * form if there is one. */
#include "tests/largest_difference.h"

/* F = X^T (X W - Y) + lambda W, which is 0 at the ridge with a penalised bias. */
static mo_tensor *ridge_residual(mo_tape *t, mo_tensor *W, mo_tensor *Zs, mo_tensor *Ys, mo_tensor *const *parameters) {
    mo_tensor *X = mo_append_ones(t, Zs), *error = mo_sub(t, mo_matmul(t, X, W), Ys);
    return mo_add(t, mo_matmul(t, mo_transpose(t, X), error), mo_mul(t, W, parameters[0]));
}

/* The same zero with a Jacobian that is not symmetric: adds half of the next row to each row of F. */
static mo_tensor *skewed_residual(
    mo_tape *t, mo_tensor *W, mo_tensor *Zs, mo_tensor *Ys, mo_tensor *const *parameters) {
    mo_tensor *F = ridge_residual(t, W, Zs, Ys, parameters);
    int rows = mo_ndim(F) - 2;
    mo_tensor *next = mo_pad(t, mo_slice(t, F, MO_AXIS(rows), 1, mo_dim(F, rows)), MO_AXIS(rows), 0, 1);
    return mo_add(t, F, mo_scale(t, next, 0.5, 0));
}

/* F = exp(W) + 1, which is never 0. */
static mo_tensor *without_zero(mo_tape *t, mo_tensor *W, mo_tensor *Zs, mo_tensor *Ys, mo_tensor *const *parameters) {
    return mo_scale(t, mo_exp(t, W), 1, 1);
}

static mo_tensor *of_another_shape(
    mo_tape *t, mo_tensor *W, mo_tensor *Zs, mo_tensor *Ys, mo_tensor *const *parameters) {
    return mo_matmul(t, Zs, mo_slice(t, W, MO_AXIS(mo_ndim(W) - 2), 0, mo_dim(Zs, -1)));
}

static const mo_head_parameter lambda[] = {{.name = "lambda", .value = 2}};

static mo_head residual_head(mo_head_residual residual, bool symmetric) {
    return (mo_head){.abi = MO_HEAD_ABI,
        .size = sizeof(mo_head),
        .name = "mine",
        .n_parameters = 1,
        .parameters = lambda,
        .residual = residual,
        .symmetric = symmetric,
        .order = 2};
}

/* Makes a batch of two episodes: Zs [2, 9, d], Ys one-hot [2, 9, 3], Zq [2, 4, d], lambda; owned float64 leaves. */
static leaves make_episodes(mo_context *ctx, int64_t d) {
    leaves in = {{NULL}};
    double x[2 * 9 * 40], y[2 * 9 * 3] = {0}, two = 2;
    mo_random r = mo_random_at(11, MO_PURPOSE_CHECK, (uint64_t)d);
    for (int side = 0; side < 2; side++) {
        int64_t shape[] = {2, side ? 4 : 9, d}, n = shape[0] * shape[1] * d;
        for (int64_t i = 0; i < n; i++)
            x[i] = 5 * mo_random_normal(&r);
        in.of[2 * side] = mo_require_grad(mo_tensor_create_from(ctx, MO_F64, 3, shape, x));
    }
    for (int i = 0; i < 18; i++)
        y[3 * i + i % 3] = 1;
    in.of[1] = mo_require_grad(mo_tensor_create_from(ctx, MO_F64, 3, (int64_t[]){2, 9, 3}, y));
    in.of[3] = mo_require_grad(mo_tensor_create_from(ctx, MO_F64, 0, NULL, &two));
    return in;
}

/* Fails unless both heads have the same logits and gradients on the same episodes. */
static void assert_equal_heads(mo_context *ctx, const mo_head *a, const mo_head *b, int64_t d) {
    mo_tensor *grads[2][4], *logits[2];
    const mo_head *heads[] = {a, b};
    HELD(leaves) in = make_episodes(ctx, d);
    HELD(mo_tape) *t = mo_tape_create(ctx, MO_RECORD);
    for (int i = 0; i < 2; i++) {
        logits[i] = mo_keep(mo_head_apply(t, heads[i], in.of[0], in.of[1], in.of[2], &in.of[3]));
        mo_tensor *loss = mo_sum(t, mo_square(t, logits[i]), MO_ALL, MO_DROP_AXES);
        mo_grad(t, &loss, NULL, 1, in.of, grads[i], 4, 0);
    }
    expect_ok(ctx);
    assert_true(largest_difference(logits[0], logits[1]) < 1e-9);
    for (int i = 0; i < 4; i++)
        assert_true(largest_difference(grads[0][i], grads[1][i]) < 1e-8);
}

TEST_OF(a_residual_finds_the_ridge_and_its_gradients, mo_context *ctx) {
    mo_head symmetric = residual_head(ridge_residual, true), skewed = residual_head(skewed_residual, false);
    for (int64_t d = 5; d <= 40; d += 35) { /* 18 unknowns are factored; with 123, conjugate gradients and GMRES
                                             * solve */
        assert_equal_heads(ctx, &mo_head_ridge, &symmetric, d);
        assert_equal_heads(ctx, &mo_head_ridge, &skewed, d);
    }
}

/* Rows of norm 1e3 in float32: the residual can only become small relative to its first value. */
TEST_OF(the_scale_of_embeddings_does_not_matter_in_float32, mo_context *ctx) {
    mo_head head = residual_head(ridge_residual, true);
    HELD(mo_tape) *t = mo_tape_create(ctx, MO_EVAL);
    HELD(leaves) in = make_episodes(ctx, 40);
    mo_tensor *small[4];
    for (int i = 0; i < 4; i++)
        small[i] = mo_cast(t, i % 2 ? in.of[i] : mo_scale(t, in.of[i], 30, 0), MO_F32);
    mo_tensor *found = mo_head_apply(t, &head, small[0], small[1], small[2], &small[3]);
    mo_tensor *exact = mo_head_apply(t, &mo_head_ridge, small[0], small[1], small[2], &small[3]);
    assert_true(mo_ok(ctx));
    assert_true(largest_difference(mo_cast(t, found, MO_F64), mo_cast(t, exact, MO_F64)) < 1e-2);
}

static void assert_refused(mo_context *ctx, const mo_head *head, mo_code code, const char *part) {
    HELD(mo_tape) *t = mo_tape_create(ctx, MO_EVAL);
    HELD(leaves) in = make_episodes(ctx, 5);
    assert_true(mo_is_null(mo_head_apply(t, head, in.of[0], in.of[1], in.of[2], &in.of[3])));
    assert_failed(ctx, code, PARTS(part));
}

TEST_OF(residuals_that_cannot_be_solved_are_refused, mo_context *ctx) {
    mo_head shape = residual_head(of_another_shape, true), zero = residual_head(without_zero, true);
    assert_refused(ctx, &shape, MO_INVALID, "head mine: its residual is [2, 9, 3] float64, expected [2, 6, 3] float64");
    assert_refused(ctx, &zero, MO_NUMERICAL, "singular");
}
