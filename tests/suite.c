/* tests/suite.c - the tests of a program, in the order in which they were added. */
#include "tests/suite.h"

enum { MOST_TESTS = 64 };

/* The tests so far; cmocka skips the entries without a function. */
static struct CMUnitTest tests[MOST_TESTS];
static size_t count;
static fixtures program;

void add_test(const char *name, CMUnitTestFunction test, CMFixtureFunction create, CMFixtureFunction release,
    const fixtures *all) {
    assert_true(count < MOST_TESTS);
    tests[count++] = (struct CMUnitTest){name, test, create, release, NULL};
    program = *all;
}

static bool skipped;

void skip_test(const char *file, int line, const char *why, ...) {
    char text[300];
    va_list arguments;
    va_start(arguments, why);
    vsnprintf(text, sizeof text, why, arguments);
    va_end(arguments);
    print_message("skipped: %s\n", text);
    skipped = true;
    _skip(file, line);
    abort(); /* _skip jumps out of the test */
}

bool a_test_was_skipped(void) {
    return skipped;
}

/* The memory of the running test: blocks, each with the next behind this head. */
typedef struct block {
    _Alignas(max_align_t) struct block *next;
} block;

static block *newest;

void *test_memory(size_t bytes) {
    block *b = calloc(1, sizeof *b + bytes + 1);
    assert_non_null(b);
    b->next = newest;
    newest = b;
    return b + 1;
}

void free_test_memory(void) {
    while (newest) {
        block *next = newest->next;
        free(newest);
        newest = next;
    }
}

int end_test(void **state, const fixtures *each) {
    int failed = each->release ? each->release(state) : 0;
    free_test_memory();
    return failed;
}

static int release_failed; /* which cmocka prints, but does not count */

static int release_program(void **state) {
    release_failed = program.release && program.release(state);
    return release_failed;
}

int run_suite(void) {
    int failed = cmocka_run_group_tests(tests, program.create, release_program);
    return failed + release_failed;
}

__attribute__((weak)) int main(void) {
    return run_suite();
}
