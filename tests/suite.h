/* tests/suite.h - the tests of a program. A function TEST(its_claim) { ... } runs without being listed, in the order of
 * the file. If a file defines `around_all` (set-up and tear-down of the program) or `around_each` (of each TEST, not of
 * a BARE_TEST), they are called; the state that they set is `*state` in the test, or the argument of a TEST_OF. A
 * TEST_OF in a file that sets up nothing has the FIXTURES_OF its argument's type. */
#ifndef SUITE_H
#define SUITE_H

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* cmocka.h needs some of the headers above before it. */
#include <cmocka.h>

typedef struct fixtures {
    CMFixtureFunction create, release;
} fixtures;

static const fixtures around_all, around_each;

/* Adds a test to those of the program. */
void add_test(const char *name, const char *argument, CMUnitTestFunction test, CMFixtureFunction create,
    CMFixtureFunction release, const fixtures *all);
/* Makes these the fixtures of a type, for the whole program if `once`, else for each test. */
void add_fixtures(const char *type, bool once, fixtures of);
/* Runs the tests; returns 0 if none failed. It is the default main of a program. */
int run_suite(void);

/* Skips the running test. The arguments say why, as those of printf; tools/test ends with the reasons. */
#undef skip
#define skip(...) skip_test(__FILE__, __LINE__, __VA_ARGS__)
_Noreturn void skip_test(const char *file, int line, const char *why, ...) __attribute__((format(printf, 3, 4)));
/* cmocka leaves a skipped test by a jump, so nothing that it holds is released: the program's tear-down must not count
 * what is left. */
bool a_test_was_skipped(void);

/* Returns zeroed memory that is freed when the running test ends, or at free_test_memory. */
void *test_memory(size_t bytes);
void free_test_memory(void);
/* Tear-down of a test: calls that of the file, then frees the memory. */
int end_test(void **state, const fixtures *each);

#define FIXTURES_OF(type, once, create, release)                                                                       \
    __attribute__((constructor)) static void add_fixtures_of_##type(void) {                                            \
        add_fixtures(#type, once, (fixtures){create, release});                                                        \
    }
#define ADD_TEST(name, argument, function, each)                                                                       \
    static int end_##name(void **state) {                                                                              \
        return end_test(state, each);                                                                                  \
    }                                                                                                                  \
    __attribute__((constructor)) static void add_##name(void) {                                                        \
        add_test(#name, argument, function, (each)->create, end_##name, &around_all);                                  \
    }
#define TEST_AROUND(name, each)                                                                                        \
    static void name(void **state);                                                                                    \
    ADD_TEST(name, "", name, each)                                                                                     \
    static void name(void **state)
#define TEST(name) TEST_AROUND(name, &around_each)
#define BARE_TEST(name) TEST_AROUND(name, &(const fixtures){0})
/* A test whose argument is the state: TEST_OF(its_claim, toy *y) { ... }. */
#define TEST_OF(name, argument)                                                                                        \
    static void name(argument);                                                                                        \
    static void run_##name(void **state) {                                                                             \
        name(*state);                                                                                                  \
    }                                                                                                                  \
    ADD_TEST(name, #argument, run_##name, &around_each)                                                                \
    static void name(argument)

#endif
