/* tests/ops/test_dropout.c - dropout draws by an element's position, keeps the mean, and does nothing in evaluation. */
#include "ops/inside.h"
#include "tests/toy_ops.h"

static mo_random start(void) {
    return mo_random_at(3, MO_PURPOSE_DROPOUT, 41);
}

TEST_OF(evaluation_and_rate_zero_return_the_input, toy *y) {
    mo_tensor *X = toy_leaf(y, 2, 3);
    mo_random r = start();
    assert_ptr_equal(mo_dropout(y->t, X, 0, &r), X);
    mo_tape_set_mode(y->t, MO_EVAL);
    assert_ptr_equal(mo_dropout(y->t, X, 0.5, &r), X);
    assert_int_equal(r.index, start().index);
    mo_dropout(y->t, X, NAN, &r);
    assert_failed(y->ctx, MO_INVALID, PARTS("dropout: rate nan"));
    assert_int_equal(r.index, start().index);
}

TEST_OF(rate_is_the_share_of_zeros, toy *y) {
    const int64_t n = 100000;
    const double rate = 0.3;
    mo_random r = start();
    mo_tensor *Y = mo_dropout(y->t, mo_full(y->t, MO_F32, 1, &n, 1), rate, &r);
    float *v = test_memory((size_t)n * sizeof *v);
    mo_tensor_read(Y, v, (size_t)n * sizeof *v);
    int64_t zeros = 0;
    for (int64_t i = 0; i < n; i++) {
        assert_true(v[i] == 0 || v[i] == (float)(1 / (1 - rate)));
        zeros += v[i] == 0;
    }
    assert_int_equal(r.index, start().index + (uint64_t)n);
    /* at most five standard deviations of a binomial count */
    assert_true(fabs((double)zeros - (double)n * rate) < 5 * sqrt((double)n * rate * (1 - rate)));
}

TEST_OF(position_alone_decides_the_mask, toy *y) {
    mo_random once = start(), parts = start(), again = start();
    const int64_t ten = 10, four = 4, six = 6;
    mo_tensor *whole = mo_dropout(y->t, mo_full(y->t, MO_F64, 1, &ten, 1), 0.5, &once);
    mo_tensor *head = mo_dropout(y->t, mo_full(y->t, MO_F64, 1, &four, 1), 0.5, &parts);
    mo_tensor *tail = mo_dropout(y->t, mo_full(y->t, MO_F64, 1, &six, 1), 0.5, &parts);
    mo_tensor *single = mo_dropout(y->t, mo_full(y->t, MO_F32, 1, &ten, 1), 0.5, &again);
    single = mo_cast(y->t, single, MO_F64);
    for (int i = 0; i < 10; i++) {
        assert_true(at(whole, i) == (i < 4 ? at(head, i) : at(tail, i - 4)));
        assert_true(at(whole, i) == at(single, i));
    }
    assert_int_equal(once.index, parts.index);
    mo_tensor *next = mo_dropout(y->t, mo_full(y->t, MO_F64, 1, &ten, 1), 0.5, &once);
    int same = 0;
    for (int i = 0; i < 10; i++)
        same += at(next, i) == at(whole, i);
    assert_true(same < 10);
}
