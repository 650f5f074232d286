/* tests/suite.c - the tests of a program, in the order in which they were added. */
#include "tests/suite.h"

enum { MOST_TESTS = 64 };

/* The tests so far; cmocka skips the entries without a function. */
static struct CMUnitTest tests[MOST_TESTS];
static size_t count;
static fixtures program;

void add_test(const char *name, CMUnitTestFunction test, const fixtures *each, const fixtures *all) {
    assert_true(count < MOST_TESTS);
    tests[count++] = (struct CMUnitTest){name, test, each->create, each->release, NULL};
    program = *all;
}

int run_suite(void) {
    return cmocka_run_group_tests(tests, program.create, program.release);
}

__attribute__((weak)) int main(void) {
    return run_suite();
}
