/* tests/fuzz/fuzz.h - the entry point of a fuzz target for libFuzzer, and checks that must hold for any bytes.
 *
 * Under meson a target is linked to fuzz_driver.c; fuzz/run_long builds all with libFuzzer. One target alone, then:
 *     ninja -C build/fuzz tests/fuzz_npz && build/fuzz/tests/fuzz_npz -max_total_time=60 CORPUS tests/arrays */
#ifndef FUZZ_H
#define FUZZ_H

#include "tensor/inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The number of inputs that were read without an error; fuzz_driver.c defines it too. */
__attribute__((weak)) int64_t fuzz_accepted;

/* Ends the program, saying what is wrong. */
_Noreturn static inline void fuzz_fail(const char *what, const char *message) {
    fprintf(stderr, "%s: '%s'\n", what, message);
    abort();
}

/* Fails unless the reader succeeded, or raised an error of one line. */
static inline void fuzz_check_status(mo_context *ctx, bool succeeded) {
    const char *message = mo_context_status(ctx)->message;
    if (succeeded != mo_ok(ctx))
        fuzz_fail(succeeded ? "an error beside a result" : "no result and no error", message);
    if (!succeeded && (!message[0] || strchr(message, '\n')))
        fuzz_fail("expected one line", message);
    fuzz_accepted += succeeded;
}

static inline mo_context *fuzz_start(int64_t *live) {
    mo_context *ctx = mo_context_create(&(mo_context_options){.threads = 1});
    if (!mo_ok(ctx))
        abort();
    *live = mo_context_counters(ctx).bytes_live;
    return ctx;
}

/* As fuzz_check_status; also fails unless all memory is back, and releases the context. */
static inline void fuzz_finish(mo_context *ctx, int64_t live, bool succeeded) {
    fuzz_check_status(ctx, succeeded);
    if (mo_context_counters(ctx).bytes_live != live)
        fuzz_fail("memory is not given back", mo_context_status(ctx)->message);
    mo_context_release(ctx);
}

#endif
