/* ops/layers/linear_gradient.c - the gradient of a layer in its weights and its bias, in one pass of the matrix
 * product.
 *
 * D [n, out], the gradient at the layer's Y = X W^T + b, and X [n, in] -> W_bar = D^T X [out, in] and b_bar = 1^T D
 * [out]. float32 or float64, views of any strides. Errors: sizes that do not fit. Saved: nothing beyond the inputs.
 *
 * dW_bar = dD^T X + D^T dX, db_bar = 1^T dD. With the adjoints V of W_bar and u of b_bar: <V, dD^T X> = <X V^T, dD> and
 * <u, 1^T dD> = <1 u^T, dD>, so D_bar = X V^T + 1 u^T, which is the layer itself with V and u for its weights; and
 * <V, D^T dX> = <D V, dX>: X_bar = D V. */
#include "ops/inside.h"
#include "ops/rules/layers.h"
#include "ops/rules/shapes.h"
#include "tensor/backend.h"

static bool linear_gradient_shape(mo_call *c) {
    const mo_tensor *D = c->in[0], *X = c->in[1];
    if (!mo_call_real(c, 0, 1))
        return false;
    if (D->ndim != 2 || X->ndim != 2 || D->shape[0] != X->shape[0])
        return mo_call_fail(c, MO_INVALID, "expected D [n, out] and X [n, in]");
    return mo_call_output(c, 0, D->dtype, 2, (int64_t[]){D->shape[1], X->shape[1]}) &&
           mo_call_output(c, 1, D->dtype, 1, &D->shape[1]);
}

static void linear_gradient_forward(mo_call *c) {
    const mo_gemm g = {.A = mo_swap_view(mo_tensor_view(c->in[0])),
        .B = mo_tensor_view(c->in[1]),
        .C = mo_tensor_view(c->out[0]),
        .row_sums = mo_tensor_view(c->out[1]),
        .alpha = 1};
    mo_kernels_of(c->ctx, g.C.dtype)->gemm(c->ctx, &g);
}

static void linear_gradient_vjp(mo_vjp *v) {
    mo_tape *t = v->t;
    mo_tensor *D = v->in[0], *X = v->in[1], *V = v->out_bar[0], *u = v->out_bar[1];
    if (v->needs[0]) /* D_bar = X V^T + 1 u^T */
        v->in_bar[0] = V ? mo_linear(t, X, V, u) : mo_contiguous(t, mo_broadcast_to(t, u, 2, D->shape));
    if (v->needs[1] && V) /* X_bar = D V */
        v->in_bar[1] = mo_matmul(t, D, V);
}

static double linear_gradient_flops(const mo_call *c) {
    return 2.0 * (double)mo_numel(c->out[0]) * (double)mo_dim(c->in[0], 0) + (double)mo_numel(c->in[0]);
}

static const mo_sample linear_gradient_samples[] = {
    {.name = "layer", .in = "[4, 3] [4, 5]"},
    {.name = "one output", .in = "[6, 1] [6, 2]"},
    {.name = "no rows", .in = "[0, 3] [0, 2]"},
    {.name = "rows", .in = "[4, 3] [3, 5]", .error = "linear_gradient: expected D [n, out] and X [n, in]; got [4, 3]"},
};

const mo_op mo_op_linear_gradient = {
    .name = "linear_gradient",
    .n_in = 2,
    .n_out = 2,
    .reads_in = 3,
    .shape = linear_gradient_shape,
    .forward = linear_gradient_forward,
    .vjp = linear_gradient_vjp,
    .flops = linear_gradient_flops,
    MO_SAMPLES(linear_gradient_samples),
};

void mo_linear_gradient(mo_tape *t, mo_tensor *D, mo_tensor *X, mo_tensor **W_bar, mo_tensor **b_bar) {
    mo_tensor *out[2];
    if (W_bar && b_bar) {
        mo_apply_all(t, &mo_op_linear_gradient, (mo_tensor *[]){D, X}, 2, NULL, out);
        *W_bar = out[0];
        *b_bar = out[1];
    } else if (W_bar) {
        *W_bar = mo_matmul(t, mo_transpose(t, D), X);
    } else if (b_bar) {
        *b_bar = mo_sum(t, D, MO_AXIS(0), MO_DROP_AXES);
    }
}
