/* ops/layers/hop_attention.c - the rows of K hops mixed by attention (GAMLP, Zhang et al. 2022), in one op.
 *
 * H [K, n, d], W [m, 2 d] = [W_q | W_k], b [m], v [1, m], c [1] -> Y [n, d], a [n, K] and P [K, n, m]:
 *     P_k = relu(H_k W_k^T + H_0 W_q^T + b),   s_k = P_k v^T + c,   a = softmax(s),   Y_i = sum_k a_ik H_k,i.
 * float32 or float64, K from 1 to 32. Errors: sizes that do not fit. Saved: nothing beyond inputs and outputs.
 *
 * With w_bar_ik = <Y_bar_i, H_k,i> + a_bar_ik, z = a o (w_bar - <a, w_bar>), D_k = [P_k > 0] o (z_k v + P_k_bar) and
 * E = sum_k D_k:
 *     H_k_bar = a_k Y_bar + D_k W_k (+ E W_q for k = 0),   W_bar = [E^T H_0 | sum_k D_k^T H_k],   b_bar = 1^T E,
 *     v_bar = sum_k z_k^T P_k,   c_bar = sum z.
 * Written with ops these passes over [K, n, m] take 1.03 to 1.07 times a step of nc15, lp and nc64 in float32, and 1.08
 * to 1.16 times in bf16 (two threads of Zen 5), so that forward and adjoint have kernels. */
#include "ops/inside.h"
#include "ops/rules/layers.h"
#include "ops/rules/shapes.h"
#include "tensor/backend.h"

#include <inttypes.h>

enum { H_IN, W_IN, B_IN, V_IN, C_IN };

static bool hop_attention_shape(mo_call *c) {
    const mo_tensor *H = c->in[H_IN], *W = c->in[W_IN], *b = c->in[B_IN], *v = c->in[V_IN], *s = c->in[C_IN];
    if (!mo_call_real(c, 0, 4))
        return false;
    if (H->ndim != 3 || H->shape[0] < 1 || H->shape[0] > MO_MOST_ATTENDED)
        return mo_call_fail(c, MO_INVALID, "expected H [K, n, d], K from 1 to %d", MO_MOST_ATTENDED);
    if (W->ndim != 2 || W->shape[1] != 2 * H->shape[2])
        return mo_call_fail(c, MO_INVALID, "expected W [m, %" PRId64 "]", 2 * H->shape[2]);
    int64_t K = H->shape[0], n = H->shape[1], m = W->shape[0];
    if (b->ndim != 1 || b->shape[0] != m || v->ndim != 2 || v->shape[0] != 1 || v->shape[1] != m || s->ndim != 1 ||
        s->shape[0] != 1)
        return mo_call_fail(c, MO_INVALID, "expected b [%" PRId64 "], v [1, %" PRId64 "] and c [1]", m, m);
    mo_call_output(c, 0, H->dtype, 2, H->shape + 1);
    mo_call_output(c, 1, H->dtype, 2, (int64_t[]){n, K});
    return mo_call_output(c, 2, H->dtype, 3, (int64_t[]){K, n, m});
}

static void hop_attention_forward(mo_call *c) {
    mo_tensor *Y = c->out[0], *query = mo_call_temporary(c, Y->dtype, 2, c->out[2]->shape + 1);
    mo_attention g = {.H = mo_call_dense(c, H_IN),
        .W = mo_tensor_view(c->in[W_IN]),
        .b = mo_call_dense(c, B_IN),
        .v = mo_call_dense(c, V_IN),
        .c = mo_call_dense(c, C_IN),
        .Y = mo_tensor_view(Y),
        .a = mo_tensor_view(c->out[1]),
        .P = mo_tensor_view(c->out[2])};
    if (!mo_ok(c->ctx))
        return;
    g.query = mo_tensor_view(query);
    mo_kernels_of(c->ctx, Y->dtype)->hop_attention(c->ctx, &g);
}

/* ---- the rule, made of ops ---- */

/* Returns z [n, K], the gradient at the scores, from the gradients at Y and a. One of these two can be NULL; if both
 * are, returns NULL. */
static mo_tensor *score_gradient(mo_vjp *v) {
    mo_tape *t = v->t;
    mo_tensor *a = v->out[1], *Y_bar = v->out_bar[0], *w_bar = v->out_bar[1];
    if (Y_bar) { /* <Y_bar_i, H_k,i> */
        mo_tensor *dots = mo_transpose(t, mo_sum(t, mo_mul(t, v->in[H_IN], Y_bar), MO_AXIS(2), MO_DROP_AXES));
        w_bar = w_bar ? mo_add(t, dots, w_bar) : dots;
    }
    return w_bar ? mo_mul(t, a, mo_sub(t, w_bar, mo_sum(t, mo_mul(t, a, w_bar), MO_AXIS(1), MO_KEEP_AXES))) : NULL;
}

/* Returns X [n, K] as [K, n, 1]. */
static mo_tensor *by_hops(mo_tape *t, mo_tensor *X) {
    return mo_reshape(t, mo_contiguous(t, mo_transpose(t, X)), 3, (int64_t[]){mo_dim(X, 1), mo_dim(X, 0), 1});
}

/* Returns D [K n, m], the gradient at the argument of relu, and sets the gradients of v and c. */
static mo_tensor *sum_gradient(mo_vjp *v) {
    mo_tape *t = v->t;
    mo_tensor *scores = score_gradient(v), *P = mo_flat_rows(t, v->out[2]), *P_bar = v->out_bar[2], *D = NULL;
    if (scores) {
        mo_tensor *z = mo_flat_rows(t, by_hops(t, scores));
        mo_linear_gradient(t, z, P, &v->in_bar[V_IN], &v->in_bar[C_IN]);
        D = mo_relu_mask(t, mo_matmul(t, z, v->in[V_IN]), P);
    }
    if (!P_bar)
        return D;
    P_bar = mo_relu_mask(t, mo_flat_rows(t, P_bar), P);
    return D ? mo_add(t, D, P_bar) : P_bar;
}

static void hop_attention_vjp(mo_vjp *v) {
    mo_tape *t = v->t;
    mo_tensor *H = v->in[H_IN], *W = v->in[W_IN], *Y_bar = v->out_bar[0], *D = sum_gradient(v);
    int64_t K = mo_dim(H, 0), n = mo_dim(H, 1), d = mo_dim(H, 2), m = mo_dim(W, 0);
    mo_tensor *E = mo_sum(t, mo_reshape(t, D, 3, (int64_t[]){K, n, m}), MO_AXIS(0), MO_DROP_AXES);
    if (v->needs[H_IN]) {
        mo_tensor *keys = mo_matmul(t, D, mo_slice(t, W, MO_AXIS(1), d, 2 * d)),
                  *query = mo_matmul(t, E, mo_slice(t, W, MO_AXIS(1), 0, d));
        mo_tensor *H_bar = mo_add(t, mo_reshape(t, keys, 3, H->shape),
            mo_pad(t, mo_reshape(t, query, 3, (int64_t[]){1, n, d}), MO_AXIS(0), 0, K - 1));
        if (Y_bar)
            H_bar = mo_add(t, H_bar, mo_mul(t, by_hops(t, v->out[1]), Y_bar)); /* a_k Y_bar */
        v->in_bar[H_IN] = H_bar;
    }
    if (v->needs[W_IN])
        v->in_bar[W_IN] = mo_concat(t,
            (mo_tensor *[]){mo_matmul(t, mo_transpose(t, E), mo_hop_of(t, H, 0)),
                mo_matmul(t, mo_transpose(t, D), mo_flat_rows(t, H))},
            2, MO_AXIS(1));
    if (v->needs[B_IN])
        v->in_bar[B_IN] = mo_sum(t, E, MO_AXIS(0), MO_DROP_AXES);
}

/* ---- the same gradients by one kernel, if only Y has a cotangent ---- */

static bool hop_attention_adjoint(mo_vjp *v) {
    mo_tape *t = v->t;
    mo_tensor *H = v->in[H_IN], *W = v->in[W_IN];
    if (!v->out_bar[0] || v->out_bar[1] || v->out_bar[2])
        return false;
    int64_t K = H->shape[0], n = H->shape[1], m = W->shape[0];
    for (int i = 0; i < v->n_in; i++)
        v->in_bar[i] = mo_tape_tensor(t, H->dtype, v->in[i]->ndim, v->in[i]->shape);
    mo_tensor *E = mo_tape_tensor(t, H->dtype, 2, (int64_t[]){n, m});
    mo_tensor *scratch = mo_tape_tensor(t, H->dtype, 1, (int64_t[]){mo_attention_scratch(K, n, m)});
    const mo_attention g = {.H = mo_tensor_view(mo_contiguous(t, H)),
        .W = mo_tensor_view(W),
        .v = mo_tensor_view(mo_contiguous(t, v->in[V_IN])),
        .a = mo_tensor_view(v->out[1]),
        .P = mo_tensor_view(v->out[2]),
        .Y_bar = mo_tensor_view(mo_contiguous(t, v->out_bar[0])),
        .H_bar = mo_tensor_view(v->in_bar[H_IN]),
        .W_bar = mo_tensor_view(v->in_bar[W_IN]),
        .b_bar = mo_tensor_view(v->in_bar[B_IN]),
        .v_bar = mo_tensor_view(v->in_bar[V_IN]),
        .c_bar = mo_tensor_view(v->in_bar[C_IN]),
        .query = mo_tensor_view(E),
        .scratch = mo_tensor_view(scratch)};
    if (mo_ok(H->ctx))
        mo_kernels_of(H->ctx, H->dtype)->hop_attention_adjoint(H->ctx, &g);
    return true;
}

static double hop_attention_flops(const mo_call *c) {
    double rows = (double)mo_dim(c->in[H_IN], 1), d = (double)mo_dim(c->in[H_IN], 2),
           m = (double)mo_dim(c->in[W_IN], 0);
    double K = (double)mo_dim(c->in[H_IN], 0);
    return 2 * rows * ((K + 1) * d * m + K * (m + d));
}

static const mo_sample hop_attention_samples[] = {
    {"three hops", "[3, 4, 2] [5, 4] [5] [1, 5] [1]"},
    {"one hop", "[1, 3, 2] [3, 4] [3] [1, 3] [1]"},
    {"halves", "[3, 4, 2] [5, 3] [5] [1, 5] [1]", .error = "hop_attention: expected W [m, 4]; got [3, 4, 2]"},
    {"bias", "[3, 4, 2] [5, 4] [4] [1, 5] [1]", .error = "expected b [5], v [1, 5] and c [1]"},
    {"hops", "[33, 4, 2] [5, 4] [5] [1, 5] [1]", .error = "expected H [K, n, d], K from 1 to 32"},
};

const mo_op mo_op_hop_attention = {
    .name = "hop_attention",
    .n_in = 5,
    .n_out = 3,
    .reads_in = 1 << H_IN | 1 << W_IN | 1 << V_IN,
    .reads_out = 6,
    .shape = hop_attention_shape,
    .forward = hop_attention_forward,
    .vjp = hop_attention_vjp,
    .adjoint = hop_attention_adjoint,
    .flops = hop_attention_flops,
    MO_SAMPLES(hop_attention_samples),
};

mo_tensor *mo_hop_attention(mo_tape *t, mo_tensor *H, mo_tensor *const parameters[4], mo_tensor **attention) {
    mo_tensor *out[3] = {mo_null_tensor(mo_tape_context(t))}, *in[5] = {H};
    for (int i = 0; i < 4; i++)
        in[i + 1] = parameters ? parameters[i] : NULL;
    if (mo_apply_all(t, &mo_op_hop_attention, in, 5, NULL, out) != MO_OK)
        out[0] = out[1] = mo_null_tensor(mo_tape_context(t));
    if (attention)
        *attention = out[1];
    return out[0];
}
