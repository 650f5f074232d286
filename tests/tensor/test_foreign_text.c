/* tests/tensor/test_foreign_text.c - text from files, as quoted in messages. */
#include "tensor/files/foreign_text.h"
#include "tests/suite.h"

TEST(quoted_text_is_one_short_line_of_utf8) {
    char buffer[16];
    assert_string_equal(mo_quote("a\nb\tc\x7F", 6, buffer, sizeof buffer), "a?b?c?");
    assert_string_equal(mo_quote("\xC3\xA9", 2, buffer, sizeof buffer), "\xC3\xA9");
    assert_string_equal(mo_quote("\xF0\x9F\x98\x80", 4, buffer, sizeof buffer), "\xF0\x9F\x98\x80");
    assert_string_equal(mo_quote("x\xC3", 2, buffer, sizeof buffer), "x?");
    assert_string_equal(mo_quote("\xED\xA0\x80", 3, buffer, sizeof buffer), "???"); /* a surrogate */
    assert_string_equal(mo_quote("\xC0\x80", 2, buffer, sizeof buffer), "??");      /* overlong */
    assert_string_equal(mo_quote("\xE0\x80\x80", 3, buffer, sizeof buffer), "???"); /* overlong */
    assert_string_equal(mo_quote("\xE0\xA0\x80", 3, buffer, sizeof buffer), "\xE0\xA0\x80");
    assert_string_equal(mo_quote("\xED\x9F\xBF", 3, buffer, sizeof buffer), "\xED\x9F\xBF");
    assert_string_equal(mo_quote("\xF0\x80\x80\x80", 4, buffer, sizeof buffer), "????"); /* overlong */
    assert_string_equal(mo_quote("\xF4\x90\x80\x80", 4, buffer, sizeof buffer), "????"); /* beyond 10FFFF */
    assert_string_equal(mo_quote("\xF4\x8F\xBF\xBF", 4, buffer, sizeof buffer), "\xF4\x8F\xBF\xBF");
    assert_string_equal(mo_quote("\xE2\x82x", 3, buffer, sizeof buffer), "??x");
    assert_string_equal(mo_quote("0123456789abcde", 15, buffer, sizeof buffer), "0123456789abcde");
    assert_string_equal(mo_quote("0123456789abcdef", 16, buffer, sizeof buffer), "...456789abcdef");
    assert_string_equal(mo_quote("0123\xC3\xA9"
                                 "456789abcde",
                            17, buffer, sizeof buffer),
        "...456789abcde");
}
