/* tensor/tensor.c - tensors that own their storage, and windows onto it. */
#include "tensor/files/number_text.h"
#include "tensor/objects.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    size_t size;
} dtypes[MO_DTYPES] = {
    {"float32", 4}, {"float64", 8}, {"int32", 4}, {"int64", 8}, {"uint8", 1}, {"float16", 2}, {"bfloat16", 2}};

size_t mo_dtype_size(mo_dtype dtype) {
    return (unsigned)dtype < MO_DTYPES ? dtypes[dtype].size : 0;
}

const char *mo_dtype_name(mo_dtype dtype) {
    return (unsigned)dtype < MO_DTYPES ? dtypes[dtype].name : "unknown";
}

bool mo_dtype_is_real(mo_dtype dtype) {
    return dtype == MO_F32 || dtype == MO_F64;
}

mo_tensor *mo_null_tensor(mo_context *ctx) {
    return ctx ? &ctx->null_tensor : NULL;
}

bool mo_is_null(const mo_tensor *T) {
    return !T || T == &T->ctx->null_tensor;
}

mo_tensor *mo_tensor_onto(mo_context *ctx, mo_storage *S, mo_dtype dtype, int ndim, const int64_t *shape) {
    mo_tensor *T = S ? mo_host_alloc(ctx, sizeof *T) : NULL;
    if (!T) {
        mo_storage_release(S);
        return mo_null_tensor(ctx);
    }
    T->storage = S;
    T->ctx = ctx;
    T->dtype = dtype;
    T->ndim = ndim;
    if (ndim)
        memcpy(T->shape, shape, (size_t)ndim * sizeof *shape);
    mo_contiguous_strides(ndim, T->shape, T->stride);
    T->listed = true;
    T->next = ctx->tensors;
    if (T->next)
        T->next->previous = T;
    ctx->tensors = T;
    return T;
}

mo_tensor *mo_tensor_create(mo_context *ctx, mo_dtype dtype, int ndim, const int64_t *shape) {
    mo_tensor *T = mo_tensor_uninitialized(ctx, dtype, ndim, shape);
    if (!mo_is_null(T))
        ctx->backend->zero(ctx, T->storage->data, T->storage->bytes);
    return T;
}

mo_tensor *mo_tensor_uninitialized(mo_context *ctx, mo_dtype dtype, int ndim, const int64_t *shape) {
    if (mo_ok(ctx) && (unsigned)dtype >= MO_DTYPES)
        mo_fail(ctx, MO_INVALID, "tensor: unknown dtype %d", (int)dtype);
    int64_t n = mo_ok(ctx) ? mo_shape_numel(ctx, "tensor", ndim, shape) : -1;
    return mo_tensor_onto(
        ctx, n < 0 ? NULL : mo_storage_create(ctx, (size_t)n * mo_dtype_size(dtype)), dtype, ndim, shape);
}

mo_tensor *mo_tensor_map(mo_context *ctx, mo_dtype dtype, int ndim, const int64_t *shape, int fd, int64_t offset,
    const char *path, bool writable) {
    int64_t n = mo_ok(ctx) ? mo_shape_numel(ctx, "tensor", ndim, shape) : -1;
    mo_storage *S = n < 0 ? NULL : mo_storage_map(ctx, fd, offset, (size_t)n * mo_dtype_size(dtype), path, writable);
    return mo_tensor_onto(ctx, S, dtype, ndim, shape);
}

mo_tensor *mo_tensor_borrow(mo_context *ctx, const mo_tensor *T) {
    if (mo_ok(ctx) && (!mo_is_contiguous(T) || ctx->device != MO_CPU || T->ctx->device != MO_CPU))
        mo_fail(ctx, MO_INVALID, "tensor: expected a contiguous tensor on the cpu to borrow");
    mo_storage *S = mo_ok(ctx) ? mo_host_alloc(ctx, sizeof *S) : NULL;
    if (S)
        *S = (mo_storage){.ctx = ctx,
            .data = mo_tensor_view(T).data,
            .bytes = (size_t)mo_numel(T) * mo_dtype_size(T->dtype),
            .references = 1,
            .borrowed = true};
    return mo_tensor_onto(ctx, S, T->dtype, T->ndim, T->shape);
}

mo_tensor *mo_tensor_first(const mo_tensor *T) {
    if (!mo_ok(T->ctx))
        return mo_null_tensor(T->ctx);
    mo_storage_retain(T->storage);
    mo_tensor *first = mo_tensor_onto(T->ctx, T->storage, T->dtype, T->ndim - 1, T->shape + 1);
    if (mo_is_null(first))
        return first;
    memcpy(first->stride, T->stride + 1, (size_t)first->ndim * sizeof *first->stride);
    first->offset = T->offset;
    return first;
}

mo_tensor *mo_tensor_create_from(mo_context *ctx, mo_dtype dtype, int ndim, const int64_t *shape, const void *host) {
    mo_tensor *T = mo_tensor_create(ctx, dtype, ndim, shape);
    if (mo_is_null(T) || !T->storage->bytes)
        return T;
    if (!host)
        mo_fail(ctx, MO_INVALID, "tensor: a NULL buffer, expected %zu bytes", T->storage->bytes);
    else
        ctx->backend->upload(ctx, T->storage->data, host, T->storage->bytes);
    if (mo_ok(ctx))
        return T;
    mo_tensor_release(T);
    return mo_null_tensor(ctx);
}

void mo_tensor_release(mo_tensor *T) {
    if (mo_is_null(T))
        return;
    mo_context *ctx = T->ctx;
    if (T->tape)
        mo_fail(ctx, MO_STATE, "release: the tensor belongs to a tape, which frees it at mo_tape_reset");
    else if (T->freed)
        mo_fail(ctx, MO_STATE, "release: %s was released before", T->name ? T->name : "the tensor");
    if (T->tape || T->freed)
        return;
    mo_tensor_release(T->grad);
    mo_storage_release(T->storage);
    mo_tensor_unlist(T);
    mo_bury(T);
}

mo_context *mo_tensor_context(const mo_tensor *T) {
    return T ? T->ctx : NULL;
}

mo_dtype mo_tensor_dtype(const mo_tensor *T) {
    return T ? T->dtype : MO_F32;
}

int mo_ndim(const mo_tensor *T) {
    return T ? T->ndim : 0;
}

int64_t mo_dim(const mo_tensor *T, int axis) {
    if (!T)
        return 1;
    if (axis < 0)
        axis += T->ndim;
    return axis < 0 || axis >= T->ndim ? 1 : T->shape[axis];
}

int64_t mo_numel(const mo_tensor *T) {
    if (mo_is_null(T))
        return 0;
    int64_t n = 1;
    for (int i = 0; i < T->ndim; i++)
        n *= T->shape[i];
    return n;
}

bool mo_is_contiguous(const mo_tensor *T) {
    return !T || mo_strides_contiguous(T->ndim, T->shape, T->stride);
}

bool mo_same_shape(const mo_tensor *A, const mo_tensor *B) {
    return A->ndim == B->ndim && !memcmp(A->shape, B->shape, (size_t)A->ndim * sizeof *A->shape);
}

bool mo_same_form(const mo_tensor *A, const mo_tensor *B) {
    return A->dtype == B->dtype && mo_same_shape(A, B);
}

const char *mo_shape_string(const mo_tensor *T, char *buffer, size_t bytes) {
    return buffer ? mo_format_shape(mo_ndim(T), T ? T->shape : NULL, buffer, bytes) : "";
}

const char *mo_place_of(const mo_tensor *T, char *buffer, size_t bytes) {
    buffer[0] = 0;
    if (T->file)
        snprintf(buffer, bytes, " at %.200s:%d", T->file, T->line);
    return buffer;
}

bool mo_fail_freed(const mo_tensor *T, const char *format, ...) {
    static const char *const by[] = {[MO_FREED_NOT] = "released by backward: call mo_keep on it before",
        [MO_FREED_BY_RESET] = "freed by mo_tape_reset",
        [MO_FREED_BY_SCOPE] = "freed by mo_scope_close",
        [MO_FREED_BY_RELEASE] = "freed by mo_tensor_release"};
    const char *who = T->maker ? T->maker : T->name;
    char what[500], place[256];
    va_list args;
    va_start(args, format);
    mo_format_list(what, sizeof what, format, args);
    va_end(args);
    return mo_fail(T->ctx, MO_STATE, "%s%s%s%s was %s", what,
        T->maker ? ", made by "
        : who    ? ", "
                 : "",
        who ? who : "", mo_place_of(T, place, sizeof place), by[T->freed]);
}

mo_view mo_tensor_view(const mo_tensor *T) {
    if (!T)
        return (mo_view){0};
    mo_view v = {.dtype = T->dtype, .ndim = T->ndim};
    memcpy(v.shape, T->shape, sizeof v.shape);
    memcpy(v.stride, T->stride, sizeof v.stride);
    if (T->storage)
        v.data = (char *)T->storage->data + T->offset * (int64_t)mo_dtype_size(T->dtype);
    else if (!mo_is_null(T))
        mo_fail_freed(T, "the value of a tensor");
    return v;
}
