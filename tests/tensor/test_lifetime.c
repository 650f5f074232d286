/* tests/tensor/test_lifetime.c - reading a released tensor gives an error with its name (test_wrong_uses.c: values of a
 * step), an early release does no harm, and a context knows its live objects. */
#include "tests/toy_ops.h"

/* Takes a step. The reset at its end frees b, which is returned. */
static mo_tensor *take_step(mo_tape *t, mo_tensor *a) {
    mo_tensor *b = toy_mul(t, a, a);
    assert_int_equal(mo_backward(t, toy_sum(t, mo_keep(b))), MO_OK);
    mo_tape_reset(t);
    return b;
}

TEST_OF(a_value_of_a_closed_scope_is_named, toy *y) {
    mo_tensor *a = toy_leaf(y, 2, 3);
    mo_scope scope = mo_scope_open(y->t);
    mo_tensor *b = toy_mul(y->t, a, a);
    mo_scope_close(y->t, &scope, NULL, 0);
    mo_item(b);
    assert_failed(y->ctx, MO_INVALID, PARTS("item: tensor [2]"));
    mo_tensor_read(b, (double[2]){0}, 16);
    assert_failed(y->ctx, MO_STATE, PARTS("freed by mo_scope_close"));
}

TEST_OF(a_released_tape_is_named, toy *y) {
    mo_tape *t = mo_tape_create(y->ctx, MO_RECORD);
    mo_tensor *a = toy_leaf(y, 2, 3), *b = toy_mul(t, a, a), *g;
    mo_tape_release(t);
    const char *const *told = PARTS("the tape was released by mo_tape_release");
    assert_true(mo_is_null(toy_mul(t, a, a)));
    assert_failed(y->ctx, MO_STATE, told);
    assert_true(mo_is_null(mo_scalar(t, MO_F64, 1)));
    assert_failed(y->ctx, MO_STATE, told);
    mo_grad(t, &b, NULL, 1, &a, &g, 1, 0);
    assert_failed(y->ctx, MO_STATE, told);
    mo_backward(t, b);
    assert_failed(y->ctx, MO_STATE, told);
    mo_tape_reset(t);
    assert_failed(y->ctx, MO_STATE, told);
    mo_tape_release(t);
    assert_failed(y->ctx, MO_STATE, told);
    mo_tensor_read(b, (double[2]){0}, 16);
    assert_failed(y->ctx, MO_STATE, PARTS("made by toy_mul was freed by mo_tape_reset"));
}

TEST_OF(a_parameter_released_while_a_tape_holds_it_is_named, toy *y) {
    int64_t before = mo_context_counters(y->ctx).bytes_live;
    mo_tensor *W = mo_parameter(y->ctx, "W", MO_F64, 1, (int64_t[]){2}), *a = toy_leaf_apart(y->ctx, 2, 3), *g;
    mo_tensor *loss = toy_sum(y->t, toy_mul(y->t, W, a)), *sum = toy_sum(y->t, toy_add(y->t, W, a));
    mo_tensor_release(W);
    mo_tensor_release(W);
    assert_failed(y->ctx, MO_STATE, PARTS("release: W was released before"));
    assert_int_equal(mo_backward(y->t, loss), MO_STATE);
    assert_failed(y->ctx, MO_STATE, PARTS("backward:", "W was freed by mo_tensor_release"));
    assert_int_equal(mo_grad(y->t, &loss, NULL, 1, &a, &g, 1, MO_RETAIN), MO_STATE); /* the vjp of toy_mul reads W */
    assert_failed(y->ctx, MO_STATE, PARTS("input 0 of toy_mul, W was freed by mo_tensor_release"));
    assert_int_equal(mo_grad(y->t, &sum, NULL, 1, &W, &g, 1, MO_RETAIN), MO_STATE);
    assert_failed(y->ctx, MO_STATE, PARTS("grad: input 0, W was freed by mo_tensor_release"));
    assert_int_equal(mo_backward(y->t, sum), MO_STATE); /* backward would add to W's gradient */
    assert_failed(y->ctx, MO_STATE, PARTS("backward: a leaf of the loss, W was freed by mo_tensor_release"));
    assert_int_equal(mo_grad(y->t, &sum, NULL, 1, &a, &g, 1, 0), MO_OK); /* the gradient in a does not read W */
    assert_values(g, 1, 1);
    mo_tape_release(y->t);
    mo_tensor_release(a);
    assert_int_equal(mo_context_counters(y->ctx).bytes_live, y->empty);
    assert_true(before > y->empty);
    y->t = mo_tape_create(y->ctx, MO_RECORD);
}

TEST_OF(parameters_of_one_memory_live_by_themselves, toy *y) {
    int64_t before = mo_context_counters(y->ctx).bytes_live;
    const mo_parameter_form form[] = {{"W", 2, {3, 2}}, {"b", 1, {2}}, {"V", 2, {3, 2}}, {"c", 1, {2}}};
    mo_tensor *P[4], *bad[2];
    mo_parameters(y->ctx, MO_F64, 4, form, P);
    for (int i = 0; i < 4; i++) {
        assert_string_equal(mo_tensor_name(P[i]), form[i].name);
        assert_true(mo_needs_grad(P[i]));
        assert_int_equal((uintptr_t)mo_tensor_view(P[i]).data % 64, 0);
        assert_ptr_equal(P[i]->storage, P[0]->storage);
    }
    assert_int_equal(P[2]->offset, P[3]->offset - P[1]->offset);
    mo_tensor_release(P[0]); /* the memory is freed with the last of the four */
    mo_tensor_write(P[3], (double[]){1, 2}, 16);
    assert_values(P[1], 0, 0);
    assert_values(P[3], 1, 2);
    for (int i = 1; i < 4; i++)
        mo_tensor_release(P[i]);
    assert_int_equal(mo_context_counters(y->ctx).bytes_live, before);
    mo_parameters(y->ctx, MO_I64, 2, form, bad);
    assert_failed(y->ctx, MO_MISMATCH, PARTS("parameter W: dtype int64"));
    mo_parameters(y->ctx, MO_F64, 2, (mo_parameter_form[]){{"W", 1, {3}}, {"b", 1, {-1}}}, bad);
    assert_failed(y->ctx, MO_INVALID, PARTS("b: axis 0 has size -1"));
    mo_parameters(y->ctx, MO_F64, 2, (mo_parameter_form[]){{"W", 1, {3}}, {"b", 1, {INT64_MAX / 32}}}, bad);
    assert_failed(y->ctx, MO_MEMORY, PARTS("out of memory"));
    assert_true(mo_is_null(bad[0]) && mo_is_null(bad[1]));
    assert_int_equal(mo_context_counters(y->ctx).bytes_live, before);
}

/* A released tensor leaves a mark, so that later uses can be named; it counts until the last node that points to the
 * tensor has been dropped. */
TEST_OF(the_marks_of_released_tensors_are_freed, toy *y) {
    HELD(mo_tape) *other = mo_tape_create(y->ctx, MO_RECORD);
    mo_tensor *a = toy_leaf(y, 2, 3), *b = toy_leaf_apart(y->ctx, 1, 1);
    take_step(y->t, b); /* so that the tapes have allocated their memory */
    take_step(other, b);
    toy_mul(other, a, a);
    toy_mul(y->t, a, b);
    mo_tensor_release(b);
    mo_tape_reset(other); /* y->t still has a node that reads b */
    mo_tensor *late = toy_leaf(y, 1, 1);
    toy_mul(other, late, late);
    int64_t marked = mo_context_counters(y->ctx).bytes_live;
    mo_tape_reset(y->t);
    assert_true(mo_context_counters(y->ctx).bytes_live < marked);
    int64_t live = mo_context_counters(y->ctx).bytes_live;
    for (int i = 0; i < 1000; i++) { /* `other` has nodes all the time, but y->t, which used W, is reset */
        mo_tensor *W = toy_leaf_apart(y->ctx, 1, 1);
        toy_mul(y->t, W, W);
        mo_tensor_release(W);
        mo_tape_reset(y->t);
    }
    mo_tape_reset(other);
    assert_int_equal(mo_context_counters(y->ctx).bytes_live, live);
}

/* No node points to it, and debug mode is off. */
TEST_OF(the_tensors_released_last_are_named, toy *y) {
    mo_tensor *a = toy_leaf_apart(y->ctx, 2, 3);
    mo_tensor_release(a);
    for (int i = 0; i < 200; i++)
        mo_tensor_release(mo_tensor_create(y->ctx, MO_F64, 0, NULL));
    toy_sum(y->t, a);
    assert_failed(y->ctx, MO_STATE, PARTS("input 0 was freed by mo_tensor_release"));
    mo_tensor_release(a);
    assert_failed(y->ctx, MO_STATE, PARTS("release: the tensor was released before"));
}

BARE_TEST(a_context_names_what_lives) {
    mo_context *ctx = mo_context_create(&(mo_context_options){.threads = 1});
    mo_tape *t = mo_tape_create(ctx, MO_RECORD);
    mo_tensor *W = mo_parameter(ctx, "W", MO_F32, 2, (int64_t[]){4, 32});
    mo_csr *A = mo_csr_create(ctx, 2, 2, (int64_t[]){0, 1, 2}, (int32_t[]){0, 1}, MO_F32, NULL);
    assert_int_equal(mo_context_release(ctx), MO_STATE);
    assert_failed(ctx, MO_STATE,
        PARTS("context_release: 1 tape, 1 tensor (W [4, 32]), 1 CSR matrix", "must be released before their context"));
    mo_csr_release(A);
    mo_tape_release(t);
    mo_tensor *more[5];
    for (int i = 0; i < 5; i++)
        more[i] = mo_tensor_create(ctx, MO_F64, 1, (int64_t[]){i});
    assert_int_equal(mo_context_release(ctx), MO_STATE);
    assert_failed(ctx, MO_STATE, PARTS("6 tensors ([4], [3], [2], [1], ..)"));
    for (int i = 0; i < 5; i++)
        mo_tensor_release(more[i]);
    mo_tensor_release(W);
    assert_int_equal(mo_context_release(ctx), MO_OK);
    assert_int_equal(mo_context_release(NULL), MO_OK);
}

/* A leaf's gradient belongs to the leaf: it is not counted as a live tensor of its own. */
TEST_OF(a_gradient_is_its_leafs, toy *y) {
    mo_tensor *a = toy_leaf(y, 2, 3);
    assert_int_equal(mo_backward(y->t, toy_sum(y->t, toy_mul(y->t, a, a))), MO_OK);
    assert_int_equal(mo_context_release(y->ctx), MO_STATE);
    assert_failed(y->ctx, MO_STATE, PARTS("1 tape, 1 tensor ([2])"));
}
