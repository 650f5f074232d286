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

/* What lives until the test ends; the newest is the first of the list. */
typedef struct lasting {
    void *object;
    void (*release)(void *object);
    struct lasting *next;
} lasting;

static lasting *newest;

void *until_end(void *object, void (*release)(void *object)) {
    lasting *l = malloc(sizeof *l);
    assert_non_null(l);
    *l = (lasting){object, release, newest};
    newest = l;
    return object;
}

void *test_memory(size_t bytes) {
    void *memory = calloc(1, bytes + 1);
    assert_non_null(memory);
    return until_end(memory, free);
}

/* Releases the objects that have this release; NULL: all. */
static void release_lasting(void (*release)(void *object)) {
    for (lasting **at = &newest; *at;) {
        lasting l = **at;
        if (release && l.release != release) {
            at = &(*at)->next;
            continue;
        }
        free(*at);
        *at = l.next;
        l.release(l.object);
    }
}

void free_test_memory(void) {
    release_lasting(free);
}

int end_test(void **state, const fixtures *each) {
    release_lasting(NULL);
    return each->release ? each->release(state) : 0;
}

int run_suite(void) {
    return cmocka_run_group_tests(tests, program.create, program.release);
}

__attribute__((weak)) int main(void) {
    return run_suite();
}
