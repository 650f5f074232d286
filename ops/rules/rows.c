/* ops/rules/rows.c - moves axes to the end; by views if the strides allow it. */
#include "ops/rules/rows.h"
#include "ops/rules/shapes.h"

#include <string.h>

/* Lists the numbers of all axes: first the kept axes, then the reduced ones. Returns the number of kept axes. */
static int order_of(const mo_tensor *X, unsigned axes, int *order) {
    int kept = 0, n = 0;
    for (int i = 0; i < X->ndim; i++)
        if (!(axes >> i & 1))
            order[kept++] = i;
    n = kept;
    for (int i = 0; i < X->ndim; i++)
        if (axes >> i & 1)
            order[n++] = i;
    return kept;
}

mo_tensor *mo_rows(mo_tape *t, const char *what, mo_tensor *X, mo_axes set) {
    if (mo_is_null(X))
        return X;
    unsigned axes = mo_resolve_axes(set, X->ndim);
    if (axes >> X->ndim) {
        char text[160];
        mo_fail(X->ctx, MO_INVALID, "%s: axes 0x%x, expected bits below %d, or MO_AXIS(-%d) to MO_AXIS(-1); got %s",
            what, axes, X->ndim, X->ndim, mo_shape_string(X, text, sizeof text));
        return mo_null_tensor(X->ctx);
    }
    int order[MO_MAX_AXES], kept = order_of(X, axes, order);
    bool moved = false;
    int64_t size[MO_MAX_AXES + 1], m = 1;
    for (int i = 0; i < X->ndim; i++) {
        moved |= order[i] != i;
        if (i < kept)
            size[i] = X->shape[order[i]];
        else
            m *= X->shape[order[i]];
    }
    size[kept] = m;
    mo_tensor *P = moved ? mo_permute(t, X, order) : X;
    return kept + 1 == X->ndim ? P : mo_reshape(t, mo_contiguous(t, P), kept + 1, size);
}

mo_tensor *mo_from_rows(mo_tape *t, mo_tensor *Y, const mo_tensor *X, mo_axes set, mo_reduced reduced) {
    if (reduced == MO_DROP_AXES || mo_is_null(Y))
        return Y;
    int64_t size[MO_MAX_AXES];
    unsigned axes = mo_resolve_axes(set, X->ndim);
    for (int i = 0; i < X->ndim; i++)
        size[i] = axes >> i & 1 ? 1 : X->shape[i];
    return mo_reshape(t, Y, X->ndim, size);
}

mo_tensor *mo_swap_last(mo_tape *t, const char *what, mo_tensor *X, mo_axes set) {
    if (mo_is_null(X))
        return X;
    int order[MO_MAX_AXES], axis = mo_one_axis(X->ctx, what, set);
    int i = mo_resolve_axis(axis, X->ndim), last = X->ndim - 1;
    if (i < 0) {
        char text[160];
        mo_fail(X->ctx, MO_INVALID, "%s: axis %d is not one of %s", what, axis, mo_shape_string(X, text, sizeof text));
        return mo_null_tensor(X->ctx);
    }
    if (i == last)
        return X;
    for (int j = 0; j <= last; j++)
        order[j] = j;
    order[i] = last;
    order[last] = i;
    return mo_permute(t, X, order);
}

bool mo_call_per_row(mo_call *c, mo_dtype dtype) {
    const mo_tensor *X = c->in[0];
    if (!mo_call_real(c, 0, 0))
        return false;
    if (X->ndim < 1)
        return mo_call_fail(c, MO_INVALID, "expected rows, one axis or more");
    if (mo_dim(X, -1) == 0)
        return mo_call_fail(c, MO_INVALID, "over no elements");
    return mo_call_output(c, 0, dtype, X->ndim - 1, X->shape);
}

bool mo_call_rows(mo_call *c) {
    const mo_tensor *X = c->in[0];
    if (!mo_call_real(c, 0, 0))
        return false;
    if (X->ndim < 1)
        return mo_call_fail(c, MO_INVALID, "expected rows, one axis or more");
    return mo_call_output(c, 0, X->dtype, X->ndim, X->shape);
}
