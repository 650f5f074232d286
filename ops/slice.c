/* ops/slice.c - slice takes a range of one axis; its adjoint, pad, puts zeros around it.
 *
 * slice: Y = X[.., start:stop, ..] along one axis, 0 <= start <= stop <= size; a view of any dtype. pad: Y is X with
 * `before` and `after` zeros along one axis, a copy. Negative axes count from the end. Errors: an axis or a range
 * outside. Saved: nothing.
 *
 * slice drops the elements outside the range, pad makes them constant, so each is the adjoint of the other:
 *     slice: X_bar = pad(Y_bar, start, size - stop),   pad: X_bar = slice(Y_bar, before, before + size). */
#include "ops/inside.h"
#include "ops/rules/shapes.h"

#include <inttypes.h>
#include <string.h>

typedef struct slice_options {
    int axis;
    int64_t start, stop;
} slice_options;

static bool slice_shape(mo_call *c) {
    const slice_options *o = c->attributes;
    const mo_tensor *X = c->in[0];
    int axis = mo_resolve_axis(o->axis, X->ndim);
    if (axis < 0)
        return mo_call_fail(c, MO_INVALID, "axis %d of %d axes", o->axis, X->ndim);
    if (o->start < 0 || o->stop < o->start || o->stop > X->shape[axis])
        return mo_call_fail(c, MO_INVALID,
            "range %" PRId64 ":%" PRId64 " of axis %d, expected 0 <= start <= stop <= %" PRId64, o->start, o->stop,
            axis, X->shape[axis]);
    return true;
}

static void slice_forward(mo_call *c) {
    const slice_options *o = c->attributes;
    mo_tensor *X = c->in[0];
    int axis = mo_resolve_axis(o->axis, X->ndim);
    int64_t size[MO_MAX_AXES];
    memcpy(size, X->shape, sizeof size);
    size[axis] = o->stop - o->start;
    mo_call_view(c, X->ndim, size, X->stride, o->start * X->stride[axis]);
}

static void slice_vjp(mo_vjp *v) {
    const slice_options *o = v->attributes;
    v->in_bar[0] = mo_pad(v->t, v->out_bar[0], MO_AXIS(o->axis), o->start, mo_dim(v->in[0], o->axis) - o->stop);
}

static const mo_sample slice_samples[] = {
    {"rows", "[5, 3]", &(const slice_options){0, 1, 4}},
    {"last axis from the end", "[2, 3, 4]", &(const slice_options){-1, 2, 4}},
    {"everything", "[4]", &(const slice_options){0, 0, 4}},
    {"nothing", "[3, 4]", &(const slice_options){1, 2, 2}},
    {"range", "[3, 4]", &(const slice_options){0, 1, 4},
        .error = "slice: range 1:4 of axis 0, expected 0 <= start <= stop <= 3; got [3, 4]"},
    {"backwards", "[3, 4]", &(const slice_options){1, 3, 2}, .error = "range 3:2"},
    {"axis", "[3, 4]", &(const slice_options){2, 0, 1}, .error = "axis 2 of 2 axes"},
};

const mo_op mo_op_slice = {
    .name = "slice",
    .attributes_size = sizeof(slice_options),
    .is_view = true,
    .shape = slice_shape,
    .forward = slice_forward,
    .vjp = slice_vjp,
    MO_SAMPLES(slice_samples),
};

mo_tensor *mo_slice(mo_tape *t, mo_tensor *X, mo_axes axis, int64_t start, int64_t stop) {
    slice_options o = {mo_one_axis(mo_tape_context(t), "slice", axis), start, stop};
    return mo_apply(t, &mo_op_slice, (mo_tensor *[]){X}, 1, &o);
}

/* ---- pad ---- */

typedef struct pad_options {
    int axis;
    int64_t before, after;
} pad_options;

static bool pad_shape(mo_call *c) {
    const pad_options *o = c->attributes;
    const mo_tensor *X = c->in[0];
    int axis = mo_resolve_axis(o->axis, X->ndim);
    int64_t size[MO_MAX_AXES];
    if (axis < 0)
        return mo_call_fail(c, MO_INVALID, "axis %d of %d axes", o->axis, X->ndim);
    if (o->before < 0 || o->after < 0 || o->before > INT64_MAX / 4 || o->after > INT64_MAX / 4)
        return mo_call_fail(c, MO_INVALID, "%" PRId64 " elements before and %" PRId64 " after, expected 0 or more",
            o->before, o->after);
    memcpy(size, X->shape, sizeof size);
    size[axis] += o->before + o->after;
    return mo_call_output(c, 0, X->dtype, X->ndim, size);
}

static void pad_forward(mo_call *c) {
    const pad_options *o = c->attributes;
    const mo_backend *backend = c->ctx->backend;
    int axis = mo_resolve_axis(o->axis, c->in[0]->ndim);
    mo_view x = mo_tensor_view(c->in[0]), y = mo_tensor_view(c->out[0]);
    int64_t size = x.shape[axis];
    mo_view before = mo_window(y, axis, 0, o->before), middle = mo_window(y, axis, o->before, size),
            after = mo_window(y, axis, o->before + size, o->after);
    backend->fill(c->ctx, 0, &before);
    backend->copy(c->ctx, &x, &middle);
    backend->fill(c->ctx, 0, &after);
}

static void pad_vjp(mo_vjp *v) {
    const pad_options *o = v->attributes;
    v->in_bar[0] = mo_slice(v->t, v->out_bar[0], MO_AXIS(o->axis), o->before, o->before + mo_dim(v->in[0], o->axis));
}

static const mo_sample pad_samples[] = {
    {"rows", "[2, 3]", &(const pad_options){0, 1, 2}},
    {"last axis from the end", "[2, 3, 2]", &(const pad_options){-1, 2, 0}},
    {"nothing", "[4]"},
    {"negative", "[3, 4]", &(const pad_options){0, -1, 0},
        .error = "pad: -1 elements before and 0 after, expected 0 or more"},
    {"axis", "[]", &(const pad_options){0, 1, 0}, .error = "axis 0 of 0 axes"},
};

const mo_op mo_op_pad = {
    .name = "pad",
    .attributes_size = sizeof(pad_options),
    .shape = pad_shape,
    .forward = pad_forward,
    .vjp = pad_vjp,
    MO_SAMPLES(pad_samples),
};

mo_tensor *mo_pad(mo_tape *t, mo_tensor *X, mo_axes axis, int64_t before, int64_t after) {
    pad_options o = {mo_one_axis(mo_tape_context(t), "pad", axis), before, after};
    return mo_apply(t, &mo_op_pad, (mo_tensor *[]){X}, 1, &o);
}
