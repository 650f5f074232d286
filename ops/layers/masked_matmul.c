/* ops/layers/masked_matmul.c - a product masked by the adjoint of relu, in one pass.
 *
 * A [m, k], B [k, n], Y [m, n] -> Z = A B where Y > 0, else 0. With Y = relu(S) it is the gradient that reaches S from
 * a layer over Y. A fourth input, uint8, is the device's record of Y > 0, kept when it made Y (mo_gemm's bits): the
 * same mask in a thirty-second of the memory. float32 or float64, views of any strides. Errors: sizes that do not fit.
 * Saved: nothing beyond the inputs.
 *
 * dZ = [Y > 0] o (dA B + A dB); with P = [Y > 0] o Z_bar: A_bar = P B^T, B_bar = A^T P. Z is flat in Y: no gradient. */
#include "ops/inside.h"
#include "ops/rules/layers.h"
#include "ops/rules/shapes.h"
#include "tensor/backend.h"

#include <inttypes.h>

static bool masked_matmul_shape(mo_call *c) {
    const mo_tensor *A = c->in[0], *B = c->in[1], *Y = c->in[2];
    if (!mo_call_real(c, 0, 2))
        return false;
    if (A->ndim != 2 || B->ndim != 2 || A->shape[1] != B->shape[0])
        return mo_call_fail(c, MO_INVALID, "expected A [m, k] and B [k, n]");
    int64_t size[] = {A->shape[0], B->shape[1]};
    if (Y->ndim != 2 || Y->shape[0] != size[0] || Y->shape[1] != size[1])
        return mo_call_fail(c, MO_INVALID, "expected Y [%" PRId64 ", %" PRId64 "]", size[0], size[1]);
    if (c->n_in == 4 && (c->in[3]->dtype != MO_U8 || c->in[3]->ndim != 2 || c->in[3]->shape[0] != size[0]))
        return mo_call_fail(c, MO_INVALID, "expected the bits of Y's rows, uint8");
    return mo_call_output(c, 0, A->dtype, 2, size);
}

static void masked_matmul_forward(mo_call *c) {
    mo_gemm g = {.A = mo_tensor_view(c->in[0]),
        .B = mo_tensor_view(c->in[1]),
        .C = mo_tensor_view(c->out[0]),
        .above = mo_tensor_view(c->in[2]),
        .alpha = 1};
    if (c->n_in == 4)
        g.bits = mo_tensor_view(c->in[3]);
    mo_kernels_of(c->ctx, g.C.dtype)->gemm(c->ctx, &g);
}

static void masked_matmul_vjp(mo_vjp *v) {
    mo_tape *t = v->t;
    if (!v->needs[0] && !v->needs[1])
        return;
    mo_tensor *A = v->in[0], *B = v->in[1], *P = mo_relu_mask(t, v->out_bar[0], v->in[2]);
    if (v->needs[0]) /* A_bar = P B^T */
        v->in_bar[0] = mo_matmul(t, P, mo_transpose(t, B));
    if (v->needs[1]) /* B_bar = A^T P */
        v->in_bar[1] = mo_matmul(t, mo_transpose(t, A), P);
}

static double masked_matmul_flops(const mo_call *c) {
    return 2.0 * (double)mo_numel(c->out[0]) * (double)mo_dim(c->in[0], 1);
}

static const mo_sample masked_matmul_samples[] = {
    {.name = "plain", .in = "[4, 3] [3, 5] [4, 5]"},
    {.name = "outer product", .in = "[4, 1] [1, 6] [4, 6]"},
    {.name = "no rows", .in = "[0, 3] [3, 2] [0, 2]"},
    {.name = "inner",
        .in = "[4, 3] [2, 5] [4, 5]",
        .error = "masked_matmul: expected A [m, k] and B [k, n]; got [4, 3]"},
    {.name = "mask", .in = "[4, 3] [3, 5] [4, 3]", .error = "expected Y [4, 5]"},
    {.name = "bits", .in = "[4, 3] [3, 5] [4, 5] mask[3, 16]", .error = "expected the bits of Y's rows"},
};

const mo_op mo_op_masked_matmul = {
    .name = "masked_matmul",
    .n_in = 3,
    .max_in = 4,
    .reads_in = 7,
    .shape = masked_matmul_shape,
    .forward = masked_matmul_forward,
    .vjp = masked_matmul_vjp,
    .flops = masked_matmul_flops,
    MO_SAMPLES(masked_matmul_samples),
};

mo_tensor *mo_masked_matmul(mo_tape *t, mo_tensor *A, mo_tensor *B, mo_tensor *Y, mo_tensor *bits) {
    return mo_apply(t, &mo_op_masked_matmul, (mo_tensor *[]){A, B, Y, bits}, bits ? 4 : 3, NULL);
}
