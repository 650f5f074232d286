/* ops/scale_unit.c - Y = s X / max(|X|, epsilon) row by row: l2_normalize times a scalar, in one pass.
 *
 * X [.., d] and s, a scalar -> Y [.., d]. float32 or float64. Errors: no axis, s with axes. Saved: nothing beyond the
 * inputs.
 *
 * With U = X / M and M = max(|X|, epsilon) (normalize.c), dY = s dU + U ds, hence
 *     s_bar = <U, Y_bar>,   X_bar = s (Y_bar - U <U, Y_bar> [|X| > epsilon]) / M for each row;
 * one pass computes both gradients if the device has a kernel for it. */
#include "ops/inside.h"
#include "ops/rules/rows.h"
#include "ops/rules/shapes.h"
#include "tensor/backend.h"

#include <string.h>

typedef struct guard {
    double epsilon;
} guard;

static bool scale_unit_shape(mo_call *c) {
    const mo_tensor *X = c->in[0];
    if (!mo_call_real(c, 0, 1))
        return false;
    if (X->ndim < 1 || c->in[1]->ndim != 0)
        return mo_call_fail(c, MO_INVALID, "expected rows [.., d] and a scalar");
    return mo_call_output(c, 0, X->dtype, X->ndim, X->shape);
}

static void scale_unit_forward(mo_call *c) {
    double epsilon = ((const guard *)c->attributes)->epsilon;
    mo_view x = mo_call_dense(c, 0), s = mo_tensor_view(c->in[1]), y = mo_tensor_view(c->out[0]);
    if (!mo_ok(c->ctx))
        return;
    const mo_kernels *k = mo_kernels_of(c->ctx, y.dtype);
    if (k->scale_unit) {
        k->scale_unit(c->ctx, epsilon, &x, &s, &y);
        return;
    }
    s = mo_broadcast_view(s, 0, y.ndim, y.shape);
    k->l2_normalize(c->ctx, epsilon, &x, &y);
    k->map2(c->ctx, MO_MAP_MUL, &y, &s, &y);
}

static void scale_unit_vjp(mo_vjp *v) {
    mo_tape *t = v->t;
    mo_tensor *X = v->in[0], *s = v->in[1], *Y_bar = v->out_bar[0];
    double epsilon = ((const guard *)v->attributes)->epsilon;
    mo_tensor *U = mo_l2_normalize(t, X, epsilon);
    if (v->needs[0])
        v->in_bar[0] = mo_l2_normalize_gradient(t, X, U, mo_mul(t, Y_bar, s), epsilon);
    if (v->needs[1])
        v->in_bar[1] = mo_sum_to(t, mo_mul(t, Y_bar, U), 0, NULL);
}

/* One pass over rows, which can lie in a wider matrix. */
static bool scale_unit_adjoint(mo_vjp *v) {
    mo_tape *t = v->t;
    mo_tensor *X = v->in[0], *G = v->out_bar[0];
    const mo_kernels *k = mo_kernels_of(X->ctx, X->dtype);
    if (!k->scale_unit_adjoint)
        return false;
    mo_tensor *X_bar = mo_tape_tensor(t, X->dtype, X->ndim, X->shape);
    mo_tensor *along = mo_tape_tensor(t, X->dtype, X->ndim - 1, X->shape);
    bool in_place = G->ndim == 2 && mo_tensor_view(G).stride[1] == 1;
    mo_view x = mo_tensor_view(mo_contiguous(t, X)), s = mo_tensor_view(v->in[1]);
    mo_view g = mo_tensor_view(in_place ? G : mo_contiguous(t, G));
    mo_view x_bar = mo_tensor_view(X_bar), each = mo_tensor_view(along);
    if (mo_ok(X->ctx))
        k->scale_unit_adjoint(X->ctx, ((const guard *)v->attributes)->epsilon, &x, &s, &g, &x_bar, &each);
    v->in_bar[0] = X_bar;
    v->in_bar[1] = v->needs[1] ? mo_sum_to(t, along, 0, NULL) : NULL;
    return true;
}

static double scale_unit_flops(const mo_call *c) {
    return 4.0 * (double)mo_numel(c->in[0]);
}

static const mo_sample scale_unit_samples[] = {
    {"rows", "[3, 4] []", &(const guard){1e-5}},
    {"large epsilon", "[2, 3, 5] []", &(const guard){9}},
    {"vector", "[4] []", &(const guard){1e-5}},
    {"scale", "[3, 4] [3]", &(const guard){1e-5},
        .error = "scale_unit: expected rows [.., d] and a scalar; got [3, 4]"},
};

const mo_op mo_op_scale_unit = {
    .name = "scale_unit",
    .n_in = 2,
    .attributes_size = sizeof(guard),
    .reads_in = 3,
    .shape = scale_unit_shape,
    .forward = scale_unit_forward,
    .vjp = scale_unit_vjp,
    .adjoint = scale_unit_adjoint,
    .flops = scale_unit_flops,
    MO_SAMPLES(scale_unit_samples),
};

mo_tensor *mo_scale_unit(mo_tape *t, mo_tensor *X, mo_tensor *s, double epsilon) {
    return mo_apply(t, &mo_op_scale_unit, (mo_tensor *[]){X, s}, 2, &(guard){epsilon});
}
