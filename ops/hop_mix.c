/* ops/hop_mix.c - a weighted sum of several matrices with weights per row: attention over hops.
 *
 * hop_mix: w [n, K], H_0 .. H_{K-1} [n, d] -> Y [n, d], Y_i = sum_k w_ik H_k,i. hop_dot: G [n, d], H_0 .. H_{K-1} ->
 * [n, K], the inner products <G_i, H_k,i>. float32 or float64, K from 1 to MO_MAX_INPUTS - 1. Errors: shapes that do
 * not fit. Saved: nothing beyond the inputs.
 *
 * hop_mix: dY_i = sum_k dw_ik H_k,i + w_ik dH_k,i, hence w_bar = hop_dot(Y_bar, H), H_k_bar = w[:, k] Y_bar.
 * hop_dot: dW_ik = <dG_i, H_k,i> + <G_i, dH_k,i>, hence G_bar = hop_mix(W_bar, H), H_k_bar = W_bar[:, k] G. */
#include "ops/inside.h"
#include "ops/rules/shapes.h"

#include <inttypes.h>

extern const mo_op mo_op_hop_dot, mo_op_hop_mix;

/* Requires that all H have one shape [n, d]. */
static bool hops_agree(mo_call *c) {
    if (!mo_call_real(c, 0, c->n_in - 1))
        return false;
    if (c->in[0]->ndim != 2 || c->in[1]->ndim != 2)
        return mo_call_fail(c, MO_INVALID, "expected matrices");
    for (int k = 2; k < c->n_in; k++)
        if (!mo_same_shape(c->in[k], c->in[1]))
            return mo_call_fail(c, MO_INVALID, "inputs 1 and %d differ in shape", k);
    return true;
}

static bool hop_mix_shape(mo_call *c) {
    if (!hops_agree(c))
        return false;
    const mo_tensor *w = c->in[0], *H = c->in[1];
    if (w->shape[0] != H->shape[0] || w->shape[1] != c->n_in - 1)
        return mo_call_fail(c, MO_INVALID, "expected weights [%" PRId64 ", %d]", H->shape[0], c->n_in - 1);
    return mo_call_output(c, 0, H->dtype, 2, H->shape);
}

static bool hop_dot_shape(mo_call *c) {
    if (!hops_agree(c))
        return false;
    if (!mo_same_shape(c->in[0], c->in[1]))
        return mo_call_fail(c, MO_INVALID, "inputs 0 and 1 differ in shape");
    return mo_call_output(c, 0, c->in[0]->dtype, 2, (int64_t[]){c->in[0]->shape[0], c->n_in - 1});
}

static void dense_inputs(mo_call *c, mo_view *x) {
    for (int i = 0; i < c->n_in; i++)
        x[i] = mo_call_dense(c, i);
}

static void hop_mix_forward(mo_call *c) {
    mo_view x[MO_MAX_INPUTS], y = mo_tensor_view(c->out[0]);
    dense_inputs(c, x);
    if (mo_ok(c->ctx))
        mo_kernels_of(c->ctx, y.dtype)->hop_mix(c->ctx, &x[0], &x[1], c->n_in - 1, &y);
}

static void hop_dot_forward(mo_call *c) {
    mo_view x[MO_MAX_INPUTS], y = mo_tensor_view(c->out[0]);
    dense_inputs(c, x);
    if (mo_ok(c->ctx))
        mo_kernels_of(c->ctx, y.dtype)->hop_dot(c->ctx, &x[0], &x[1], c->n_in - 1, &y);
}

/* Column k of w times the rows of G: the gradient that reaches H_k. */
static void hop_gradients(mo_vjp *v, mo_tensor *w, mo_tensor *G) {
    for (int k = 0; k < v->n_in - 1; k++)
        if (v->needs[k + 1])
            v->in_bar[k + 1] = mo_mul(v->t, mo_slice(v->t, w, MO_AXIS(1), k, k + 1), G);
}

/* The op on (first, H_0 .. H_{K-1}). */
static mo_tensor *with_hops(mo_vjp *v, const mo_op *op, mo_tensor *first) {
    mo_tensor *in[MO_MAX_INPUTS] = {first};
    for (int i = 1; i < v->n_in; i++)
        in[i] = v->in[i];
    return mo_apply(v->t, op, in, v->n_in, NULL);
}

static void hop_mix_vjp(mo_vjp *v) {
    mo_tensor *w = v->in[0], *Y_bar = v->out_bar[0];
    if (v->needs[0])
        v->in_bar[0] = with_hops(v, &mo_op_hop_dot, Y_bar);
    hop_gradients(v, w, Y_bar);
}

static void hop_dot_vjp(mo_vjp *v) {
    mo_tensor *G = v->in[0], *W_bar = v->out_bar[0];
    if (v->needs[0])
        v->in_bar[0] = with_hops(v, &mo_op_hop_mix, W_bar);
    hop_gradients(v, W_bar, G);
}

static double hop_mix_flops(const mo_call *c) {
    return 2.0 * (double)mo_numel(c->in[1]) * (c->n_in - 1);
}

static const mo_sample hop_mix_samples[] = {
    {.name = "three hops", .in = "[4, 3] [4, 5] [4, 5] [4, 5]"},
    {.name = "one hop", .in = "[3, 1] [3, 2]"},
    {.name = "weights", .in = "[3, 2] [3, 4]", .error = "hop_mix: expected weights [3, 1]; got [3, 2]"},
    {.name = "hops", .in = "[3, 2] [3, 4] [3, 5]", .error = "inputs 1 and 2 differ in shape"},
};

static const mo_sample hop_dot_samples[] = {
    {.name = "three hops", .in = "[4, 5] [4, 5] [4, 5] [4, 5]"},
    {.name = "one hop", .in = "[3, 2] [3, 2]"},
    {.name = "rows", .in = "[3, 2] [4, 2]", .error = "hop_dot: inputs 0 and 1 differ in shape"},
};

const mo_op mo_op_hop_mix = {
    .name = "hop_mix",
    .n_in = 2,
    .max_in = MO_MAX_INPUTS,
    .reads_in = UINT64_MAX,
    .shape = hop_mix_shape,
    .forward = hop_mix_forward,
    .vjp = hop_mix_vjp,
    .flops = hop_mix_flops,
    MO_SAMPLES(hop_mix_samples),
};

const mo_op mo_op_hop_dot = {
    .name = "hop_dot",
    .n_in = 2,
    .max_in = MO_MAX_INPUTS,
    .reads_in = UINT64_MAX,
    .shape = hop_dot_shape,
    .forward = hop_dot_forward,
    .vjp = hop_dot_vjp,
    .flops = hop_mix_flops,
    MO_SAMPLES(hop_dot_samples),
};

mo_tensor *mo_hop_mix(mo_tape *t, mo_tensor *w, mo_tensor *const *H, int K) {
    mo_tensor *in[MO_MAX_INPUTS] = {w};
    for (int k = 0; k < K && k + 1 < MO_MAX_INPUTS; k++)
        in[k + 1] = H[k];
    return mo_apply(t, &mo_op_hop_mix, in, K + 1, NULL);
}
