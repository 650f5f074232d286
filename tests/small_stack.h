/* tests/small_stack.h - a hop stack of three nodes: tests can damage each of its bytes. */
#ifndef SMALL_STACK_H
#define SMALL_STACK_H

#include "train/features/stack_file.h"

#include <string.h>

enum { SMALL_STACK_HOPS = 3 /* at most */ };

/* Reads the stack from the folder, or makes it there unless read_only. Returns a number that depends on all of its
 * values; 0 on failure. */
static inline double small_stack_of(mo_context *ctx, const char *folder, const char *key, int hops, void *read_only) {
    mo_stack_file s = {
        .on_disk = true, .cache = {.ctx = ctx, .folder = folder}, .key = key, .ndim = 3, .shape = {hops, 3, 2}};
    mo_tensor *rows = mo_stack_open(&s);
    double sum = 0;
    float x[6 * SMALL_STACK_HOPS];
    for (int i = 0; i < 6 * hops; i++)
        x[i] = (float)(i + 1);
    if (mo_ok(ctx) && !s.whole && read_only)
        mo_fail(ctx, MO_FORMAT, "not read");
    if (mo_ok(ctx) && !s.whole) {
        memcpy(mo_tensor_view(rows).data, x, 6 * (size_t)hops * sizeof *x);
        s.quality[0] = 0.5;
    }
    rows = mo_stack_close(&s);
    if (mo_ok(ctx) && mo_tensor_read(rows, x, 6 * (size_t)hops * sizeof *x) == MO_OK)
        for (int i = 0; i < 6 * hops; i++)
            sum += (i + 1) * x[i] + s.quality[0];
    mo_tensor_release(rows);
    return sum;
}

static inline double open_small_stack(mo_context *ctx, const char *folder, const char *key, int hops) {
    return small_stack_of(ctx, folder, key, hops, NULL);
}

#endif
