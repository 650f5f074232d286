/* ops/fused/softmax_cross_entropy_adjoint.c - the gradient of the mean cross-entropy with respect to the logits, in one
 * kernel if the device has one.
 *
 * logits [n, C], target int64 [n] or real [n, C], G = L_bar a scalar -> (T p - t) G / n [n, C], in the symbols of
 * softmax_cross_entropy.c. float32 or float64. Errors: sizes and labels that do not fit. The op has no derivative:
 * where a gradient of a gradient is needed, softmax_cross_entropy uses its rule made of ops instead. */
#include "ops/fused/fused.h"
#include "ops/rules/indices.h"
#include "ops/rules/shapes.h"

static bool softmax_cross_entropy_adjoint_shape(mo_call *c) {
    const mo_tensor *X = c->in[0], *target = c->in[1];
    bool labels = target->dtype == MO_I64;
    if (!mo_call_real(c, 0, 0) || !mo_call_real(c, 2, 2))
        return false;
    if (c->in[2]->dtype != X->dtype || (!labels && target->dtype != X->dtype))
        return mo_call_fail(c, MO_MISMATCH, "expected target and cotangent of the logits' dtype");
    if (X->ndim != 2 || X->shape[0] == 0 || X->shape[1] == 0 || c->in[2]->ndim != 0)
        return mo_call_fail(c, MO_INVALID, "expected logits [n, C] with a row and a class at least, and a scalar");
    if (labels ? target->ndim != 1 || target->shape[0] != X->shape[0] : !mo_same_shape(X, target))
        return mo_call_fail(c, MO_INVALID, "expected int64 labels [n] or real targets [n, C] for logits [n, C]");
    /* `check` is NULL on the host alone. On a device the loss has checked the labels, and they cannot have changed
     * since; on the host they can. */
    bool known = c->ctx->backend->check;
    if (labels && !known && !mo_check_indices(c, 1, X->shape[1], "label"))
        return false;
    return mo_call_output(c, 0, X->dtype, 2, X->shape);
}

static void softmax_cross_entropy_adjoint_forward(mo_call *c) {
    double s = *(const double *)c->attributes;
    const mo_kernels *k = mo_kernels_of(c->ctx, c->out[0]->dtype);
    if (!k->cross_entropy_adjoint) {
        mo_fused_by_ops(c, 0, mo_cross_entropy_rule(c->t, c->in[0], c->in[1], c->in[2], s));
        return;
    }
    mo_view x = mo_call_dense(c, 0), target = mo_call_dense(c, 1), g = mo_tensor_view(c->in[2]);
    mo_view z = mo_tensor_view(c->out[0]);
    if (mo_ok(c->ctx))
        k->cross_entropy_adjoint(c->ctx, s, &x, &target, &g, &z);
}

static double softmax_cross_entropy_adjoint_flops(const mo_call *c) {
    return 6 * (double)mo_numel(c->in[0]);
}

static const mo_sample softmax_cross_entropy_adjoint_samples[] = {
    {"smoothed labels", "[5, 3] index<3>[5] []", &(double){0.1}},
    {"labels", "[5, 3] index<3>[5] []"},
    {"dense", "[4, 3] positive[4, 3] []"},
    {"smoothed dense", "[4, 3] positive[4, 3] []", &(double){0.2}},
    {"no scalar", "[5, 3] index<3>[5] [5]",
        .error = "softmax_cross_entropy_adjoint: expected logits [n, C] with a row and a class at least, and a scalar"},
    {"rows", "[5, 3] index<3>[4] []",
        .error = "softmax_cross_entropy_adjoint: expected int64 labels [n] or real targets [n, C]"},
};

const mo_op mo_op_softmax_cross_entropy_adjoint = {
    .name = "softmax_cross_entropy_adjoint",
    .n_in = 3,
    .attributes_size = sizeof(double),
    .shape = softmax_cross_entropy_adjoint_shape,
    .forward = softmax_cross_entropy_adjoint_forward,
    .flops = softmax_cross_entropy_adjoint_flops,
    MO_SAMPLES(softmax_cross_entropy_adjoint_samples),
};

bool mo_cross_entropy_adjoint(mo_vjp *v) {
    const mo_tensor *X = v->in[0];
    if (v->create_graph || !mo_kernels_of(X->ctx, X->dtype)->cross_entropy_adjoint)
        return false;
    mo_tensor *in[] = {v->in[0], v->in[1], v->out_bar[0]};
    v->in_bar[0] = mo_apply(v->t, &mo_op_softmax_cross_entropy_adjoint, in, 3, v->attributes);
    return true;
}
