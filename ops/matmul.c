/* ops/matmul.c - Y = A B, batched.
 *
 * A [.., m, k], B [.., k, n] -> Y [.., m, n]; leading axes broadcast without copies (a stride of 0), transposed views
 * are read in place. float32 or float64. Errors: fewer than two axes, inner sizes that differ, leading axes that do not
 * broadcast. Saved: nothing beyond the inputs.
 *
 * dY = dA B + A dB; <Y_bar, dY> = <Y_bar B^T, dA> + <A^T Y_bar, dB>, hence
 *     A_bar = Y_bar B^T,   B_bar = A^T Y_bar,
 * each summed over the axes along which its operand was broadcast (Giles 2008, 2.2.2). */
#include "ops/inside.h"
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

static void matmul_vjp(mo_vjp *v) {
    mo_tape *t = v->t;
    mo_tensor *A = v->in[0], *B = v->in[1], *Y_bar = v->out_bar[0];
    if (v->needs[0]) /* A_bar = Y_bar B^T */
        v->in_bar[0] = mo_sum_to(t, mo_matmul(t, Y_bar, mo_transpose(t, B)), A->ndim, A->shape);
    if (v->needs[1]) /* B_bar = A^T Y_bar */
        v->in_bar[1] = mo_sum_to(t, mo_matmul(t, mo_transpose(t, A), Y_bar), B->ndim, B->shape);
}

static double matmul_flops(const mo_call *c) {
    return 2.0 * (double)mo_numel(c->out[0]) * (double)mo_dim(c->in[0], -1);
}

static const mo_sample matmul_samples[] = {
    {"plain", "[3, 4] [4, 2]"},
    {"batch", "[3, 2, 4] [3, 4, 5]"},
    {"broadcast", "[3, 1, 2, 4] [2, 4, 3]"},
    {"broadcast left", "[2, 4] [3, 4, 2]"},
    {"one row", "[1, 7] [7, 1]"},
    {"inner", "[3, 4] [5, 2]",
        .error = "matmul: inner sizes 4 and 5, expected equal; got [3, 4] float64, [5, 2] float64"},
    {"vector", "[4] [4, 2]", .error = "two axes"},
    {"batch", "[3, 2, 4] [2, 4, 2]", .error = "sizes 3 and 2"},
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

mo_tensor *mo_matmul(mo_tape *t, mo_tensor *A, mo_tensor *B) {
    /* B is one matrix for the whole batch: a single tall product, whose adjoint in B is one product too. If the shapes
     * do not fit, the op gets A and B unchanged, so that its error names their shapes. */
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
