/* tests/models/test_head.c - what is checked on a head, its arguments and its result; every head of the library passes
 * the checker, whose own test is test_wrong_rules.c. */

#include "tests/scratch.h"

/* Applies the head to n_s = n_q = 4, d = 3, C = 2, and expects an error with this message. */
static void assert_refused(mo_context *ctx, const mo_head *head, int64_t n_q, const char *message) {
    HELD(mo_tape) *t = mo_tape_create(ctx, MO_EVAL);
    mo_tensor *Zs = mo_full(t, MO_F64, 2, (int64_t[]){4, 3}, 1), *Ys = mo_full(t, MO_F64, 2, (int64_t[]){4, 2}, 0.5);
    mo_tensor *Zq = mo_full(t, MO_F64, 2, (int64_t[]){n_q, 3}, 1);
    assert_true(mo_is_null(mo_head_apply(t, head, Zs, Ys, Zq, NULL)));
    assert_told(ctx, MO_INVALID, message);
}

TEST_OF(a_head_of_another_build_is_refused, mo_context *ctx) {
    mo_head old = mo_head_prototype_inner, small = mo_head_prototype_inner, empty = mo_head_prototype_inner;
    char message[160];
    old.abi = 1;
    snprintf(message, sizeof message, "head: abi 1 and size %zu, expected %d and %zu: rebuild it against this library",
        sizeof old, MO_HEAD_ABI, sizeof old);
    assert_refused(ctx, &old, 4, message);
    small.size = 8;
    snprintf(message, sizeof message, "head: abi %d and size 8, expected %d and %zu: rebuild it against this library",
        MO_HEAD_ABI, MO_HEAD_ABI, sizeof old);
    assert_refused(ctx, &small, 4, message);
    empty.logits = NULL;
    assert_refused(ctx, &empty, 4, "head prototype_inner: it has neither logits nor a linear fit nor a residual");
    mo_head untold = mo_head_prototype_inner;
    untold.n_samples = 3;
    assert_refused(ctx, &untold, 4, "head prototype_inner: 3 samples without a table of them");
}

TEST_OF(rows_and_labels_of_different_length_are_refused, mo_context *ctx) {
    HELD(mo_tape) *t = mo_tape_create(ctx, MO_EVAL);
    mo_tensor *Z = mo_full(t, MO_F64, 2, (int64_t[]){4, 3}, 1), *Ys = mo_full(t, MO_F64, 2, (int64_t[]){5, 2}, 1);
    assert_true(mo_is_null(mo_head_apply(t, &mo_head_prototype_inner, Z, Ys, Z, NULL)));
    assert_told(ctx, MO_INVALID,
        "head prototype_inner: expected support [.., n_s, d], labels "
        "[.., n_s, C], queries [.., n_q, d]; got [4, 3], [5, 2], "
        "[4, 3]");
    for (int k = 0; k < 2; k++) { /* labels (k = 0) or queries (k = 1) of another batch size */
        mo_tensor *in[3];
        for (int i = 0; i < 3; i++)
            in[i] = mo_full(t, MO_F64, 3, (int64_t[]){i == 1 + k ? 3 : 2, 4, 3}, 1);
        assert_true(mo_is_null(mo_head_apply(t, &mo_head_prototype_inner, in[0], in[1], in[2], NULL)));
        assert_failed(ctx, MO_INVALID, PARTS("head prototype_inner: expected support [.., n_s, d]"));
    }
}

TEST_OF(every_head_passes_the_checker, mo_context *ctx) {
    const mo_head *head;
    int failed = 0;
    for (int i = 0; (head = mo_head_at(i)); i++) {
        mo_check_result r = mo_check_head(ctx, head, head->order, 5);
        assert_true(mo_ok(ctx));
        assert_true(r.samples >= 2);
        failed += !r.pass;
        if (!r.pass)
            print_message("%s: %s\n", head->name, r.worst);
    }
    assert_int_equal(failed, 0);
}

TEST(heads_are_found_by_name) {
    assert_ptr_equal(mo_find_head("ridge"), &mo_head_ridge);
    assert_ptr_equal(mo_find_head("prototype_inner"), &mo_head_prototype_inner);
    assert_null(mo_find_head("Ridge"));
}
