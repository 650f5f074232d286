/* tests/drawn.h - tensors of normal random numbers, and a tape on the device of the test. */
#ifndef TEST_DRAWN_H
#define TEST_DRAWN_H

#include "tests/device.h"
#include "tests/scratch.h"

/* Returns normal random numbers. The same values in both float types: those of float32 are rounded. */
static inline mo_tensor *drawn(mo_tape *t, mo_dtype real, uint64_t stream, int ndim, const int64_t *shape) {
    int64_t n = 1;
    for (int i = 0; i < ndim; i++)
        n *= shape[i];
    double *x = test_memory((size_t)n * sizeof *x + 1);
    mo_random r = mo_random_at(23, MO_PURPOSE_CHECK, stream);
    for (int64_t i = 0; i < n; i++)
        x[i] = mo_random_normal(&r);
    return mo_cast(t, mo_from(t, MO_F64, ndim, shape, x), real);
}

/* Returns a leaf of such numbers. */
static inline mo_tensor *drawn_leaf(mo_tape *t, mo_dtype real, uint64_t stream, int ndim, const int64_t *shape) {
    return mo_require_grad(drawn(t, real, stream, ndim, shape));
}

/* Set-up and tear-down of a program: *state is a tape on the device that MOCHI_DEVICE names. */
static inline int open_device(void **state) {
    *state = mo_tape_create(device_context(test_device()), MO_RECORD);
    return 0;
}

static inline int close_device(void **state) {
    mo_context *ctx = mo_tape_context(*state);
    mo_tape_release(*state);
    return mo_context_release(ctx) == MO_OK ? 0 : -1;
}

FIXTURES_OF(mo_tape, true, open_device, close_device)

#endif
