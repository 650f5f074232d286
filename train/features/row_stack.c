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

/* The listed rows of an array of another context, as a tensor of the tape; shape [ndim]: theirs. */
static mo_tensor *copy_listed(
    mo_tape *t, const mo_row_stack *s, mo_dtype dtype, int ndim, const int64_t *shape, const int64_t *row, int64_t n) {
    mo_tensor *T = mo_tape_tensor(t, dtype, ndim, shape);
    size_t bytes = (size_t)(s->outer * n) * s->width;
    char *host = mo_ok(t->ctx) ? mo_host_array(t->ctx, (int64_t)bytes, 1) : NULL;
    if (host) {
        mo_announce_rows(s, row, n);
        mo_read_rows(s, row, n, host);
        mo_tensor_write(T, host, bytes);
    }
    free(host);
    return T;
}

/* The listed rows of an array of the tape's context, gathered by the op. */
static mo_tensor *gather_own(
    mo_tape *t, mo_tensor *X, const mo_row_stack *s, const int64_t *shape, const int64_t *row, int64_t n) {
    int64_t total = s->outer * n, *at = mo_host_array(t->ctx, total, sizeof *at), w = shape[X->ndim - 1];
    for (int64_t i = 0; at && i < total; i++)
        at[i] = i / n * s->rows + row[i % n];
    mo_tensor *index = at ? mo_from(t, MO_I64, 1, &total, at) : mo_null_tensor(t->ctx);
    free(at);
    mo_tensor *flat = mo_reshape(t, X, 2, (int64_t[]){s->outer * s->rows, w});
    return mo_reshape(t, mo_gather_rows(t, flat, index), X->ndim, shape);
}

mo_tensor *mo_gather_listed(mo_tape *t, mo_tensor *X, const int64_t *row, int64_t n, const mo_ready_rows *ready) {
    int64_t shape[MO_MAX_AXES];
    int piece = 0;
    if (!mo_ok(t->ctx))
        return mo_null_tensor(t->ctx);
    mo_row_stack s = mo_row_stack_of(X, X->ndim - 2);
    memcpy(shape, X->shape, sizeof shape);
    shape[X->ndim - 2] = n;
    if (X->ctx == t->ctx) {
        if (!ready)
            mo_announce_rows(&s, row, n);
        return gather_own(t, X, &s, shape, row, n);
    }
    while (ready && piece < ready->n && ready->array[piece] != X)
        piece++;
    if (!ready || piece == ready->n)
        return copy_listed(t, &s, X->dtype, X->ndim, shape, row, n);
    mo_tensor *T = mo_tape_tensor(t, X->dtype, X->ndim, shape);
    mo_send(T, &ready->buffer, ready->offset[piece]);
    return T;
}

/* ---- ranges ---- */

/* Copies n consecutive rows, the first of which is the array's first. */
static mo_tensor *copy_first(
    mo_tape *t, const mo_row_stack *s, mo_dtype dtype, int ndim, const int64_t *shape, int64_t n) {
    int64_t *row = mo_host_array(t->ctx, n, sizeof *row);
    for (int64_t i = 0; row && i < n; i++)
        row[i] = i;
    mo_tensor *T = row ? copy_listed(t, s, dtype, ndim, shape, row, n) : mo_null_tensor(t->ctx);
    free(row);
    return T;
}

mo_tensor *mo_fetch_range(mo_tape *t, mo_tensor *X, int axis, int64_t first, int64_t last) {
    int64_t shape[MO_MAX_AXES];
    if (!mo_ok(t->ctx))
        return mo_null_tensor(t->ctx);
    mo_row_stack s = mo_row_stack_of(X, axis);
    if (X->ctx == t->ctx) {
        for (int64_t o = 0; s.mapped && o < s.outer; o++)
            announce(&s, o * s.rows + first, last - first);
        return mo_slice(t, X, MO_AXIS(axis), first, last);
    }
    s.data += (size_t)first * s.width;
    memcpy(shape, X->shape, sizeof shape);
    shape[axis] = last - first;
    return copy_first(t, &s, X->dtype, X->ndim, shape, last - first);
}

mo_tensor *mo_fetch_block(mo_tape *t, mo_tensor *X, int64_t outer, int64_t first, int64_t last) {
    if (!mo_ok(t->ctx))
        return mo_null_tensor(t->ctx);
    int64_t n = last - first, shape[] = {n, mo_dim(X, 2)};
    mo_row_stack s = mo_row_stack_of(X, 1);
    if (X->ctx == t->ctx) {
        if (s.mapped)
            announce(&s, outer * s.rows + first, n);
        return mo_reshape(
            t, mo_slice(t, mo_slice(t, X, MO_AXIS(0), outer, outer + 1), MO_AXIS(1), first, last), 2, shape);
    }
    s.data += (size_t)(outer * s.rows + first) * s.width;
    s.outer = 1;
    return copy_first(t, &s, X->dtype, 2, shape, n);
}
