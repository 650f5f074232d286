/* train/features/row_stack.c - rows of a mapped file are memory like any other, which the system reads from the disk
 * when it is touched, a page at a time: so the rows that will be read are announced first, all of them, and the disk
 * can queue them. Rows of another context, in host memory, are copied to a device. */
#include "train/features/row_stack.h"

#include "autograd/tape.h"
#include "ops/inside.h"
#include "tensor/platform.h"

#include <stdlib.h>
#include <string.h>

enum { PAGE = 4096, ALIGNMENT = 256 };

mo_row_stack mo_row_stack_of(const mo_tensor *X, int axis) {
    mo_row_stack s = {.outer = 1,
        .rows = X->shape[axis],
        .width = mo_dtype_size(X->dtype),
        .data = mo_tensor_view(X).data,
        .mapped = X->storage->mapped};
    for (int i = 0; i < axis; i++)
        s.outer *= X->shape[i];
    for (int i = axis + 1; i < X->ndim; i++)
        s.width *= (size_t)X->shape[i];
    return s;
}

/* The number of consecutive rows from row[i] on. */
static int64_t run_length(const int64_t *row, int64_t i, int64_t n) {
    int64_t m = 1;
    while (i + m < n && row[i + m] == row[i + m - 1] + 1)
        m++;
    return m;
}

/* Announces m consecutive rows. */
static void announce(const mo_row_stack *s, int64_t first, int64_t m) {
    const char *at = s->data + (size_t)first * s->width, *page = (const char *)((uintptr_t)at / PAGE * PAGE);
    madvise((void *)(uintptr_t)page, (size_t)(at - page) + (size_t)m * s->width, MADV_WILLNEED);
}

void mo_announce_rows(const mo_row_stack *s, const int64_t *row, int64_t n) {
    for (int64_t o = 0; s->mapped && o < s->outer; o++)
        for (int64_t i = 0, m; i < n; i += m) {
            m = run_length(row, i, n);
            announce(s, o * s->rows + row[i], m);
        }
}

void mo_read_rows(const mo_row_stack *s, const int64_t *row, int64_t n, char *out) {
    for (int64_t o = 0; o < s->outer; o++)
        for (int64_t i = 0, m; i < n; i += m) {
            m = run_length(row, i, n);
            memcpy(out + (size_t)(o * n + i) * s->width, s->data + (size_t)(o * s->rows + row[i]) * s->width,
                (size_t)m * s->width);
        }
}

/* ---- listed rows ---- */

/* Makes room for `bytes` bytes; grows by at least half of the old room. */
static bool reserve(mo_context *ctx, mo_pinned *buffer, size_t bytes) {
    size_t more = buffer->bytes + buffer->bytes / 2;
    if (bytes <= buffer->bytes)
        return true;
    mo_unpin(ctx, buffer);
    return mo_pin(ctx, bytes > more ? bytes : more, buffer);
}

void mo_make_ready(
    mo_context *ctx, const mo_tensor *const *array, int arrays, const int64_t *row, int64_t n, mo_ready_rows *ready) {
    mo_row_stack stack[MO_MOST_PIECES];
    size_t bytes = 0;
    ready->n = 0;
    for (int i = 0; i < arrays; i++)
        if (array[i]->ctx != ctx) {
            int k = ready->n++;
            stack[k] = mo_row_stack_of(array[i], array[i]->ndim - 2);
            ready->array[k] = array[i];
            ready->offset[k] = bytes;
            bytes += (size_t)(stack[k].outer * n) * stack[k].width;
            bytes = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        }
    if (ready->n && mo_sent(ctx, &ready->buffer) == MO_OK && reserve(ctx, &ready->buffer, bytes))
        for (int k = 0; k < ready->n; k++)
            mo_read_rows(&stack[k], row, n, (char *)ready->buffer.data + ready->offset[k]);
}

/* ---- rows as a tensor of the tape ---- */

/* A tape of X's context: t, or one for bring_to. */
static mo_tape *tape_of(mo_tape *t, const mo_tensor *X) {
    return X->ctx == t->ctx ? t : mo_tape_create(X->ctx, MO_EVAL);
}

/* Returns V of the tape `own` as a tensor of t: V itself, or a copy of a CPU's V, after which `own` is released. */
static mo_tensor *bring_to(mo_tape *t, mo_tape *own, mo_tensor *V) {
    if (own == t)
        return V;
    if (!own) {
        mo_fail(t->ctx, MO_MEMORY, "episode: out of memory for a tape of the rows' context");
        return mo_null_tensor(t->ctx);
    }
    mo_context *ctx = V->ctx;
    V = mo_contiguous(own, V);
    mo_tensor *T = mo_ok(ctx) ? mo_tape_tensor(t, V->dtype, V->ndim, V->shape) : mo_null_tensor(t->ctx);
    if (mo_ok(ctx))
        mo_tensor_write(T, mo_tensor_view(V).data, (size_t)mo_numel(V) * mo_dtype_size(V->dtype));
    else
        mo_fail(t->ctx, mo_context_status(ctx)->code, "%s", mo_context_status(ctx)->message);
    mo_clear_error(ctx);
    mo_tape_release(own);
    return T;
}

/* The listed rows of X [.., E, w], gathered by the op on a tape of X's context. */
static mo_tensor *gather(mo_tape *t, mo_tensor *X, const int64_t *row, int64_t n) {
    mo_row_stack s = mo_row_stack_of(X, X->ndim - 2);
    int64_t total = s.outer * n, *at = mo_host_array(X->ctx, total, sizeof *at), shape[MO_MAX_AXES];
    memcpy(shape, X->shape, sizeof shape);
    shape[X->ndim - 2] = n;
    for (int64_t i = 0; at && i < total; i++)
        at[i] = i / n * s.rows + row[i % n];
    mo_tensor *index = at ? mo_from(t, MO_I64, 1, &total, at) : mo_null_tensor(X->ctx);
    free(at);
    mo_tensor *flat = mo_reshape(t, X, 2, (int64_t[]){s.outer * s.rows, shape[X->ndim - 1]});
    return mo_reshape(t, mo_gather_rows(t, flat, index), X->ndim, shape);
}

mo_tensor *mo_gather_listed(mo_tape *t, mo_tensor *X, const int64_t *row, int64_t n, const mo_ready_rows *ready) {
    int64_t shape[MO_MAX_AXES];
    int piece = 0;
    if (!mo_ok(t->ctx))
        return mo_null_tensor(t->ctx);
    while (ready && piece < ready->n && ready->array[piece] != X)
        piece++;
    if (ready && piece < ready->n) {
        memcpy(shape, X->shape, sizeof shape);
        shape[X->ndim - 2] = n;
        mo_tensor *T = mo_tape_tensor(t, X->dtype, X->ndim, shape);
        mo_send(T, &ready->buffer, ready->offset[piece]);
        return T;
    }
    mo_row_stack s = mo_row_stack_of(X, X->ndim - 2);
    if (!ready)
        mo_announce_rows(&s, row, n);
    mo_tape *own = tape_of(t, X);
    return bring_to(t, own, gather(own, X, row, n));
}

mo_tensor *mo_fetch_range(mo_tape *t, mo_tensor *X, int axis, int64_t first, int64_t last) {
    if (!mo_ok(t->ctx))
        return mo_null_tensor(t->ctx);
    mo_row_stack s = mo_row_stack_of(X, axis);
    for (int64_t o = 0; s.mapped && o < s.outer; o++)
        announce(&s, o * s.rows + first, last - first);
    mo_tape *own = tape_of(t, X);
    return bring_to(t, own, mo_slice(own, X, MO_AXIS(axis), first, last));
}

mo_tensor *mo_fetch_block(mo_tape *t, mo_tensor *X, int64_t outer, int64_t first, int64_t last) {
    if (!mo_ok(t->ctx))
        return mo_null_tensor(t->ctx);
    mo_row_stack s = mo_row_stack_of(X, 1);
    if (s.mapped)
        announce(&s, outer * s.rows + first, last - first);
    mo_tape *own = tape_of(t, X);
    mo_tensor *V = mo_slice(own, mo_slice(own, X, MO_AXIS(0), outer, outer + 1), MO_AXIS(1), first, last);
    return bring_to(t, own, mo_reshape(own, V, 2, (int64_t[]){last - first, mo_dim(X, 2)}));
}
