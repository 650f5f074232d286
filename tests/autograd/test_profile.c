/* tests/autograd/test_profile.c - the profiler counts every op once, in its place. */
#include "autograd/inspect.h"
#include "tests/toy_ops.h"

#include <time.h>

/* Returns the profile's entry of an op in forward or backward, in the vjp of another op or none; fails if there is
 * none. */
static mo_profile_entry entry(const mo_context *ctx, const char *op, bool backward, const char *vjp_of) {
    mo_profile_entry e[256];
    int n = mo_profile_entries(ctx, e, 256);
    for (int i = 0; i < n; i++)
        if (!strcmp(e[i].op->name, op) && e[i].backward == backward &&
            (vjp_of ? e[i].vjp_of && !strcmp(e[i].vjp_of->name, vjp_of) : !e[i].vjp_of))
            return e[i];
    fail_msg("no entry of %s, backward %d, vjp of %s", op, backward, vjp_of ? vjp_of : "none");
    return e[0];
}

static mo_tensor *vector(mo_context *ctx, int64_t n) {
    return mo_require_grad(mo_tensor_create(ctx, MO_F64, 1, &n));
}

TEST_OF(calls_flops_and_bytes_are_counted, toy *y) {
    HELD(mo_tensor) *a = vector(y->ctx, 1000);
    mo_profile_start(y->ctx);
    for (int i = 0; i < 3; i++)
        toy_mul(y->t, a, a);
    mo_tensor *s = toy_sum(y->t, a);
    mo_apply(y->t, &toy_spread_op, &s, 1, &(int64_t){1000});
    mo_profile_stop(y->ctx);
    mo_profile_entry mul = entry(y->ctx, "toy_mul", false, NULL), sum = entry(y->ctx, "toy_sum", false, NULL);
    assert_int_equal(mul.calls, 3);
    assert_true(mul.flops == 3 * 1000); /* one per output element, as the op does not declare a number */
    assert_true(mul.bytes == 3 * 3 * 1000 * 8);
    assert_true(sum.flops == 1 && sum.bytes == 1001 * 8);
    mo_profile_entry view = entry(y->ctx, "toy_spread", false, NULL);
    assert_int_equal(view.calls, 1);
    assert_true(view.bytes == 0 && view.flops == 0);
}

static double hundred(const mo_call *c) {
    return 100;
}

TEST_OF(the_op_says_its_flops_and_broadcasts_count_once, toy *y) {
    mo_op op = toy_mul_op;
    op.flops = hundred;
    HELD(mo_tensor) *a = vector(y->ctx, 1000);
    mo_tensor *s = toy_sum(y->t, a);
    mo_tensor *wide = mo_apply(y->t, &toy_spread_op, &s, 1, &(int64_t){1000});
    mo_profile_start(y->ctx);
    mo_apply(y->t, &op, (mo_tensor *[]){wide, a}, 2, NULL);
    mo_profile_entry e = entry(y->ctx, "toy_mul", false, NULL);
    assert_true(e.flops == 100);
    assert_true(e.bytes == (1 + 1000 + 1000) * 8);
}

TEST_OF(forward_and_backward_are_apart, toy *y) {
    HELD(mo_tensor) *a = vector(y->ctx, 10);
    mo_profile_start(y->ctx);
    assert_int_equal(mo_backward(y->t, toy_sum(y->t, toy_mul(y->t, a, a))), MO_OK);
    mo_profile_stop(y->ctx);
    assert_int_equal(entry(y->ctx, "toy_mul", false, NULL).calls, 1);
    assert_int_equal(entry(y->ctx, "toy_mul", true, "toy_mul").calls, 2);
    assert_int_equal(entry(y->ctx, "toy_spread", true, "toy_sum").calls, 1);
    mo_profile_entry sum = entry(y->ctx, "accumulate", true, NULL); /* the contributions of both factors, and the sum
                                                                     * into the leaf's gradient */
    assert_int_equal(sum.calls, 2);
    assert_true(sum.flops == 20 && sum.bytes == 2 * 3 * 10 * 8);
    mo_profile_entry e[16];
    int n = mo_profile_entries(y->ctx, e, 16);
    for (int i = 1; i < n; i++)
        assert_true(e[i - 1].backward < e[i].backward ||
                    (e[i - 1].backward == e[i].backward && e[i - 1].seconds >= e[i].seconds));
}

static void wait_ms(double ms) {
    nanosleep(&(struct timespec){.tv_nsec = (long)(1e6 * ms)}, NULL);
}

static void inner_forward(mo_call *c) {
    wait_ms(20);
    mo_tensor_fill(c->out[0], 1);
}

static const mo_op inner_op = {.name = "inner", .n_in = 1, .shape = toy_shape, .forward = inner_forward};

static void outer_forward(mo_call *c) {
    wait_ms(5);
    mo_apply(c->t, &inner_op, c->in, 1, NULL);
    mo_apply(c->t, &inner_op, c->in, 1, NULL);
    mo_tensor_fill(c->out[0], 1);
}

static const mo_op outer_op = {.name = "outer", .n_in = 1, .shape = toy_shape, .forward = outer_forward};

TEST_OF(time_is_counted_once, toy *y) {
    HELD(mo_tensor) *a = vector(y->ctx, 10);
    mo_profile_start(y->ctx);
    mo_apply(y->t, &outer_op, &a, 1, NULL);
    wait_ms(10);
    mo_profile_stop(y->ctx);
    double whole = mo_profile_seconds(y->ctx);
    mo_profile_entry inner = entry(y->ctx, "inner", false, NULL), outer = entry(y->ctx, "outer", false, NULL);
    assert_true(inner.seconds >= 0.040 && outer.seconds >= 0.005);
    assert_true(outer.seconds < inner.seconds); /* excludes the time of the two inner calls */
    assert_true(inner.seconds + outer.seconds <= whole - 0.010);
    assert_true(mo_profile_seconds(y->ctx) == whole); /* stopped */
}

static bool no_adjoint(mo_vjp *v) {
    (void)v;
    return false;
}

/* Calls an op that takes 40 ms, then a gradient whose op has an adjoint that leaves it to the vjp. */
static void differentiating_forward(mo_call *c) {
    static mo_op square;
    square = toy_mul_op;
    square.adjoint = no_adjoint;
    mo_apply(c->t, &inner_op, c->in, 1, NULL);
    mo_apply(c->t, &inner_op, c->in, 1, NULL);
    mo_tape_set_mode(c->t, MO_RECORD);
    mo_tensor *x = mo_require_grad(mo_tape_tensor(c->t, MO_F64, 1, (int64_t[]){10})), *grad;
    mo_tensor_fill(x, 1);
    mo_tensor *y = mo_apply(c->t, &square, (mo_tensor *[]){x, x}, 2, NULL);
    assert_int_equal(mo_grad(c->t, &y, NULL, 1, &x, &grad, 1, 0), MO_OK);
    mo_tensor_fill(c->out[0], 1);
}

static const mo_op differentiating_op = {
    .name = "differentiating", .n_in = 1, .shape = toy_shape, .forward = differentiating_forward};

TEST_OF(an_adjoint_that_does_nothing_hides_no_time, toy *y) {
    HELD(mo_tensor) *a = vector(y->ctx, 10);
    mo_profile_start(y->ctx);
    mo_apply(y->t, &differentiating_op, &a, 1, NULL);
    mo_profile_stop(y->ctx);
    assert_true(entry(y->ctx, "inner", false, NULL).seconds >= 0.040);
    assert_true(entry(y->ctx, "differentiating", false, NULL).seconds < 0.040); /* without the two inner calls */
}

TEST_OF(off_counts_nothing_and_start_begins_at_zero, toy *y) {
    HELD(mo_tensor) *a = vector(y->ctx, 10);
    assert_int_equal(mo_profile_entries(y->ctx, NULL, 0), 0);
    assert_true(mo_profile_seconds(y->ctx) == 0);
    mo_profile_stop(y->ctx);
    toy_mul(y->t, a, a);
    assert_int_equal(mo_profile_entries(y->ctx, NULL, 0), 0);
    mo_profile_start(y->ctx);
    toy_mul(y->t, a, a);
    mo_profile_stop(y->ctx);
    toy_mul(y->t, a, a);
    assert_int_equal(entry(y->ctx, "toy_mul", false, NULL).calls, 1);
    mo_profile_start(y->ctx);
    toy_add(y->t, a, a);
    assert_int_equal(mo_profile_entries(y->ctx, NULL, 0), 1);
}

TEST_OF(failed_ops_are_not_counted, toy *y) {
    HELD(mo_tensor) *a = vector(y->ctx, 10), *b = vector(y->ctx, 11);
    mo_profile_start(y->ctx);
    toy_mul(y->t, a, b);
    assert_failed(y->ctx, MO_INVALID, PARTS("toy_mul"));
    assert_int_equal(mo_profile_entries(y->ctx, NULL, 0), 0);
}

TEST_OF(any_number_of_ops_fits, toy *y) {
    static mo_op ops[200];
    static char names[200][8];
    HELD(mo_tensor) *a = vector(y->ctx, 10);
    mo_profile_start(y->ctx);
    for (int i = 0; i < 200; i++) {
        ops[i] = toy_mul_op;
        snprintf(names[i], sizeof names[i], "op%d", i);
        ops[i].name = names[i];
        mo_apply(y->t, &ops[i], (mo_tensor *[]){a, a}, 2, NULL);
    }
    assert_int_equal(mo_profile_entries(y->ctx, NULL, 0), 200);
    assert_int_equal(entry(y->ctx, "op199", false, NULL).calls, 1);
}
