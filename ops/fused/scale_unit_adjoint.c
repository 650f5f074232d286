/* ops/fused/scale_unit_adjoint.c - both gradients of scale_unit in one kernel, if the device has one.
 *
 * X [.., d], s a scalar, G = Y_bar [.., d] -> X_bar [.., d] and a number for each row [..], whose sum is s_bar, in the
 * symbols of scale_unit.c. float32 or float64. Errors: sizes that do not fit. The op has no derivative:
 * where a gradient of a gradient is needed, scale_unit uses its rule made of ops instead. */
#include "ops/fused/fused.h"
#include "ops/inside.h"
#include "ops/rules/shapes.h"

typedef struct guard {
    double epsilon;
} guard;

static bool scale_unit_adjoint_shape(mo_call *c) {
    const mo_tensor *X = c->in[0];
    if (!mo_call_real(c, 0, 2))
        return false;
    if (X->ndim < 1 || c->in[1]->ndim != 0)
        return mo_call_fail(c, MO_INVALID, "expected rows [.., d] and a scalar");
    if (!mo_same_shape(X, c->in[2]))
        return mo_call_fail(c, MO_INVALID, "expected rows and their cotangents of one shape");
    return mo_call_output(c, 0, X->dtype, X->ndim, X->shape) && mo_call_output(c, 1, X->dtype, X->ndim - 1, X->shape);
}

static void scale_unit_adjoint_by_ops(mo_call *c, double epsilon) {
    mo_tape *t = c->t;
    mo_tensor *X = c->in[0], *s = c->in[1], *G = c->in[2], *U = mo_l2_normalize(t, X, epsilon);
    mo_fused_by_ops(c, 0, mo_l2_normalize_rule(t, X, U, mo_mul(t, G, s), epsilon));
    mo_fused_by_ops(c, 1, mo_sum(t, mo_mul(t, G, U), MO_AXIS(-1), MO_DROP_AXES));
}

static void scale_unit_adjoint_forward(mo_call *c) {
    double epsilon = ((const guard *)c->attributes)->epsilon;
    const mo_kernels *k = mo_kernels_of(c->ctx, c->out[0]->dtype);
    if (!k->scale_unit_adjoint) {
        scale_unit_adjoint_by_ops(c, epsilon);
        return;
    }
    bool rows = c->in[2]->ndim == 2 && mo_tensor_view(c->in[2]).stride[1] == 1; /* rows can lie in a wider matrix */
    mo_view x = mo_call_dense(c, 0), s = mo_tensor_view(c->in[1]);
    mo_view g = rows ? mo_tensor_view(c->in[2]) : mo_call_dense(c, 2);
    mo_view x_bar = mo_tensor_view(c->out[0]), along = mo_tensor_view(c->out[1]);
    if (mo_ok(c->ctx))
        k->scale_unit_adjoint(c->ctx, epsilon, &x, &s, &g, &x_bar, &along);
}

static double scale_unit_adjoint_flops(const mo_call *c) {
    return 4.0 * (double)mo_numel(c->in[0]);
}

static const mo_sample scale_unit_adjoint_samples[] = {
    {"rows", "[3, 4] [] [3, 4]", &(const guard){1e-5}},
    {"large epsilon", "[2, 3, 5] [] [2, 3, 5]", &(const guard){9}},
    {"vector", "[4] [] [4]", &(const guard){1e-5}},
    {"no rows", "[0, 3] [] [0, 3]", &(const guard){1e-5}},
    {"cotangents", "[3, 4] [] [4, 3]", &(const guard){1e-5},
        .error = "scale_unit_adjoint: expected rows and their cotangents of one shape; got [3, 4]"},
};

const mo_op mo_op_scale_unit_adjoint = {
    .name = "scale_unit_adjoint",
    .n_in = 3,
    .n_out = 2,
    .attributes_size = sizeof(guard),
    .shape = scale_unit_adjoint_shape,
    .forward = scale_unit_adjoint_forward,
    .flops = scale_unit_adjoint_flops,
    MO_SAMPLES(scale_unit_adjoint_samples),
};

bool mo_scale_unit_adjoint(mo_vjp *v) {
    const mo_tensor *X = v->in[0];
    mo_tensor *out[2], *in[] = {v->in[0], v->in[1], v->out_bar[0]};
    if (v->create_graph || !mo_kernels_of(X->ctx, X->dtype)->scale_unit_adjoint)
        return false;
    mo_apply_all(v->t, &mo_op_scale_unit_adjoint, in, 3, v->attributes, out);
    v->in_bar[0] = out[0];
    if (v->needs[1])
        v->in_bar[1] = mo_sum_to(v->t, out[1], 0, NULL);
    return true;
}
