/* ops/softmax_cross_entropy.c - the mean over rows of the cross-entropy between targets and softmax(logits).
 *
 * logits [n, C], target int64 [n] (labels) or real [n, C] -> scalar
 *     L = -1/n sum_i sum_c t_ic log softmax(logits_i)_c,   t = (1 - s) target + s / C,
 * s the label smoothing, in [0, 1]; float32 or float64. log softmax is never formed as the log of a softmax, so logits
 * of +-1e4 are exact. Errors: no rows or classes, other shapes, a label outside 0 .. C-1 (named with its row), s
 * outside [0, 1]. Saved: nothing beyond the inputs.
 *
 * With p = softmax(logits), d log p_c = dx_c - sum_k p_k dx_k (x a row of logits), so
 *     dL = -1/n sum_i [ sum_c t_ic dx_ic - (sum_c t_ic) sum_k p_ik dx_ik + (1 - s) sum_c log p_ic d target_ic ],
 *     logits_bar = (T p - t) L_bar / n,   T_i = sum_c t_ic, which is 1 for labels and for rows that sum to 1,
 *     target_bar = -(1 - s) log p L_bar / n. */
#include "ops/inside.h"
#include "ops/rules/indices.h"
#include "ops/rules/shapes.h"
#include "tensor/backend.h"

static bool softmax_cross_entropy_shape(mo_call *c) {
    const mo_tensor *X = c->in[0], *target = c->in[1];
    double s = *(const double *)c->attributes;
    bool labels = target->dtype == MO_I64;
    if (!labels && !mo_dtype_is_real(target->dtype))
        return mo_call_fail(c, MO_MISMATCH, "target is %s, expected int64 labels or rows of the logits' dtype",
            mo_dtype_name(target->dtype));
    if (!mo_call_real(c, 0, labels ? 0 : 1))
        return false;
    if (X->ndim != 2 || mo_numel(X) == 0)
        return mo_call_fail(c, MO_INVALID, "expected logits [n, C] with a row and a class at least");
    if (labels ? target->ndim != 1 || target->shape[0] != X->shape[0] : !mo_same_shape(X, target))
        return mo_call_fail(c, MO_INVALID, "expected int64 labels [n] or real targets [n, C] for logits [n, C]");
    if (!(s >= 0 && s <= 1))
        return mo_call_fail(c, MO_INVALID, "smoothing %g, expected 0 to 1", s);
    if (labels && !mo_check_indices(c, 1, X->shape[1], "label"))
        return false;
    return mo_call_output(c, 0, X->dtype, 0, NULL);
}

static void softmax_cross_entropy_forward(mo_call *c) {
    const mo_tensor *X = c->in[0];
    mo_tensor *losses = mo_call_temporary(c, X->dtype, 1, X->shape), *sum = mo_call_temporary(c, X->dtype, 0, NULL);
    mo_view x = mo_call_dense(c, 0), target = mo_call_dense(c, 1), y = mo_tensor_view(c->out[0]);
    if (!mo_ok(c->ctx))
        return;
    mo_view each = mo_tensor_view(losses), total = mo_tensor_view(sum), onto = mo_broadcast_view(total, 0, 1, X->shape);
    const mo_kernels *k = mo_kernels_of(c->ctx, X->dtype);
    k->cross_entropy(c->ctx, *(const double *)c->attributes, &x, &target, &each);
    k->reduce(c->ctx, MO_REDUCE_SUM, &each, &onto);
    k->map1(c->ctx, MO_MAP_SCALE, 1 / (double)X->shape[0], 0, &total, &y);
}

/* Returns (T p - t) L_bar / n. */
static mo_tensor *logits_gradient(mo_tape *t, mo_tensor *X, mo_tensor *target, mo_tensor *L_bar, double s) {
    double n = (double)mo_dim(X, 0), C = (double)mo_dim(X, 1);
    bool labels = mo_tensor_dtype(target) == MO_I64;
    mo_tensor *y = labels ? mo_one_hot(t, target, mo_dim(X, 1), X->dtype) : target, *p = mo_softmax(t, X, MO_AXIS(-1));
    y = s == 0 ? y : mo_scale(t, y, 1 - s, s / C);
    p = labels ? p : mo_mul(t, p, mo_sum(t, y, MO_AXIS(1), MO_KEEP_AXES));
    return mo_mul(t, mo_sub(t, p, y), mo_scale(t, L_bar, 1 / n, 0));
}

static void softmax_cross_entropy_vjp(mo_vjp *v) {
    mo_tensor *X = v->in[0], *target = v->in[1], *L_bar = v->out_bar[0];
    double n = (double)X->shape[0], s = *(const double *)v->attributes;
    if (v->needs[0])
        v->in_bar[0] = logits_gradient(v->t, X, target, L_bar, s);
    if (v->needs[1]) { /* -(1 - s) log p L_bar / n */
        mo_tensor *log_p = mo_log_softmax(v->t, X, MO_AXIS(-1));
        v->in_bar[1] = mo_mul(v->t, mo_scale(v->t, log_p, s - 1, 0), mo_scale(v->t, L_bar, 1 / n, 0));
    }
}

/* The gradient of the logits in one kernel. The loss has checked the labels, which cannot have changed since on a
 * device, where alone there is a kernel. */
static bool softmax_cross_entropy_adjoint(mo_vjp *v) {
    const mo_tensor *X = v->in[0];
    const mo_kernels *k = mo_kernels_of(X->ctx, X->dtype);
    if (v->needs[1] || !k->cross_entropy_adjoint)
        return false;
    mo_view x = mo_tensor_view(mo_contiguous(v->t, v->in[0])), target = mo_tensor_view(mo_contiguous(v->t, v->in[1]));
    mo_view g = mo_tensor_view(v->out_bar[0]);
    mo_tensor *X_bar = mo_tape_tensor(v->t, X->dtype, X->ndim, X->shape);
    mo_view x_bar = mo_tensor_view(X_bar);
    if (mo_ok(X->ctx))
        k->cross_entropy_adjoint(X->ctx, *(const double *)v->attributes, &x, &target, &g, &x_bar);
    v->in_bar[0] = X_bar;
    return true;
}

static double softmax_cross_entropy_flops(const mo_call *c) {
    return 6 * (double)mo_numel(c->in[0]); /* log softmax and a multiply-add */
}

static const mo_sample softmax_cross_entropy_samples[] = {
    {"labels", "[5, 3] index<3>[5]"},
    {"smoothed labels", "[5, 3] index<3>[5]", &(double){0.1}},
    {"dense", "[4, 3] positive[4, 3]"},
    {"smoothed dense", "[4, 3] positive[4, 3]", &(double){0.2}},
    {"one class", "[2, 1] index<1>[2]", &(double){0.1}},
    {"rows", "[5, 3] index<3>[4]", .error = "softmax_cross_entropy: expected int64 labels [n] or real targets [n, C]"},
    {"label", "[50, 1] index<9>[50]", .error = "expected 0 to 0; got [50, 1] float64, [50] int64"},
    {"no rows", "[0, 3] index<3>[0]", .error = "a row and a class at least"},
    {"smoothing", "[2, 3] index<3>[2]", &(double){1.5}, .error = "smoothing 1.5, expected 0 to 1"},
};

const mo_op mo_op_softmax_cross_entropy = {
    .name = "softmax_cross_entropy",
    .n_in = 2,
    .attributes_size = sizeof(double),
    .reads_in = 3,
    .shape = softmax_cross_entropy_shape,
    .forward = softmax_cross_entropy_forward,
    .vjp = softmax_cross_entropy_vjp,
    .adjoint = softmax_cross_entropy_adjoint,
    .flops = softmax_cross_entropy_flops,
    MO_SAMPLES(softmax_cross_entropy_samples),
};

mo_tensor *mo_softmax_cross_entropy(mo_tape *t, mo_tensor *logits, mo_tensor *target, double s) {
    return mo_apply(t, &mo_op_softmax_cross_entropy, (mo_tensor *[]){logits, target}, 2, &(double){s});
}
