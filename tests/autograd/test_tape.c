/* tests/autograd/test_tape.c - a tape keeps, releases and refuses the right tensors, at linear cost. */
#include "tests/toy_ops.h"

#include <time.h>

TEST_OF(eval_records_nothing, toy *y) {
    mo_tensor *a = toy_leaf(y, 2, 3);
    mo_tape_set_mode(y->t, MO_EVAL);
    mo_tensor *loss = toy_sum(y->t, toy_mul(y->t, a, a));
    assert_true(mo_item(loss) == 13);
    assert_int_equal(mo_tape_nodes(y->t), 0);
    assert_false(mo_needs_grad(loss));
    mo_backward(y->t, loss);
    assert_failed(y->ctx, MO_INVALID, PARTS("backward: the loss depends on nothing", "MO_EVAL"));
    mo_tape_set_mode(y->t, MO_RECORD);
    assert_int_equal(mo_backward(y->t, toy_sum(y->t, toy_mul(y->t, a, a))), MO_OK);
    assert_values(mo_grad_of(a), 4, 6);
}

TEST_OF(backward_consumes_its_nodes_by_name, toy *y) {
    mo_tensor *a = toy_leaf(y, 2, 3), *b = toy_mul(y->t, a, a), *g;
    mo_tensor *loss = toy_sum(y->t, b);
    assert_int_equal(mo_backward(y->t, loss), MO_OK);
    assert_true(mo_item(loss) == 13); /* backward keeps the loss's own value */
    assert_int_equal(mo_backward(y->t, loss), MO_STATE);
    assert_failed(y->ctx, MO_STATE, PARTS("toy_sum was consumed by an earlier backward", "MO_RETAIN"));
    toy_add(y->t, b, a);
    assert_failed(y->ctx, MO_STATE, PARTS("toy_add: the value of input 0, made by toy_mul was released", "mo_keep"));
    mo_stop_gradient(y->t, b);
    assert_failed(y->ctx, MO_STATE, PARTS("released"));
    assert_true(isnan(mo_item(b)) || !mo_ok(y->ctx));
    mo_clear_error(y->ctx);
    mo_grad(y->t, &b, NULL, 1, &a, &g, 1, 0);
    assert_failed(y->ctx, MO_STATE, PARTS("grad: output 0, made by toy_mul was released"));
    assert_values(mo_grad_of(a), 4, 6); /* the failed calls have added nothing */
}

TEST_OF(retain_lets_backward_run_again, toy *y) {
    mo_tensor *a = toy_leaf(y, 2, 3), *loss = toy_sum(y->t, toy_mul(y->t, a, a)), *g;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(mo_grad(y->t, &loss, NULL, 1, &a, &g, 1, MO_RETAIN), MO_OK);
        assert_values(g, 4, 6);
    }
    assert_int_equal(mo_grad(y->t, &loss, NULL, 1, &a, &g, 1, 0), MO_OK);
    mo_grad(y->t, &loss, NULL, 1, &a, &g, 1, 0);
    assert_failed(y->ctx, MO_STATE, PARTS("toy_sum was consumed by an earlier backward", "MO_RETAIN"));
}

TEST_OF(kept_values_survive_backward, toy *y) {
    mo_tensor *a = toy_leaf(y, 2, 3), *b = mo_keep(toy_mul(y->t, a, a)), *c = toy_mul(y->t, b, b);
    assert_int_equal(mo_backward(y->t, toy_sum(y->t, c)), MO_OK);
    assert_values(b, 4, 9);
    mo_tensor_read(c, (double[2]){0}, 16);
    assert_failed(y->ctx, MO_STATE, PARTS("released by backward: call mo_keep"));
}

TEST_OF(changed_values_are_found_by_name, toy *y) {
    HELD(mo_tensor) *p = mo_parameter(y->ctx, "weight", MO_F64, 1, (int64_t[]){2});
    mo_tensor *square = toy_mul(y->t, p, p), *sum = toy_add(y->t, p, p);
    mo_tensor_write(p, (double[]){1, 2}, 16);
    assert_int_equal(mo_backward(y->t, toy_sum(y->t, sum)), MO_OK); /* the rule of toy_add does not read p */
    mo_backward(y->t, toy_sum(y->t, square));
    assert_failed(y->ctx, MO_STATE, PARTS("backward: input 0 of toy_mul, weight was changed in place"));
    assert_values(mo_grad_of(p), 2, 2);
}

static bool wrong_shape(mo_call *c) {
    return mo_call_output(c, 0, MO_F64, 0, NULL);
}

static void wrong_forward(mo_call *c) {
    mo_tensor_fill(c->out[0], 1);
}

static void wrong_vjp(mo_vjp *v) {
    v->in_bar[0] = v->out_bar[0]; /* too small: a scalar instead of a vector */
}

TEST_OF(rules_that_break_the_contract_are_named, toy *y) {
    mo_op wrong = {.name = "wrong", .n_in = 1, .shape = wrong_shape};
    wrong.forward = wrong_forward;
    mo_tensor *a = toy_leaf(y, 2, 3);
    mo_backward(y->t, mo_apply(y->t, &wrong, &a, 1, NULL));
    assert_failed(y->ctx, MO_UNSUPPORTED, PARTS("backward: wrong has no vjp"));
    wrong.vjp = wrong_vjp;
    mo_backward(y->t, mo_apply(y->t, &wrong, &a, 1, NULL));
    assert_failed(y->ctx, MO_INVALID, PARTS("the vjp of wrong gave [] float64 for input 0", "expected [2] float64"));
    mo_apply(y->t, &wrong, (mo_tensor *[]){a, a}, 2, NULL);
    assert_failed(y->ctx, MO_INVALID, PARTS("wrong: 2 inputs, expected 1 to 1"));
}

TEST_OF(first_error_stops_all_later_ops, toy *y) {
    mo_tensor *a = toy_leaf(y, 2, 3), *one = mo_scalar(y->t, MO_F64, 1), *g;
    mo_tensor *bad = toy_mul(y->t, a, one), *after = toy_add(y->t, a, a);
    assert_true(mo_is_null(bad) && mo_is_null(after));
    assert_true(mo_is_null(toy_sum(y->t, toy_add(y->t, bad, a))));
    assert_int_equal(mo_backward(y->t, after), MO_INVALID);
    assert_int_equal(mo_grad(y->t, &after, NULL, 1, &a, &g, 1, 0), MO_INVALID);
    assert_int_equal(mo_tape_nodes(y->t), 0);
    mo_tape_reset(y->t);
    assert_failed(y->ctx, MO_INVALID, PARTS("toy_mul: expected equal sizes; got [2] float64, [] float64"));
    assert_values(toy_add(y->t, a, a), 4, 6);
}

/* Returns the seconds that Y = a + a + .. + a, with n additions, and its gradient take. */
static double chain_seconds(toy *y, mo_tensor *a, int64_t n) {
    struct timespec before, after;
    clock_gettime(CLOCK_MONOTONIC, &before);
    mo_tensor *x = a;
    for (int64_t i = 0; i < n; i++)
        x = toy_add(y->t, x, a);
    assert_int_equal(mo_tape_nodes(y->t), n);
    assert_int_equal(mo_backward(y->t, x), MO_OK);
    clock_gettime(CLOCK_MONOTONIC, &after);
    assert_true(mo_item(mo_grad_of(a)) == (double)(n + 1));
    mo_zero_grad(a);
    mo_tape_reset(y->t);
    return (double)(after.tv_sec - before.tv_sec) + 1e-9 * (double)(after.tv_nsec - before.tv_nsec);
}

TEST_OF(million_nodes_take_linear_time_and_no_stack, toy *y) {
    HELD(mo_tensor) *a = mo_require_grad(mo_tensor_create_from(y->ctx, MO_F64, 0, NULL, &(double){1}));
    chain_seconds(y, a, 1000000); /* the first run maps the memory */
    double eighth = chain_seconds(y, a, 125000), whole = chain_seconds(y, a, 1000000);
    whole = fmin(whole, chain_seconds(y, a, 1000000)); /* the smaller of two times, as other programs take processor
                                                        * time */
    print_message("1,000,000 nodes: %.2f s, an eighth of them: %.3f s\n", whole, eighth);
    assert_true(whole < 8 * 4 * eighth); /* the ratio is 8 if time is linear, 64 if it is quadratic */
}

BARE_TEST(backward_reuses_what_it_has_released) {
    HELD(mo_context) *ctx = mo_context_create(&(mo_context_options){.threads = 1});
    HELD(mo_tape) *t = mo_tape_create(ctx, MO_RECORD);
    int64_t n = 1 << 18, bytes = 8 * n;
    HELD(mo_tensor) *a = mo_require_grad(mo_tensor_create(ctx, MO_F64, 1, &n));
    mo_tensor *x = a;
    for (int i = 0; i < 32; i++)
        x = toy_mul(t, x, a);
    assert_int_equal(mo_backward(t, toy_sum(t, x)), MO_OK);
    int64_t peak = mo_context_counters(ctx).bytes_peak;
    print_message("32 products: %.1f times one value at the peak\n", (double)peak / (double)bytes);
    /* 32 values, the leaf and its gradient, a few gradients in between; the arena doubles its size, so up to twice as
     * much */
    assert_true(peak <= 2 * (32 + 8) * bytes);
}

TEST_OF(reset_frees_and_release_returns_everything, toy *y) {
    mo_tensor *a = toy_leaf_apart(y->ctx, 2, 3);
    int64_t before = mo_context_counters(y->ctx).bytes_live;
    mo_tape *t = mo_tape_create(y->ctx, MO_RECORD);
    mo_tensor *constant = mo_require_grad(mo_full(t, MO_F64, 1, (int64_t[]){2}, 3));
    mo_backward(t, toy_sum(t, toy_mul(t, constant, a)));
    mo_tape_reset(t);
    assert_int_equal(mo_tape_nodes(t), 0);
    assert_values(toy_mul(t, a, a), 4, 9);
    mo_tape_release(t);
    mo_tensor_release(mo_tensor_create(y->ctx, MO_F64, 0, NULL));
    assert_int_equal(mo_context_counters(y->ctx).bytes_live,
        before + (int64_t)(sizeof(struct mo_tensor) + sizeof(mo_storage) + 2 * sizeof(double)));
    mo_tensor_release(a); /* also frees its gradient, the difference above */
}

/* An invalid dtype is refused. */
TEST_OF(unknown_dtypes_are_refused_on_tapes, toy *y) {
    mo_dtype none = (mo_dtype)99;
    assert_true(mo_is_null(mo_tape_tensor(y->t, none, 0, NULL)));
    assert_failed(y->ctx, MO_INVALID, PARTS("tape: unknown dtype 99"));
    assert_true(mo_is_null(mo_full(y->t, none, 0, NULL, 1)));
    assert_failed(y->ctx, MO_INVALID, PARTS("tape: unknown dtype 99"));
    assert_true(mo_is_null(mo_from(y->t, none, 1, (int64_t[]){2}, (double[]){1, 2})));
    assert_failed(y->ctx, MO_INVALID, PARTS("tape: unknown dtype 99"));
    assert_true(mo_is_null(mo_scalar(y->t, (mo_dtype)-1, 1)));
    assert_failed(y->ctx, MO_INVALID, PARTS("tape: unknown dtype"));
}
