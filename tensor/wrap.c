/* tensor/wrap.c - tensors onto memory of the caller. */
#include "tensor/objects.h"

#include <inttypes.h>

/* Returns the bytes from the first element to the end of the last one, or -1 after raising. */
static int64_t wrapped_bytes(mo_context *ctx, const mo_view *m, int64_t n) {
    int64_t last = 0, size = (int64_t)mo_dtype_size(m->dtype), step;
    for (int i = 0; i < m->ndim; i++) {
        if (m->stride[i] < 0) {
            mo_fail(ctx, MO_INVALID, "wrap: axis %d has stride %" PRId64 ", expected 0 or more", i, m->stride[i]);
            return -1;
        }
        if (n && (__builtin_mul_overflow(m->shape[i] - 1, m->stride[i], &step) ||
                     __builtin_add_overflow(last, step, &last) || last >= INT64_MAX / 8)) {
            mo_fail(ctx, MO_MEMORY, "wrap: axis %d with stride %" PRId64 " reaches too far", i, m->stride[i]);
            return -1;
        }
    }
    return n ? (last + 1) * size : 0;
}

/* Checks the caller's view. Returns the bytes that it spans, or -1 after raising. */
static int64_t check_memory(mo_context *ctx, const mo_view *m) {
    if (!mo_ok(ctx))
        return -1;
    if (!m)
        mo_fail(ctx, MO_INVALID, "wrap: no memory given");
    else if ((unsigned)m->dtype >= MO_DTYPES)
        mo_fail(ctx, MO_INVALID, "wrap: unknown dtype %d", (int)m->dtype);
    int64_t n = mo_ok(ctx) ? mo_shape_numel(ctx, "wrap", m->ndim, m->shape) : -1;
    int64_t bytes = n < 0 ? -1 : wrapped_bytes(ctx, m, n);
    if (bytes > 0 && !m->data)
        mo_fail(ctx, MO_INVALID, "wrap: a NULL buffer, expected %" PRId64 " bytes", bytes);
    else if (bytes > 0 && (uintptr_t)m->data % mo_dtype_size(m->dtype))
        mo_fail(
            ctx, MO_INVALID, "wrap: memory at %p, expected a multiple of %zu bytes", m->data, mo_dtype_size(m->dtype));
    return mo_ok(ctx) ? bytes : -1;
}

mo_tensor *mo_tensor_wrap(mo_context *ctx, const mo_view *memory, mo_done done, void *state) {
    int64_t bytes = check_memory(ctx, memory);
    mo_storage *S = bytes < 0 ? NULL : mo_host_alloc(ctx, sizeof *S);
    if (!S)
        return mo_null_tensor(ctx);
    *S = (mo_storage){.ctx = ctx, .data = memory->data, .bytes = (size_t)bytes, .references = 1, .borrowed = true};
    mo_tensor *T = mo_tensor_onto(ctx, S, memory->dtype, memory->ndim, memory->shape);
    if (mo_is_null(T))
        return T;
    for (int i = 0; i < T->ndim; i++)
        T->stride[i] = memory->stride[i];
    S->done = done; /* set only on success: after a failure the memory stays the caller's */
    S->done_state = state;
    return T;
}
