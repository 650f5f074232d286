/* tensor/values.c - moving the values of a tensor: read, write, send, copy, fill, text, and reading one item. */
#include "tensor/files/number_text.h"
#include "tensor/objects.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Checks that a host buffer has T's size, and makes *view a row-major view of the buffer with T's shape. Returns false
 * after raising. */
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

/* Copies the values of a view, as `dtype`, to row-major host memory. */
static void download_as(mo_context *ctx, const mo_view *from, mo_dtype dtype, void *host) {
    mo_view to = *from;
    size_t bytes = (size_t)leading(from, from->ndim) * mo_dtype_size(dtype);
    mo_contiguous_strides(to.ndim, to.shape, to.stride);
    if (from->dtype == dtype && mo_strides_contiguous(from->ndim, from->shape, from->stride)) {
        ctx->backend->download(ctx, host, from->data, bytes);
        return;
    }
    mo_storage *packed = mo_storage_create(ctx, bytes);
    if (!packed)
        return;
    to.dtype = dtype;
    to.data = packed->data;
    ctx->backend->copy(ctx, from, &to);
    ctx->backend->download(ctx, host, to.data, bytes);
    mo_storage_release(packed);
}

mo_code mo_tensor_read(const mo_tensor *T, void *host, size_t bytes) {
    mo_view to;
    if (host_view(T, "read", host, bytes, &to))
        mo_read_as(T, T->dtype, host);
    return mo_code_of(mo_tensor_context(T));
}

bool mo_read_as(const mo_tensor *T, mo_dtype dtype, void *host) {
    mo_context *ctx = mo_tensor_context(T);
    if (mo_ok(ctx) && mo_is_null(T))
        mo_fail(ctx, MO_INVALID, "read: the tensor is null");
    mo_view from = mo_tensor_view(T);
    if (mo_ok(ctx) && mo_numel(T))
        download_as(ctx, &from, dtype, host);
    return mo_ok(ctx);
}

void *mo_host_values(const mo_tensor *T, mo_dtype dtype) {
    void *host = mo_host_array(mo_tensor_context(T), mo_numel(T), mo_dtype_size(dtype));
    if (host && mo_read_as(T, dtype, host))
        return host;
    free(host);
    return NULL;
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
    if (!mo_same_shape(dst, src))
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

/* Copies through host memory, as the two tensors can lie on different devices. */
static void copy_between(mo_context *ctx, mo_tensor *to, const mo_tensor *T) {
    size_t bytes = (size_t)mo_numel(T) * mo_dtype_size(T->dtype);
    void *host = mo_host_alloc(ctx, bytes);
    if (host && mo_tensor_read(T, host, bytes) != MO_OK)
        mo_fail(ctx, T->ctx->status.code, "clone: the other context: %.900s", T->ctx->status.message);
    if (mo_ok(ctx))
        mo_tensor_write(to, host, bytes);
    mo_host_free(ctx, host, bytes);
}

mo_tensor *mo_tensor_clone(mo_context *ctx, const mo_tensor *T) {
    if (mo_ok(ctx) && mo_is_null(T))
        mo_fail(ctx, MO_INVALID, "clone: the tensor is null");
    if (!mo_ok(ctx))
        return mo_null_tensor(ctx);
    mo_tensor *own = mo_tensor_uninitialized(ctx, T->dtype, T->ndim, T->shape);
    if (mo_is_null(own))
        return own;
    if (T->ctx == ctx)
        mo_tensor_copy(own, T);
    else
        copy_between(ctx, own, T);
    if (mo_ok(ctx))
        return own;
    mo_tensor_release(own);
    return mo_null_tensor(ctx);
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

/* The first `entries` entries along T's first axis, n elements in all, as doubles. Free with mo_host_free; NULL on
 * failure. */
static double *first_values(const mo_tensor *T, int64_t entries, int64_t n) {
    mo_context *ctx = T->ctx;
    mo_view from = mo_tensor_view(T);
    double *x = mo_ok(ctx) ? mo_host_alloc(ctx, (size_t)n * sizeof *x) : NULL;
    from.shape[0] = entries;
    if (x)
        download_as(ctx, &from, MO_F64, x);
    return x;
}

/* Writes element i with the brackets of the rows that begin or end at it. */
static void element_text(const mo_tensor *T, int64_t i, double x, char *word, size_t bytes) {
    int open = 0, close = 0;
    int64_t span = 1;
    for (int a = T->ndim - 1; a >= 0; a--) {
        span *= T->shape[a];
        open += i % span == 0;
        close += (i + 1) % span == 0;
    }
    bool real = mo_dtype_is_real(T->dtype) || T->dtype == MO_F16 || T->dtype == MO_BF16;
    mo_format(
        word, bytes, real ? "%s%.*s%.5g%.*s" : "%s%.*s%.0f%.*s", i ? ", " : "", open, "[[[[[[", x, close, "]]]]]]");
}

const char *mo_tensor_text(const mo_tensor *T, char *buffer, size_t bytes) {
    static const char more[] = " ..";
    int64_t n = mo_numel(T), entries = mo_dim(T, 0), each = n ? n / entries : 1;
    if (!buffer || !bytes)
        return "";
    buffer[0] = 0;
    if (!mo_ok(mo_tensor_context(T)) || !n) {
        if (mo_ok(mo_tensor_context(T)))
            mo_append_text(buffer, bytes, 0, mo_is_null(T) ? "null" : "[]");
        return buffer;
    }
    int64_t fit = (int64_t)bytes / 2 / each + 1; /* an element takes more than two bytes */
    entries = entries < fit ? entries : fit;
    double *x = first_values(T, entries, entries * each);
    size_t used = 0;
    for (int64_t i = 0; x && i < n; i++) {
        char word[64] = "";
        if (i < entries * each)
            element_text(T, i, x[i], word, sizeof word);
        if (!*word || used + strlen(word) + (i + 1 < n ? sizeof more : 1) > bytes) {
            mo_append_text(buffer, bytes, used, more);
            break;
        }
        used = mo_append_text(buffer, bytes, used, word);
    }
    mo_host_free(T->ctx, x, (size_t)(entries * each) * sizeof *x);
    return buffer;
}
