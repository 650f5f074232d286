/* ops/layers/linear.c - Y = act(X W^T + b + R): a layer in one pass of the matrix product.
 *
 * X [.., in], W [out, in], b [out] and R [.., out], which can be left out -> Y [.., out]; act is relu or nothing.
 * float32 or float64. The leading axes of X are rows of one tall product. A matrix X of any strides, and a W that is a
 * slice of a larger matrix, are read in place. Errors: sizes that do not fit. Saved: nothing beyond inputs and output.
 *
 * S = X W^T + b + R, Y = act(S). dY = act'(S) dS, and relu'(S) = [Y > 0], so with D = act'(S) Y_bar over flat rows
 *     X_bar = D W,   W_bar = D^T X,   b_bar = sum of the rows of D,   R_bar = D. */
#include "ops/fused/fused.h"
#include "ops/inside.h"
#include "ops/rules/layers.h"
#include "ops/rules/shapes.h"

#include <inttypes.h>
#include <string.h>

/* Inputs 0 and 1 are X and W. b and R are the numbers of these inputs; 0: there is none. */
typedef struct linear_options {
    bool relu;
    int b, R;
} linear_options;

static bool linear_shape(mo_call *c) {
    const linear_options *o = c->attributes;
    const mo_tensor *X = c->in[0], *W = c->in[1];
    int64_t size[MO_MAX_AXES];
    if (!mo_call_real(c, 0, c->n_in - 1))
        return false;
    if (c->n_in != 2 + (o->b > 0) + (o->R > 0))
        return mo_call_fail(
            c, MO_INVALID, "%d inputs, expected %d by the options", c->n_in, 2 + (o->b > 0) + (o->R > 0));
    if (X->ndim < 1 || W->ndim != 2 || mo_dim(X, -1) != W->shape[1])
        return mo_call_fail(c, MO_INVALID, "expected X [.., in] and W [out, in]");
    if (o->b && (c->in[o->b]->ndim != 1 || c->in[o->b]->shape[0] != W->shape[0]))
        return mo_call_fail(c, MO_INVALID, "input %d is b, expected [%" PRId64 "]", o->b, W->shape[0]);
    memcpy(size, X->shape, sizeof size);
    size[X->ndim - 1] = W->shape[0];
    if (o->R && (c->in[o->R]->ndim != X->ndim || memcmp(c->in[o->R]->shape, size, (size_t)X->ndim * sizeof *size) != 0))
        return mo_call_fail(c, MO_INVALID, "input %d is added to the product, expected its shape", o->R);
    return mo_call_output(c, 0, X->dtype, X->ndim, size);
}

mo_view mo_flat_view(mo_view v) {
    if (v.ndim == 2)
        return v;
    int64_t rows = 1, d = v.shape[v.ndim - 1];
    for (int i = 0; i < v.ndim - 1; i++)
        rows *= v.shape[i];
    return (mo_view){v.data, v.dtype, 2, {rows, d}, {d, 1}};
}

mo_view mo_flat_input(mo_call *c, int i) {
    return mo_flat_view(c->in[i]->ndim == 2 ? mo_tensor_view(c->in[i]) : mo_call_dense(c, i));
}

static void linear_forward(mo_call *c) {
    const linear_options *o = c->attributes;
    mo_gemm g = {.A = mo_flat_input(c, 0),
        .B = mo_swap_view(mo_tensor_view(c->in[1])),
        .C = mo_flat_view(mo_tensor_view(c->out[0])),
        .alpha = 1,
        .relu = o->relu};
    if (o->b)
        g.bias = mo_tensor_view(c->in[o->b]);
    if (o->R)
        g.addend = mo_flat_input(c, o->R);
    if (mo_ok(c->ctx))
        mo_kernels_of(c->ctx, g.C.dtype)->gemm(c->ctx, &g);
}

mo_tensor *mo_flat_rows(mo_tape *t, mo_tensor *X) {
    if (mo_is_null(X) || X->ndim == 2)
        return X;
    int64_t rows = 1;
    for (int i = 0; i < X->ndim - 1; i++)
        rows *= X->shape[i];
    return mo_reshape(t, mo_contiguous(t, X), 2, (int64_t[]){rows, X->shape[X->ndim - 1]});
}

void mo_linear_gradient(mo_tape *t, mo_tensor *D, mo_tensor *X, mo_tensor **W_bar, mo_tensor **b_bar) {
    if (W_bar)
        *W_bar = mo_matmul(t, mo_transpose(t, D), X);
    if (b_bar)
        *b_bar = mo_sum(t, D, MO_AXIS(0), MO_DROP_AXES);
}

mo_tensor *mo_layer_gradients(mo_vjp *v, mo_tensor *D, int b) {
    mo_tape *t = v->t;
    mo_tensor *X = v->needs[1] ? mo_flat_rows(t, v->in[0]) : NULL, *W = v->in[1], *bar[2];
    bool wanted_b = b && v->needs[b];
    if (v->needs[0] && v->needs[1] && wanted_b) {
        mo_tensor *X_bar = mo_linear_adjoint(t, (mo_tensor *[]){D, X, W}, bar);
        v->in_bar[1] = bar[0];
        v->in_bar[b] = bar[1];
        return X_bar;
    }
    mo_linear_gradient(t, D, X, v->needs[1] ? &v->in_bar[1] : NULL, wanted_b ? &v->in_bar[b] : NULL);
    return v->needs[0] ? mo_matmul(t, D, W) : NULL;
}

static void linear_vjp(mo_vjp *v) {
    mo_tape *t = v->t;
    const linear_options *o = v->attributes;
    mo_tensor *X = v->in[0], *Y_bar = v->out_bar[0], *D = o->relu ? mo_relu_mask(t, Y_bar, v->out[0]) : Y_bar;
    mo_tensor *X_bar = mo_layer_gradients(v, mo_flat_rows(t, D), o->b);
    if (v->needs[0])
        v->in_bar[0] = X->ndim == 2 ? X_bar : mo_reshape(t, X_bar, X->ndim, X->shape);
    if (o->R)
        v->in_bar[o->R] = D;
}

static double linear_flops(const mo_call *c) {
    return 2.0 * (double)mo_numel(c->out[0]) * (double)mo_dim(c->in[0], -1);
}

static const mo_sample linear_samples[] = {
    {"product alone", "[4, 3] [5, 3]"},
    {"bias, rows of a batch", "[2, 3, 4] [5, 4] [5]", &(const linear_options){false, 2, 0}},
    {"vector", "[4] [2, 4] [2]", &(const linear_options){false, 2, 0}},
    {"relu, bias, addend", "[4, 3] [5, 3] [5] [4, 5]", &(const linear_options){true, 2, 3}},
    {"relu, addend", "[2, 2, 3] [4, 3] [2, 2, 4]", &(const linear_options){true, 0, 2}},
    {"width", "[4, 3] [3, 5]", .error = "linear: expected X [.., in] and W [out, in]; got [4, 3]"},
    {"bias", "[4, 3] [5, 3] [3]", &(const linear_options){false, 2, 0}, .error = "input 2 is b, expected [5]"},
    {"addend", "[4, 3] [5, 3] [4, 3]", &(const linear_options){true, 0, 2}, .error = "input 2 is added to the product"},
};

const mo_op mo_op_linear = {
    .name = "linear",
    .n_in = 2,
    .max_in = 4,
    .attributes_size = sizeof(linear_options),
    .reads_in = 3,
    .reads_out = 1,
    .shape = linear_shape,
    .forward = linear_forward,
    .vjp = linear_vjp,
    .flops = linear_flops,
    MO_SAMPLES(linear_samples),
};

mo_tensor *mo_linear(mo_tape *t, mo_tensor *X, mo_tensor *W, mo_tensor *b) {
    linear_options o = {.b = b ? 2 : 0};
    return mo_apply(t, &mo_op_linear, (mo_tensor *[]){X, W, b}, b ? 3 : 2, &o);
}

mo_tensor *mo_linear_relu(mo_tape *t, mo_tensor *X, mo_tensor *W, mo_tensor *b, mo_tensor *R) {
    linear_options o = {.relu = true, .b = b ? 2 : 0, .R = R ? (b ? 3 : 2) : 0};
    mo_tensor *in[4] = {X, W};
    int n = 2;
    if (b)
        in[n++] = b;
    if (R)
        in[n++] = R;
    return mo_apply(t, &mo_op_linear, in, n, &o);
}
