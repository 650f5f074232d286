/* ops/layers/affine.c - Y = X W + 1 b: a readout whose weights carry the bias as their last row, and the gradient of
 * these.
 *
 * affine: X [.., n, d], V = [W; b] [.., d + 1, C] -> Y [.., n, C]. affine_gradient: X, G [.., n, C] -> [X^T G; 1^T G]
 * [.., d + 1, C]. Equal leading axes; float32 or float64. Errors: sizes that do not fit. Saved: nothing beyond the
 * inputs.
 *
 * dY = dX W + X dW + 1 db, hence X_bar = Y_bar W^T, V_bar = affine_gradient(X, Y_bar): the two parts are written to one
 * tensor, where slices of V would need zeros around each and a sum. affine_gradient Z(X, G) is linear in both: with
 * Z_bar = U, <U_W, X^T G> + <U_b, 1^T G> = <X U_W + 1 U_b, G> = <G U_W^T, X>: G_bar = affine(X, U),   X_bar = G U_W^T.
 * affine_adjoint: both gradients, G W^T and affine_gradient(X, G), so that their products are queued together; with P
 * the cotangent of the first, <P, dG W^T + G dW^T> = <P W, dG> + <P^T G, dW> adds to those of the second. */
#include "ops/inside.h"
#include "ops/rules/products.h"
#include "ops/rules/shapes.h"
#include "tensor/backend.h"

#include <string.h>

extern const mo_op mo_op_affine, mo_op_affine_adjoint, mo_op_affine_gradient;

/* Whether inputs 0 and 1 are matrices with equal leading axes. */
static bool affine_batch(mo_call *c) {
    const mo_tensor *X = c->in[0], *V = c->in[1];
    if (!mo_call_real(c, 0, 1))
        return false;
    if (X->ndim < 2 || !mo_same_leading(X, V, X->ndim - 2))
        return mo_call_fail(c, MO_INVALID, "expected matrices with the same leading axes");
    return true;
}

static bool affine_output(mo_call *c, int64_t rows, int64_t columns) {
    const mo_tensor *X = c->in[0];
    int64_t size[MO_MAX_AXES];
    memcpy(size, X->shape, sizeof size);
    size[X->ndim - 2] = rows;
    size[X->ndim - 1] = columns;
    return mo_call_output(c, 0, X->dtype, X->ndim, size);
}

static bool affine_shape(mo_call *c) {
    if (!affine_batch(c))
        return false;
    if (mo_dim(c->in[1], -2) != mo_dim(c->in[0], -1) + 1)
        return mo_call_fail(c, MO_INVALID, "expected X [.., n, d] and weights [.., d + 1, C]");
    return affine_output(c, mo_dim(c->in[0], -2), mo_dim(c->in[1], -1));
}

static bool affine_gradient_shape(mo_call *c) {
    if (!affine_batch(c))
        return false;
    if (mo_dim(c->in[0], -2) != mo_dim(c->in[1], -2))
        return mo_call_fail(c, MO_INVALID, "expected X [.., n, d] and G [.., n, C]");
    return affine_output(c, mo_dim(c->in[0], -1) + 1, mo_dim(c->in[1], -1));
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

/* The last row of Z: the sums of the rows of G. */
static void sum_last_row(mo_call *c, mo_view G, mo_view Z) {
    int rows = Z.ndim - 2;
    mo_view sums = mo_window(Z, rows, Z.shape[rows] - 1, 1);
    sums.shape[rows] = G.shape[rows];
    sums.stride[rows] = 0;
    mo_kernels_of(c->ctx, Z.dtype)->reduce(c->ctx, MO_REDUCE_SUM, &G, &sums);
}

/* X^T G, the other rows of Z. */
static mo_gemm weights_of(mo_view X, mo_view G, mo_view Z) {
    int rows = Z.ndim - 2;
    return (mo_gemm){.A = mo_swap_view(X), .B = G, .C = mo_window(Z, rows, 0, X.shape[rows + 1]), .alpha = 1};
}

static void affine_gradient_forward(mo_call *c) {
    mo_view X = mo_tensor_view(c->in[0]), G = mo_tensor_view(c->in[1]), Z = mo_tensor_view(c->out[0]);
    const mo_gemm g = weights_of(X, G, Z);
    mo_multiply(c->ctx, &g, 1);
    sum_last_row(c, G, Z);
}

/* A W^T for the weights W of V = [W; b]. */
static mo_tensor *times_weights(mo_tape *t, mo_tensor *A, mo_tensor *V) {
    return mo_matmul(t, A, mo_transpose(t, mo_slice(t, V, MO_AXIS(-2), 0, mo_dim(V, -2) - 1)));
}

static void affine_vjp(mo_vjp *v) {
    mo_tensor *X = v->in[0], *Y_bar = v->out_bar[0], *out[2];
    if (v->needs[0] && v->needs[1]) {
        mo_apply_all(v->t, &mo_op_affine_adjoint, (mo_tensor *[]){X, v->in[1], Y_bar}, 3, NULL, out);
        v->in_bar[0] = out[0];
        v->in_bar[1] = out[1];
    } else if (v->needs[0]) {
        v->in_bar[0] = times_weights(v->t, Y_bar, v->in[1]);
    } else if (v->needs[1]) {
        v->in_bar[1] = mo_apply(v->t, &mo_op_affine_gradient, (mo_tensor *[]){X, Y_bar}, 2, NULL);
    }
}

static void affine_gradient_vjp(mo_vjp *v) {
    mo_tensor *U = v->out_bar[0];
    if (v->needs[0])
        v->in_bar[0] = times_weights(v->t, v->in[1], U);
    if (v->needs[1])
        v->in_bar[1] = mo_affine(v->t, v->in[0], U);
}

/* ---- both gradients ---- */

static bool affine_adjoint_shape(mo_call *c) {
    const mo_tensor *X = c->in[0], *V = c->in[1], *G = c->in[2];
    if (!affine_batch(c) || !mo_call_real(c, 2, 2))
        return false;
    if (!mo_same_leading(X, G, X->ndim - 2) || mo_dim(V, -2) != mo_dim(X, -1) + 1 || mo_dim(G, -2) != mo_dim(X, -2) ||
        mo_dim(G, -1) != mo_dim(V, -1))
        return mo_call_fail(c, MO_INVALID, "expected X [.., n, d], weights [.., d + 1, C] and the adjoint [.., n, C]");
    return mo_call_output(c, 0, X->dtype, X->ndim, X->shape) && mo_call_output(c, 1, V->dtype, V->ndim, V->shape);
}

static void affine_adjoint_forward(mo_call *c) {
    mo_view X = mo_tensor_view(c->in[0]), V = mo_tensor_view(c->in[1]), G = mo_tensor_view(c->in[2]);
    mo_view X_bar = mo_tensor_view(c->out[0]), V_bar = mo_tensor_view(c->out[1]);
    int rows = X.ndim - 2;
    mo_view W = mo_window(V, rows, 0, X.shape[rows + 1]);
    const mo_gemm g[] = {{.A = G, .B = mo_swap_view(W), .C = X_bar, .alpha = 1}, weights_of(X, G, V_bar)};
    mo_multiply(c->ctx, g, 2);
    sum_last_row(c, G, V_bar);
}

static void affine_adjoint_vjp(mo_vjp *v) {
    mo_tape *t = v->t;
    mo_tensor *X = v->in[0], *V = v->in[1], *G = v->in[2], *P = v->out_bar[0], *U = v->out_bar[1];
    int rows = mo_ndim(V) - 2;
    if (v->needs[0] && U)
        v->in_bar[0] = times_weights(t, G, U);
    if (v->needs[1] && P)
        v->in_bar[1] = mo_pad(t, mo_matmul(t, mo_transpose(t, P), G), MO_AXIS(rows), 0, 1);
    if (v->needs[2]) {
        mo_tensor *product = P ? mo_matmul(t, P, mo_slice(t, V, MO_AXIS(rows), 0, mo_dim(V, -2) - 1)) : NULL;
        mo_tensor *layer = U ? mo_affine(t, X, U) : NULL;
        v->in_bar[2] = product && layer ? mo_add(t, product, layer) : product ? product : layer;
    }
}

static double affine_flops(const mo_call *c) {
    return 2 * (double)mo_numel(c->in[0]) * (double)mo_dim(c->in[1], -1);
}

static double affine_adjoint_flops(const mo_call *c) {
    return 4 * (double)mo_numel(c->in[0]) * (double)mo_dim(c->in[1], -1);
}

static const mo_sample affine_samples[] = {
    {.name = "matrix", .in = "[5, 3] [4, 2]"},
    {.name = "batch", .in = "[2, 3, 2] [2, 3, 4]"},
    {.name = "bias alone", .in = "[5, 0] [1, 2]"},
    {.name = "rows",
        .in = "[5, 3] [3, 2]",
        .error = "affine: expected X [.., n, d] and weights [.., d + 1, C]; got [5, 3]"},
    {.name = "leading axes",
        .in = "[2, 5, 3] [3, 4, 2]",
        .error = "affine: expected matrices with the same leading axes"},
};

static const mo_sample affine_gradient_samples[] = {
    {.name = "matrix", .in = "[5, 3] [5, 2]"},
    {.name = "batch", .in = "[2, 3, 2] [2, 3, 4]"},
    {.name = "rows",
        .in = "[5, 3] [4, 2]",
        .error = "affine_gradient: expected X [.., n, d] and G [.., n, C]; got [5, 3]"},
};

static const mo_sample affine_adjoint_samples[] = {
    {.name = "matrix", .in = "[5, 3] [4, 2] [5, 2]"},
    {.name = "batch", .in = "[2, 3, 2] [2, 3, 4] [2, 3, 4]"},
    {.name = "bias alone", .in = "[5, 0] [1, 2] [5, 2]"},
    {.name = "adjoint",
        .in = "[5, 3] [4, 2] [4, 2]",
        .error =
            "affine_adjoint: expected X [.., n, d], weights [.., d + 1, C] and the adjoint [.., n, C]; got [5, 3]"},
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

const mo_op mo_op_affine_gradient = {
    .name = "affine_gradient",
    .n_in = 2,
    .reads_in = 3,
    .shape = affine_gradient_shape,
    .forward = affine_gradient_forward,
    .vjp = affine_gradient_vjp,
    .flops = affine_flops,
    MO_SAMPLES(affine_gradient_samples),
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

mo_tensor *mo_affine(mo_tape *t, mo_tensor *X, mo_tensor *V) {
    return mo_apply(t, &mo_op_affine, (mo_tensor *[]){X, V}, 2, NULL);
}
