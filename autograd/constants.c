/* autograd/constants.c - tensors of a tape that no op computes: filled, copied from the host, cut from the graph,
 * kept. */
#include "autograd/tape.h"

mo_tensor *mo_full(mo_tape *t, mo_dtype dtype, int ndim, const int64_t *shape, double value) {
    mo_tensor *T = mo_tape_tensor(t, dtype, ndim, shape);
    if (!mo_is_null(T))
        mo_tensor_fill(T, value);
    return T;
}

mo_tensor *mo_scalar(mo_tape *t, mo_dtype dtype, double value) {
    mo_tensor *T = mo_full(t, dtype, 0, NULL, value);
    if (!mo_is_null(T))
        mo_tensor_remember(T, value);
    return T;
}

mo_tensor *mo_from(mo_tape *t, mo_dtype dtype, int ndim, const int64_t *shape, const void *host) {
    mo_tensor *T = mo_tape_tensor(t, dtype, ndim, shape);
    if (!mo_is_null(T) && mo_numel(T))
        mo_tensor_write(T, host, (size_t)mo_numel(T) * mo_dtype_size(dtype));
    return T;
}

mo_tensor *mo_stop_gradient(mo_tape *t, mo_tensor *X) {
    if (!mo_tape_lives(t, "stop_gradient"))
        return mo_null_tensor(mo_tape_context(t));
    if (!mo_ok(t->ctx))
        return mo_null_tensor(t->ctx);
    if (mo_is_null(X))
        mo_fail(t->ctx, MO_INVALID, "stop_gradient: the input is null");
    else if (X->ctx != t->ctx || (X->tape && X->tape != t))
        mo_fail(t->ctx, MO_MISMATCH, "stop_gradient: the input belongs to another %s",
            X->ctx != t->ctx ? "context" : "tape");
    else
        mo_tensor_view(X); /* raises if X's value has been released */
    if (!mo_ok(t->ctx))
        return mo_null_tensor(t->ctx);
    return mo_tape_window(t, X, X->ndim, X->shape, X->stride, 0);
}

mo_tensor *mo_keep(mo_tensor *X) {
    if (!mo_is_null(X))
        X->kept = true;
    return X;
}
