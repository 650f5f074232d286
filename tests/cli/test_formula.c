/* tests/cli/test_formula.c - formulas as MathML: which '<' is an angle, and that what cannot be read is refused. */
#include "tools/explain/lesson.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

/* The element of a formula, owned. */
static char *element_of(const char *formula) {
    char *text = NULL;
    size_t bytes = 0;
    FILE *page = open_memstream(&text, &bytes);
    put_math(page, formula, false);
    assert_int_equal(fclose(page), 0);
    return text;
}

static void a_sign_before_a_closing_bracket_is_no_angle(void **state) {
    (void)state;
    static const struct {
        const char *formula, *part;
        int angles;
    } uses[] = {
        {"sum_{j<i} L_ij", "<mo>&lt;</mo></mrow><mrow><mi>i</mi></mrow></mrow></mrow></msub>", 0},
        {"(a<b) c>", "<mo>&lt;</mo>", 0},
        {"a<b -> c", "<mo>&lt;</mo>", 0},
        {"a <b", "<mo>&lt;</mo>", 0},
        {"l = <X_bar, (A - B)^T> -> 0", "<mo>&#8594;</mo>", 1},
        {"<<u, v>, w>", "<mo>,</mo>", 2},
        {"sum_{j<i} <a, b>", "<mo>&lt;</mo>", 1},
        {"a <= b", "<mo>&#8804;</mo>", 0},
        {"x^", "<msup>", 0},
    };
    for (size_t i = 0; i < sizeof uses / sizeof *uses; i++) {
        char *text = element_of(uses[i].formula);
        int angles = 0;
        for (const char *at = text; (at = strstr(at, "&#10216;")); at++)
            angles++;
        if (strstr(text, "merror") || !strstr(text, uses[i].part) || angles != uses[i].angles)
            fail_msg("%s: %s", uses[i].formula, text);
        free(text);
    }
}

static void what_cannot_be_matched_is_refused(void **state) {
    (void)state;
    static const char *const formulas[] = {"(a", "a)", "[a", "a]", "x_{j", "j}", "(a]", "[a)", "(a [b) c]", "<a (b>",
        "\"text", "x_{(a}", "aVariableWhoseNameIsLongerThanAnyWord", "x1234567890123456"};
    for (size_t i = 0; i < sizeof formulas / sizeof *formulas; i++) {
        char *text = element_of(formulas[i]);
        if (!strstr(text, "<math><merror><mtext>") || !strstr(text, "</mtext></merror></math>"))
            fail_msg("%s: %s", formulas[i], text);
        free(text);
    }
    char long_one[3000];
    for (size_t i = 0; i + 2 < sizeof long_one; i += 2)
        memcpy(long_one + i, "+1", 3);
    char *text = element_of(long_one);
    assert_non_null(strstr(text, "<merror>"));
    assert_non_null(strstr(text, long_one)); /* nothing of it is swallowed */
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sign_before_a_closing_bracket_is_no_angle),
        cmocka_unit_test(what_cannot_be_matched_is_refused),
    };
    return cmocka_run_group_tests_name("formula", tests, NULL, NULL);
}
