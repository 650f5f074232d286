/* ops/relu.c - Y = max(X, 0), and the mask of its gradient.
 *
 * relu: X of any shape -> Y of the same. relu_mask: A and Y of equal shapes -> A where Y > 0, else 0. float32 or
 * float64. Errors: other dtypes, shapes that differ. Saved: nothing (the mask is read off the output).
 *
 * dY = dX where X > 0 (equivalently Y > 0), and 0 elsewhere, including the kink: X_bar = relu_mask(Y_bar, Y).
 * relu_mask is linear in A, so A_bar = relu_mask(Z_bar, Y); it is flat in Y, which has no gradient. */
#include "ops/inside.h"
#include "ops/rules/shapes.h"

static bool relu_shape(mo_call *c) {
    if (!mo_call_real(c, 0, c->n_in - 1))
        return false;
    if (c->n_in == 2 && !mo_same_shape(c->in[0], c->in[1]))
        return mo_call_fail(c, MO_INVALID, "expected equal shapes");
    return mo_call_output(c, 0, c->in[0]->dtype, c->in[0]->ndim, c->in[0]->shape);
}

static void relu_forward(mo_call *c) {
    mo_view x = mo_tensor_view(c->in[0]), y = mo_tensor_view(c->out[0]);
    mo_kernels_of(c->ctx, y.dtype)->map1(c->ctx, MO_MAP_RELU, 0, 0, &x, &y);
}

static void relu_vjp(mo_vjp *v) {
    v->in_bar[0] = mo_relu_mask(v->t, v->out_bar[0], v->out[0]);
}

static const mo_sample relu_samples[] = {
    {.name = "matrix", .in = "[3, 4]"},
    {.name = "scalar", .in = "[]"},
    {.name = "empty", .in = "[0, 4]"},
    {.name = "dtype", .in = "index<2>[3]", .error = "relu: input 0 is int64", .code = MO_MISMATCH},
};

const mo_op mo_op_relu = {
    .name = "relu",
    .n_in = 1,
    .reads_out = 1,
    .shape = relu_shape,
    .forward = relu_forward,
    .vjp = relu_vjp,
    MO_SAMPLES(relu_samples),
};

mo_tensor *mo_relu(mo_tape *t, mo_tensor *X) {
    return mo_apply(t, &mo_op_relu, (mo_tensor *[]){X}, 1, NULL);
}

static void relu_mask_forward(mo_call *c) {
    mo_view a = mo_tensor_view(c->in[0]), y = mo_tensor_view(c->in[1]), z = mo_tensor_view(c->out[0]);
    mo_kernels_of(c->ctx, z.dtype)->map2(c->ctx, MO_MAP_RELU_MASK, &a, &y, &z);
}

static void relu_mask_vjp(mo_vjp *v) {
    if (v->needs[0])
        v->in_bar[0] = mo_relu_mask(v->t, v->out_bar[0], v->in[1]);
}

static const mo_sample relu_mask_samples[] = {
    {.name = "matrix", .in = "[3, 4] [3, 4]"},
    {.name = "scalar", .in = "[] []"},
    {.name = "shapes",
        .in = "[3, 4] [4]",
        .error = "relu_mask: expected equal shapes; got [3, 4] float64, [4] float64"},
    {.name = "dtype", .in = "[3] index<2>[3]", .error = "input 1 is int64", .code = MO_MISMATCH},
};

const mo_op mo_op_relu_mask = {
    .name = "relu_mask",
    .n_in = 2,
    .reads_in = 2,
    .shape = relu_shape,
    .forward = relu_mask_forward,
    .vjp = relu_mask_vjp,
    MO_SAMPLES(relu_mask_samples),
};

mo_tensor *mo_relu_mask(mo_tape *t, mo_tensor *A, mo_tensor *Y) {
    return mo_apply(t, &mo_op_relu_mask, (mo_tensor *[]){A, Y}, 2, NULL);
}
