/* tensor/poison.h - tells AddressSanitizer which bytes of an arena hold no value (library internal).
 *
 * The two functions belong to the sanitizer's runtime. A program that was compiled with it has them, whether the
 * library was or not, so that a pointer kept over a reset is found in the user's own kernels; elsewhere both are NULL.
 */
#ifndef MO_POISON_H
#define MO_POISON_H

#include <stddef.h>

extern void __asan_poison_memory_region(const volatile void *bytes, size_t n) __attribute__((weak));
extern void __asan_unpoison_memory_region(const volatile void *bytes, size_t n) __attribute__((weak));

/* Touching the bytes ends the program with a report from now on. */
static inline void poison(const void *bytes, size_t n) {
    if (__asan_poison_memory_region)
        __asan_poison_memory_region(bytes, n);
}

static inline void unpoison(const void *bytes, size_t n) {
    if (__asan_unpoison_memory_region)
        __asan_unpoison_memory_region(bytes, n);
}

#endif
