/* tests/device.h - the device that tests run on. */
#ifndef TEST_DEVICE_H
#define TEST_DEVICE_H

#include "tensor/inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The device of MOCHI_DEVICE: "cpu" (default) or "cuda". */
static inline mo_device test_device(void) {
    const char *name = getenv("MOCHI_DEVICE");
    return name && strcmp(name, "cuda") == 0 ? MO_CUDA : MO_CPU;
}

/* Whether tests take the shorter of their lists, by MOCHI_BRIEF: on the emulated device, where one launch takes the
 * time of thousands; the suite `long` takes the whole lists there. */
static inline bool test_is_brief(void) {
    return getenv("MOCHI_BRIEF") != NULL;
}

/* A context of the device; ends the program as skipped if there is none. */
static inline mo_context *device_context_of(mo_device device, int threads) {
    mo_context *ctx = mo_context_create(&(mo_context_options){.device = device, .threads = threads});
    if (ctx && mo_ok(ctx))
        return ctx;
    printf("skipped: %s\n", ctx ? mo_context_status(ctx)->message : "out of memory");
    exit(77); /* meson's code of a skipped test */
}

static inline mo_context *device_context(mo_device device) {
    return device_context_of(device, 1);
}

#endif
