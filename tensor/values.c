/* tensor/values.c - moving the values of a tensor: read, write, send, copy, fill, and reading one item. */
#include "tensor/storage.h"

#include <math.h>
#include <string.h>

/* Checks a host buffer and fills the view of row-major host memory that has the tensor's shape. */
static bool host_view(const mo_tensor *T, const char *what, void *host, size_t bytes, mo_view *view) {
    mo_context *ctx = mo_tensor_context(T);
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
    mo_context *ctx = mo_tensor_context(T);
    mo_view to;
    if (!host_view(T, "read", host, bytes, &to) || !bytes)
        return mo_code_of(ctx);
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
    mo_context *ctx = mo_tensor_context(T);
    mo_view from;
    if (!host_view(T, "write", (void *)(uintptr_t)host, bytes, &from) || !bytes)
        return mo_code_of(ctx);
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

void mo_tensor_remember(mo_tensor *T, double value) {
    T->known = T->ndim == 0 && mo_dtype_is_real(T->dtype);
    T->known_version = T->storage->version;
    T->value = T->dtype == MO_F32 ? (double)(float)value : value;
}

mo_code mo_tensor_copy(mo_tensor *dst, const mo_tensor *src) {
    mo_context *ctx = mo_tensor_context(dst);
    if (mo_ok(ctx) && (mo_is_null(dst) || mo_is_null(src)))
        mo_fail(ctx, MO_INVALID, "copy: the %s is null", mo_is_null(dst) ? "destination" : "source");
    if (!mo_ok(ctx))
        return mo_code_of(ctx);
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
        mo_tensor_remember(dst, src->value);
    return ctx->status.code;
}

mo_code mo_tensor_fill(mo_tensor *T, double value) {
    mo_context *ctx = mo_tensor_context(T);
    mo_view to = mo_tensor_view(T);
    if (mo_ok(ctx) && mo_is_null(T))
        mo_fail(ctx, MO_INVALID, "fill: the tensor is null");
    if (!mo_ok(ctx))
        return mo_code_of(ctx);
    T->storage->version++;
    ctx->backend->fill(ctx, value, &to);
    return ctx->status.code;
}

double mo_item(const mo_tensor *T) {
    mo_context *ctx = mo_tensor_context(T);
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
