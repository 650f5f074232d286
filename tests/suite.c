/* tests/suite.c - the tests of a program, in the order in which they were added. */
#include "tests/suite.h"

enum { MOST_TESTS = 64, MOST_TYPES = 4 };

/* The tests so far; cmocka skips the entries without a function. */
static struct CMUnitTest tests[MOST_TESTS];
static const char *arguments[MOST_TESTS];
static size_t count;
static fixtures program;

void add_test(const char *name, const char *argument, CMUnitTestFunction test, CMFixtureFunction create,
    CMFixtureFunction release, const fixtures *all) {
    assert_true(count < MOST_TESTS);
    arguments[count] = argument;
    tests[count++] = (struct CMUnitTest){name, test, create, release, NULL};
    program = *all;
}

/* The fixtures of types, and of the type of which each test gets its own. */
static struct typed {
    const char *type;
    bool once;
    fixtures of;
} typed[MOST_TYPES];
static const struct typed *own;

void add_fixtures(const char *type, bool once, fixtures of) {
    int i = 0;
    while (i < MOST_TYPES - 1 && typed[i].type && strcmp(typed[i].type, type) != 0)
        i++;
    assert_true(!typed[i].type || strcmp(typed[i].type, type) == 0);
    typed[i] = (struct typed){type, once, of};
}

static int end_own(void **state) {
    return end_test(state, &own->of);
}

static void find_fixtures(size_t test) {
    for (int i = 0; i < MOST_TYPES && typed[i].type; i++) {
        size_t n = strlen(typed[i].type);
        if (strncmp(arguments[test], typed[i].type, n) != 0 || arguments[test][n] != ' ')
            continue;
        if (typed[i].once) {
            program = typed[i].of;
            return;
        }
        assert_true(!own || own == &typed[i]);
        own = &typed[i];
        tests[test].setup_func = own->of.create;
        tests[test].teardown_func = end_own;
    }
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
    bool bare = !program.create;
    for (size_t i = 0; bare && i < count; i++)
        if (!tests[i].setup_func)
            find_fixtures(i);
    int failed = cmocka_run_group_tests(tests, program.create, release_program);
    return failed + release_failed;
}

__attribute__((weak)) int main(void) {
    return run_suite();
}
