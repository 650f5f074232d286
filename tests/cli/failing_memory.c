/* tests/cli/failing_memory.c - preloaded into a program, makes chosen allocations fail.
 *
 * Allocations are counted from the start of main, in all libraries except those that map memory themselves and oneDNN:
 * it ends the process if it has no memory for its code, for which the library looks before (tensor/cpu/fast/onednn.c).
 * FAIL_AT=k: the k-th allocation fails; with FAIL_ALWAYS all later ones fail too. COUNT_TO=FILE: a program that ends by
 * exit writes its count to FILE. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* glibc's own names for the functions that are replaced below. */
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t n, size_t bytes);
void *__libc_realloc(void *old, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);

static atomic_long count;
static atomic_bool counts;
static long fail_at;
static bool fail_always;

static bool must_fail(void) {
    if (!counts)
        return false;
    long k = ++count;
    if (!fail_at || (fail_always ? k < fail_at : k != fail_at))
        return false;
    errno = ENOMEM;
    return true;
}

__attribute__((visibility("default"))) void *malloc(size_t bytes) {
    return must_fail() ? NULL : __libc_malloc(bytes);
}

__attribute__((visibility("default"))) void *calloc(size_t n, size_t bytes) {
    return must_fail() ? NULL : __libc_calloc(n, bytes);
}

__attribute__((visibility("default"))) void *realloc(void *old, size_t bytes) {
    return must_fail() ? NULL : __libc_realloc(old, bytes);
}

__attribute__((visibility("default"))) void *aligned_alloc(size_t alignment, size_t bytes) {
    return must_fail() ? NULL : __libc_memalign(alignment, bytes);
}

/* oneDNN's two ways to memory: C++'s operator new, and this function, which no other library calls here. */
__attribute__((visibility("default"))) void *_Znwm(size_t bytes) {
    return __libc_malloc(bytes);
}

typedef int (*entry)(int argc, char **argv, char **environment);
typedef int (*starter)(entry, int, char **, void (*)(void), void (*)(void), void (*)(void), void *);

static entry program;

static int counted_program(int argc, char **argv, char **environment) {
    const char *at = getenv("FAIL_AT");
    fail_at = at ? atol(at) : 0;
    fail_always = getenv("FAIL_ALWAYS") != NULL;
    unsetenv("LD_PRELOAD"); /* not for programs that this one starts */
    counts = true;
    return program(argc, argv, environment);
}

__attribute__((destructor)) static void write_count(void) {
    const char *path = getenv("COUNT_TO");
    char text[32];
    counts = false;
    int file = path ? open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600) : -1;
    snprintf(text, sizeof text, "%ld", (long)count);
    if (file >= 0 && (write(file, text, strlen(text)) < 0 || close(file) != 0))
        _exit(126);
}

__attribute__((visibility("default"))) int __libc_start_main(
    entry main, int argc, char **argv, void (*init)(void), void (*fini)(void), void (*loader_fini)(void), void *stack) {
    void *symbol = dlsym(RTLD_NEXT, "__libc_start_main");
    starter start;
    memcpy(&start, &symbol, sizeof start);
    program = main;
    return start(counted_program, argc, argv, init, fini, loader_fini, stack);
}
