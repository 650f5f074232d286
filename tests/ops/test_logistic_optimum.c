/* tests/ops/test_logistic_optimum.c - for which rows logistic regression has an optimum, and the messages for rows that
 * have none. */
#include "models/inside.h"
#include "tests/scratch.h"

TEST_OF(without_penalty_rows_that_overlap_have_their_optimum, mo_context *ctx) {
    HELD(mo_tape) *t = mo_tape_create(ctx, MO_EVAL);
    double x[] = {1, 1, 1, 0}, y[] = {1, 0, 1, 0, 0, 1, 0, 1}, w[4];
    mo_tensor *X = mo_from(t, MO_F64, 2, (int64_t[]){4, 1}, x), *Y = mo_from(t, MO_F64, 2, (int64_t[]){4, 2}, y);
    mo_tensor *W = mo_logistic(t, X, Y, mo_scalar(t, MO_F64, 0), MO_INTERCEPT_NONE);
    assert_int_equal(mo_tensor_read(W, w, 2 * sizeof *w), MO_OK); /* odds of 2 to 1 give W = +-log(2) / 2 */
    assert_true(fabs(w[0] - log(2) / 2) < 1e-12 && fabs(w[1] + log(2) / 2) < 1e-12);
}

typedef struct refusal {
    int64_t n, d, classes;
    double x[8], y[12], lambda;
    mo_intercept intercept;
    const char *message;
} refusal;

TEST_OF(what_has_no_optimum_is_refused_in_one_line, mo_context *ctx) {
    static const refusal cases[] = {
        {4, 1, 2, {1, 2, -1, -3}, {1, 0, 1, 0, 0, 1, 0, 1}, 0, MO_INTERCEPT_NONE, "separable"},
        {4, 1, 2, {1, 2, 3, 4}, {1, 0, 1, 0, 0, 1, 0, 1}, 0, MO_INTERCEPT_FREE, "the optimum is at infinity"},
        {4, 2, 2, {1, 1, 1, 1, 1, 0, 1, 0}, {1, 0, 0, 1, 1, 0, 1, 0}, 0, MO_INTERCEPT_NONE, "infinity"}, /* in part */
        {2, 2, 3, {1, 2, 3, 4}, {1, 0, 0, 0, 1, 0}, 1, MO_INTERCEPT_FREE, "class 2 of item 0 has no support"},
        {1, 2, 2, {1, 2}, {0, 1}, 1, MO_INTERCEPT_FREE, "class 0 of item 0 has no support"},
        {2, 2, 2, {1, 2, 3, 4}, {1, 0, 0, 1}, -1, MO_INTERCEPT_NONE, "lambda -1, expected 0 or above"},
        {2, 2, 2, {1, NAN, 3, 4}, {1, 0, 0, 1}, 1, MO_INTERCEPT_NONE, "not finite"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const refusal *c = &cases[i];
        HELD(mo_tape) *t = mo_tape_create(ctx, MO_EVAL);
        mo_tensor *X = mo_from(t, MO_F64, 2, (int64_t[]){c->n, c->d}, c->x);
        mo_tensor *Y = mo_from(t, MO_F64, 2, (int64_t[]){c->n, c->classes}, c->y);
        assert_true(mo_is_null(mo_logistic(t, X, Y, mo_scalar(t, MO_F64, c->lambda), c->intercept)));
        if (!strstr(mo_context_status(ctx)->message, c->message))
            fail_msg("case %zu: '%s'", i, mo_context_status(ctx)->message);
        mo_clear_error(ctx);
    }
}

/* All rows are equal, so the gradient is only rounding from the first step, in float32 too. */
TEST_OF(equal_rows_give_equal_classes, mo_context *ctx) {
    for (int real = 0; real < 2; real++) {
        HELD(mo_tape) *t = mo_tape_create(ctx, MO_EVAL);
        mo_dtype dtype = real ? MO_F64 : MO_F32;
        mo_tensor *X = mo_full(t, dtype, 2, (int64_t[]){12, 6}, 0.7), *label, *logits;
        int64_t y[12];
        for (int i = 0; i < 12; i++)
            y[i] = i % 3;
        label = mo_one_hot(t, mo_from(t, MO_I64, 1, (int64_t[]){12}, y), 3, dtype);
        mo_tensor *lambda = mo_scalar(t, dtype, 1);
        logits = mo_head_apply(t, &mo_head_logistic, X, label, X, &lambda);
        assert_true(mo_ok(ctx) && mo_item(mo_max(t, mo_abs(t, logits), MO_ALL, MO_DROP_AXES)) < 1e-5);
    }
}

/* If the penalty includes the intercept, repeated rows, a class without support and a single row all have an
 * optimum. */
TEST_OF(a_penalty_on_everything_always_has_an_optimum, mo_context *ctx) {
    HELD(mo_tape) *t = mo_tape_create(ctx, MO_EVAL);
    double x[] = {1, 2, 3, 1, 2, 3, 1, 2, 3}, y[] = {1, 0, 0, 0, 1, 0, 1, 0, 0}, logits[3];
    for (int64_t n = 1; n <= 3; n += 2) {
        mo_tensor *Zs = mo_from(t, MO_F64, 2, (int64_t[]){n, 3}, x), *Ys = mo_from(t, MO_F64, 2, (int64_t[]){n, 3}, y);
        mo_tensor *lambda = mo_scalar(t, MO_F64, 1e-3), *Zq = mo_slice(t, Zs, MO_AXIS(0), 0, 1);
        mo_tensor *L = mo_head_apply(t, &mo_head_logistic_penalised, Zs, Ys, Zq, &lambda);
        assert_int_equal(mo_tensor_read(L, logits, sizeof logits), MO_OK);
        assert_true(logits[0] > logits[1] && logits[1] >= logits[2] - 1e-12);
        assert_true(n == 1 || fabs(logits[0] - logits[1] - log(2)) < 1e-2); /* two rows of class 0, one of class 1 */
    }
}
