/* ops/layers/hop_layers.c - Y_k = act(X_k W_k^T + b_k): a layer for each hop, with the results in one tensor.
 *
 * X [K, n, in], then W_0 [out, in], b_0 [out], .. W_{K-1}, b_{K-1} -> Y [K, n, out]; act is relu or nothing. float32 or
 * float64, X of any strides. Errors: sizes that do not fit. Saved: nothing beyond inputs and output.
 *
 * Each hop is the layer of linear.c: with D = act'(S) Y_bar = [Y > 0] o Y_bar,
 *     X_k_bar = D_k W_k,   W_k_bar = D_k^T X_k,   b_k_bar = sum of the rows of D_k .
 * All hops are in one tensor, so that the mask is one pass and hop_attention reads them as one tall matrix. */
#include "ops/inside.h"
#include "ops/rules/layers.h"
#include "ops/rules/shapes.h"
#include "tensor/backend.h"

#include <inttypes.h>
#include <string.h>

typedef struct hop_layers_options {
    bool relu;
} hop_layers_options;

enum { MOST_HOPS = (MO_MAX_INPUTS - 1) / 2 };

static bool hop_layers_shape(mo_call *c) {
    const mo_tensor *X = c->in[0], *W = c->in[1];
    if (!mo_call_real(c, 0, c->n_in - 1))
        return false;
    if (X->ndim != 3 || c->n_in % 2 == 0 || X->shape[0] != c->n_in / 2)
        return mo_call_fail(c, MO_INVALID, "expected X [K, n, in], and W [out, in] and b [out] of each of K hops");
    for (int i = 1; i < c->n_in; i += 2) {
        const mo_tensor *W_k = c->in[i], *b_k = c->in[i + 1];
        if (W_k->ndim != 2 || W_k->shape[1] != X->shape[2] || !mo_same_shape(W_k, W))
            return mo_call_fail(c, MO_INVALID, "input %d is W, expected [out, in] of one shape for all hops", i);
        if (b_k->ndim != 1 || b_k->shape[0] != W->shape[0])
            return mo_call_fail(c, MO_INVALID, "input %d is b, expected [%" PRId64 "]", i + 1, W->shape[0]);
    }
    return mo_call_output(c, 0, X->dtype, 3, (int64_t[]){X->shape[0], X->shape[1], W->shape[0]});
}

static mo_view hop_view(mo_view V, int64_t k) {
    bool empty = V.shape[1] == 0 || V.shape[2] == 0; /* the data of an empty tensor may be NULL */
    V = mo_window(V, 0, empty ? 0 : k, 1);
    V.ndim = 2;
    for (int i = 0; i < 2; i++) {
        V.shape[i] = V.shape[i + 1];
        V.stride[i] = V.stride[i + 1];
    }
    return V;
}

mo_tensor *mo_hop_of(mo_tape *t, mo_tensor *X, int64_t k) {
    if (mo_is_null(X))
        return X;
    return mo_reshape(t, mo_slice(t, X, MO_AXIS(0), k, k + 1), 2, X->shape + 1);
}

/* Returns inputs first, first + 2, .. as one view [K, ..] if they are in one storage at equal distances, as parameters
 * of mo_parameters are; otherwise data is NULL. */
static mo_view evenly_spaced(const mo_call *c, int first) {
    const mo_tensor *T = c->in[first];
    mo_view all = mo_tensor_view(T);
    int64_t distance = first + 2 < c->n_in ? c->in[first + 2]->offset - T->offset : 0;
    memmove(all.shape + 1, T->shape, (size_t)T->ndim * sizeof *T->shape);
    memmove(all.stride + 1, T->stride, (size_t)T->ndim * sizeof *T->stride);
    all.ndim++;
    all.shape[0] = c->n_in / 2;
    all.stride[0] = distance;
    for (int k = 1; k < c->n_in / 2; k++) {
        const mo_tensor *next = c->in[first + 2 * k];
        bool even = distance > 0 && next->storage == T->storage && next->offset == T->offset + k * distance &&
                    memcmp(next->stride, T->stride, (size_t)T->ndim * sizeof *T->stride) == 0;
        all.data = even ? all.data : NULL;
    }
    return all;
}

/* Multiplies all hops as one batch if the parameters are evenly spaced. The CPU does not: it would cut a batch into
 * other tasks than single matrices, and so round sums differently. Returns false, having done nothing, if the hops need
 * separate products. */
static bool multiply_batch(mo_call *c, mo_view X, mo_view Y, bool relu) {
    const mo_kernels *kernels = mo_kernels_of(c->ctx, Y.dtype);
    mo_gemm g = {.A = X, .B = mo_swap_view(evenly_spaced(c, 1)), .C = Y, .alpha = 1, .relu = relu};
    g.bias = evenly_spaced(c, 2);
    if (!kernels->gemms || !g.B.data || !g.bias.data)
        return false;
    kernels->gemms(c->ctx, &g, 1);
    return true;
}

static void hop_layers_forward(mo_call *c) {
    mo_view X = mo_tensor_view(c->in[0]), Y = mo_tensor_view(c->out[0]);
    bool relu = ((const hop_layers_options *)c->attributes)->relu;
    mo_gemm g[MOST_HOPS];
    int K = (int)X.shape[0];
    if (multiply_batch(c, X, Y, relu))
        return;
    for (int k = 0; k < K; k++)
        g[k] = (mo_gemm){.A = hop_view(X, k),
            .B = mo_swap_view(mo_tensor_view(c->in[1 + 2 * k])),
            .C = hop_view(Y, k),
            .bias = mo_tensor_view(c->in[2 + 2 * k]),
            .alpha = 1,
            .relu = relu};
    mo_multiply(c->ctx, g, K);
}

static mo_tensor *sum_gradient(mo_vjp *v) {
    bool relu = ((const hop_layers_options *)v->attributes)->relu;
    return relu ? mo_relu_mask(v->t, v->out_bar[0], v->out[0]) : v->out_bar[0];
}

/* D_k W_k, hop by hop. */
static void rows_gradient(mo_vjp *v, mo_tensor *D) {
    mo_tape *t = v->t;
    mo_tensor *X = v->in[0], *X_bar[MOST_HOPS];
    int K = v->needs[0] ? (int)mo_dim(X, 0) : 0;
    for (int k = 0; k < K; k++)
        X_bar[k] = mo_reshape(
            t, mo_matmul(t, mo_hop_of(t, D, k), v->in[1 + 2 * k]), 3, (int64_t[]){1, mo_dim(X, 1), mo_dim(X, 2)});
    v->in_bar[0] = K ? mo_concat(t, X_bar, K, MO_AXIS(0)) : NULL;
}

static void hop_layers_vjp(mo_vjp *v) {
    mo_tape *t = v->t;
    mo_tensor *D = sum_gradient(v);
    for (int i = 1; i < v->n_in; i += 2)
        if (v->needs[i] || v->needs[i + 1])
            mo_linear_gradient(
                t, mo_hop_of(t, D, i / 2), mo_hop_of(t, v->in[0], i / 2), &v->in_bar[i], &v->in_bar[i + 1]);
    rows_gradient(v, D);
}

/* W_bar_k = D_k^T X_k and b_bar_k = 1^T D_k of all hops: as one batch, where the CPU, which has no `gemms`, multiplies
 * hop by hop (multiply_batch). */
static void multiply_weights(mo_context *ctx, const mo_gemm *all) {
    const mo_kernels *kernels = mo_kernels_of(ctx, all->C.dtype);
    if (kernels->gemms) {
        kernels->gemms(ctx, all, 1);
        return;
    }
    for (int64_t k = 0; k < all->A.shape[0]; k++) {
        mo_gemm g = *all;
        g.A = hop_view(all->A, k);
        g.B = hop_view(all->B, k);
        g.C = hop_view(all->C, k);
        g.row_sums = mo_window(all->row_sums, 0, k, 1);
        g.row_sums.ndim = 1;
        g.row_sums.shape[0] = all->row_sums.shape[1];
        g.row_sums.stride[0] = all->row_sums.stride[1];
        kernels->gemm(ctx, &g);
    }
}

/* The weight gradients of all hops in two tensors, of which each hop's are parts. */
static bool hop_layers_adjoint(mo_vjp *v) {
    mo_tape *t = v->t;
    mo_tensor *X = v->in[0], *D = sum_gradient(v);
    int64_t K = mo_dim(X, 0), out = mo_dim(D, 2);
    mo_tensor *W_bar = mo_tape_tensor(t, X->dtype, 3, (int64_t[]){K, out, mo_dim(X, 2)});
    mo_tensor *b_bar = mo_tape_tensor(t, X->dtype, 2, (int64_t[]){K, out});
    const mo_gemm all = {.A = mo_swap_view(mo_tensor_view(D)),
        .B = mo_tensor_view(X),
        .C = mo_tensor_view(W_bar),
        .row_sums = mo_tensor_view(b_bar),
        .alpha = 1};
    if (mo_ok(X->ctx))
        multiply_weights(X->ctx, &all);
    for (int i = 1; i < v->n_in; i += 2) {
        v->in_bar[i] = mo_hop_of(t, W_bar, i / 2);
        v->in_bar[i + 1] = mo_reshape(t, mo_slice(t, b_bar, MO_AXIS(0), i / 2, i / 2 + 1), 1, &out);
    }
    rows_gradient(v, D);
    return true;
}

static double hop_layers_flops(const mo_call *c) {
    return 2.0 * (double)mo_numel(c->out[0]) * (double)mo_dim(c->in[0], -1);
}

static const mo_sample hop_layers_samples[] = {
    {"two hops, relu", "[2, 4, 3] [5, 3] [5] [5, 3] [5]", &(const hop_layers_options){true}},
    {"one hop, linear", "[1, 4, 3] [2, 3] [2]"},
    {"hops", "[2, 4, 3] [5, 3] [5]", &(const hop_layers_options){true},
        .error = "hop_layers: expected X [K, n, in], and W [out, in] and b [out] of each of K hops; got [2, 4, 3]"},
    {"width", "[1, 4, 3] [5, 2] [5]", &(const hop_layers_options){true}, .error = "input 1 is W, expected [out, in]"},
    {"bias", "[1, 4, 3] [5, 3] [4]", &(const hop_layers_options){true}, .error = "input 2 is b, expected [5]"},
};

const mo_op mo_op_hop_layers = {
    .name = "hop_layers",
    .n_in = 3,
    .max_in = 1 + 2 * MOST_HOPS,
    .attributes_size = sizeof(hop_layers_options),
    .reads_in = UINT64_MAX,
    .reads_out = 1,
    .shape = hop_layers_shape,
    .forward = hop_layers_forward,
    .vjp = hop_layers_vjp,
    .adjoint = hop_layers_adjoint,
    .flops = hop_layers_flops,
    MO_SAMPLES(hop_layers_samples),
};

mo_tensor *mo_hop_layers(mo_tape *t, mo_tensor *X, mo_tensor *const *W, mo_tensor *const *b, int K, bool relu) {
    mo_tensor *in[MO_MAX_INPUTS] = {X};
    int n = 1;
    for (int k = 0; k < K && k < MOST_HOPS; k++) {
        in[n++] = W ? W[k] : NULL;
        in[n++] = b ? b[k] : NULL;
    }
    return mo_apply(t, &mo_op_hop_layers, in, n, &(hop_layers_options){relu});
}
