/* ops/layers/perceptron.c - Z = relu(X W1^T + b1 + R) W2^T + b2: two layers in one op. In its adjoint, a product also
 * applies the relu's mask.
 *
 * X [.., in], W1 [hidden, in], W2 [out, hidden]; b1 [hidden], b2 [out] and R [.., hidden] can be left out -> Z
 * [.., out] and H [.., hidden], the result of the first layer. float32 or float64; the leading axes of X are rows of
 * tall products. Errors: sizes that do not fit. Saved: the device's record of H > 0, if it makes one. The masked
 * product of the adjoint reads it instead of H if W2, b2 and the hidden layer all want gradients (linear_adjoint.c).
 *
 * Over flat rows, dZ = dH W2^T + H dW2^T + db2 and dH = [H > 0] o (dX W1^T + X dW1^T + db1 + dR), so with the whole
 * gradient of H, D = [H > 0] o (Z_bar W2 + H_bar):
 *     W2_bar = Z_bar^T H,   b2_bar = 1^T Z_bar,   W1_bar = D^T X,   b1_bar = 1^T D,   X_bar = D W1,   R_bar = D.
 *
 * Compared with two ops of linear.c in a training step (`mochi-bench step nc15 lp`, one core), there is no gain on the
 * CPU: 1.02 (1.00, 0.98) times the processor time at d = 64 (256, 512), within the spread. On an H100 the mask
 * costs nothing behind a product in bf16, and as much as a kernel of its own in TF32 (4 us of nc15's 790). */
#include "ops/fused/fused.h"
#include "ops/inside.h"
#include "ops/rules/layers.h"
#include "ops/rules/shapes.h"

#include <inttypes.h>
#include <string.h>

/* Inputs 0, 1 and 2 are X, W1 and W2. b1, b2 and R are the numbers of these inputs; 0: there is none. */
typedef struct perceptron_options {
    int b1, b2, R;
} perceptron_options;

enum { X_IN, W1_IN, W2_IN };

static bool bias_fits(mo_call *c, int i, int64_t size) {
    if (i == 0 || (c->in[i]->ndim == 1 && c->in[i]->shape[0] == size))
        return true;
    return mo_call_fail(c, MO_INVALID, "input %d is a bias, expected [%" PRId64 "]", i, size);
}

static bool perceptron_shape(mo_call *c) {
    const perceptron_options *o = c->attributes;
    const mo_tensor *X = c->in[X_IN], *W1 = c->in[W1_IN], *W2 = c->in[W2_IN];
    int n = 3 + (o->b1 > 0) + (o->b2 > 0) + (o->R > 0), last = X->ndim - 1;
    int64_t size[MO_MAX_AXES];
    if (!mo_call_real(c, 0, c->n_in - 1))
        return false;
    if (c->n_in != n)
        return mo_call_fail(c, MO_INVALID, "%d inputs, expected %d by the options", c->n_in, n);
    if (last < 0 || W1->ndim != 2 || W2->ndim != 2 || mo_dim(X, -1) != W1->shape[1] || W1->shape[0] != W2->shape[1])
        return mo_call_fail(c, MO_INVALID, "expected X [.., in], W1 [hidden, in] and W2 [out, hidden]");
    if (!bias_fits(c, o->b1, W1->shape[0]) || !bias_fits(c, o->b2, W2->shape[0]))
        return false;
    memcpy(size, X->shape, sizeof size);
    size[last] = W1->shape[0];
    if (o->R && (c->in[o->R]->ndim != X->ndim || memcmp(c->in[o->R]->shape, size, (size_t)X->ndim * sizeof *size) != 0))
        return mo_call_fail(c, MO_INVALID, "input %d is added to the first product, expected its shape", o->R);
    mo_call_output(c, 1, X->dtype, X->ndim, size);
    size[last] = W2->shape[0];
    return mo_call_output(c, 0, X->dtype, X->ndim, size);
}

/* Makes memory for the device's record of H > 0. Returns NULL if the device makes none or backward will not run. */
static mo_tensor *room_for_record(mo_call *c, mo_gemm *g) {
    int64_t columns = 0;
    if (mo_call_recorded(c) && c->ctx->backend->relu_record)
        columns = c->ctx->backend->relu_record(c->ctx, g);
    mo_tensor *record = columns ? mo_tape_tensor(c->t, MO_U8, 2, (int64_t[]){g->C.shape[0], columns}) : NULL;
    if (record && mo_ok(c->ctx))
        g->record = mo_tensor_view(record);
    return record;
}

static void perceptron_forward(mo_call *c) {
    const perceptron_options *o = c->attributes;
    bool written = false;
    mo_gemm first = {.A = mo_flat_input(c, X_IN),
        .B = mo_swap_view(mo_tensor_view(c->in[W1_IN])),
        .C = mo_flat_view(mo_tensor_view(c->out[1])),
        .alpha = 1,
        .relu = true,
        .recorded = &written};
    mo_gemm second = {.A = first.C,
        .B = mo_swap_view(mo_tensor_view(c->in[W2_IN])),
        .C = mo_flat_view(mo_tensor_view(c->out[0])),
        .alpha = 1};
    if (o->b1)
        first.bias = mo_tensor_view(c->in[o->b1]);
    if (o->R)
        first.addend = mo_flat_input(c, o->R);
    if (o->b2)
        second.bias = mo_tensor_view(c->in[o->b2]);
    mo_tensor *record = room_for_record(c, &first);
    if (!mo_ok(c->ctx))
        return;
    const mo_kernels *k = mo_kernels_of(c->ctx, first.C.dtype);
    k->gemm(c->ctx, &first);
    k->gemm(c->ctx, &second);
    if (written)
        mo_call_save(c, record);
}

static mo_tensor **wanted(mo_vjp *v, int i) {
    return i && v->needs[i] ? &v->in_bar[i] : NULL;
}

/* Sets the gradients of W2 and b2 if they are wanted. Returns [H > 0] o (Z_bar W2) if the gradient of H is wanted. */
static mo_tensor *second_gradients(mo_vjp *v, mo_tensor *Z_bar, mo_tensor *H, bool hidden) {
    const perceptron_options *o = v->attributes;
    mo_tensor *record = v->n_saved ? v->saved[0] : NULL, *W2 = v->in[W2_IN], *bar[2];
    if (hidden && wanted(v, W2_IN) && wanted(v, o->b2)) {
        mo_tensor *D = mo_linear_adjoint(v->t, (mo_tensor *[]){Z_bar, H, W2}, true, record, bar);
        v->in_bar[W2_IN] = bar[0];
        v->in_bar[o->b2] = bar[1];
        return D;
    }
    mo_linear_gradient(v->t, Z_bar, H, wanted(v, W2_IN), wanted(v, o->b2));
    return hidden ? mo_relu_mask(v->t, mo_matmul(v->t, Z_bar, W2), H) : NULL;
}

static void perceptron_vjp(mo_vjp *v) {
    mo_tape *t = v->t;
    const perceptron_options *o = v->attributes;
    mo_tensor *X = v->in[X_IN], *D = NULL, *H = mo_flat_rows(t, v->out[1]);
    bool hidden = v->needs[X_IN] || v->needs[W1_IN] || wanted(v, o->b1) || wanted(v, o->R);
    if (v->out_bar[0])
        D = second_gradients(v, mo_flat_rows(t, v->out_bar[0]), H, hidden);
    if (!hidden)
        return;
    if (v->out_bar[1]) {
        mo_tensor *H_bar = mo_relu_mask(t, mo_flat_rows(t, v->out_bar[1]), H);
        D = D ? mo_add(t, D, H_bar) : H_bar;
    }
    mo_tensor *X_bar = mo_layer_gradients(v, D, o->b1);
    if (X_bar)
        v->in_bar[X_IN] = X->ndim == 2 ? X_bar : mo_reshape(t, X_bar, X->ndim, X->shape);
    if (wanted(v, o->R))
        v->in_bar[o->R] = X->ndim == 2 ? D : mo_reshape(t, D, X->ndim, v->out[1]->shape);
}

static double perceptron_flops(const mo_call *c) {
    return 2.0 * (double)mo_numel(c->out[1]) * (double)(mo_dim(c->in[X_IN], -1) + mo_dim(c->in[W2_IN], 0));
}

static const mo_sample perceptron_samples[] = {
    {"products alone", "[4, 3] [5, 3] [2, 5]"},
    {"biases, rows of a batch", "[2, 3, 4] [5, 4] [3, 5] [5] [3]", &(const perceptron_options){3, 4, 0}},
    {"addend, one output", "[4, 3] [6, 3] [1, 6] [1] [4, 6]", &(const perceptron_options){0, 3, 4}},
    {"hidden width", "[4, 3] [5, 3] [2, 4]",
        .error = "perceptron: expected X [.., in], W1 [hidden, in] and W2 [out, hidden]; got [4, 3]"},
    {"bias", "[4, 3] [5, 3] [2, 5] [5]", &(const perceptron_options){0, 3, 0},
        .error = "input 3 is a bias, expected [2]"},
    {"addend", "[4, 3] [5, 3] [2, 5] [4, 2]", &(const perceptron_options){0, 0, 3},
        .error = "input 3 is added to the first product"},
};

const mo_op mo_op_perceptron = {
    .name = "perceptron",
    .n_in = 3,
    .max_in = 6,
    .n_out = 2,
    .attributes_size = sizeof(perceptron_options),
    .reads_in = 7,
    .reads_out = 2,
    .shape = perceptron_shape,
    .forward = perceptron_forward,
    .vjp = perceptron_vjp,
    .flops = perceptron_flops,
    MO_SAMPLES(perceptron_samples),
};

mo_tensor *mo_perceptron(
    mo_tape *t, mo_tensor *X, mo_tensor *W1, mo_tensor *b1, mo_tensor *R, mo_tensor *W2, mo_tensor *b2) {
    perceptron_options o = {0};
    mo_tensor *in[6] = {X, W1, W2}, *out[2];
    int n = 3;
    if (b1)
        in[o.b1 = n++] = b1;
    if (b2)
        in[o.b2 = n++] = b2;
    if (R)
        in[o.R = n++] = R;
    mo_apply_all(t, &mo_op_perceptron, in, n, &o, out);
    return out[0];
}
