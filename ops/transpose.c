/* ops/transpose.c - axes in another order: transpose swaps the last two, permute takes any order.
 *
 * transpose: X [.., m, n] -> Y [.., n, m]. permute: axis i of Y is axis axes[i] of X. The results are views, of any
 * dtype; matmul reads them in place. Errors: fewer than two axes; axes that are not each of 0 .. ndim-1 once. Saved:
 * nothing.
 *
 * Elements only move: <Y_bar, dY> = <P^-1 Y_bar, dX> for the permutation P, so X_bar = P^-1 Y_bar. */
#include "ops/inside.h"
#include "tensor/library.h"
#include "tensor/objects.h"

#include <string.h>

static bool transpose_shape(mo_call *c) {
    if (c->in[0]->ndim < 2)
        return mo_call_fail(c, MO_INVALID, "expected two axes or more");
    return true;
}

static void transpose_forward(mo_call *c) {
    mo_tensor *X = c->in[0];
    int64_t size[MO_MAX_AXES], stride[MO_MAX_AXES];
    memcpy(size, X->shape, sizeof size);
    memcpy(stride, X->stride, sizeof stride);
    int m = X->ndim - 2, n = X->ndim - 1;
    size[m] = X->shape[n];
    size[n] = X->shape[m];
    stride[m] = X->stride[n];
    stride[n] = X->stride[m];
    mo_call_view(c, X->ndim, size, stride, 0);
}

static void transpose_vjp(mo_vjp *v) {
    v->in_bar[0] = mo_transpose(v->t, v->out_bar[0]);
}

static const mo_sample transpose_samples[] = {
    {"matrix", "[3, 4]"},
    {"batch", "[2, 3, 1, 4]"},
    {"vector", "[4]", .error = "transpose: expected two axes or more; got [4]"},
};

const mo_op mo_op_transpose = {
    .name = "transpose",
    .is_view = true,
    .shape = transpose_shape,
    .forward = transpose_forward,
    .vjp = transpose_vjp,
    MO_SAMPLES(transpose_samples),
};

mo_tensor *mo_transpose(mo_tape *t, mo_tensor *X) {
    return mo_apply(t, &mo_op_transpose, (mo_tensor *[]){X}, 1, NULL);
}

/* ---- permute ---- */

typedef struct permute_options {
    int axes[MO_MAX_AXES];
} permute_options;

static bool permute_shape(mo_call *c) {
    const permute_options *o = c->attributes;
    int ndim = c->in[0]->ndim;
    unsigned seen = 0;
    for (int i = 0; i < ndim; i++) {
        if (o->axes[i] < 0 || o->axes[i] >= ndim || seen >> o->axes[i] & 1)
            return mo_call_fail(c, MO_INVALID, "output axis %d is input axis %d, expected each of 0 to %d once", i,
                o->axes[i], ndim - 1);
        seen |= 1u << o->axes[i];
    }
    return true;
}

static void permute_forward(mo_call *c) {
    const permute_options *o = c->attributes;
    mo_tensor *X = c->in[0];
    int64_t size[MO_MAX_AXES], stride[MO_MAX_AXES];
    for (int i = 0; i < X->ndim; i++) {
        size[i] = X->shape[o->axes[i]];
        stride[i] = X->stride[o->axes[i]];
    }
    mo_call_view(c, X->ndim, size, stride, 0);
}

static void permute_vjp(mo_vjp *v) {
    const permute_options *o = v->attributes;
    int inverse[MO_MAX_AXES];
    for (int i = 0; i < v->in[0]->ndim; i++)
        inverse[o->axes[i]] = i;
    v->in_bar[0] = mo_permute(v->t, v->out_bar[0], inverse);
}

static const mo_sample permute_samples[] = {
    {"cycle", "[2, 3, 4]", &(const permute_options){{2, 0, 1}}},
    {"four axes", "[2, 1, 3, 2]", &(const permute_options){{1, 3, 0, 2}}},
    {"scalar", "[]", &(const permute_options){{0}}},
    {"twice", "[3, 4]", &(const permute_options){{1, 1}},
        .error = "permute: output axis 1 is input axis 1, expected each of 0 to 1 once"},
    {"outside", "[3, 4]", &(const permute_options){{0, 2}}, .error = "input axis 2"},
};

const mo_op mo_op_permute = {
    .name = "permute",
    .attributes_size = sizeof(permute_options),
    .is_view = true,
    .shape = permute_shape,
    .forward = permute_forward,
    .vjp = permute_vjp,
    MO_SAMPLES(permute_samples),
};

mo_tensor *mo_permute(mo_tape *t, mo_tensor *X, const int *axes) {
    mo_context *ctx = mo_tape_context(t);
    permute_options o = {{0}};
    if (mo_ndim(X) && !mo_given(ctx, "permute", "the list of axes", axes))
        return mo_null_tensor(ctx);
    if (!mo_is_null(X) && X->ndim)
        memcpy(o.axes, axes, (size_t)X->ndim * sizeof *axes);
    return mo_apply(t, &mo_op_permute, (mo_tensor *[]){X}, 1, &o);
}
