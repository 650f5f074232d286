/* tests/autograd/test_scope.c - scopes free the tensors of a loop or of an op's forward, on the toy ops. */
#include "tests/toy_ops.h"

TEST_OF(a_loop_that_keeps_its_state_uses_constant_memory, toy *y) {
    mo_tensor *a = toy_leaf(y, 1.001, 0.999), *x = toy_mul(y->t, a, a), *grad;
    mo_scope scope = mo_scope_open(y->t);
    int64_t live = 0, tape = 0;
    for (int i = 0; i < 10000; i++) {
        mo_tensor *z = toy_mul(y->t, toy_mul(y->t, x, a), a);
        mo_grad(y->t, &z, NULL, 1, &a, &grad, 1, MO_CREATE_GRAPH);
        x = z;
        mo_scope_close(y->t, &scope, &x, 1);
        if (i == 2) {
            live = mo_context_counters(y->ctx).bytes_live;
            tape = mo_context_counters(y->ctx).tape_peak;
        }
    }
    assert_int_equal(mo_context_counters(y->ctx).bytes_live, live);
    assert_int_equal(mo_context_counters(y->ctx).tape_peak, tape);
    assert_int_equal(mo_tape_nodes(y->t), 1);
    assert_values(x, pow(1.001, 20002), pow(0.999, 20002));
}

TEST_OF(what_is_kept_is_a_constant, toy *y) {
    mo_tensor *a = toy_leaf(y, 2, 3), *grad;
    mo_tensor *before = toy_mul(y->t, a, a);
    mo_scope scope = mo_scope_open(y->t);
    mo_tensor *kept = toy_mul(y->t, before, a);
    mo_tensor *keep[] = {kept, before};
    mo_scope_close(y->t, &scope, keep, 2);
    assert_values(kept, 8, 27);
    assert_false(mo_needs_grad(kept));
    assert_true(mo_needs_grad(before)); /* made before the scope, so unchanged */
    mo_tensor *loss = toy_sum(y->t, toy_mul(y->t, kept, before));
    assert_int_equal(mo_grad(y->t, &loss, NULL, 1, &a, &grad, 1, 0), MO_OK);
    assert_values(grad, 8 * 4, 27 * 6);
}

TEST_OF(the_mode_is_again_what_it_was, toy *y) {
    mo_tensor *a = toy_leaf(y, 2, 3);
    mo_tape_set_mode(y->t, MO_EVAL);
    mo_scope scope = mo_scope_open(y->t);
    mo_tape_set_mode(y->t, MO_RECORD);
    assert_true(mo_needs_grad(toy_mul(y->t, a, a)));
    mo_scope_close(y->t, &scope, NULL, 0);
    assert_int_equal(mo_tape_mode(y->t), MO_EVAL);
    assert_false(mo_needs_grad(toy_mul(y->t, a, a)));
}

TEST_OF(scopes_nest, toy *y) {
    mo_tensor *a = toy_leaf(y, 2, 3);
    mo_scope outer = mo_scope_open(y->t);
    mo_tensor *b = toy_mul(y->t, a, a);
    mo_scope inner = mo_scope_open(y->t);
    mo_tensor *c = toy_mul(y->t, b, a);
    mo_scope_close(y->t, &inner, &c, 1);
    mo_tensor *d = toy_add(y->t, b, c);
    mo_scope_close(y->t, &outer, &d, 1);
    assert_values(d, 12, 36);
    assert_int_equal(mo_tape_nodes(y->t), 0);
    int64_t live = mo_context_counters(y->ctx).tape_live;
    mo_tape_reset(y->t);
    assert_int_equal(live, 64); /* one value, in a chunk of 64 bytes */
    assert_int_equal(mo_context_counters(y->ctx).tape_live, 0);
}

TEST_OF(scopes_that_cannot_be_closed_are_told, toy *y) {
    HELD(mo_tape) *other = mo_tape_create(y->ctx, MO_RECORD);
    mo_tensor *a = toy_leaf(y, 2, 3), *kept = toy_mul(y->t, a, a);
    mo_scope scope = mo_scope_open(y->t), theirs = mo_scope_open(other), old = scope, odd = scope;
    toy_mul(y->t, kept, a);
    mo_scope inner = mo_scope_open(y->t);
    mo_scope_close(y->t, &theirs, NULL, 0);
    assert_failed(y->ctx, MO_STATE, PARTS("scope_close: the scope cannot be closed: it was opened on another tape"));
    mo_scope_close(y->t, NULL, NULL, 0);
    assert_failed(y->ctx, MO_STATE, PARTS("cannot be closed: it is NULL"));
    odd.tensors = odd.nodes = -1;
    mo_scope_close(y->t, &odd, NULL, 0);
    assert_failed(y->ctx, MO_STATE, PARTS("cannot be closed: it was opened outside"));
    for (int n = -1; n < 2; n += 2) {
        mo_scope_close(y->t, &scope, NULL, n);
        assert_failed(y->ctx, MO_INVALID, PARTS("scope_close:", "tensors to keep in a NULL list"));
    }
    mo_scope_close(y->t, &scope, NULL, 0);
    expect_ok(y->ctx);
    mo_scope_close(y->t, &inner, NULL, 0);
    assert_failed(y->ctx, MO_STATE, PARTS("cannot be closed: a scope around it was closed before"));
    mo_tape_reset(y->t);
    mo_scope_close(y->t, &old, NULL, 0);
    assert_failed(y->ctx, MO_STATE, PARTS("cannot be closed: it was opened before the tape's last mo_tape_reset"));
}
