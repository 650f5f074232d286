/* train/features/row_stack.c - fetching rows from host memory or a file.
 *
 * Consecutive rows are copied in one piece. All reads of a file are announced to the system before the first one, so
 * that the disk can queue them. The file is not read through its map: mapped pages would count as the process's memory,
 * and truncating the file would kill the process. */
#include "train/features/row_stack.h"

#include "autograd/tape.h"
#include "tensor/files/file.h"
#include "tensor/platform.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool mo_rows_resident(const mo_context *ctx, const mo_tensor *X) {
    return X->ctx == ctx && !X->storage->file;
}

mo_row_stack mo_row_stack_of(const mo_tensor *X, int axis) {
    const mo_mapped_file *file = X->storage->file;
    size_t size = mo_dtype_size(X->dtype);
    mo_row_stack s = {.outer = 1, .rows = X->shape[axis], .width = size, .fd = -1};
    for (int i = 0; i < axis; i++)
        s.outer *= X->shape[i];
    for (int i = axis + 1; i < X->ndim; i++)
        s.width *= (size_t)X->shape[i];
    if (file) {
        s.fd = file->fd;
        s.offset = file->offset + X->offset * (int64_t)size;
        s.path = file->path;
    } else {
        s.data = mo_tensor_view(X).data;
    }
    return s;
}

/* A run of consecutive rows of one outer slice. */
typedef struct row_run {
    int64_t outer, i, n; /* rows row[i] .. row[i] + n - 1 */
} row_run;

/* Moves *at to the next run or, if *at is all zeros, to the first; returns false after the last. */
static bool next_run(const mo_row_stack *s, const int64_t *row, int64_t n, row_run *at) {
    at->i += at->n;
    if (at->i == n) {
        at->i = 0;
        at->outer++;
    }
    if (n == 0 || at->outer == s->outer)
        return false;
    for (at->n = 1; at->i + at->n < n && row[at->i + at->n] == row[at->i + at->n - 1] + 1;)
        at->n++;
    return true;
}

static bool read_bytes(mo_context *ctx, const mo_row_stack *s, char *out, size_t bytes, int64_t offset) {
    ssize_t got = mo_read_at(s->fd, out, bytes, offset);
    if (got < 0)
        return mo_fail(ctx, MO_IO, "'%s': cannot read its rows: %s", s->path, strerror(errno));
    if (got < (ssize_t)bytes)
        return mo_fail(ctx, MO_IO, "'%s': it ends before byte %" PRId64 ", where a row is expected; was it cut short?",
            s->path, offset + got);
    return true;
}

void mo_announce_rows(const mo_row_stack *s, const int64_t *row, int64_t n) {
    int64_t w = (int64_t)s->width;
    for (row_run at = {0}; !s->data && next_run(s, row, n, &at);)
        posix_fadvise(s->fd, s->offset + (at.outer * s->rows + row[at.i]) * w, at.n * w, POSIX_FADV_WILLNEED);
}

bool mo_read_rows(mo_context *ctx, const mo_row_stack *s, const int64_t *row, int64_t n, char *out) {
    size_t w = s->width;
    for (row_run at = {0}; next_run(s, row, n, &at);) {
        char *to = out + (size_t)(at.outer * n + at.i) * w;
        int64_t from = (at.outer * s->rows + row[at.i]) * (int64_t)w;
        if (s->data)
            memcpy(to, s->data + from, (size_t)at.n * w);
        else if (!read_bytes(ctx, s, to, (size_t)at.n * w, s->offset + from))
            return false;
    }
    return true;
}

/* Fetches the rows into T, directly if T is in host memory. */
static void fetch_into(mo_tensor *T, const mo_row_stack *s, const int64_t *row, int64_t n) {
    mo_context *ctx = T->ctx;
    size_t bytes = (size_t)(s->outer * n) * s->width;
    bool direct = mo_context_device(ctx) == MO_CPU;
    char *host = direct ? mo_tensor_view(T).data : mo_host_array(ctx, (int64_t)bytes, 1);
    mo_announce_rows(s, row, n);
    if (host && mo_read_rows(ctx, s, row, n, host) && !direct)
        mo_tensor_write(T, host, bytes);
    if (!direct)
        free(host);
}

/* A tensor of the tape in the shape of X, except for size n along an axis. */
static mo_tensor *shaped_like(mo_tape *t, const mo_tensor *X, int axis, int64_t n) {
    int64_t shape[MO_MAX_AXES];
    memcpy(shape, X->shape, sizeof shape);
    shape[axis] = n;
    return mo_tape_tensor(t, X->dtype, X->ndim, shape);
}

mo_tensor *mo_fetch_rows(mo_tape *t, mo_tensor *X, const int64_t *row, int64_t n) {
    mo_row_stack s = mo_row_stack_of(X, X->ndim - 2);
    mo_tensor *T = shaped_like(t, X, X->ndim - 2, n);
    if (mo_ok(t->ctx))
        fetch_into(T, &s, row, n);
    return T;
}

/* Fetches rows first .. first + n - 1 into T. */
static mo_tensor *fetch_consecutive(mo_tensor *T, const mo_row_stack *s, int64_t first, int64_t n) {
    mo_context *ctx = T->ctx;
    int64_t *row = mo_ok(ctx) ? mo_host_array(ctx, n, sizeof *row) : NULL;
    for (int64_t i = 0; row && i < n; i++)
        row[i] = first + i;
    if (mo_ok(ctx))
        fetch_into(T, s, row, n);
    free(row);
    return T;
}

mo_tensor *mo_fetch_range(mo_tape *t, mo_tensor *X, int axis, int64_t first, int64_t last) {
    if (!mo_ok(t->ctx) || mo_rows_resident(t->ctx, X))
        return mo_slice(t, X, MO_AXIS(axis), first, last);
    mo_row_stack s = mo_row_stack_of(X, axis);
    return fetch_consecutive(shaped_like(t, X, axis, last - first), &s, first, last - first);
}

mo_tensor *mo_fetch_block(mo_tape *t, mo_tensor *X, int64_t outer, int64_t first, int64_t last) {
    int64_t n = last - first, shape[] = {n, mo_dim(X, 2)};
    if (!mo_ok(t->ctx) || mo_rows_resident(t->ctx, X))
        return mo_reshape(
            t, mo_slice(t, mo_slice(t, X, MO_AXIS(0), outer, outer + 1), MO_AXIS(1), first, last), 2, shape);
    mo_row_stack s = mo_row_stack_of(X, 1);
    int64_t skipped = outer * s.rows * (int64_t)s.width;
    s.outer = 1;
    s.offset += skipped;
    s.data = s.data ? s.data + skipped : NULL;
    return fetch_consecutive(mo_tape_tensor(t, X->dtype, 2, shape), &s, first, n);
}
