/* tests/openmp_memory.h - counts what OpenMP asks malloc for: libgomp ends the process where malloc has nothing for it.
 * A program that includes this header has these malloc and memalign; OPENMP_IS_COUNTED tells whether they are there:
 * sanitizers have their own, and clang's OpenMP asks elsewhere. */
#ifndef OPENMP_MEMORY_H
#define OPENMP_MEMORY_H

#include "tests/suite.h"

#include <dlfcn.h>
#include <stdatomic.h>

#if defined(__GLIBC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define OPENMP_IS_COUNTED
#define SEEN_BY_LIBRARIES __attribute__((visibility("default")))

static atomic_bool openmp_watched;
static atomic_int openmp_asked;

void *__libc_malloc(size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);
SEEN_BY_LIBRARIES void *malloc(size_t bytes);
SEEN_BY_LIBRARIES void *memalign(size_t alignment, size_t bytes);

static void note_caller(void *caller) {
    Dl_info from;
    if (openmp_watched && dladdr(caller, &from) && strstr(from.dli_fname, "omp.so"))
        openmp_asked++;
}

void *malloc(size_t bytes) {
    note_caller(__builtin_return_address(0));
    return __libc_malloc(bytes);
}

void *memalign(size_t alignment, size_t bytes) {
    note_caller(__builtin_return_address(0));
    return __libc_memalign(alignment, bytes);
}

/* Counts from now on, after a look at whether a team of one is counted. */
static inline void watch_openmp(void) {
    openmp_watched = true;
    openmp_asked = 0;
#pragma omp parallel num_threads(1)
    atomic_thread_fence(memory_order_relaxed);
    assert_true(openmp_asked > 0);
    openmp_asked = 0;
}

/* Fails if OpenMP has asked for memory since watch_openmp. */
static inline void expect_nothing_asked(void) {
    openmp_watched = false;
    assert_int_equal(openmp_asked, 0);
}
#endif

#endif
