/* tests/device.h - the device on which tests run. */
#ifndef TEST_DEVICE_H
#define TEST_DEVICE_H

#include "tensor/inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns the device that MOCHI_DEVICE names: "cpu" (default) or "cuda". */
static inline mo_device test_device(void) {
    const char *name = getenv("MOCHI_DEVICE");
    return name && strcmp(name, "cuda") == 0 ? MO_CUDA : MO_CPU;
}

/* Whether MOCHI_BRIEF asks for the shorter lists of a test: the emulated device is thousands of times slower. Only the
 * suite `long` runs the whole lists on it. */
static inline bool test_is_brief(void) {
    return getenv("MOCHI_BRIEF") != NULL;
}

/* Returns a context on the device; ends the program as skipped if there is none. */
static inline mo_context *device_context_of(mo_device device, int threads) {
    mo_context *ctx = mo_context_create(&(mo_context_options){.device = device, .threads = threads});
    if (ctx && mo_ok(ctx))
        return ctx;
    printf("skipped: %s\n", ctx ? mo_context_status(ctx)->message : "out of memory");
    exit(77); /* meson's exit code for a skipped test */
}

static inline mo_context *device_context(mo_device device) {
    return device_context_of(device, 1);
}

/* Set-up of a program: ends it as skipped if there is no CUDA device. */
static inline int need_cuda(void **state) {
    (void)state;
    return mo_context_release(device_context(MO_CUDA)) == MO_OK ? 0 : -1;
}

/* Returns a context on CUDA in a math mode, for which MOCHI_CUDA_LIBRARIES is `libraries`. */
static inline mo_context *cuda_context(const char *libraries, mo_math math) {
    setenv("MOCHI_CUDA_LIBRARIES", libraries, 1);
    mo_context *ctx = mo_context_create(&(mo_context_options){.device = MO_CUDA, .math = math});
    unsetenv("MOCHI_CUDA_LIBRARIES");
    return ctx;
}

/* Ends the program as skipped unless the device is the emulated one, whose memory and failures a test can plan. */
static inline void need_emulated_device(void) {
    char text[256];
    mo_context_release(device_context(MO_CUDA));
    mo_device_describe(MO_CUDA, text, sizeof text);
    if (strstr(text, "emulated"))
        return;
    printf("skipped: memory and failures of %s cannot be planned\n", text);
    exit(77);
}

/* Sets an environment variable of the emulated device. */
static inline void plan_device(const char *variable, int64_t value) {
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)value);
    setenv(variable, text, 1);
}

#endif
