/* tensor/tensor.c - tensors that own their storage, windows onto it, and moving values in and out. */
#include "tensor/storage.h"

#include <assert.h>
#include <math.h>
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
    return &ctx->null_tensor;
}

bool mo_is_null(const mo_tensor *T) {
    return !T || T == &T->ctx->null_tensor;
}

/* A row-major header for a storage, which it takes over. The null tensor on failure, the storage released. */
static mo_tensor *header_of(mo_context *ctx, mo_storage *S, mo_dtype dtype, int ndim, const int64_t *shape) {
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
    return T;
}

mo_tensor *mo_tensor_create(mo_context *ctx, mo_dtype dtype, int ndim, const int64_t *shape) {
    if (!mo_ok(ctx))
        return mo_null_tensor(ctx);
    if ((unsigned)dtype >= MO_DTYPES) {
        mo_fail(ctx, MO_INVALID, "tensor: unknown dtype %d", (int)dtype);
        return mo_null_tensor(ctx);
    }
    int64_t n = mo_shape_numel(ctx, "tensor", ndim, shape);
    mo_storage *S = n < 0 ? NULL : mo_storage_create(ctx, (size_t)n * mo_dtype_size(dtype));
    if (S)
        ctx->backend->zero(ctx, S->data, S->bytes);
    return header_of(ctx, S, dtype, ndim, shape);
}

mo_tensor *mo_tensor_uninitialized(mo_context *ctx, mo_dtype dtype, int ndim, const int64_t *shape) {
    int64_t n = mo_ok(ctx) ? mo_shape_numel(ctx, "tensor", ndim, shape) : -1;
    return header_of(ctx, n < 0 ? NULL : mo_storage_create(ctx, (size_t)n * mo_dtype_size(dtype)), dtype, ndim, shape);
}

mo_tensor *mo_tensor_map(
    mo_context *ctx, mo_dtype dtype, int ndim, const int64_t *shape, int fd, int64_t offset, const char *path) {
    int64_t n = mo_ok(ctx) ? mo_shape_numel(ctx, "tensor", ndim, shape) : -1;
    mo_storage *S = n < 0 ? NULL : mo_storage_map(ctx, fd, offset, (size_t)n * mo_dtype_size(dtype), path);
    return header_of(ctx, S, dtype, ndim, shape);
}

mo_tensor *mo_tensor_borrow(mo_context *ctx, const mo_tensor *T) {
    assert(mo_is_contiguous(T) && ctx->device == MO_CPU && T->ctx->device == MO_CPU);
    mo_storage *S = mo_host_alloc(ctx, sizeof *S);
    if (S)
        *S = (mo_storage){.ctx = ctx,
            .data = mo_tensor_view(T).data,
            .bytes = (size_t)mo_numel(T) * mo_dtype_size(T->dtype),
            .references = 1,
            .borrowed = true};
    return header_of(ctx, S, T->dtype, T->ndim, T->shape);
}

mo_tensor *mo_tensor_from(mo_context *ctx, mo_dtype dtype, int ndim, const int64_t *shape, const void *host) {
    mo_tensor *T = mo_tensor_create(ctx, dtype, ndim, shape);
    if (!mo_is_null(T) && T->storage->bytes)
        ctx->backend->upload(ctx, T->storage->data, host, T->storage->bytes);
    return T;
}

void mo_tensor_release(mo_tensor *T) {
    if (mo_is_null(T))
        return;
    mo_context *ctx = T->ctx;
    if (T->tape) {
        mo_fail(ctx, MO_STATE, "release: the tensor belongs to a tape, which frees it at mo_tape_reset");
        return;
    }
    mo_tensor_release(T->grad);
    mo_storage_release(T->storage);
    free(T->name);
    mo_host_free(ctx, T, sizeof *T);
}

mo_context *mo_tensor_context(const mo_tensor *T) {
    return T->ctx;
}

mo_dtype mo_tensor_dtype(const mo_tensor *T) {
    return T->dtype;
}

int mo_ndim(const mo_tensor *T) {
    return T->ndim;
}

int64_t mo_dim(const mo_tensor *T, int axis) {
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
    return mo_strides_contiguous(T->ndim, T->shape, T->stride);
}

const char *mo_shape_string(const mo_tensor *T, char *buffer, size_t bytes) {
    return mo_format_shape(T->ndim, T->shape, buffer, bytes);
}

mo_view mo_tensor_view(const mo_tensor *T) {
    mo_view v = {.dtype = T->dtype, .ndim = T->ndim};
    memcpy(v.shape, T->shape, sizeof v.shape);
    memcpy(v.stride, T->stride, sizeof v.stride);
    if (T->storage)
        v.data = (char *)T->storage->data + T->offset * (int64_t)mo_dtype_size(T->dtype);
    else if (!mo_is_null(T))
        mo_fail(T->ctx, MO_STATE, "the value of a tensor was released by backward: call mo_keep on it before");
    return v;
}

/* Checks a host buffer and gives the view of row-major host memory with the tensor's shape. */
static bool host_view(const mo_tensor *T, const char *what, void *host, size_t bytes, mo_view *view) {
    mo_context *ctx = T->ctx;
    if (!mo_ok(ctx))
        return false;
    if (mo_is_null(T)) {
        mo_fail(ctx, MO_INVALID, "%s: the tensor is null", what);
        return false;
    }
    size_t need = (size_t)mo_numel(T) * mo_dtype_size(T->dtype);
    if (bytes != need || (need && !host)) {
        mo_fail(ctx, MO_INVALID, "%s: a buffer of %zu bytes, expected %zu", what, host ? bytes : 0, need);
        return false;
    }
    *view = mo_tensor_view(T);
    if (!mo_ok(ctx))
        return false;
    view->data = host;
    mo_contiguous_strides(T->ndim, T->shape, view->stride);
    return true;
}

mo_code mo_tensor_read(const mo_tensor *T, void *host, size_t bytes) {
    mo_context *ctx = T->ctx;
    mo_view to;
    if (!host_view(T, "read", host, bytes, &to) || !bytes)
        return ctx->status.code;
    mo_view from = mo_tensor_view(T);
    if (mo_is_contiguous(T)) {
        ctx->backend->download(ctx, host, from.data, bytes);
        return ctx->status.code;
    }
    mo_storage *packed = mo_storage_create(ctx, bytes);
    if (!packed)
        return ctx->status.code;
    mo_view dense = to;
    dense.data = packed->data;
    ctx->backend->copy(ctx, &from, &dense);
    ctx->backend->download(ctx, host, packed->data, bytes);
    mo_storage_release(packed);
    return ctx->status.code;
}

mo_code mo_tensor_write(mo_tensor *T, const void *host, size_t bytes) {
    mo_context *ctx = T->ctx;
    mo_view from;
    if (!host_view(T, "write", (void *)(uintptr_t)host, bytes, &from) || !bytes)
        return ctx->status.code;
    mo_view to = mo_tensor_view(T);
    T->storage->version++;
    if (mo_is_contiguous(T)) {
        ctx->backend->upload(ctx, to.data, host, bytes);
        return ctx->status.code;
    }
    mo_storage *packed = mo_storage_create(ctx, bytes);
    if (!packed)
        return ctx->status.code;
    ctx->backend->upload(ctx, packed->data, host, bytes);
    from.data = packed->data;
    ctx->backend->copy(ctx, &from, &to);
    mo_storage_release(packed);
    return ctx->status.code;
}

mo_code mo_send(mo_tensor *T, const mo_pinned *p, size_t offset) {
    mo_context *ctx = T->ctx;
    size_t bytes = (size_t)mo_numel(T) * mo_dtype_size(T->dtype);
    if (mo_ok(ctx) && (!mo_is_contiguous(T) || offset > p->bytes || bytes > p->bytes - offset))
        mo_fail(ctx, MO_INVALID, "send: %zu bytes from %zu on, expected them in %zu, of a contiguous tensor", bytes,
            offset, p->bytes);
    if (!mo_ok(ctx) || !bytes)
        return ctx->status.code;
    void *data = mo_tensor_view(T).data;
    T->storage->version++;
    if (ctx->backend->send)
        ctx->backend->send(ctx, data, p, offset, bytes);
    else
        ctx->backend->upload(ctx, data, (const char *)p->data + offset, bytes);
    return ctx->status.code;
}

static bool knows(const mo_tensor *T) {
    return T->known && T->storage && T->storage->version == T->known_version;
}

void mo_tensor_know(mo_tensor *T, double value) {
    T->known = T->ndim == 0 && mo_dtype_is_real(T->dtype);
    T->known_version = T->storage->version;
    T->value = T->dtype == MO_F32 ? (double)(float)value : value;
}

mo_code mo_tensor_copy(mo_tensor *dst, const mo_tensor *src) {
    mo_context *ctx = dst->ctx;
    if (!mo_ok(ctx))
        return ctx->status.code;
    char got[160], want[160];
    if (dst->ndim != src->ndim || memcmp(dst->shape, src->shape, (size_t)src->ndim * sizeof *src->shape) != 0)
        mo_fail(ctx, MO_INVALID, "copy: source %s, expected %s", mo_shape_string(src, got, sizeof got),
            mo_shape_string(dst, want, sizeof want));
    mo_view from = mo_tensor_view(src), to = mo_tensor_view(dst);
    if (!mo_ok(ctx))
        return ctx->status.code;
    dst->storage->version++;
    ctx->backend->copy(ctx, &from, &to);
    if (knows(src))
        mo_tensor_know(dst, src->value);
    return ctx->status.code;
}

mo_code mo_tensor_fill(mo_tensor *T, double value) {
    mo_context *ctx = T->ctx;
    mo_view to = mo_tensor_view(T);
    if (!mo_ok(ctx) || mo_is_null(T))
        return ctx->status.code;
    T->storage->version++;
    ctx->backend->fill(ctx, value, &to);
    return ctx->status.code;
}

double mo_item(const mo_tensor *T) {
    mo_context *ctx = T->ctx;
    if (mo_ok(ctx) && mo_numel(T) != 1) {
        char text[160];
        mo_fail(ctx, MO_INVALID, "item: tensor %s, expected one element", mo_shape_string(T, text, sizeof text));
    }
    mo_view from = mo_tensor_view(T);
    if (!mo_ok(ctx) || mo_is_null(T))
        return NAN;
    if (knows(T))
        return T->value;
    union {
        float f;
        double d;
        int32_t i;
        int64_t l;
        uint8_t u;
    } value = {0};
    ctx->backend->download(ctx, &value, from.data, mo_dtype_size(T->dtype));
    switch (T->dtype) {
    case MO_F32:
        return value.f;
    case MO_F64:
        return value.d;
    case MO_I32:
        return value.i;
    case MO_I64:
        return (double)value.l;
    case MO_U8:
        return value.u;
    default:
        mo_fail(ctx, MO_UNSUPPORTED, "item: %s is stored only: cast it first", mo_dtype_name(T->dtype));
        return NAN;
    }
}
