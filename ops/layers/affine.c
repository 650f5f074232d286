/* ops/layers/affine.c - Y = X W + 1 b: a readout whose weights carry the bias as their last row.
 *
 * X [.., n, d], V = [W; b] [.., d + 1, C] -> Y [.., n, C]. Equal leading axes; float32 or float64. Errors: sizes that
 * do not fit. Saved: nothing beyond the inputs.
 *
 * dY = dX W + X dW + 1 db, hence X_bar = Y_bar W^T, V_bar = [X^T Y_bar; 1^T Y_bar]. If X_bar and V_bar are both
 * wanted, one op computes them (fused/affine_adjoint.c). */
#include "ops/fused/fused.h"
#include "ops/inside.h"
#include "ops/rules/shapes.h"
#include "tensor/backend.h"

#include <string.h>

static bool affine_shape(mo_call *c) {
    const mo_tensor *X = c->in[0], *V = c->in[1];
    int64_t size[MO_MAX_AXES];
    if (!mo_call_real(c, 0, 1))
        return false;
    if (X->ndim < 2 || !mo_same_leading(X, V, X->ndim - 2))
        return mo_call_fail(c, MO_INVALID, "expected matrices with the same leading axes");
    if (mo_dim(V, -2) != mo_dim(X, -1) + 1)
        return mo_call_fail(c, MO_INVALID, "expected X [.., n, d] and weights [.., d + 1, C]");
    memcpy(size, X->shape, sizeof size);
    size[X->ndim - 1] = mo_dim(V, -1);
    return mo_call_output(c, 0, X->dtype, X->ndim, size);
}

static void affine_forward(mo_call *c) {
    mo_view X = mo_tensor_view(c->in[0]), V = mo_tensor_view(c->in[1]), Y = mo_tensor_view(c->out[0]);
    const mo_kernels *k = mo_kernels_of(c->ctx, Y.dtype);
    int rows = X.ndim - 2;
    int64_t d = X.shape[rows + 1];
    mo_view b = mo_window(V, rows, d, 1);
    b.shape[rows] = Y.shape[rows];
    b.stride[rows] = 0;
    k->gemm(c->ctx, &(mo_gemm){.A = X, .B = mo_window(V, rows, 0, d), .C = Y, .alpha = 1});
    k->map2(c->ctx, MO_MAP_ADD, &Y, &b, &Y);
}

mo_tensor *mo_times_weights(mo_tape *t, mo_tensor *A, mo_tensor *V) {
    return mo_matmul(t, A, mo_transpose(t, mo_slice(t, V, MO_AXIS(-2), 0, mo_dim(V, -2) - 1)));
}

static void affine_vjp(mo_vjp *v) {
    mo_tape *t = v->t;
    mo_tensor *X = v->in[0], *Y_bar = v->out_bar[0];
    if (mo_affine_adjoint(v))
        return;
    if (v->needs[0])
        v->in_bar[0] = mo_times_weights(t, Y_bar, v->in[1]);
    if (v->needs[1]) {
        mo_tensor *W_bar = mo_matmul(t, mo_transpose(t, X), Y_bar),
                  *b_bar = mo_sum(t, Y_bar, MO_AXIS(-2), MO_KEEP_AXES);
        v->in_bar[1] = mo_concat(t, (mo_tensor *[]){W_bar, b_bar}, 2, MO_AXIS(-2));
    }
}

static double affine_flops(const mo_call *c) {
    return 2 * (double)mo_numel(c->in[0]) * (double)mo_dim(c->in[1], -1);
}

static const mo_sample affine_samples[] = {
    {"matrix", "[5, 3] [4, 2]"},
    {"batch", "[2, 3, 2] [2, 3, 4]"},
    {"rows", "[5, 3] [3, 2]", .error = "affine: expected X [.., n, d] and weights [.., d + 1, C]; got [5, 3]"},
    {"leading axes", "[2, 5, 3] [3, 4, 2]", .error = "affine: expected matrices with the same leading axes"},
};

const mo_op mo_op_affine = {
    .name = "affine",
    .n_in = 2,
    .reads_in = 3,
    .shape = affine_shape,
    .forward = affine_forward,
    .vjp = affine_vjp,
    .flops = affine_flops,
    MO_SAMPLES(affine_samples),
};

mo_tensor *mo_affine(mo_tape *t, mo_tensor *X, mo_tensor *V) {
    return mo_apply(t, &mo_op_affine, (mo_tensor *[]){X, V}, 2, NULL);
}
