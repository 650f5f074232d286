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

/* ---- ops and functions that break what a descriptor promises ---- */

static bool nothing_shape(mo_call *c) {
    return mo_ok(c->ctx);
}

static bool ninth_shape(mo_call *c) {
    return mo_call_output(c, *(const int *)c->attributes, MO_F64, 0, NULL);
}

static bool older_shape(mo_call *c) {
    c->out[0] = c->in[0];
    return true;
}

/* Saves as many by-products as its options say. */
static void saving_forward(mo_call *c) {
    for (int i = 0; i < *(const int *)c->attributes; i++)
        mo_call_save(c, mo_scalar(c->t, MO_F64, i));
    mo_tensor_fill(c->out[0], 1);
}

static void null_save_forward(mo_call *c) {
    mo_call_save(c, NULL);
}

static void far_input_forward(mo_call *c) {
    mo_call_dense(c, *(const int *)c->attributes);
}

static bool far_real_shape(mo_call *c) {
    return mo_call_real(c, *(const int *)c->attributes, 60) && mo_call_output(c, 0, MO_F64, 0, NULL);
}

TEST_OF(counts_that_an_op_gives_are_bounded, toy *y) {
    mo_tensor *a = toy_leaf(y, 2, 3);
    mo_op op = {.name = "odd", .attributes_size = sizeof(int), .shape = toy_sum_shape, .forward = saving_forward};
    assert_false(mo_is_null(mo_apply(y->t, &op, &a, 1, &(int){4})));
    assert_true(mo_is_null(mo_apply(y->t, &op, &a, 1, &(int){5})));
    assert_failed(y->ctx, MO_INVALID, PARTS("odd: more than 4 by-products saved; got [2] float64"));
    mo_apply(y->t, &op, &a, 1, &(int){60});
    assert_failed(y->ctx, MO_INVALID, PARTS("odd: more than 4 by-products saved"));
    op.forward = null_save_forward;
    mo_apply(y->t, &op, &a, 1, NULL);
    assert_failed(y->ctx, MO_INVALID, PARTS("odd: by-product 0 is null"));
    op.forward = far_input_forward;
    for (int i = -1; i < 100; i += 41) {
        mo_apply(y->t, &op, &a, 1, &i);
        assert_int_equal(mo_ok(y->ctx), i == 0);
        mo_clear_error(y->ctx);
        op.shape = ninth_shape;
        mo_apply(y->t, &op, &a, 1, &i);
        assert_failed(y->ctx, MO_INVALID, PARTS("odd: output", "declared, expected 0 to 0"));
        op.shape = far_real_shape;
        mo_apply(y->t, &op, &a, 1, &i);
        assert_failed(y->ctx, MO_INVALID, PARTS("odd: inputs", "asked for, expected 0 to 0"));
        op.shape = toy_sum_shape;
    }
    op.shape = nothing_shape;
    assert_true(mo_is_null(mo_apply(y->t, &op, &a, 1, NULL)));
    assert_failed(y->ctx, MO_INVALID, PARTS("odd: output 0 is null"));
    op.shape = older_shape;
    mo_apply(y->t, &op, (mo_tensor *[]){toy_add(y->t, a, a)}, 1, NULL);
    assert_failed(y->ctx, MO_INVALID, PARTS("odd: output 0 was made before the call"));
    mo_apply(y->t, &op, &a, 1, NULL);
    assert_failed(y->ctx, MO_MISMATCH, PARTS("odd: output 0 belongs to no tape"));
    mo_tensor *out[16];
    for (int n_out = -1; n_out < 10; n_out += 10) {
        op = (mo_op){.name = "odd", .n_out = n_out, .shape = toy_shape, .forward = toy_add_forward};
        mo_apply_all(y->t, &op, &a, 1, NULL, out);
        assert_failed(y->ctx, MO_INVALID, PARTS("apply: op odd has 1 inputs and", "outputs, expected at most"));
        assert_true(mo_is_null(mo_apply(y->t, &op, &a, 1, NULL)));
        mo_clear_error(y->ctx);
    }
    mo_apply(y->t, &(mo_op){.name = "odd", .shape = toy_sum_shape}, &a, 1, NULL);
    assert_failed(y->ctx, MO_INVALID, PARTS("apply: op odd lacks a name or a forward"));
    mo_apply(y->t, &(mo_op){.name = "odd", .forward = toy_add_forward, .attributes_size = 4096}, &a, 1, NULL);
    assert_failed(y->ctx, MO_INVALID, PARTS("apply: the options of op odd are 4096 bytes"));
    mo_apply(y->t, &toy_mul_op, &a, -1, NULL);
    assert_failed(y->ctx, MO_INVALID, PARTS("toy_mul: -1 inputs"));
    assert_values(toy_add(y->t, a, a), 4, 6);
}

/* A by-product that the user owns, or that an op before has made, stays theirs when backward consumes the node. */
static mo_tensor *by_product;

static void saves_theirs_forward(mo_call *c) {
    mo_call_save(c, by_product);
    mo_tensor_fill(c->out[0], 1);
}

static void spread_vjp(mo_vjp *v) {
    v->in_bar[0] = mo_full(v->t, MO_F64, 1, (int64_t[]){2}, at(v->saved[0], 0));
}

TEST_OF(by_products_of_others_stay_theirs, toy *y) {
    mo_tensor *a = toy_leaf(y, 2, 3), *own = toy_leaf(y, 5, 7),
              *made = mo_from(y->t, MO_F64, 1, (int64_t[]){2}, (double[]){8, 9});
    HELD(mo_tape) *other = mo_tape_create(y->ctx, MO_RECORD);
    const mo_op op = {.name = "saving", .shape = toy_sum_shape, .forward = saves_theirs_forward, .vjp = spread_vjp};
    for (int i = 0; i < 2; i++) {
        by_product = i ? made : own;
        mo_zero_grad(a);
        assert_int_equal(mo_backward(y->t, mo_apply(y->t, &op, &a, 1, NULL)), MO_OK);
        assert_values(mo_grad_of(a), i ? 8 : 5, i ? 8 : 5);
        assert_values(by_product, i ? 8 : 5, i ? 9 : 7);
    }
    by_product = mo_scalar(other, MO_F64, 1);
    mo_apply(y->t, &op, &a, 1, NULL);
    assert_failed(y->ctx, MO_MISMATCH, PARTS("saving: by-product 0 belongs to another tape"));
}

typedef struct meddling {
    enum { RESET, RELEASE, CLOSE, JUMP } how;
    mo_tape *t;
    mo_scope scope;
    jmp_buf back;
} meddling;

static meddling meddle;

static void do_meddle(void) {
    if (meddle.how == RESET)
        mo_tape_reset(meddle.t);
    else if (meddle.how == RELEASE)
        mo_tape_release(meddle.t);
    else if (meddle.how == CLOSE)
        mo_scope_close(meddle.t, &meddle.scope, NULL, 0);
    else
        longjmp(meddle.back, 1);
}

static bool meddling_shape(mo_call *c) {
    do_meddle();
    return toy_sum_shape(c);
}

static void meddling_forward(mo_call *c) {
    mo_tensor_fill(c->out[0], 1);
    do_meddle();
}

static void meddling_vjp(mo_vjp *v) {
    v->in_bar[0] = v->in[0];
    mo_tape_set_mode(v->t, MO_RECORD);
    do_meddle();
}

static mo_op meddling_op(int where) {
    mo_op op = {.name = "meddling", .shape = toy_sum_shape, .forward = toy_sum_forward, .vjp = meddling_vjp};
    if (where == 0)
        op.shape = meddling_shape;
    if (where == 1)
        op.forward = meddling_forward;
    return op;
}

TEST_OF(functions_of_an_op_cannot_free_what_they_run_on, toy *y) {
    static const char *const told[] = {"tape_reset: called in meddling, which is running on this tape",
        "tape_release: called in meddling, which is running on this tape",
        "scope_close: the scope cannot be closed: it was opened outside the function that is running on the tape"};
    mo_tensor *a = toy_leaf(y, 2, 3);
    for (int where = 0; where < 3; where++)
        for (int how = RESET; how <= CLOSE; how++) {
            const mo_op op = meddling_op(where);
            meddle = (meddling){.how = (typeof(meddle.how))how, .t = y->t, .scope = mo_scope_open(y->t)};
            mo_tensor *before = toy_mul(y->t, a, a), *loss = mo_apply(y->t, &op, &before, 1, NULL);
            assert_int_equal(mo_backward(y->t, loss), MO_STATE);
            assert_failed(y->ctx, MO_STATE, PARTS(told[how]));
            if (where < 2)
                assert_values(before, 4, 9);
            mo_zero_grad(a);
            mo_tape_reset(y->t);
            assert_int_equal(mo_backward(y->t, toy_sum(y->t, toy_mul(y->t, a, a))), MO_OK);
            assert_values(mo_grad_of(a), 4, 6);
            mo_zero_grad(a);
        }
}

/* As a C++ exception leaves it. */
TEST_OF(a_function_left_by_a_jump_is_mended_by_a_reset, toy *y) {
    mo_tensor *a = toy_leaf(y, 2, 3);
    for (volatile int where = 0; where < 3; where++) {
        const mo_op op = meddling_op(where);
        meddle = (meddling){.how = JUMP, .t = y->t};
        if (!setjmp(meddle.back)) {
            mo_backward(y->t, mo_apply(y->t, &op, (mo_tensor *[]){toy_mul(y->t, a, a)}, 1, NULL));
            fail_msg("no jump");
        }
        mo_tape_reset(y->t);
        expect_ok(y->ctx);
        assert_int_equal(mo_tape_mode(y->t), MO_RECORD);
        assert_int_equal(mo_backward(y->t, toy_sum(y->t, toy_mul(y->t, a, a))), MO_OK);
        assert_values(mo_grad_of(a), 4, 6);
        assert_int_equal(mo_tape_nodes(y->t), 2);
        mo_zero_grad(a);
    }
}

static mo_tensor *foreign;

static void foreign_vjp(mo_vjp *v) {
    v->in_bar[0] = foreign;
}

TEST_OF(a_vjp_gives_tensors_of_its_own_tape, toy *y) {
    mo_tensor *a = toy_leaf(y, 2, 3);
    HELD(mo_tape) *other = mo_tape_create(y->ctx, MO_RECORD);
    HELD(mo_context) *ctx = mo_context_create(&(mo_context_options){.threads = 1});
    HELD(mo_tensor) *apart = toy_leaf_apart(ctx, 1, 1);
    const mo_op op = {.name = "foreign", .shape = toy_sum_shape, .forward = toy_sum_forward, .vjp = foreign_vjp};
    for (int flags = 0; flags <= MO_CREATE_GRAPH; flags++) {
        mo_tensor *loss = mo_apply(y->t, &op, &a, 1, NULL), *g;
        foreign = mo_full(other, MO_F64, 1, (int64_t[]){2}, 1);
        assert_int_equal(mo_grad(y->t, &loss, NULL, 1, &a, &g, 1, (unsigned)flags), MO_MISMATCH);
        assert_failed(y->ctx, MO_MISMATCH, PARTS("the vjp of foreign gave a tensor of another tape for input 0"));
        mo_tape_reset(y->t);
        loss = mo_apply(y->t, &op, &a, 1, NULL);
        foreign = apart;
        mo_grad(y->t, &loss, NULL, 1, &a, &g, 1, (unsigned)flags);
        assert_failed(y->ctx, MO_MISMATCH, PARTS("the vjp of foreign gave a tensor of another context for input 0"));
        mo_tape_reset(y->t);
        loss = mo_apply(y->t, &op, &a, 1, NULL);
        foreign = a; /* a leaf belongs to no tape */
        assert_int_equal(mo_grad(y->t, &loss, NULL, 1, &a, &g, 1, (unsigned)flags), MO_OK);
        assert_values(g, 2, 3);
        mo_tape_reset(y->t);
    }
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
