/* ops/fused/affine_adjoint.c - both gradients of Y = X W + 1 b (layers/affine.c) in one op, so that its products are
 * queued together, and [W_bar; b_bar] needs no copy.
 *
 * X [.., n, d], V = [W; b] [.., d + 1, C], G = Y_bar [.., n, C] -> X_bar = G W^T and V_bar = [X^T G; 1^T G]. float32 or
 * float64. Errors: sizes that do not fit. Saved: nothing beyond the inputs.
 *
 * With P and U = [U_W; U_b] the cotangents of X_bar and V_bar, <P, dG W^T + G dW^T> + <U_W, dX^T G + X^T dG> +
 * <U_b, 1^T dG> gives the adjoints G U_W^T of X, [P^T G; 0] of V and P W + X U_W + 1 U_b of G, where X U_W + 1 U_b is
 * affine(X, U). */
#include "ops/fused/fused.h"
#include "ops/inside.h"
#include "ops/rules/products.h"
#include "ops/rules/shapes.h"

/* Sets the last row of Z to the sum of the rows of G. */
static void sum_last_row(mo_call *c, mo_view G, mo_view Z) {
    int rows = Z.ndim - 2;
    mo_view sums = mo_window(Z, rows, Z.shape[rows] - 1, 1);
    sums.shape[rows] = G.shape[rows];
    sums.stride[rows] = 0;
    mo_kernels_of(c->ctx, Z.dtype)->reduce(c->ctx, MO_REDUCE_SUM, &G, &sums);
}

static bool affine_adjoint_shape(mo_call *c) {
    const mo_tensor *X = c->in[0], *V = c->in[1], *G = c->in[2];
    if (!mo_call_real(c, 0, 2))
        return false;
    if (X->ndim < 2 || !mo_same_leading(X, V, X->ndim - 2) || !mo_same_leading(X, G, X->ndim - 2) ||
        mo_dim(V, -2) != mo_dim(X, -1) + 1 || mo_dim(G, -2) != mo_dim(X, -2) || mo_dim(G, -1) != mo_dim(V, -1))
        return mo_call_fail(c, MO_INVALID, "expected X [.., n, d], weights [.., d + 1, C] and the adjoint [.., n, C]");
    return mo_call_output(c, 0, X->dtype, X->ndim, X->shape) && mo_call_output(c, 1, V->dtype, V->ndim, V->shape);
}

static void affine_adjoint_forward(mo_call *c) {
    mo_view X = mo_tensor_view(c->in[0]), V = mo_tensor_view(c->in[1]), G = mo_tensor_view(c->in[2]);
    mo_view X_bar = mo_tensor_view(c->out[0]), V_bar = mo_tensor_view(c->out[1]);
    int rows = X.ndim - 2;
    mo_view W = mo_window(V, rows, 0, X.shape[rows + 1]);
    const mo_gemm g[] = {{.A = G, .B = mo_swap_view(W), .C = X_bar, .alpha = 1},
        {.A = mo_swap_view(X), .B = G, .C = mo_window(V_bar, rows, 0, X.shape[rows + 1]), .alpha = 1}};
    mo_multiply(c->ctx, g, 2);
    sum_last_row(c, G, V_bar);
}

static void affine_adjoint_vjp(mo_vjp *v) {
    mo_tape *t = v->t;
    mo_tensor *X = v->in[0], *V = v->in[1], *G = v->in[2], *P = v->out_bar[0], *U = v->out_bar[1];
    int rows = mo_ndim(V) - 2;
    if (v->needs[0] && U)
        v->in_bar[0] = mo_times_weights(t, G, U);
    if (v->needs[1] && P)
        v->in_bar[1] = mo_pad(t, mo_matmul(t, mo_transpose(t, P), G), MO_AXIS(rows), 0, 1);
    if (v->needs[2]) {
        mo_tensor *product = P ? mo_matmul(t, P, mo_slice(t, V, MO_AXIS(rows), 0, mo_dim(V, -2) - 1)) : NULL;
        mo_tensor *layer = U ? mo_affine(t, X, U) : NULL;
        v->in_bar[2] = product && layer ? mo_add(t, product, layer) : product ? product : layer;
    }
}

static double affine_adjoint_flops(const mo_call *c) {
    return 4 * (double)mo_numel(c->in[0]) * (double)mo_dim(c->in[1], -1);
}

static const mo_sample affine_adjoint_samples[] = {
    {"matrix", "[5, 3] [4, 2] [5, 2]"},
    {"batch", "[2, 3, 2] [2, 3, 4] [2, 3, 4]"},
    {"adjoint", "[5, 3] [4, 2] [4, 2]",
        .error =
            "affine_adjoint: expected X [.., n, d], weights [.., d + 1, C] and the adjoint [.., n, C]; got [5, 3]"},
};

const mo_op mo_op_affine_adjoint = {
    .name = "affine_adjoint",
    .n_in = 3,
    .n_out = 2,
    .reads_in = 7,
    .shape = affine_adjoint_shape,
    .forward = affine_adjoint_forward,
    .vjp = affine_adjoint_vjp,
    .flops = affine_adjoint_flops,
    MO_SAMPLES(affine_adjoint_samples),
};

bool mo_affine_adjoint(mo_vjp *v) {
    mo_tensor *out[2];
    if (!v->needs[0] || !v->needs[1])
        return false;
    mo_apply_all(v->t, &mo_op_affine_adjoint, (mo_tensor *[]){v->in[0], v->in[1], v->out_bar[0]}, 3, NULL, out);
    v->in_bar[0] = out[0];
    v->in_bar[1] = out[1];
    return true;
}
