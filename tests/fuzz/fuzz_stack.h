/* tests/fuzz/fuzz_stack.h - a small hop stack, for fuzz_stack.c and make_seeds.c. */
#ifndef FUZZ_STACK_H
#define FUZZ_STACK_H

#include "fuzz.h"
#include "tests/small_stack.h"

static const char fuzz_stack_key[] = "format 1 graph 0123 dim 3";

static inline void fuzz_stack_name(char file[MO_CACHE_NAME + 16]) {
    mo_cache_name(fuzz_stack_key, file);
    strcat(file, MO_STACK_ENDING);
}

/* Returns a number that depends on all values of the stack; 0 on failure. */
static inline double fuzz_open_stack(mo_context *ctx, const char *folder) {
    return open_small_stack(ctx, folder, fuzz_stack_key, 2);
}

#endif
