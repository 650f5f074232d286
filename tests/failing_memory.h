/* tests/failing_memory.h - makes every allocation of the library and of jansson fail in turn, first only that one, then
 * all from it on. Checks that the functions which a scenario calls report it and free what they took, and that the
 * context can be used again.
 *
 * The linker replaces the C library's functions by __wrap_* (--wrap) in the objects of the library and of the test. If
 * a scenario has more allocations than its `most`, or than MANY with the argument `every`, a random selection of that
 * size fails. */
#ifndef FAILING_MEMORY_H
#define FAILING_MEMORY_H

#include "tests/scratch.h"

#include <errno.h>
#include <jansson.h>

enum { MANY = 1000 };

/* ---- allocations that fail ---- */

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t n, size_t bytes);
void *__real_realloc(void *old, size_t bytes);
void *__real_aligned_alloc(size_t alignment, size_t bytes);
char *__real_strdup(const char *text);
void __real_free(void *memory);

/* Allocations since the count began; those that are not freed yet; the number of the first one that fails (0: none). */
static long count, live, fail_at;
static bool fail_always, every;

static bool must_fail(void) {
    count++;
    if (!fail_at || (fail_always ? count < fail_at : count != fail_at))
        return false;
    errno = ENOMEM;
    return true;
}

static void *counted(void *memory) {
    live += memory != NULL;
    return memory;
}

void *__wrap_malloc(size_t bytes) {
    return must_fail() ? NULL : counted(__real_malloc(bytes));
}

void *__wrap_calloc(size_t n, size_t bytes) {
    return must_fail() ? NULL : counted(__real_calloc(n, bytes));
}

void *__wrap_aligned_alloc(size_t alignment, size_t bytes) {
    return must_fail() ? NULL : counted(__real_aligned_alloc(alignment, bytes));
}

char *__wrap_strdup(const char *text) {
    return must_fail() ? NULL : counted(__real_strdup(text));
}

void *__wrap_realloc(void *old, size_t bytes) {
    if (must_fail())
        return NULL;
    void *grown = __real_realloc(old, bytes);
    return old ? grown : counted(grown);
}

void __wrap_free(void *memory) {
    live -= memory != NULL;
    __real_free(memory);
}

/* ---- scenarios ---- */

/* A scenario goes on after a failure, frees all that it made, and returns a figure that is not 0. */
typedef double scenario(mo_context *ctx, scratch *s);

typedef struct named_scenario {
    const char *name;
    scenario *f;
    long most;
} named_scenario;

/* Runs a scenario with allocation k failing: it must give the expected figure or an error, free all memory, and leave
 * the context usable. Returns the number of allocations. */
static long run_scenario(const named_scenario *of, scratch *s, long k, bool always, double expected) {
    long before = live;
    mo_context *ctx = mo_context_create(&(mo_context_options){.threads = 1});
    assert_true(mo_ok(ctx));
    int64_t bytes = mo_context_counters(ctx).bytes_live;
    count = 0;
    fail_at = k;
    fail_always = always;
    double value = of->f(ctx, s);
    fail_at = 0;
    long n = count;
    if (mo_ok(ctx) && !(value == expected))
        fail_msg("%s, allocation %ld: no error, and %.17g, expected %.17g", of->name, k, value, expected);
    if (!mo_ok(ctx) && mo_context_status(ctx)->code != MO_MEMORY)
        fail_msg("%s, allocation %ld: '%s', expected lack of memory", of->name, k, mo_context_status(ctx)->message);
    mo_clear_error(ctx);
    if (mo_context_counters(ctx).bytes_live > bytes + (1 << 22)) /* the backend may keep scratch memory */
        fail_msg("%s, allocation %ld: %lld bytes kept", of->name, k, (long long)mo_context_counters(ctx).bytes_live);
    if (k && of->f(ctx, s) != expected)
        fail_msg("%s, allocation %ld: afterwards '%s'", of->name, k, mo_context_status(ctx)->message);
    assert_int_equal(mo_context_release(ctx), MO_OK);
    if (live != before)
        fail_msg("%s, allocation %ld: %ld allocations are not freed", of->name, k, live - before);
    return n;
}

static void fail_allocations(scratch *s, const named_scenario *all, int n_scenarios) {
    uint64_t x = 1;
    for (int i = 0; i < n_scenarios; i++) {
        mo_context *ctx = mo_context_create(&(mo_context_options){.threads = 1});
        double expected = all[i].f(ctx, s);
        if (!mo_ok(ctx) || !(expected * expected > 0))
            fail_msg("%s: %g, '%s'", all[i].name, expected, mo_context_status(ctx)->message);
        assert_int_equal(mo_context_release(ctx), MO_OK);
        long n = run_scenario(&all[i], s, 0, false, expected), most = every ? MANY : all[i].most;
        long runs = n < most ? n : most;
        for (long r = 1; r <= runs; r++) {
            x = x * 6364136223846793005u + 1442695040888963407u;
            long k = n <= most ? r : 1 + (long)((x >> 33) % (uint64_t)n);
            run_scenario(&all[i], s, k, false, expected);
            run_scenario(&all[i], s, k, true, expected);
        }
        print_message("%ld of %ld allocations failed: %s\n", runs, n, all[i].name);
        assert_true(runs > 0);
    }
}

static int run_with_failing_memory(int argc, char **argv, CMUnitTestFunction test, const char *name) {
    const struct CMUnitTest tests[] = {{.name = name, .test_func = test}};
    every = argc > 1 && !strcmp(argv[1], "every");
    json_set_alloc_funcs(__wrap_malloc, __wrap_free);
    return cmocka_run_group_tests(tests, scratch_create, scratch_release);
}

#endif
