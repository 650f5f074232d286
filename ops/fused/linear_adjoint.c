/* ops/fused/linear_adjoint.c - all gradients of a layer in one op, so that its two products are queued together.
 *
 * D [n, out], the gradient at the layer's Y = X W^T + b, X [n, in], W [out, in] -> X_bar = D W [n, in], W_bar = D^T X
 * [out, in] and b_bar = 1^T D [out]. float32 or float64, views of any strides. Errors: sizes that do not fit. Saved:
 * nothing beyond the inputs.
 *
 * With the cotangents P of X_bar, V of W_bar and u of b_bar:
 *     dX_bar = dD W + D dW,   dW_bar = dD^T X + D^T dX,   db_bar = 1^T dD, hence the adjoints
 *     P W^T + X V^T + 1 u^T of D,   D V of X,   D^T P of W. */
#include "ops/fused/fused.h"
#include "ops/rules/products.h"
#include "ops/rules/shapes.h"

#include <inttypes.h>

enum { D_IN, X_IN, W_IN };

static bool linear_adjoint_shape(mo_call *c) {
    const mo_tensor *D = c->in[D_IN], *X = c->in[X_IN], *W = c->in[W_IN];
    if (!mo_call_real(c, 0, 2))
        return false;
    if (D->ndim != 2 || X->ndim != 2 || W->ndim != 2 || D->shape[0] != X->shape[0])
        return mo_call_fail(c, MO_INVALID, "expected D [n, out], X [n, in] and W [out, in]");
    if (W->shape[0] != D->shape[1] || W->shape[1] != X->shape[1])
        return mo_call_fail(c, MO_INVALID, "expected W [%" PRId64 ", %" PRId64 "]", D->shape[1], X->shape[1]);
    mo_call_output(c, 0, D->dtype, 2, X->shape);
    mo_call_output(c, 1, D->dtype, 2, W->shape);
    return mo_call_output(c, 2, D->dtype, 1, W->shape);
}

static void linear_adjoint_forward(mo_call *c) {
    mo_view D = mo_tensor_view(c->in[D_IN]), X = mo_tensor_view(c->in[X_IN]);
    const mo_gemm g[] = {{.A = mo_swap_view(D),
                             .B = X,
                             .C = mo_tensor_view(c->out[1]),
                             .row_sums = mo_tensor_view(c->out[2]),
                             .alpha = 1},
        {.A = D, .B = mo_tensor_view(c->in[W_IN]), .C = mo_tensor_view(c->out[0]), .alpha = 1}};
    mo_multiply(c->ctx, g, 2);
}

/* Returns X V^T + 1 u^T, without the term whose V or u is NULL; NULL if both are NULL. */
static mo_tensor *through_weights(mo_vjp *v) {
    mo_tape *t = v->t;
    mo_tensor *V = v->out_bar[1], *u = v->out_bar[2];
    if (V)
        return mo_linear(t, v->in[X_IN], V, u);
    return u ? mo_contiguous(t, mo_broadcast_to(t, u, 2, v->in[D_IN]->shape)) : NULL;
}

static void linear_adjoint_vjp(mo_vjp *v) {
    mo_tape *t = v->t;
    mo_tensor *D = v->in[D_IN], *P = v->out_bar[0], *V = v->out_bar[1];
    if (v->needs[D_IN]) {
        mo_tensor *rows = through_weights(v), *product = P ? mo_linear(t, P, v->in[W_IN], NULL) : NULL;
        v->in_bar[D_IN] = rows && product ? mo_add(t, product, rows) : rows ? rows : product;
    }
    if (v->needs[X_IN] && V)
        v->in_bar[X_IN] = mo_matmul(t, D, V);
    if (v->needs[W_IN] && P)
        v->in_bar[W_IN] = mo_matmul(t, mo_transpose(t, D), P);
}

static double linear_adjoint_flops(const mo_call *c) {
    return 4.0 * (double)mo_numel(c->in[W_IN]) * (double)mo_dim(c->in[D_IN], 0) + (double)mo_numel(c->in[D_IN]);
}

static const mo_sample linear_adjoint_samples[] = {
    {"layer", "[4, 3] [4, 5] [3, 5]"},
    {"one output", "[6, 1] [6, 2] [1, 2]"},
    {"rows", "[4, 3] [3, 5] [3, 5]",
        .error = "linear_adjoint: expected D [n, out], X [n, in] and W [out, in]; got [4, 3]"},
    {"weights", "[4, 3] [4, 5] [5, 3]", .error = "expected W [3, 5]"},
};

const mo_op mo_op_linear_adjoint = {
    .name = "linear_adjoint",
    .n_in = 3,
    .n_out = 3,
    .reads_in = 7,
    .shape = linear_adjoint_shape,
    .forward = linear_adjoint_forward,
    .vjp = linear_adjoint_vjp,
    .flops = linear_adjoint_flops,
    MO_SAMPLES(linear_adjoint_samples),
};

mo_tensor *mo_linear_adjoint(mo_tape *t, mo_tensor *const in[3], mo_tensor *bar[2]) {
    mo_tensor *out[3];
    mo_apply_all(t, &mo_op_linear_adjoint, in, 3, NULL, out);
    bar[0] = out[1];
    bar[1] = out[2];
    return out[0];
}
