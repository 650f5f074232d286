/* tests/autograd/test_jvp.c - mo_jvp: exact derivatives along a direction, of any order, that leave the graph
 * unchanged. */
#include "tests/toy_ops.h"

static mo_tensor *pair(toy *y, double first, double second) {
    return mo_from(y->t, MO_F64, 1, (int64_t[]){2}, (double[]){first, second});
}

/* The derivatives of x^4 along v = 1: 4 x^3, 12 x^2, 24 x. */
TEST_OF(tangents_of_tangents, toy *y) {
    mo_tensor *x = toy_leaf(y, 2, -3), *d = toy_mul(y->t, toy_mul(y->t, x, x), toy_mul(y->t, x, x));
    mo_tensor *ones = pair(y, 1, 1);
    const double expected[3][2] = {{32, -108}, {48, 108}, {48, -72}};
    for (int order = 0; order < 3; order++) {
        mo_tensor *root = d;
        assert_int_equal(mo_jvp(y->t, &root, 1, &x, &ones, 1, &d, MO_CREATE_GRAPH), MO_OK);
        assert_values(d, expected[order][0], expected[order][1]);
    }
    assert_int_equal(mo_backward(y->t, toy_sum(y->t, d)), MO_OK); /* a tangent has a gradient too */
    assert_values(mo_grad_of(x), 24, 24);
}

/* The graph still serves a second jvp and a backward; a jvp adds only its tangents to the tape. */
TEST_OF(the_graph_stays_as_it_was, toy *y) {
    mo_tensor *a = toy_leaf(y, 2, 3), *v = pair(y, 1, 1), *tangent;
    mo_tensor *square = toy_mul(y->t, a, a), *cube = toy_mul(y->t, square, a), *loss = toy_sum(y->t, cube);
    int64_t nodes = mo_tape_nodes(y->t), tensors = y->t->n_tensors;
    for (int i = 0; i < 5; i++) {
        assert_int_equal(mo_jvp(y->t, &cube, 1, &a, &v, 1, &tangent, 0), MO_OK);
        assert_values(tangent, 12, 27);
        assert_false(mo_needs_grad(tangent));
        assert_int_equal(mo_tape_nodes(y->t), nodes);
        assert_int_equal(y->t->n_tensors, tensors + i + 1);
    }
    assert_int_equal(mo_jvp(y->t, &cube, 1, &square, &v, 1, &tangent, 0), MO_OK); /* the input is a value inside the
                                                                                   * graph */
    assert_values(tangent, 2, 3);
    assert_int_equal(mo_backward(y->t, loss), MO_OK);
    assert_values(mo_grad_of(a), 12, 27);
}

TEST_OF(no_path_gives_zeros, toy *y) {
    mo_tensor *a = toy_leaf(y, 2, 3), *b = toy_leaf(y, 5, 7), *v = pair(y, 1, 1), *tangent;
    mo_tensor *f = toy_mul(y->t, b, b), *data = pair(y, 1, 2);
    assert_int_equal(mo_jvp(y->t, &f, 1, &a, &v, 1, &tangent, 0), MO_OK);
    assert_values(tangent, 0, 0);
    assert_int_equal(mo_jvp(y->t, &f, 1, &data, &v, 1, &tangent, MO_ALLOW_UNUSED), MO_OK);
    assert_values(tangent, 0, 0);
    assert_int_equal(mo_jvp(y->t, &data, 1, &a, &v, 1, &tangent, MO_ALLOW_UNUSED), MO_OK);
    assert_values(tangent, 0, 0);
    assert_int_equal(mo_jvp(y->t, &f, 1, NULL, NULL, 0, &tangent, 0), MO_OK);
    assert_values(tangent, 0, 0);
    assert_int_equal(mo_jvp(y->t, NULL, 0, NULL, NULL, 0, NULL, MO_ALLOW_UNUSED), MO_OK);
}

TEST_OF(wrong_arguments_are_named, toy *y) {
    mo_tensor *a = toy_leaf(y, 2, 3), *v = pair(y, 1, 1), *f = toy_mul(y->t, a, a), *data = pair(y, 1, 2);
    mo_tensor *wide = mo_full(y->t, MO_F64, 1, (int64_t[]){3}, 1), *narrow = mo_full(y->t, MO_F32, 1, a->shape, 1);
    mo_tensor *tangent, *nothing = mo_null_tensor(y->ctx);
    assert_int_equal(mo_jvp(y->t, &f, 1, &a, &wide, 1, &tangent, 0), MO_INVALID);
    assert_true(mo_is_null(tangent));
    assert_failed(y->ctx, MO_INVALID, PARTS("jvp: direction 0 is [3] float64, expected [2] float64"));
    mo_jvp(y->t, &f, 1, &a, &narrow, 1, &tangent, 0);
    assert_failed(y->ctx, MO_INVALID, PARTS("jvp: direction 0 is [2] float32, expected [2] float64"));
    mo_jvp(y->t, &f, 1, &data, &v, 1, &tangent, 0);
    assert_failed(y->ctx, MO_INVALID, PARTS("jvp: input 0 needs no gradient", "MO_ALLOW_UNUSED"));
    mo_jvp(y->t, &data, 1, &a, &v, 1, &tangent, 0);
    assert_failed(y->ctx, MO_INVALID, PARTS("output 0 depends on nothing that needs a gradient"));
    mo_jvp(y->t, &f, 1, &a, &nothing, 1, &tangent, 0);
    assert_failed(y->ctx, MO_INVALID, PARTS("direction 0 is null"));
    mo_jvp(y->t, &f, 1, &a, NULL, 1, &tangent, 0);
    assert_failed(y->ctx, MO_INVALID, PARTS("1 outputs and 0 inputs", "not NULL"));
    assert_int_equal(mo_jvp(y->t, &f, 1, &a, &v, 1, &tangent, 0), MO_OK); /* the tape is usable after all these
                                                                           * errors */
    assert_values(tangent, 4, 6);
}
