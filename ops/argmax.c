/* ops/argmax.c - the position of the largest entry along an axis; the first one of equal entries.
 *
 * The op: X [.., m], float32 or float64 -> int64 [..], the position 0 .. m - 1 in each row. mo_argmax brings any axis
 * to the end first. Errors: other dtypes, no axis, empty rows (m = 0). Saved: nothing. No derivative: positions are
 * integers. */
#include "ops/inside.h"
#include "ops/rules/rows.h"
#include "ops/rules/shapes.h"

static bool argmax_shape(mo_call *c) {
    return mo_call_per_row(c, MO_I64);
}

static void argmax_forward(mo_call *c) {
    mo_view x = mo_call_dense(c, 0), index = mo_tensor_view(c->out[0]);
    if (mo_ok(c->ctx))
        mo_kernels_of(c->ctx, x.dtype)->argmax(c->ctx, &x, &index);
}

static double argmax_flops(const mo_call *c) {
    return (double)mo_numel(c->in[0]);
}

static const mo_sample argmax_samples[] = {
    {"rows", "distinct[3, 4]"},
    {"vector", "distinct[7]"},
    {"batch", "distinct[2, 3, 5]"},
    {"no rows", "distinct[0, 3]"},
    {"of nothing", "[3, 0]", .error = "argmax: over no elements; got [3, 0] float64"},
    {"scalar", "[]", .error = "argmax: expected rows, one axis or more"},
};

const mo_op mo_op_argmax = {
    .name = "argmax",
    .shape = argmax_shape,
    .forward = argmax_forward,
    .flops = argmax_flops,
    MO_SAMPLES(argmax_samples),
};

mo_tensor *mo_argmax(mo_tape *t, mo_tensor *X, mo_axes axis) {
    mo_tensor *rows = X;
    if (!mo_is_null(X) && X->ndim > 0) {
        mo_one_axis(X->ctx, "argmax", axis);
        rows = mo_rows(t, "argmax", X, axis);
    }
    return mo_apply(t, &mo_op_argmax, &rows, 1, NULL);
}
