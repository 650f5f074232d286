/* tests/ops/test_softmax.c - softmax, log_softmax and the cross-entropy: against formulas, at extremes, with wrong
 * labels.
 */
#include "ops/inside.h"
#include "tests/toy_ops.h"

static const fixtures around_each = {toy_create, toy_release};

static const int64_t shape[] = {3, 4};
static const double logits[12] = {0.5, -1, 2, 0.25, -3, 1, 1, 0, 4, 0.125, -2, -0.5};

static mo_tensor *logits_leaf(mo_context *ctx) {
    return mo_require_grad(mo_tensor_create_from(ctx, MO_F64, 2, shape, logits));
}

/* log softmax of the row of x that runs over n entries `step` apart, at entry i. */
static double log_softmax_of(const double *x, int n, int step, int i) {
    double sum = 0;
    for (int j = 0; j < n; j++)
        sum += exp(x[j * step] - x[i * step]);
    return -log(sum);
}

TEST(softmax_runs_along_any_axis) {
    toy *y = *state;
    mo_tensor *X = logits_leaf(y->ctx);
    for (int axis = -2; axis < 2; axis++) {
        mo_tensor *P = mo_softmax(y->t, X, MO_AXIS(axis)), *L = mo_log_softmax(y->t, X, MO_AXIS(axis));
        assert_int_equal(mo_dim(P, 0), 3);
        assert_int_equal(mo_dim(L, 1), 4);
        for (int i = 0; i < 12; i++) {
            bool rows = axis == 1 || axis == -1;
            double expected =
                rows ? log_softmax_of(logits + i / 4 * 4, 4, 1, i % 4) : log_softmax_of(logits + i % 4, 3, 4, i / 4);
            assert_true(fabs(at(L, i) - expected) <= 1e-14 * fmax(1, fabs(expected)));
            assert_true(fabs(at(P, i) - exp(expected)) <= 1e-15);
        }
    }
    mo_softmax(y->t, X, MO_AXIS(2));
    assert_failed(y->ctx, MO_INVALID, PARTS("softmax: axis 2 is not one of [3, 4]"));
    mo_log_softmax(y->t, X, MO_AXIS(-3));
    assert_failed(y->ctx, MO_INVALID, PARTS("log_softmax: axis -3"));
    mo_tensor_release(X);
}

static void both(mo_tape *t, mo_tensor *const *in, int n_in, mo_tensor **out, int n_out, void *state) {
    const int *axis = state;
    assert_int_equal(n_in + n_out, 3);
    out[0] = mo_softmax(t, in[0], MO_AXIS(*axis));
    out[1] = mo_log_softmax(t, in[0], MO_AXIS(*axis));
}

TEST(softmax_has_its_gradient_along_any_axis) {
    toy *y = *state;
    mo_tensor *X = mo_require_grad(mo_tensor_create_from(y->ctx, MO_F64, 3, (int64_t[]){2, 3, 2}, logits));
    for (int axis = 0; axis < 3; axis++) {
        mo_check_result r = mo_check_function(y->ctx, both, &axis, &X, 1, 2, 2, 1e-7, 1);
        if (!r.pass)
            fail_msg("axis %d: %s", axis, r.worst);
    }
    mo_tensor_release(X);
}

TEST(cross_entropy_is_its_formula) {
    toy *y = *state;
    mo_tensor *X = logits_leaf(y->ctx), *labels = mo_from(y->t, MO_I64, 1, shape, (int64_t[]){2, 0, 3});
    const int label[] = {2, 0, 3};
    for (int k = 0; k < 3; k++) {
        double s = 0.1 * k, expected = 0;
        mo_tensor *hot = mo_one_hot(y->t, labels, 4, MO_F64);
        for (int i = 0; i < 12; i++)
            expected -= ((i % 4 == label[i / 4]) * (1 - s) + s / 4) * log_softmax_of(logits + i / 4 * 4, 4, 1, i % 4);
        mo_tensor *one = mo_softmax_cross_entropy(y->t, X, labels, s), *two = mo_softmax_cross_entropy(y->t, X, hot, s);
        assert_true(fabs(mo_item(one) - expected / 3) <= 1e-14);
        assert_true(fabs(mo_item(two) - expected / 3) <= 1e-14);
        mo_tensor *g1, *g2;
        mo_grad(y->t, &one, NULL, 1, &X, &g1, 1, 0);
        mo_grad(y->t, &two, NULL, 1, &X, &g2, 1, 0);
        for (int i = 0; i < 12; i++) {
            double p = exp(log_softmax_of(logits + i / 4 * 4, 4, 1, i % 4));
            double t = (i % 4 == label[i / 4]) * (1 - s) + s / 4;
            assert_true(fabs(at(g1, i) - (p - t) / 3) <= 1e-15 && fabs(at(g2, i) - (p - t) / 3) <= 1e-15);
        }
    }
    mo_tensor_release(X);
}

/* One row right by 2e4, one wrong by 2e4: losses 0 and 2e4, nothing overflows. */
TEST(cross_entropy_is_exact_at_extremes) {
    toy *y = *state;
    const float single[] = {1e4f, -1e4f, 1e4f, -1e4f};
    const double wide[] = {1e4, -1e4, 1e4, -1e4};
    const int64_t size[] = {2, 2};
    for (int k = 0; k < 2; k++) {
        mo_tensor *labels = mo_from(y->t, MO_I64, 1, size, (int64_t[]){0, 1});
        mo_tensor *X = mo_require_grad(mo_tensor_create_from(
                      y->ctx, k ? MO_F64 : MO_F32, 2, size, k ? (const void *)wide : (const void *)single)),
                  *g;
        mo_tensor *L = mo_softmax_cross_entropy(y->t, X, labels, 0);
        mo_tensor *smooth = mo_softmax_cross_entropy(y->t, X, labels, 0.1);
        assert_true(mo_item(L) == 1e4);
        assert_true(fabs(mo_item(smooth) - 0.5 * (0.05 * 2e4 + 0.95 * 2e4)) <= (k ? 1e-11 : 1e-3));
        mo_grad(y->t, &L, NULL, 1, &X, &g, 1, 0);
        g = mo_cast(y->t, g, MO_F64);
        assert_true(at(g, 0) == 0 && at(g, 1) == 0 && at(g, 2) == 0.5 && at(g, 3) == -0.5);
        mo_tape_reset(y->t); /* before the leaf goes */
        mo_tensor_release(X);
    }
}

/* The sum of a row that holds inf is inf, of one of -inf alone -inf, and NaN spreads. */
TEST(logsumexp_takes_infinite_entries) {
    toy *y = *state;
    const double x[5][3] = {{INFINITY, 1, 0}, {1, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY},
        {INFINITY, NAN, 0}, {-INFINITY, 2, -INFINITY}};
    for (int i = 0; i < 2; i++) {
        mo_tensor *X = mo_cast(y->t, mo_from(y->t, MO_F64, 2, (int64_t[]){5, 3}, x), i ? MO_F32 : MO_F64);
        mo_tensor *L = mo_cast(y->t, mo_logsumexp(y->t, X, MO_AXIS(1), MO_DROP_AXES), MO_F64);
        assert_true(at(L, 0) == (double)INFINITY && at(L, 1) == (double)INFINITY && at(L, 2) == -(double)INFINITY);
        assert_true(isnan(at(L, 3)) && at(L, 4) == 2);
    }
}

TEST(wrong_targets_are_named) {
    toy *y = *state;
    mo_tensor *X = logits_leaf(y->ctx);
    mo_tensor *high = mo_from(y->t, MO_I64, 1, shape, (int64_t[]){1, 2, 4});
    mo_tensor *low = mo_from(y->t, MO_I64, 1, shape, (int64_t[]){1, -7, 3});
    mo_tensor *narrow = mo_from(y->t, MO_I32, 1, shape, (int32_t[]){1, 2, 3});
    mo_softmax_cross_entropy(y->t, X, high, 0);
    assert_failed(y->ctx, MO_INVALID, PARTS("softmax_cross_entropy: label 4 at [2], expected 0 to 3"));
    mo_softmax_cross_entropy(y->t, X, low, 0);
    assert_failed(y->ctx, MO_INVALID, PARTS("softmax_cross_entropy: label -7 at [1], expected 0 to 3"));
    mo_softmax_cross_entropy(y->t, X, narrow, 0);
    assert_failed(y->ctx, MO_MISMATCH, PARTS("target is int32, expected int64 labels"));
    mo_softmax_cross_entropy(y->t, X, low, NAN);
    assert_failed(y->ctx, MO_INVALID, PARTS("smoothing nan, expected 0 to 1"));
    mo_tensor_release(X);
}
