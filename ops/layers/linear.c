/* ops/layers/linear.c - Y = act(X W^T + b): a layer in one pass of the matrix product.
 *
 * X [.., in], W [out, in] and b [out], which can be left out -> Y [.., out]; act is relu or nothing. float32 or
 * float64. The leading axes of X are rows of one tall product. A matrix X of any strides, and a W that is a slice of a
 * larger matrix, are read in place. Errors: sizes that do not fit. Saved: nothing beyond inputs and output.
 *
 * S = X W^T + b, Y = act(S). dY = act'(S) dS, and relu'(S) = [Y > 0], so with D = act'(S) Y_bar over flat rows
 *     X_bar = D W,   W_bar = D^T X,   b_bar = sum of the rows of D. */
#include "ops/inside.h"
#include "ops/rules/layers.h"
#include "ops/rules/shapes.h"
#include "tensor/backend.h"

#include <inttypes.h>
#include <string.h>

/* Inputs 0 and 1 are X and W; b is input 2 if there is one. */
typedef struct linear_options {
    bool relu;
} linear_options;

enum { B_IN = 2 };

static bool linear_shape(mo_call *c) {
    const mo_tensor *X = c->in[0], *W = c->in[1];
    int64_t size[MO_MAX_AXES];
    if (!mo_call_real(c, 0, c->n_in - 1))
        return false;
    if (X->ndim < 1 || W->ndim != 2 || mo_dim(X, -1) != W->shape[1])
        return mo_call_fail(c, MO_INVALID, "expected X [.., in] and W [out, in]");
    if (c->n_in > B_IN && (c->in[B_IN]->ndim != 1 || c->in[B_IN]->shape[0] != W->shape[0]))
        return mo_call_fail(c, MO_INVALID, "input %d is b, expected [%" PRId64 "]", B_IN, W->shape[0]);
    memcpy(size, X->shape, sizeof size);
    size[X->ndim - 1] = W->shape[0];
    return mo_call_output(c, 0, X->dtype, X->ndim, size);
}

/* Returns v as a matrix whose rows are all its leading axes; v must be contiguous unless it has two axes. */
static mo_view flat_view(mo_view v) {
    if (v.ndim == 2)
        return v;
    int64_t d = row_length(&v);
    return (mo_view){v.data, v.dtype, 2, {row_count(&v), d}, {d, 1}};
}

static void linear_forward(mo_call *c) {
    const linear_options *o = c->attributes;
    mo_gemm g = {.A = flat_view(c->in[0]->ndim == 2 ? mo_tensor_view(c->in[0]) : mo_call_dense(c, 0)),
        .B = mo_swap_view(mo_tensor_view(c->in[1])),
        .C = flat_view(mo_tensor_view(c->out[0])),
        .alpha = 1,
        .relu = o->relu};
    if (c->n_in > B_IN)
        g.bias = mo_tensor_view(c->in[B_IN]);
    if (mo_ok(c->ctx))
        mo_kernels_of(c->ctx, g.C.dtype)->gemm(c->ctx, &g);
}

void mo_multiply(mo_context *ctx, const mo_gemm *g, int n) {
    const mo_kernels *k = mo_kernels_of(ctx, g->C.dtype);
    if (k->gemms)
        k->gemms(ctx, g, n);
    for (int i = 0; i < n && !k->gemms; i++)
        k->gemm(ctx, &g[i]);
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

/* Returns D over flat rows. */
static mo_tensor *sum_gradient(mo_vjp *v) {
    bool relu = ((const linear_options *)v->attributes)->relu;
    return mo_flat_rows(v->t, relu ? mo_relu_mask(v->t, v->out_bar[0], v->out[0]) : v->out_bar[0]);
}

static void linear_vjp(mo_vjp *v) {
    mo_tape *t = v->t;
    mo_tensor *X = v->in[0], *D = sum_gradient(v), *flat = v->needs[1] ? mo_flat_rows(t, X) : NULL;
    bool wanted_b = v->n_in > B_IN && v->needs[B_IN];
    mo_linear_gradient(t, D, flat, v->needs[1] ? &v->in_bar[1] : NULL, wanted_b ? &v->in_bar[B_IN] : NULL);
    if (v->needs[0])
        v->in_bar[0] = mo_reshape(t, mo_matmul(t, D, v->in[1]), X->ndim, X->shape);
}

/* All gradients of a layer, whose two products are queued together. */
static bool linear_adjoint(mo_vjp *v) {
    mo_tape *t = v->t;
    mo_tensor *X = v->in[0], *W = v->in[1];
    if (v->n_in == B_IN || !v->needs[0] || !v->needs[1] || !v->needs[B_IN])
        return false;
    mo_tensor *D = sum_gradient(v), *flat = mo_flat_rows(t, X);
    mo_tensor *X_bar = mo_tape_tensor(t, X->dtype, 2, flat->shape);
    v->in_bar[1] = mo_tape_tensor(t, X->dtype, 2, W->shape);
    v->in_bar[B_IN] = mo_tape_tensor(t, X->dtype, 1, W->shape);
    const mo_gemm g[] = {{.A = mo_swap_view(mo_tensor_view(D)),
                             .B = mo_tensor_view(flat),
                             .C = mo_tensor_view(v->in_bar[1]),
                             .row_sums = mo_tensor_view(v->in_bar[B_IN]),
                             .alpha = 1},
        {.A = mo_tensor_view(D), .B = mo_tensor_view(W), .C = mo_tensor_view(X_bar), .alpha = 1}};
    if (mo_ok(X->ctx))
        mo_multiply(X->ctx, g, 2);
    v->in_bar[0] = mo_reshape(t, X_bar, X->ndim, X->shape);
    return true;
}

static double linear_flops(const mo_call *c) {
    return 2.0 * (double)mo_numel(c->out[0]) * (double)mo_dim(c->in[0], -1);
}

static const mo_sample linear_samples[] = {
    {"product alone", "[4, 3] [5, 3]"},
    {"bias, rows of a batch", "[2, 3, 4] [5, 4] [5]", NULL},
    {"vector", "[4] [2, 4] [2]", NULL},
    {"relu, bias", "[4, 3] [5, 3] [5]", &(const linear_options){true}},
    {"relu, rows of a batch", "[2, 2, 3] [4, 3]", &(const linear_options){true}},
    {"width", "[4, 3] [3, 5]", .error = "linear: expected X [.., in] and W [out, in]; got [4, 3]"},
    {"bias", "[4, 3] [5, 3] [3]", NULL, .error = "input 2 is b, expected [5]"},
};

const mo_op mo_op_linear = {
    .name = "linear",
    .n_in = 2,
    .max_in = 3,
    .attributes_size = sizeof(linear_options),
    .reads_in = 3,
    .reads_out = 1,
    .shape = linear_shape,
    .forward = linear_forward,
    .vjp = linear_vjp,
    .adjoint = linear_adjoint,
    .flops = linear_flops,
    MO_SAMPLES(linear_samples),
};

static mo_tensor *layer(mo_tape *t, mo_tensor *X, mo_tensor *W, mo_tensor *b, bool relu) {
    return mo_apply(t, &mo_op_linear, (mo_tensor *[]){X, W, b}, b ? 3 : 2, &(linear_options){relu});
}

mo_tensor *mo_linear(mo_tape *t, mo_tensor *X, mo_tensor *W, mo_tensor *b) {
    return layer(t, X, W, b, false);
}

mo_tensor *mo_linear_relu(mo_tape *t, mo_tensor *X, mo_tensor *W, mo_tensor *b) {
    return layer(t, X, W, b, true);
}
