/* ops/reshape.c - reshape gives the same elements another shape; contiguous copies a view into row-major order.
 *
 * reshape: X -> Y of equal element count in row-major order, any dtype; one size may be -1. A view if the strides allow
 * it; otherwise an error that says to call mo_contiguous, so that no copy is hidden. contiguous: Y = X, copied into
 * row-major order. Errors: another number of elements, two sizes of -1, strides that no view can express. Saved:
 * nothing.
 *
 * Both ops only rename elements: <Y_bar, dY> = <Y_bar, dX> element by element, so X_bar is Y_bar in the shape of X. */
#include "ops/inside.h"
#include "ops/rules/shapes.h"
#include "tensor/library.h"

#include <inttypes.h>
#include <string.h>

/* Lists the axes of X except those of size 1; neighbours whose strides match are joined to one axis, a run. Returns the
 * number of runs. */
static int join_axes(const mo_tensor *X, int64_t *size, int64_t *stride) {
    int n = 0;
    for (int i = 0; i < X->ndim; i++) {
        if (X->shape[i] == 1)
            continue;
        if (n > 0 && stride[n - 1] == X->stride[i] * X->shape[i]) {
            size[n - 1] *= X->shape[i];
        } else {
            size[n++] = X->shape[i];
        }
        stride[n - 1] = X->stride[i];
    }
    return n;
}

/* Computes the strides of a view of X in the shape `to`, which has as many elements. Returns false if no view has that
 * shape. */
static bool view_strides(const mo_tensor *X, const mo_shape_option *to, int64_t *stride) {
    int64_t run_size[MO_MAX_AXES], run_stride[MO_MAX_AXES];
    mo_contiguous_strides(to->ndim, to->size, stride);
    if (mo_numel(X) == 0)
        return true;
    int run = join_axes(X, run_size, run_stride) - 1;
    int64_t taken = 1; /* elements of this run that the axes of `to` have covered */
    for (int j = to->ndim - 1; j >= 0; j--) {
        if (to->size[j] == 1)
            continue;
        if (run_size[run] % (taken * to->size[j]) != 0)
            return false;
        stride[j] = run_stride[run] * taken;
        taken *= to->size[j];
        if (taken == run_size[run]) {
            run--;
            taken = 1;
        }
    }
    return true;
}

/* Copies the wanted shape to *to and replaces a -1 in it; raises and returns false if the shape does not fit. */
static bool resolve(mo_call *c, mo_shape_option *to) {
    *to = *(const mo_shape_option *)c->attributes;
    char text[160];
    int64_t count = mo_numel(c->in[0]), known = 1;
    int open = -1;
    if (to->ndim < 0 || to->ndim > MO_MAX_AXES)
        return mo_call_fail(c, MO_INVALID, "%d axes, expected 0 to %d", to->ndim, MO_MAX_AXES);
    for (int i = 0; i < to->ndim; i++) {
        if (to->size[i] < -1 || (to->size[i] == -1 && open >= 0))
            return mo_call_fail(c, MO_INVALID, "shape %s, expected sizes of 0 or more and at most one -1",
                mo_format_shape(to->ndim, to->size, text, sizeof text));
        if (to->size[i] == -1)
            open = i;
        else if (__builtin_mul_overflow(known, to->size[i], &known))
            known = INT64_MAX;
    }
    bool fits = open < 0 ? known == count : known > 0 && count % known == 0;
    if (!fits)
        return mo_call_fail(c, MO_INVALID, "shape %s, expected %" PRId64 " elements",
            mo_format_shape(to->ndim, to->size, text, sizeof text), count);
    if (open >= 0)
        to->size[open] = count / known;
    return true;
}

static bool reshape_shape(mo_call *c) {
    mo_shape_option to;
    int64_t stride[MO_MAX_AXES];
    char text[160];
    if (!resolve(c, &to))
        return false;
    if (!view_strides(c->in[0], &to, stride))
        return mo_call_fail(c, MO_INVALID, "no view has shape %s over these strides: call mo_contiguous first",
            mo_format_shape(to.ndim, to.size, text, sizeof text));
    return true;
}

static void reshape_forward(mo_call *c) {
    mo_shape_option to;
    int64_t stride[MO_MAX_AXES];
    if (resolve(c, &to) && view_strides(c->in[0], &to, stride))
        mo_call_view(c, to.ndim, to.size, stride, 0);
}

static void reshape_vjp(mo_vjp *v) {
    const mo_tensor *X = v->in[0];
    mo_shape_option to = mo_shape_option_of(X->ndim, X->shape);
    int64_t stride[MO_MAX_AXES];
    mo_tensor *Y_bar = v->out_bar[0];
    if (!view_strides(Y_bar, &to, stride))
        Y_bar = mo_contiguous(v->t, Y_bar);
    v->in_bar[0] = mo_reshape(v->t, Y_bar, X->ndim, X->shape);
}

static const mo_sample reshape_samples[] = {
    {"matrix to vector", "[3, 4]", &(const mo_shape_option){1, {12}}},
    {"one size open", "[2, 3, 4]", &(const mo_shape_option){3, {4, -1, 2}}},
    {"axes of size one", "[1, 5]", &(const mo_shape_option){4, {5, 1, 1, 1}}},
    {"scalar", "[1, 1]"},
    {"empty", "[0, 4]", &(const mo_shape_option){2, {2, 0}}},
    {"count", "[3, 4]", &(const mo_shape_option){2, {5, 2}},
        .error = "reshape: shape [5, 2], expected 12 elements; got [3, 4]"},
    {"two open", "[3, 4]", &(const mo_shape_option){2, {-1, -1}}, .error = "at most one -1"},
    {"open beside nothing", "[3, 4]", &(const mo_shape_option){2, {-1, 0}}, .error = "expected 12 elements"},
    {"axes", "[1]", &(const mo_shape_option){7, {1}}, .error = "7 axes"},
};

const mo_op mo_op_reshape = {
    .name = "reshape",
    .attributes_size = sizeof(mo_shape_option),
    .is_view = true,
    .shape = reshape_shape,
    .forward = reshape_forward,
    .vjp = reshape_vjp,
    MO_SAMPLES(reshape_samples),
};

mo_tensor *mo_reshape(mo_tape *t, mo_tensor *X, int ndim, const int64_t *shape) {
    mo_context *ctx = mo_tape_context(t);
    if (ndim > 0 && !mo_given(ctx, "reshape", "the shape", shape))
        return mo_null_tensor(ctx);
    mo_shape_option to = mo_shape_option_of(ndim, shape);
    return mo_apply(t, &mo_op_reshape, (mo_tensor *[]){X}, 1, &to);
}

/* ---- contiguous ---- */

static bool contiguous_shape(mo_call *c) {
    const mo_tensor *X = c->in[0];
    return mo_call_output(c, 0, X->dtype, X->ndim, X->shape);
}

static void contiguous_forward(mo_call *c) {
    mo_view x = mo_tensor_view(c->in[0]), y = mo_tensor_view(c->out[0]);
    c->ctx->backend->copy(c->ctx, &x, &y);
}

static void contiguous_vjp(mo_vjp *v) {
    v->in_bar[0] = v->out_bar[0];
}

static const mo_sample contiguous_samples[] = {
    {"matrix", "[3, 4]"},
    {"scalar", "[]"},
};

const mo_op mo_op_contiguous = {
    .name = "contiguous",
    .shape = contiguous_shape,
    .forward = contiguous_forward,
    .vjp = contiguous_vjp,
    MO_SAMPLES(contiguous_samples),
};

mo_tensor *mo_contiguous(mo_tape *t, mo_tensor *X) {
    if (!mo_is_null(X) && mo_is_contiguous(X))
        return X;
    return mo_apply(t, &mo_op_contiguous, (mo_tensor *[]){X}, 1, NULL);
}
