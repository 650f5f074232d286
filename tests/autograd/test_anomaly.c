/* tests/autograd/test_anomaly.c - anomaly mode names the first op that makes a value that is not finite, and where. */
#include "ops/inside.h"
#include "tests/toy_ops.h"

static int watched_create(void **state) {
    if (toy_create(state) != 0)
        return -1;
    mo_tape_set_anomaly(((toy *)*state)->t, true);
    return 0;
}

static const fixtures around_each = {watched_create, toy_release};

static mo_tensor *leaf_of(mo_context *ctx, int ndim, const int64_t *shape, const double *values) {
    return mo_require_grad(mo_tensor_create_from(ctx, MO_F64, ndim, shape, values));
}

TEST_OF(forward_names_op_output_index_and_value, toy *y) {
    HELD(mo_tensor) *a = leaf_of(y->ctx, 2, (int64_t[]){2, 3}, (double[]){1, 2, 3, 4, 5, -1});
    mo_tensor *b = mo_square(y->t, a), *c = mo_log(y->t, a);
    assert_false(mo_is_null(b));
    assert_true(mo_is_null(c));
    mo_exp(y->t, c); /* a second error, which is not reported */
    assert_failed(y->ctx, MO_NUMERICAL,
        PARTS("log made nan at [1, 2] of output 0 [2, 3] float64 in the forward", "from finite inputs [2, 3] float64"));
    mo_scale(y->t, mo_square(y->t, mo_scale(y->t, a, 1e200, 0)), -1, 0);
    assert_failed(y->ctx, MO_NUMERICAL, PARTS("square made inf at [0, 0]"));
    assert_int_equal(mo_backward(y->t, mo_sum(y->t, b, MO_ALL, MO_DROP_AXES)), MO_OK);
}

TEST_OF(backward_names_the_rule_it_ran_in, toy *y) {
    HELD(mo_tensor) *a = leaf_of(y->ctx, 1, (int64_t[]){3}, (double[]){4, 1, 0});
    mo_tensor *g;
    mo_tensor *loss = mo_sum(y->t, mo_sqrt(y->t, mo_scale(y->t, a, 1, 0)), MO_ALL, MO_DROP_AXES);
    assert_true(mo_item(loss) == 3);
    assert_int_equal(mo_grad(y->t, &loss, NULL, 1, &a, &g, 1, 0), MO_NUMERICAL);
    assert_failed(y->ctx, MO_NUMERICAL,
        PARTS("made inf at [2] of output 0 [3] float64 in the backward, in the vjp of sqrt (node 1), from finite"));
    assert_true(mo_is_null(g));
}

TEST_OF(second_order_is_looked_at_too, toy *y) {
    /* f = sqrt(x + 1e-300) at x = 0: f' = 5e149, f'' = -2.5e449, which overflows */
    HELD(mo_tensor) *a = leaf_of(y->ctx, 1, (int64_t[]){2}, (double[]){1, 0});
    mo_tensor *g, *h;
    mo_tensor *f = mo_sum(y->t, mo_sqrt(y->t, mo_scale(y->t, a, 1, 1e-300)), MO_ALL, MO_DROP_AXES);
    assert_int_equal(mo_grad(y->t, &f, NULL, 1, &a, &g, 1, MO_CREATE_GRAPH), MO_OK);
    g = mo_sum(y->t, g, MO_ALL, MO_DROP_AXES);
    assert_int_equal(mo_grad(y->t, &g, NULL, 1, &a, &h, 1, 0), MO_NUMERICAL);
    assert_failed(y->ctx, MO_NUMERICAL, PARTS("in the backward, in the vjp of", "at [1]"));
}

TEST_OF(values_that_were_bad_before_are_told_apart, toy *y) {
    HELD(mo_tensor) *w = mo_parameter(y->ctx, "weight", MO_F64, 1, (int64_t[]){2});
    mo_tensor *a = toy_leaf(y, 1, 2), *g;
    mo_tensor_write(w, (double[]){1, INFINITY}, 16);
    mo_mul(y->t, a, w);
    assert_failed(y->ctx, MO_NUMERICAL,
        PARTS("mul: inf at [1] of output 0 [2] float64 in the forward", "given inf at [1] of input 1, weight [2]",
            "it was not finite before"));
    mo_tensor *square = mo_square(y->t, a), *seed = toy_leaf(y, NAN, 1);
    mo_grad(y->t, &square, &seed, 1, &a, &g, 1, 0); /* the cotangent is not finite */
    assert_failed(y->ctx, MO_NUMERICAL, PARTS("in the vjp of square (node 0), given nan at [0] of input"));
}

TEST_OF(sums_of_contributions_are_looked_at, toy *y) {
    mo_tensor *a = toy_leaf(y, 0.1, 0.2), *g;
    mo_tensor *ys[] = {mo_scale(y->t, a, 1e308, 0), mo_scale(y->t, a, 0.9e308, 0)};
    assert_int_equal(mo_grad(y->t, ys, NULL, 2, &a, &g, 1, 0), MO_NUMERICAL);
    assert_failed(y->ctx, MO_NUMERICAL,
        PARTS(
            "accumulate made inf at [0] of output 0 [2] float64 in the backward, adding contributions to a gradient"));
}

TEST_OF(gradients_are_those_of_the_usual_mode, toy *y) {
    mo_tensor *a = toy_leaf(y, 2, 3);
    for (int watched = 0; watched < 2; watched++) {
        mo_tape_set_anomaly(y->t, watched);
        for (int i = 0; i < 2; i++) { /* the second gradient adds to the first in the leaf's buffer */
            mo_tensor *b = mo_mul(y->t, a, a),
                      *loss = mo_sum(y->t, mo_add(y->t, b, mo_mul(y->t, b, a)), MO_ALL, MO_DROP_AXES);
            assert_int_equal(mo_backward(y->t, loss), MO_OK);
        }
        assert_values(mo_grad_of(a), 2 * 16, 2 * 33);
        mo_zero_grad(a);
        mo_tape_reset(y->t);
    }
}

TEST_OF(off_and_views_say_nothing, toy *y) {
    HELD(mo_tensor) *a = leaf_of(y->ctx, 2, (int64_t[]){2, 2}, (double[]){1, -INFINITY, 2, 3});
    assert_false(mo_is_null(mo_transpose(y->t, a))); /* a view computes nothing */
    mo_tensor *p = mo_softmax(y->t, a, MO_AXIS(-1)); /* softmax of a masked entry, -inf, is 0: the result is finite */
    assert_true(at(p, 1) == 0);
    mo_tape_set_anomaly(y->t, false);
    assert_true(isinf(at(mo_scale(y->t, a, 2, 0), 1)));
}

TEST_OF(every_float_type_and_mode_is_looked_at, toy *y) {
    mo_tape_set_mode(y->t, MO_EVAL);
    mo_tensor *a = toy_leaf(y, 1, -1e6);
    mo_cast(y->t, a, MO_F16);
    assert_failed(y->ctx, MO_NUMERICAL, PARTS("cast made -inf at [1] of output 0 [2] float16"));
    mo_cast(y->t, mo_scale(y->t, a, 1e34, 0), MO_F32);
    assert_failed(y->ctx, MO_NUMERICAL, PARTS("cast made -inf at [1] of output 0 [2] float32"));
    mo_tensor *large = mo_scale(y->t, a, 3.4e32, 0); /* the largest float32 is no bfloat16: it rounds to infinity */
    mo_cast(y->t, mo_cast(y->t, large, MO_F32), MO_BF16);
    assert_failed(y->ctx, MO_NUMERICAL, PARTS("cast made -inf at [1] of output 0 [2] bfloat16"));
}
