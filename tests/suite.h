/* tests/suite.h - the tests of a program. A function TEST(its_claim) { ... } runs without being listed, in the order of
 * the file. If a file defines `around_all` (set-up and tear-down of the program) or `around_each` (of each TEST, not of
 * a BARE_TEST), they are called; the state that they set is `*state` in the test. */
#ifndef SUITE_H
#define SUITE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

typedef struct fixtures {
    CMFixtureFunction create, release;
} fixtures;

static const fixtures around_all, around_each;

/* Adds a test to those of the program. */
void add_test(const char *name, CMUnitTestFunction test, const fixtures *each, const fixtures *all);
/* Runs the tests; returns 0 if none failed. It is the default main of a program. */
int run_suite(void);

#define TEST_AROUND(name, each)                                                                                        \
    static void name(void **state);                                                                                    \
    __attribute__((constructor)) static void add_##name(void) {                                                        \
        add_test(#name, name, each, &around_all);                                                                      \
    }                                                                                                                  \
    static void name(void **state)
#define TEST(name) TEST_AROUND(name, &around_each)
/* A test to which the state is given as a parameter: TEST_WITH(scratch *s, its_claim) { ... }. */
#define TEST_WITH(parameter, name)                                                                                     \
    static void name##_with(parameter);                                                                                \
    TEST(name) {                                                                                                       \
        name##_with(*state);                                                                                           \
    }                                                                                                                  \
    static void name##_with(parameter)
#define BARE_TEST(name) TEST_AROUND(name, &(const fixtures){0})

#endif
