/* tests/tensor/test_status.c - the first error stays, and its message is one line whatever names it repeats. */
#include "tests/scratch.h"

static void a_message_is_one_line(void **state) {
    scratch *s = *state;
    mo_fail(s->ctx, MO_INVALID, "head %s: no such \"%s\"", "a\nb\r", "\033[31m\tc\x7F \xC3\xA9");
    assert_string_equal(mo_context_status(s->ctx)->message, "head a?b?: no such \"?[31m?c? \xC3\xA9\"");
    mo_clear_error(s->ctx);
}

static void the_first_error_stays(void **state) {
    scratch *s = *state;
    mo_fail(s->ctx, MO_IO, "first");
    mo_fail(s->ctx, MO_MEMORY, "second");
    assert_failed(s->ctx, MO_IO, PARTS("first"));
    assert_true(mo_ok(s->ctx));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_message_is_one_line),
        cmocka_unit_test(the_first_error_stays),
    };
    return cmocka_run_group_tests(tests, scratch_create, scratch_release);
}
