/* ops/rules/shapes.c - shapes: broadcasting, and sets of axes. */
#include "ops/rules/shapes.h"

#include "ops/inside.h"

#include <inttypes.h>
#include <string.h>

bool mo_broadcast_leading(mo_call *c, int i, int j, int trailing, int *ndim, int64_t *shape) {
    const mo_tensor *A = c->in[i], *B = c->in[j];
    int a = A->ndim - trailing, b = B->ndim - trailing;
    *ndim = a > b ? a : b;
    for (int k = 0; k < *ndim; k++) {
        int64_t p = k + a - *ndim < 0 ? 1 : A->shape[k + a - *ndim];
        int64_t q = k + b - *ndim < 0 ? 1 : B->shape[k + b - *ndim];
        if (p != q && p != 1 && q != 1)
            return mo_call_fail(c, MO_INVALID,
                "axis %d from the end has sizes %" PRId64 " and %" PRId64 ", expected equal or 1", *ndim - k + trailing,
                p, q);
        shape[k] = p == 1 ? q : p;
    }
    return true;
}

int mo_broadcast_shape(int na, const int64_t *a, int nb, const int64_t *b, int64_t *shape) {
    int64_t joint[MO_MAX_AXES];
    int n = na > nb ? na : nb;
    for (int k = 0; k < n; k++) {
        int64_t p = k + na < n ? 1 : a[k + na - n], q = k + nb < n ? 1 : b[k + nb - n];
        if (p != q && p != 1 && q != 1)
            return -1;
        joint[k] = p == 1 ? q : p;
    }
    memcpy(shape, joint, (size_t)n * sizeof *joint);
    return n;
}

mo_tensor *mo_broadcast_onto(mo_tape *t, mo_tensor *X, int trailing, int ndim, const int64_t *shape) {
    int64_t size[2 * MO_MAX_AXES];
    memcpy(size, shape, (size_t)ndim * sizeof *shape);
    memcpy(size + ndim, X->shape + X->ndim - trailing, (size_t)trailing * sizeof *shape);
    return mo_broadcast_to(t, X, ndim + trailing, size);
}

mo_view mo_broadcast_view(mo_view v, int trailing, int ndim, const int64_t *shape) {
    mo_view w = {.data = v.data, .dtype = v.dtype, .ndim = ndim + trailing};
    int lead = v.ndim - trailing;
    for (int k = 0; k < ndim; k++) {
        int from = k + lead - ndim;
        w.shape[k] = shape[k];
        w.stride[k] = from < 0 || v.shape[from] == 1 ? 0 : v.stride[from];
    }
    for (int k = 0; k < trailing; k++) {
        w.shape[ndim + k] = v.shape[lead + k];
        w.stride[ndim + k] = v.stride[lead + k];
    }
    return w;
}

mo_view mo_batch_view(mo_view v, int trailing) {
    mo_view f = v;
    f.ndim = trailing + 1;
    f.shape[0] = leading(&v, v.ndim - trailing);
    for (int i = 0; i < trailing; i++)
        f.shape[i + 1] = v.shape[v.ndim - trailing + i];
    mo_contiguous_strides(f.ndim, f.shape, f.stride);
    return f;
}

mo_view mo_swap_view(mo_view v) {
    int i = v.ndim - 2, j = v.ndim - 1;
    int64_t size = v.shape[i], stride = v.stride[i];
    v.shape[i] = v.shape[j];
    v.stride[i] = v.stride[j];
    v.shape[j] = size;
    v.stride[j] = stride;
    return v;
}

mo_view mo_diagonal_view(mo_view v) {
    v.stride[v.ndim - 2] += v.stride[v.ndim - 1];
    v.ndim--;
    return v;
}

int mo_resolve_axis(int axis, int ndim) {
    int resolved = axis < 0 ? axis + ndim : axis;
    return resolved < 0 || resolved >= ndim ? -1 : resolved;
}

unsigned mo_resolve_axes(mo_axes axes, int ndim) {
    if (axes.bits == MO_ALL.bits)
        return (1u << ndim) - 1;
    for (int i = 1; i <= ndim; i++)
        if (axes.bits & MO_AXIS(-i).bits)
            axes.bits = (axes.bits ^ MO_AXIS(-i).bits) | MO_AXIS(ndim - i).bits;
    return axes.bits;
}

int mo_one_axis(mo_context *ctx, const char *what, mo_axes axes) {
    int i = axes.bits ? __builtin_ctz(axes.bits) : 0;
    if (axes.bits != MO_AXIS(i).bits)
        mo_fail(ctx, MO_INVALID, "%s: expected one axis, MO_AXIS(i), found the set 0x%x", what, axes.bits);
    return i >= 32 - MO_MAX_AXES ? i - 32 : i;
}

bool mo_same_leading(const mo_tensor *A, const mo_tensor *B, int axes) {
    return A->ndim == B->ndim && !memcmp(A->shape, B->shape, (size_t)axes * sizeof *A->shape);
}

mo_view mo_window(mo_view v, int axis, int64_t start, int64_t count) {
    v.data = (char *)v.data + start * v.stride[axis] * (int64_t)mo_dtype_size(v.dtype);
    v.shape[axis] = count;
    return v;
}

mo_shape_option mo_shape_option_of(int ndim, const int64_t *shape) {
    mo_shape_option to = {.ndim = ndim};
    for (int i = 0; i < ndim && i < MO_MAX_AXES; i++)
        to.size[i] = shape[i];
    return to;
}
