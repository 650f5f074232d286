/* ops/fused/hop_gradient.c - the gradient of hop_layers with respect to its weights and biases, for all hops in one op.
 *
 * D [K, n, out], the gradient at Y_k = X_k W_k^T + b_k, and X [K, n, in] -> W_bar [K, out, in], W_bar_k = D_k^T X_k,
 * and b_bar [K, out], b_bar_k = 1^T D_k. float32 or float64, views of any strides. Errors: sizes that do not fit.
 * Saved: nothing beyond the inputs.
 *
 * For each hop this is a layer of linear.c. With the adjoints V of W_bar and u of b_bar, D_bar_k = X_k V_k^T + 1 u_k^T
 * and X_bar_k = D_k V_k, which are batched products. */
#include "ops/fused/fused.h"
#include "ops/rules/layers.h"
#include "ops/rules/shapes.h"
#include "tensor/backend.h"

static bool hop_gradient_shape(mo_call *c) {
    const mo_tensor *D = c->in[0], *X = c->in[1];
    if (!mo_call_real(c, 0, 1))
        return false;
    if (D->ndim != 3 || X->ndim != 3 || D->shape[0] != X->shape[0] || D->shape[1] != X->shape[1])
        return mo_call_fail(c, MO_INVALID, "expected D [K, n, out] and X [K, n, in]");
    int64_t K = D->shape[0], out = D->shape[2];
    return mo_call_output(c, 0, D->dtype, 3, (int64_t[]){K, out, X->shape[2]}) &&
           mo_call_output(c, 1, D->dtype, 2, (int64_t[]){K, out});
}

static void hop_gradient_forward(mo_call *c) {
    const mo_gemm all = {.A = mo_swap_view(mo_tensor_view(c->in[0])),
        .B = mo_tensor_view(c->in[1]),
        .C = mo_tensor_view(c->out[0]),
        .row_sums = mo_tensor_view(c->out[1]),
        .alpha = 1};
    const mo_kernels *kernels = mo_kernels_of(c->ctx, all.C.dtype);
    /* All hops as one batch. The CPU, which has no `gemms`, multiplies hop by hop: it would cut a batch into other
     * tasks than single matrices, and so round sums differently. */
    if (kernels->gemms) {
        kernels->gemms(c->ctx, &all, 1);
        return;
    }
    for (int64_t k = 0; k < all.A.shape[0]; k++) {
        mo_gemm g = all;
        g.A = mo_hop_view(all.A, k);
        g.B = mo_hop_view(all.B, k);
        g.C = mo_hop_view(all.C, k);
        g.row_sums = mo_window(all.row_sums, 0, k, 1);
        g.row_sums.ndim = 1;
        g.row_sums.shape[0] = all.row_sums.shape[1];
        g.row_sums.stride[0] = all.row_sums.stride[1];
        kernels->gemm(c->ctx, &g);
    }
}

static void hop_gradient_vjp(mo_vjp *v) {
    mo_tape *t = v->t;
    mo_tensor *D = v->in[0], *X = v->in[1], *V = v->out_bar[0], *u = v->out_bar[1];
    if (v->needs[0]) {
        mo_tensor *product = V ? mo_matmul(t, X, mo_transpose(t, V)) : NULL; /* X V^T */
        if (u) {
            int64_t row[] = {D->shape[0], 1, D->shape[2]};
            mo_tensor *rows = mo_reshape(t, u, 3, row); /* 1 u^T */
            product = product ? mo_add(t, product, rows) : mo_contiguous(t, mo_broadcast_to(t, rows, 3, D->shape));
        }
        v->in_bar[0] = product;
    }
    if (v->needs[1] && V)
        v->in_bar[1] = mo_matmul(t, D, V);
}

static double hop_gradient_flops(const mo_call *c) {
    return 2.0 * (double)mo_numel(c->in[0]) * (double)mo_dim(c->in[1], -1) + (double)mo_numel(c->in[0]);
}

static const mo_sample hop_gradient_samples[] = {
    {"three hops", "[3, 4, 2] [3, 4, 5]"},
    {"one hop", "[1, 5, 1] [1, 5, 2]"},
    {"rows", "[2, 4, 3] [2, 3, 5]", .error = "hop_gradient: expected D [K, n, out] and X [K, n, in]; got [2, 4, 3]"},
};

const mo_op mo_op_hop_gradient = {
    .name = "hop_gradient",
    .n_in = 2,
    .n_out = 2,
    .reads_in = 3,
    .shape = hop_gradient_shape,
    .forward = hop_gradient_forward,
    .vjp = hop_gradient_vjp,
    .flops = hop_gradient_flops,
    MO_SAMPLES(hop_gradient_samples),
};

void mo_hop_gradient(mo_tape *t, mo_tensor *D, mo_tensor *X, mo_tensor **W_bar, mo_tensor **b_bar) {
    mo_tensor *out[2];
    mo_apply_all(t, &mo_op_hop_gradient, (mo_tensor *[]){D, X}, 2, NULL, out);
    *W_bar = out[0];
    *b_bar = out[1];
}
