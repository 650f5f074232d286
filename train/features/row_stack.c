/* train/features/row_stack.c - rows of a mapped file are memory like any other, which the system reads from the disk
 * when it is touched, a page at a time: so the rows that will be read are announced first, all of them, and the disk
 * can queue them. Rows of another context, in host memory, are copied to a device. */
#include "train/features/row_stack.h"

#include "autograd/tape.h"
#include "tensor/platform.h"

#include <stdlib.h>
#include <string.h>

enum { PAGE = 4096 };

bool mo_rows_resident(const mo_context *ctx, const mo_tensor *X) {
    return X->ctx == ctx;
}

bool mo_rows_in_memory(const mo_context *ctx, const mo_tensor *X) {
    return X->ctx == ctx && !X->storage->mapped;
}

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

/* The listed rows of an array as a tensor of the tape; shape [ndim]: theirs. */
static mo_tensor *fetch(mo_tape *t, const mo_row_stack *s, const mo_tensor *like, int ndim, const int64_t *shape,
    const int64_t *row, int64_t n) {
    mo_tensor *T = mo_tape_tensor(t, like->dtype, ndim, shape);
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

mo_tensor *mo_fetch_rows(mo_tape *t, mo_tensor *X, const int64_t *row, int64_t n) {
    int64_t shape[MO_MAX_AXES];
    mo_row_stack s = mo_row_stack_of(X, X->ndim - 2);
    memcpy(shape, X->shape, sizeof shape);
    shape[X->ndim - 2] = n;
    return fetch(t, &s, X, X->ndim, shape, row, n);
}

/* Fetches n consecutive rows, the first of which is the array's first. */
static mo_tensor *fetch_first(
    mo_tape *t, const mo_row_stack *s, const mo_tensor *like, int ndim, const int64_t *shape, int64_t n) {
    int64_t *row = mo_host_array(t->ctx, n, sizeof *row);
    for (int64_t i = 0; row && i < n; i++)
        row[i] = i;
    mo_tensor *T = row ? fetch(t, s, like, ndim, shape, row, n) : mo_null_tensor(t->ctx);
    free(row);
    return T;
}

mo_tensor *mo_fetch_range(mo_tape *t, mo_tensor *X, int axis, int64_t first, int64_t last) {
    int64_t shape[MO_MAX_AXES];
    if (!mo_ok(t->ctx))
        return mo_null_tensor(t->ctx);
    mo_row_stack s = mo_row_stack_of(X, axis);
    if (mo_rows_resident(t->ctx, X)) {
        for (int64_t o = 0; s.mapped && o < s.outer; o++)
            announce(&s, o * s.rows + first, last - first);
        return mo_slice(t, X, MO_AXIS(axis), first, last);
    }
    s.data += (size_t)first * s.width;
    memcpy(shape, X->shape, sizeof shape);
    shape[axis] = last - first;
    return fetch_first(t, &s, X, X->ndim, shape, last - first);
}

mo_tensor *mo_fetch_block(mo_tape *t, mo_tensor *X, int64_t outer, int64_t first, int64_t last) {
    if (!mo_ok(t->ctx))
        return mo_null_tensor(t->ctx);
    int64_t n = last - first, shape[] = {n, mo_dim(X, 2)};
    mo_row_stack s = mo_row_stack_of(X, 1);
    if (mo_rows_resident(t->ctx, X)) {
        if (s.mapped)
            announce(&s, outer * s.rows + first, n);
        return mo_reshape(
            t, mo_slice(t, mo_slice(t, X, MO_AXIS(0), outer, outer + 1), MO_AXIS(1), first, last), 2, shape);
    }
    s.data += (size_t)(outer * s.rows + first) * s.width;
    s.outer = 1;
    return fetch_first(t, &s, X, 2, shape, n);
}
