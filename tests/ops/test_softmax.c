/* tests/ops/test_softmax.c - softmax, log_softmax and the cross-entropy: against formulas, and with wrong targets. */
#include "ops/inside.h"
#include "tests/toy_ops.h"

static const int64_t shape[] = {3, 4};
static const double logits[12] = {0.5, -1, 2, 0.25, -3, 1, 1, 0, 4, 0.125, -2, -0.5};

static mo_tensor *logits_leaf(mo_context *ctx) {
    return mo_require_grad(mo_tensor_create_from(ctx, MO_F64, 2, shape, logits));
}

/* Returns entry i of log softmax over n entries of x, `step` apart. */
static double log_softmax_of(const double *x, int n, int step, int i) {
    double sum = 0;
    for (int j = 0; j < n; j++)
        sum += exp(x[j * step] - x[i * step]);
    return -log(sum);
}

TEST_OF(softmax_runs_along_any_axis, toy *y) {
    HELD(mo_tensor) *X = logits_leaf(y->ctx);
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
}

TEST_OF(wrong_targets_are_named, toy *y) {
    HELD(mo_tensor) *X = logits_leaf(y->ctx);
    mo_tensor *labels = mo_from(y->t, MO_I64, 1, shape, (int64_t[]){1, 2, 3});
    mo_tensor *narrow = mo_from(y->t, MO_I32, 1, shape, (int32_t[]){1, 2, 3});
    mo_softmax_cross_entropy(y->t, X, narrow, 0);
    assert_failed(y->ctx, MO_MISMATCH, PARTS("target is int32, expected int64 labels"));
    mo_softmax_cross_entropy(y->t, X, labels, NAN);
    assert_failed(y->ctx, MO_INVALID, PARTS("smoothing nan, expected 0 to 1"));
}
