/* tests/autograd/test_debug.c - debug mode: a freed tensor is named however long ago it was freed, errors name the
 * caller's line, and results keep their bits. Memory of a tape is poisoned under AddressSanitizer in either mode.
 * tests/train/test_wrong_uses.c has more uses of what is gone. */
#include "ops/ops.h"
#include "tests/toy_ops.h"

extern int __asan_address_is_poisoned(const volatile void *byte) __attribute__((weak));

static int debug_create(void **state) {
    toy *y = calloc(1, sizeof *y);
    y->ctx = mo_context_create(&(mo_context_options){.threads = 1, .debug = true});
    y->empty = mo_context_counters(y->ctx).bytes_live;
    y->t = mo_tape_create(y->ctx, MO_RECORD);
    *state = y;
    return y->ctx && y->t && mo_ok(y->ctx) ? 0 : -1;
}

static const fixtures around_each = {debug_create, toy_release}, ordinary = {toy_create, toy_release};

TEST_OF(a_value_of_a_scope_is_named_after_later_ones, toy *y) {
    mo_tensor *a = toy_leaf(y, 2, 3), *stale = NULL;
    for (int i = 0; i < 10; i++) {
        mo_scope scope = mo_scope_open(y->t);
        mo_tensor *b = i ? toy_add(y->t, a, a) : toy_mul(y->t, a, a);
        stale = i ? stale : b;
        assert_true(!i || b != stale);
        mo_scope_close(y->t, &scope, NULL, 0);
    }
    toy_sum(y->t, stale);
    assert_failed(y->ctx, MO_STATE, PARTS("made by toy_mul was freed by mo_scope_close"));
}

/* A message of any length ends with the caller's line. */
TEST_AROUND(errors_name_the_callers_line, &ordinary) {
    toy *y = *state;
    mo_tensor *a = toy_leaf(y, 2, 3), *one = mo_scalar(y->t, MO_F64, 1);
    toy_mul(MO_HERE(y->t), a, one);
    char here[100], text[3000];
    snprintf(here, sizeof here, "; last call on a tape: %s:%d", __FILE__, __LINE__ - 2);
    assert_failed(y->ctx, MO_INVALID, PARTS("toy_mul: expected equal sizes", here));
    memset(text, 'x', 2999);
    text[2999] = 0;
    mo_fail(y->ctx, MO_INVALID, "%s", text);
    assert_failed(y->ctx, MO_INVALID, PARTS("xxxxx", here));
    mo_tensor *loss = toy_sum(MO_HERE(y->t), toy_mul(y->t, a, a));
    snprintf(here, sizeof here, "backward: toy_sum at %s:%d was consumed", __FILE__, __LINE__ - 1);
    mo_backward(y->t, loss);
    mo_backward(y->t, loss);
    assert_failed(y->ctx, MO_STATE, PARTS(here));
    mo_tape_at(y->t, NULL, 0);
    toy_mul(y->t, a, one);
    assert_null(strstr(mo_context_status(y->ctx)->message, "last call"));
    mo_clear_error(y->ctx);
}

static double gradient_of_a_step(bool debug, double x) {
    HELD(mo_context) *ctx = mo_context_create(&(mo_context_options){.threads = 1, .debug = debug});
    HELD(mo_tensor) *a = mo_require_grad(mo_tensor_create_from(ctx, MO_F64, 2, (int64_t[]){1, 1}, &x));
    HELD(mo_tape) *t = mo_tape_create(ctx, MO_RECORD);
    for (int i = 0; i < 3; i++, mo_tape_reset(t))
        assert_int_equal(mo_backward(t, mo_logdet(t, mo_add(t, mo_gram(t, a), mo_exp(t, a)))), MO_OK);
    return mo_item(mo_grad_of(a));
}

BARE_TEST(results_keep_their_bits) {
    for (int i = 0; i < 20; i++) {
        double plain = gradient_of_a_step(false, 0.3 + i), debug = gradient_of_a_step(true, 0.3 + i);
        assert_memory_equal(&plain, &debug, sizeof plain);
    }
}

static void expect_poison(toy *y) {
    if (!__asan_address_is_poisoned)
        skip("only AddressSanitizer poisons memory");
    mo_tensor *T = mo_full(y->t, MO_F64, 1, (int64_t[]){3}, 7), *kept = mo_full(y->t, MO_F64, 1, (int64_t[]){3}, 8);
    const double *x = mo_tensor_view(T).data, *k = mo_tensor_view(kept).data;
    assert_false(__asan_address_is_poisoned(x + 2));
    assert_true(__asan_address_is_poisoned(x + 3)); /* padding after the 24 bytes */
    mo_scope scope = mo_scope_open(y->t);
    const double *inner = mo_tensor_view(mo_full(y->t, MO_F64, 1, (int64_t[]){3}, 9)).data;
    mo_scope_close(y->t, &scope, NULL, 0);
    assert_true(__asan_address_is_poisoned(inner));
    assert_false(__asan_address_is_poisoned(k));
    mo_tape_reset(y->t);
    assert_true(__asan_address_is_poisoned(x) && __asan_address_is_poisoned(k));
    const double *again = mo_tensor_view(mo_full(y->t, MO_F64, 1, (int64_t[]){3}, 7)).data;
    assert_true(!__asan_address_is_poisoned(again) && again[2] == 7);
}

TEST(memory_without_a_value_is_poisoned) {
    expect_poison(*state);
}

TEST_AROUND(so_it_is_in_an_ordinary_context, &ordinary) {
    expect_poison(*state);
}
