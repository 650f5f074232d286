/* ops/concat.c - concat joins tensors along one axis; stack joins them along a new one.
 *
 * concat: X_1 .. X_n (at most MO_MAX_INPUTS), of one dtype, which can be any, and equal in every size except along the
 * axis -> one tensor. Negative axes count from the end. stack composes it from views with an axis of size 1. Errors: an
 * axis outside, sizes or dtypes that differ. Saved: nothing.
 *
 * <Y_bar, dY> = sum_i <the slice of Y_bar that X_i fills, dX_i>, so X_i_bar is that slice. */
#include "ops/inside.h"
#include "ops/rules/shapes.h"
#include "tensor/library.h"

#include <inttypes.h>
#include <string.h>

static bool concat_shape(mo_call *c) {
    const mo_tensor *X = c->in[0];
    int option = *(const int *)c->attributes, axis = mo_resolve_axis(option, X->ndim);
    int64_t size[MO_MAX_AXES];
    if (axis < 0)
        return mo_call_fail(c, MO_INVALID, "axis %d of %d axes", option, X->ndim);
    memcpy(size, X->shape, sizeof size);
    for (int i = 1; i < c->n_in; i++) {
        const mo_tensor *next = c->in[i];
        if (next->dtype != X->dtype)
            return mo_call_fail(c, MO_MISMATCH, "inputs 0 and %d differ in dtype", i);
        if (next->ndim != X->ndim)
            return mo_call_fail(c, MO_INVALID, "input %d has %d axes, expected %d", i, next->ndim, X->ndim);
        for (int k = 0; k < X->ndim; k++)
            if (k != axis && next->shape[k] != X->shape[k])
                return mo_call_fail(c, MO_INVALID, "axis %d of input %d has size %" PRId64 ", expected %" PRId64, k, i,
                    next->shape[k], X->shape[k]);
        size[axis] += next->shape[axis];
    }
    return mo_call_output(c, 0, X->dtype, X->ndim, size);
}

static void concat_forward(mo_call *c) {
    int axis = mo_resolve_axis(*(const int *)c->attributes, c->in[0]->ndim);
    mo_view y = mo_tensor_view(c->out[0]);
    int64_t start = 0;
    for (int i = 0; i < c->n_in; i++) {
        mo_view x = mo_tensor_view(c->in[i]), part = mo_window(y, axis, start, x.shape[axis]);
        c->ctx->backend->copy(c->ctx, &x, &part);
        start += x.shape[axis];
    }
}

static void concat_vjp(mo_vjp *v) {
    int axis = mo_resolve_axis(*(const int *)v->attributes, v->in[0]->ndim);
    int64_t start = 0;
    for (int i = 0; i < v->n_in; i++) {
        int64_t stop = start + v->in[i]->shape[axis];
        if (v->needs[i])
            v->in_bar[i] = mo_slice(v->t, v->out_bar[0], MO_AXIS(axis), start, stop);
        start = stop;
    }
}

static const mo_sample concat_samples[] = {
    {"rows", "[2, 3] [1, 3] [4, 3]"},
    {"last axis", "[2, 3, 1] [2, 3, 2]", &(const int){-1}},
    {"alone", "[3]"},
    {"one empty", "[2, 0] [2, 2]", &(const int){1}},
    {"sizes", "[2, 3] [2, 4]", .error = "concat: axis 1 of input 1 has size 4, expected 3; got [2, 3]"},
    {"axes", "[2, 3] [3]", .error = "input 1 has 1 axes, expected 2"},
    {"axis", "[3]", &(const int){1}, .error = "axis 1 of 1 axes"},
    {"dtype", "[3] index<5>[3]", .error = "inputs 0 and 1 differ in dtype", .code = MO_MISMATCH},
};

const mo_op mo_op_concat = {
    .name = "concat",
    .max_in = MO_MAX_INPUTS,
    .attributes_size = sizeof(int),
    .shape = concat_shape,
    .forward = concat_forward,
    .vjp = concat_vjp,
    MO_SAMPLES(concat_samples),
};

mo_tensor *mo_concat(mo_tape *t, mo_tensor *const *X, int n, mo_axes set) {
    int axis = mo_one_axis(mo_tape_context(t), "concat", set);
    return mo_apply(t, &mo_op_concat, X, n, &axis);
}

mo_tensor *mo_stack(mo_tape *t, mo_tensor *const *X, int n, mo_axes set) {
    mo_context *ctx = mo_tape_context(t);
    int axis = mo_one_axis(ctx, "stack", set);
    mo_tensor *parts[MO_MAX_INPUTS] = {0};
    if (mo_ok(ctx) && (n < 1 || n > MO_MAX_INPUTS))
        mo_fail(ctx, MO_INVALID, "stack: %d inputs, expected 1 to %d", n, MO_MAX_INPUTS);
    for (int i = 0; i < n && mo_given(ctx, "stack", "the list of inputs", X); i++) {
        int at = mo_is_null(X[i]) ? -1 : mo_resolve_axis(axis, X[i]->ndim + 1);
        if (mo_is_null(X[i]))
            mo_fail(ctx, MO_INVALID, "stack: input %d is null", i);
        else if (at < 0)
            mo_fail(ctx, MO_INVALID, "stack: axis %d, expected -%d to %d", axis, X[i]->ndim + 1, X[i]->ndim);
        else
            parts[i] = mo_with_axis(t, X[i], MO_AXIS(at), 1);
    }
    return mo_ok(ctx) ? mo_concat(t, parts, n, set) : mo_null_tensor(ctx);
}
