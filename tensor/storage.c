/* tensor/storage.c - reference-counted memory, and the arithmetic of shapes and strides. */
#include "tensor/objects.h"

#include "tensor/arena.h"
#include "tensor/platform.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

mo_storage *mo_storage_create(mo_context *ctx, size_t bytes) {
    mo_storage *S = mo_host_alloc(ctx, sizeof *S);
    if (!S)
        return NULL;
    void *data = mo_device_alloc(ctx, bytes);
    if (!data) {
        mo_host_free(ctx, S, sizeof *S);
        return NULL;
    }
    *S = (mo_storage){.ctx = ctx, .data = data, .bytes = bytes, .references = 1};
    return S;
}

mo_storage *mo_storage_map(mo_context *ctx, int fd, int64_t offset, size_t bytes, const char *path, bool writable) {
    int protection = PROT_READ | (writable ? PROT_WRITE : 0);
    mo_storage *S = mo_host_alloc(ctx, sizeof *S);
    void *data = S ? mmap(NULL, bytes ? bytes : 1, protection, MAP_SHARED, fd, offset) : MAP_FAILED;
    if (S && data == MAP_FAILED) {
        mo_fail(ctx, MO_IO, "'%s': cannot map %zu bytes: %s", path, bytes, strerror(errno));
        mo_host_free(ctx, S, sizeof *S);
        return NULL;
    }
    if (S && !writable) /* rows are read in any order, and announced: no page beside them is worth its memory */
        madvise(data, bytes ? bytes : 1, MADV_RANDOM);
    if (S)
        *S = (mo_storage){.ctx = ctx, .data = data, .bytes = bytes, .references = 1, .mapped = true};
    return S;
}

void mo_tensor_unload(const mo_tensor *T) {
    if (T->storage && T->storage->mapped)
        madvise(T->storage->data, T->storage->bytes, MADV_DONTNEED);
}

void mo_storage_retain(mo_storage *S) {
    if (S)
        S->references++;
}

void mo_storage_release(mo_storage *S) {
    if (!S || --S->references > 0)
        return;
    if (S->arena) {
        mo_arena_free(S->arena, S);
    } else if (S->mapped) {
        munmap(S->data, S->bytes ? S->bytes : 1);
        mo_host_free(S->ctx, S, sizeof *S);
    } else {
        mo_done done = S->done;
        void *state = S->done_state;
        S->ctx->host_held += S->uncounted ? (int64_t)S->bytes : 0; /* which mo_device_free takes off */
        if (!S->borrowed)
            mo_device_free(S->ctx, S->data, S->bytes);
        mo_host_free(S->ctx, S, sizeof *S);
        if (done)
            done(state);
    }
}

int64_t mo_shape_numel(mo_context *ctx, const char *what, int ndim, const int64_t *shape) {
    if (ndim < 0 || ndim > MO_MAX_AXES || (ndim > 0 && !shape)) {
        mo_fail(ctx, MO_INVALID, "%s: %d axes, expected 0 to %d", what, ndim, MO_MAX_AXES);
        return -1;
    }
    int64_t n = 1, room = 1; /* room: n if an empty axis counts as 1, because strides must not overflow either */
    for (int i = 0; i < ndim; i++) {
        if (shape[i] < 0) {
            mo_fail(ctx, MO_INVALID, "%s: axis %d has size %" PRId64 ", expected 0 or more", what, i, shape[i]);
            return -1;
        }
        if (__builtin_mul_overflow(room, shape[i] ? shape[i] : 1, &room) || room > INT64_MAX / 8) {
            char text[160];
            mo_fail(ctx, MO_MEMORY, "%s: shape %s has too many elements", what,
                mo_format_shape(ndim, shape, text, sizeof text));
            return -1;
        }
        n *= shape[i];
    }
    return n;
}

void mo_contiguous_strides(int ndim, const int64_t *shape, int64_t *stride) {
    int64_t step = 1;
    for (int i = ndim - 1; i >= 0; i--) {
        stride[i] = step;
        step *= shape[i] > 1 ? shape[i] : 1;
    }
}

bool mo_strides_contiguous(int ndim, const int64_t *shape, const int64_t *stride) {
    int64_t step = 1;
    for (int i = 0; i < ndim; i++)
        if (shape[i] == 0)
            return true;
    for (int i = ndim - 1; i >= 0; i--) {
        if (shape[i] > 1 && stride[i] != step)
            return false;
        step *= shape[i];
    }
    return true;
}

size_t mo_append_text(char *buffer, size_t bytes, size_t used, const char *text) {
    for (; *text && used + 1 < bytes; text++)
        buffer[used++] = *text;
    if (used < bytes)
        buffer[used] = 0;
    return used;
}

const char *mo_format_shape(int ndim, const int64_t *shape, char *buffer, size_t bytes) {
    char size[24];
    size_t used = mo_append_text(buffer, bytes, 0, "[");
    for (int i = 0; i < ndim; i++) {
        snprintf(size, sizeof size, "%s%" PRId64, i ? ", " : "", shape[i]);
        used = mo_append_text(buffer, bytes, used, size);
    }
    mo_append_text(buffer, bytes, used, "]");
    return buffer;
}
