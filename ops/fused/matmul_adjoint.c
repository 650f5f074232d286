/* ops/fused/matmul_adjoint.c - both gradients of Y = A B in one op, so that its products are queued together.
 *
 * A [.., m, k], B [.., k, n], G = Y_bar [.., m, n] -> A_bar = G B^T and B_bar = A^T G; the leading axes are equal.
 * float32 or float64. Errors: sizes that do not fit. Saved: nothing beyond the inputs.
 *
 * With the cotangents U of A_bar and V of B_bar:   A_bar' = G V^T,   B_bar' = U^T G,   G_bar = U B + A V. */
#include "ops/fused/fused.h"
#include "ops/rules/products.h"
#include "ops/rules/shapes.h"

static bool matmul_adjoint_shape(mo_call *c) {
    const mo_tensor *A = c->in[0], *B = c->in[1], *G = c->in[2];
    if (!mo_call_real(c, 0, 2))
        return false;
    int axes = A->ndim - 2;
    if (axes < 0 || !mo_same_leading(A, B, axes) || !mo_same_leading(A, G, axes) || mo_dim(A, -1) != mo_dim(B, -2) ||
        mo_dim(G, -2) != mo_dim(A, -2) || mo_dim(G, -1) != mo_dim(B, -1))
        return mo_call_fail(c, MO_INVALID, "expected A [.., m, k], B [.., k, n] and the adjoint [.., m, n] of A B");
    return mo_call_output(c, 0, A->dtype, A->ndim, A->shape) && mo_call_output(c, 1, B->dtype, B->ndim, B->shape);
}

static void matmul_adjoint_forward(mo_call *c) {
    mo_view A = mo_tensor_view(c->in[0]), B = mo_tensor_view(c->in[1]), G = mo_tensor_view(c->in[2]);
    const mo_gemm g[] = {{.A = G, .B = mo_swap_view(B), .C = mo_tensor_view(c->out[0]), .alpha = 1},
        {.A = mo_swap_view(A), .B = G, .C = mo_tensor_view(c->out[1]), .alpha = 1}};
    mo_multiply(c->ctx, g, 2);
}

static void matmul_adjoint_vjp(mo_vjp *v) {
    mo_tape *t = v->t;
    mo_tensor *A = v->in[0], *B = v->in[1], *G = v->in[2], *U = v->out_bar[0], *V = v->out_bar[1];
    if (v->needs[0] && V) /* G V^T */
        v->in_bar[0] = mo_matmul(t, G, mo_transpose(t, V));
    if (v->needs[1] && U) /* U^T G */
        v->in_bar[1] = mo_matmul(t, mo_transpose(t, U), G);
    if (v->needs[2]) {
        mo_tensor *left = U ? mo_matmul(t, U, B) : NULL, *right = V ? mo_matmul(t, A, V) : NULL;
        v->in_bar[2] = left && right ? mo_add(t, left, right) : left ? left : right;
    }
}

static double matmul_adjoint_flops(const mo_call *c) {
    return 4.0 * (double)mo_numel(c->in[2]) * (double)mo_dim(c->in[0], -1);
}

static const mo_sample matmul_adjoint_samples[] = {
    {"plain", "[3, 4] [4, 2] [3, 2]"},
    {"batch", "[3, 2, 4] [3, 4, 5] [3, 2, 5]"},
    {"adjoint", "[3, 4] [4, 2] [2, 3]",
        .error = "matmul_adjoint: expected A [.., m, k], B [.., k, n] and the adjoint [.., m, n] of A B; got [3, 4] "
                 "float64"},
};

const mo_op mo_op_matmul_adjoint = {
    .name = "matmul_adjoint",
    .n_in = 3,
    .n_out = 2,
    .reads_in = 7,
    .shape = matmul_adjoint_shape,
    .forward = matmul_adjoint_forward,
    .vjp = matmul_adjoint_vjp,
    .flops = matmul_adjoint_flops,
    MO_SAMPLES(matmul_adjoint_samples),
};

bool mo_matmul_adjoint(mo_vjp *v) {
    mo_tensor *A = v->in[0], *B = v->in[1], *out[2];
    if (!v->needs[0] || !v->needs[1] || !mo_same_leading(A, B, A->ndim - 2))
        return false;
    mo_apply_all(v->t, &mo_op_matmul_adjoint, (mo_tensor *[]){A, B, v->out_bar[0]}, 3, NULL, out);
    v->in_bar[0] = out[0];
    v->in_bar[1] = out[1];
    return true;
}
