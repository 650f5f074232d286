/* ops/fused/hop_attention_adjoint.c - the gradient of hop_attention (hop_attention.c) in one op.
 *
 * H [K, n, d], W [m, 2 d], v [1, m], a [n, K], P [K, n, m], Y_bar [n, d] -> H_bar [K, n, d], W_bar [m, 2 d] and
 * [v_bar | b_bar | c_bar], 2 m + 1 values. float32 or float64. Errors: sizes that do not fit. Formulas:
 * ops/layers/hop_attention.c. Where a gradient of a gradient is needed, hop_attention uses its rule made of ops
 * instead, so this op has no derivative. */
#include "ops/fused/fused.h"
#include "ops/rules/shapes.h"

#include <inttypes.h>

enum { H_IN, W_IN, V_IN, A_IN, P_IN, Y_BAR_IN };

static bool is_shape(const mo_tensor *T, int ndim, int64_t first, int64_t second, int64_t third) {
    return T->ndim == ndim && T->shape[0] == first && T->shape[1] == second && (ndim == 2 || T->shape[2] == third);
}

static bool hop_attention_adjoint_shape(mo_call *c) {
    const mo_tensor *H = c->in[H_IN], *W = c->in[W_IN];
    if (!mo_call_real(c, 0, 5))
        return false;
    if (H->ndim != 3 || H->shape[0] < 1 || H->shape[0] > MO_MOST_ATTENDED)
        return mo_call_fail(c, MO_INVALID, "expected H [K, n, d], K from 1 to %d", MO_MOST_ATTENDED);
    if (W->ndim != 2 || W->shape[1] != 2 * H->shape[2])
        return mo_call_fail(c, MO_INVALID, "expected W [m, %" PRId64 "]", 2 * H->shape[2]);
    int64_t K = H->shape[0], n = H->shape[1], d = H->shape[2], m = W->shape[0];
    if (!is_shape(c->in[V_IN], 2, 1, m, 0) || !is_shape(c->in[A_IN], 2, n, K, 0) ||
        !is_shape(c->in[P_IN], 3, K, n, m) || !is_shape(c->in[Y_BAR_IN], 2, n, d, 0))
        return mo_call_fail(c, MO_INVALID, "expected v [1, m], a [n, K], P [K, n, m] and Y_bar [n, d]");
    mo_call_output(c, 0, H->dtype, 3, H->shape);
    mo_call_output(c, 1, H->dtype, 2, W->shape);
    return mo_call_output(c, 2, H->dtype, 1, (int64_t[]){2 * m + 1});
}

static mo_view part_of(const mo_tensor *T, int64_t first, int64_t count) {
    return mo_window(mo_tensor_view(T), 0, first, count);
}

static void hop_attention_adjoint_forward(mo_call *c) {
    const mo_tensor *H = c->in[H_IN];
    int64_t K = H->shape[0], n = H->shape[1], m = c->in[W_IN]->shape[0];
    mo_tensor *E = mo_call_temporary(c, H->dtype, 2, (int64_t[]){n, m});
    mo_tensor *scratch = mo_call_temporary(c, H->dtype, 1, (int64_t[]){mo_attention_scratch(K, n, m)});
    mo_attention g = {.H = mo_call_dense(c, H_IN),
        .W = mo_tensor_view(c->in[W_IN]),
        .v = mo_call_dense(c, V_IN),
        .a = mo_call_dense(c, A_IN),
        .P = mo_call_dense(c, P_IN),
        .Y_bar = mo_call_dense(c, Y_BAR_IN),
        .H_bar = mo_tensor_view(c->out[0]),
        .W_bar = mo_tensor_view(c->out[1])};
    if (!mo_ok(c->ctx))
        return;
    g.query = mo_tensor_view(E);
    g.v_bar = part_of(c->out[2], 0, m);
    g.v_bar.ndim = 2;
    g.v_bar.shape[1] = m, g.v_bar.shape[0] = 1;
    g.v_bar.stride[1] = 1, g.v_bar.stride[0] = m;
    g.b_bar = part_of(c->out[2], m, m);
    g.c_bar = part_of(c->out[2], 2 * m, 1);
    g.scratch = mo_tensor_view(scratch);
    mo_kernels_of(c->ctx, H->dtype)->hop_attention_adjoint(c->ctx, &g);
}

static double hop_attention_adjoint_flops(const mo_call *c) {
    double rows = (double)mo_dim(c->in[H_IN], 1), d = (double)mo_dim(c->in[H_IN], 2),
           m = (double)mo_dim(c->in[W_IN], 0);
    double K = (double)mo_dim(c->in[H_IN], 0);
    return 4 * rows * ((K + 1) * d * m + K * (m + d));
}

static const mo_sample hop_attention_adjoint_samples[] = {
    {"three hops", "[3, 4, 2] [5, 4] [1, 5] [4, 3] [3, 4, 5] [4, 2]"},
    {"no rows", "[2, 0, 2] [3, 4] [1, 3] [0, 2] [2, 0, 3] [0, 2]"},
    {"weights", "[3, 4, 2] [5, 4] [1, 5] [4, 2] [3, 4, 5] [4, 2]",
        .error = "hop_attention_adjoint: expected v [1, m], a [n, K], P [K, n, m] and Y_bar [n, d]"},
};

const mo_op mo_op_hop_attention_adjoint = {
    .name = "hop_attention_adjoint",
    .n_in = 6,
    .n_out = 3,
    .shape = hop_attention_adjoint_shape,
    .forward = hop_attention_adjoint_forward,
    .flops = hop_attention_adjoint_flops,
    MO_SAMPLES(hop_attention_adjoint_samples),
};

bool mo_hop_attention_adjoint(mo_vjp *v) {
    enum { B = 2, V = 3, C = 4 }; /* inputs of hop_attention; H and W are inputs 0 and 1 here too */
    mo_tape *t = v->t;
    mo_tensor *out[3];
    if (v->create_graph || !v->out_bar[0] || v->out_bar[1] || v->out_bar[2])
        return false;
    int64_t m = mo_dim(v->in[W_IN], 0);
    mo_apply_all(t, &mo_op_hop_attention_adjoint,
        (mo_tensor *[]){v->in[H_IN], v->in[W_IN], v->in[V], v->out[1], v->out[2], v->out_bar[0]}, 6, NULL, out);
    v->in_bar[H_IN] = out[0];
    v->in_bar[W_IN] = out[1];
    v->in_bar[B] = mo_slice(t, out[2], MO_AXIS(0), m, 2 * m);
    v->in_bar[V] = mo_reshape(t, mo_slice(t, out[2], MO_AXIS(0), 0, m), 2, (int64_t[]){1, m});
    v->in_bar[C] = mo_slice(t, out[2], MO_AXIS(0), 2 * m, 2 * m + 1);
    return true;
}
