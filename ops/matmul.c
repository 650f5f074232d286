/* ops/matmul.c - Y = A B, batched.
 *
 * A [.., m, k], B [.., k, n] -> Y [.., m, n]; leading axes broadcast without copies (a stride of 0), transposed views
 * are read in place. float32 or float64. Errors: fewer than two axes, inner sizes that differ,
 * leading axes that do not broadcast. Saved: nothing beyond the inputs.
 *
 * dY = dA B + A dB; <Y_bar, dY> = <Y_bar B^T, dA> + <A^T Y_bar, dB>, hence
 *     A_bar = Y_bar B^T,   B_bar = A^T Y_bar,
 * each summed over the axes along which its operand was broadcast (Giles 2008, 2.2.2). */
#include "ops/inside.h"
#include "ops/rules/products.h"
#include "ops/rules/shapes.h"

#include <inttypes.h>
#include <string.h>

static bool matmul_shape(mo_call *c) {
    const mo_tensor *A = c->in[0], *B = c->in[1];
    int ndim;
    int64_t size[MO_MAX_AXES];
    if (!mo_call_real(c, 0, 1))
        return false;
    if (A->ndim < 2 || B->ndim < 2)
        return mo_call_fail(c, MO_INVALID, "expected matrices, two axes or more");
    if (mo_dim(A, -1) != mo_dim(B, -2))
        return mo_call_fail(
            c, MO_INVALID, "inner sizes %" PRId64 " and %" PRId64 ", expected equal", mo_dim(A, -1), mo_dim(B, -2));
    if (!mo_broadcast_leading(c, 0, 1, 2, &ndim, size))
        return false;
    size[ndim] = mo_dim(A, -2);
    size[ndim + 1] = mo_dim(B, -1);
    return mo_call_output(c, 0, A->dtype, ndim + 2, size);
}

static void matmul_forward(mo_call *c) {
    mo_view Y = mo_tensor_view(c->out[0]);
    mo_gemm g = {.C = Y, .alpha = 1};
    g.A = mo_broadcast_view(mo_tensor_view(c->in[0]), 2, Y.ndim - 2, Y.shape);
    g.B = mo_broadcast_view(mo_tensor_view(c->in[1]), 2, Y.ndim - 2, Y.shape);
    mo_kernels_of(c->ctx, Y.dtype)->gemm(c->ctx, &g);
}

static bool take_both(mo_vjp *v);

static void matmul_vjp(mo_vjp *v) {
    mo_tape *t = v->t;
    mo_tensor *A = v->in[0], *B = v->in[1], *Y_bar = v->out_bar[0];
    if (take_both(v))
        return;
    if (v->needs[0]) /* A_bar = Y_bar B^T */
        v->in_bar[0] = mo_sum_to(t, mo_matmul(t, Y_bar, mo_transpose(t, B)), A->ndim, A->shape);
    if (v->needs[1]) /* B_bar = A^T Y_bar */
        v->in_bar[1] = mo_sum_to(t, mo_matmul(t, mo_transpose(t, A), Y_bar), B->ndim, B->shape);
}

static double matmul_flops(const mo_call *c) {
    return 2.0 * (double)mo_numel(c->out[0]) * (double)mo_dim(c->in[0], -1);
}

static const mo_sample matmul_samples[] = {
    {.name = "plain", .in = "[3, 4] [4, 2]"},
    {.name = "batch", .in = "[3, 2, 4] [3, 4, 5]"},
    {.name = "broadcast", .in = "[3, 1, 2, 4] [2, 4, 3]"},
    {.name = "broadcast left", .in = "[2, 4] [3, 4, 2]"},
    {.name = "one row", .in = "[1, 7] [7, 1]"},
    {.name = "empty inner", .in = "[3, 0] [0, 2]"},
    {.name = "inner",
        .in = "[3, 4] [5, 2]",
        .error = "matmul: inner sizes 4 and 5, expected equal; got [3, 4] float64, [5, 2] float64"},
    {.name = "vector", .in = "[4] [4, 2]", .error = "two axes"},
    {.name = "batch", .in = "[3, 2, 4] [2, 4, 2]", .error = "sizes 3 and 2"},
    {.name = "dtype", .in = "[3, 4] index<3>[4, 2]", .error = "int64", .code = MO_MISMATCH},
};

const mo_op mo_op_matmul = {
    .name = "matmul",
    .n_in = 2,
    .reads_in = 3,
    .shape = matmul_shape,
    .forward = matmul_forward,
    .vjp = matmul_vjp,
    .flops = matmul_flops,
    MO_SAMPLES(matmul_samples),
};

/* ---- both gradients ----
 *
 * Where nothing was broadcast and both are wanted, matmul_adjoint computes both, so that its products are queued
 * together. With its cotangents U of A_bar and V of B_bar, and G the adjoint Y_bar that it read,
 *     A_bar' = G V^T,   B_bar' = U^T G,   G_bar = U B + A V. */

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
    {.name = "plain", .in = "[3, 4] [4, 2] [3, 2]"},
    {.name = "batch", .in = "[3, 2, 4] [3, 4, 5] [3, 2, 5]"},
    {.name = "empty inner", .in = "[3, 0] [0, 2] [3, 2]"},
    {.name = "adjoint",
        .in = "[3, 4] [4, 2] [2, 3]",
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

static bool take_both(mo_vjp *v) {
    mo_tensor *A = v->in[0], *B = v->in[1], *out[2];
    if (!v->needs[0] || !v->needs[1] || !mo_same_leading(A, B, A->ndim - 2))
        return false;
    mo_apply_all(v->t, &mo_op_matmul_adjoint, (mo_tensor *[]){A, B, v->out_bar[0]}, 3, NULL, out);
    v->in_bar[0] = out[0];
    v->in_bar[1] = out[1];
    return true;
}

mo_tensor *mo_matmul(mo_tape *t, mo_tensor *A, mo_tensor *B) {
    /* One matrix for the whole batch: a single tall product, whose adjoint in B is one product too. Shapes that do not
     * agree are left to the op, which names them as they were given. */
    if (!mo_is_null(A) && !mo_is_null(B) && A->ndim > 2 && B->ndim == 2 && A->dtype == B->dtype &&
        mo_is_contiguous(A) && A->shape[A->ndim - 1] > 0 && A->shape[A->ndim - 1] == B->shape[0]) {
        int64_t size[MO_MAX_AXES];
        memcpy(size, A->shape, sizeof size);
        size[A->ndim - 1] = B->shape[1];
        mo_tensor *tall = mo_reshape(t, A, 2, (int64_t[]){-1, A->shape[A->ndim - 1]});
        return mo_reshape(t, mo_matmul(t, tall, B), A->ndim, size);
    }
    return mo_apply(t, &mo_op_matmul, (mo_tensor *[]){A, B}, 2, NULL);
}
