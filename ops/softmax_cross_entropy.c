/* ops/softmax_cross_entropy.c - the mean over rows of the cross-entropy between targets and softmax(logits).
 *
 * logits [n, C], target int64 [n] (labels) or real [n, C] -> scalar
 *     L = -1/n sum_i sum_c t_ic log softmax(logits_i)_c,   t = (1 - s) target + s / C,
 * s the label smoothing, in [0, 1]; float32 or float64. log softmax is never formed as the log of a softmax, so logits
 * of +-1e4 are exact. Errors: no rows or classes, other shapes, a label outside 0 .. C-1 (named with its row), another
 * s. Saved: nothing beyond the inputs.
 *
 * With p = softmax(logits), d log p_c = dx_c - sum_k p_k dx_k (x a row of logits), so
 *     dL = -1/n sum_i [ sum_c t_ic dx_ic - (sum_c t_ic) sum_k p_ik dx_ik + (1 - s) sum_c log p_ic d target_ic ],
 *     logits_bar = (T p - t) L_bar / n,   T_i = sum_c t_ic, which is 1 for labels and for rows that sum to 1,
 *     target_bar = -(1 - s) log p L_bar / n. */
#include "ops/inside.h"
#include "ops/rules/indices.h"
#include "ops/rules/shapes.h"

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

static mo_tensor *logits_bar(mo_vjp *v);

static void softmax_cross_entropy_vjp(mo_vjp *v) {
    if (v->needs[0])
        v->in_bar[0] = logits_bar(v);
    if (v->needs[1]) {
        double n = (double)v->in[0]->shape[0], s = *(const double *)v->attributes;
        mo_tensor *log_p = mo_log_softmax(v->t, v->in[0], MO_AXIS(-1)), *L_bar = v->out_bar[0];
        v->in_bar[1] = mo_mul(v->t, mo_scale(v->t, log_p, s - 1, 0), mo_scale(v->t, L_bar, 1 / n, 0));
    }
}

static double softmax_cross_entropy_flops(const mo_call *c) {
    return 6 * (double)mo_numel(c->in[0]); /* log softmax and a multiply-add */
}

static const mo_sample softmax_cross_entropy_samples[] = {
    {.name = "labels", .in = "[5, 3] index<3>[5]", .attributes = &(double){0}},
    {.name = "smoothed labels", .in = "[5, 3] index<3>[5]", .attributes = &(double){0.1}},
    {.name = "dense", .in = "[4, 3] positive[4, 3]", .attributes = &(double){0}},
    {.name = "smoothed dense", .in = "[4, 3] positive[4, 3]", .attributes = &(double){0.2}},
    {.name = "one class", .in = "[2, 1] index<1>[2]", .attributes = &(double){0.1}},
    {.name = "rows",
        .in = "[5, 3] index<3>[4]",
        .attributes = &(double){0},
        .error = "softmax_cross_entropy: expected int64 labels [n] or real targets [n, C]"},
    {.name = "label",
        .in = "[50, 1] index<9>[50]",
        .attributes = &(double){0},
        .error = "expected 0 to 0; got [50, 1] float64, [50] int64"},
    {.name = "no rows", .in = "[0, 3] index<3>[0]", .attributes = &(double){0}, .error = "a row and a class at least"},
    {.name = "smoothing",
        .in = "[2, 3] index<3>[2]",
        .attributes = &(double){1.5},
        .error = "smoothing 1.5, expected 0 to 1"},
};

const mo_op mo_op_softmax_cross_entropy = {
    .name = "softmax_cross_entropy",
    .n_in = 2,
    .attributes_size = sizeof(double),
    .reads_in = 3,
    .shape = softmax_cross_entropy_shape,
    .forward = softmax_cross_entropy_forward,
    .vjp = softmax_cross_entropy_vjp,
    .flops = softmax_cross_entropy_flops,
    MO_SAMPLES(softmax_cross_entropy_samples),
};

extern const mo_op mo_op_softmax_cross_entropy_adjoint;

static mo_tensor *logits_bar(mo_vjp *v) {
    mo_tensor *in[] = {v->in[0], v->in[1], v->out_bar[0]};
    return mo_apply(v->t, &mo_op_softmax_cross_entropy_adjoint, in, 3, v->attributes);
}

mo_tensor *mo_softmax_cross_entropy(mo_tape *t, mo_tensor *logits, mo_tensor *target, double s) {
    return mo_apply(t, &mo_op_softmax_cross_entropy, (mo_tensor *[]){logits, target}, 2, &(double){s});
}

/* ---- the adjoint in the logits ----
 *
 * softmax_cross_entropy_adjoint: the rule for logits_bar in one pass, as an op Z(logits, target, G) of a scalar G. With
 * V = Z_bar and <a, b>_i the sum along row i, G_bar = sum(V * (T p - t)) / n,   logits_bar = T p (V - <p, V>) G / n,
 * target_bar = (1 - s) (<p, V> - V) G / n. */

/* t = (1 - s) target + s / C, rows of C */
static mo_tensor *smoothed(mo_vjp *v, double s) {
    mo_tensor *X = v->in[0], *target = v->in[1];
    int64_t C = X->shape[1];
    mo_tensor *rows = target->dtype == MO_I64 ? mo_one_hot(v->t, target, C, X->dtype) : target;
    return s == 0 ? rows : mo_scale(v->t, rows, 1 - s, s / (double)C);
}

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
    bool known = c->ctx->backend->check; /* by the loss; a host's labels may have changed since */
    if (labels && !known && !mo_check_indices(c, 1, X->shape[1], "label"))
        return false;
    return mo_call_output(c, 0, X->dtype, 2, X->shape);
}

/* t: the target itself, or `rows` [n, C] that are filled with it. */
static mo_view target_rows(mo_call *c, double s, mo_view rows) {
    const mo_kernels *k = mo_kernels_of(c->ctx, rows.dtype);
    mo_view target = mo_call_dense(c, 1), t = target;
    if (target.dtype == MO_I64) {
        mo_tensor *ones = mo_call_temporary(c, rows.dtype, 2, (int64_t[]){target.shape[0], 1});
        mo_tensor_fill(ones, 1);
        if (!mo_ok(c->ctx))
            return rows;
        mo_view one = mo_tensor_view(ones);
        target.shape[1] = target.stride[1] = 1;
        target.ndim = 2;
        k->put_along(c->ctx, &one, &target, &rows);
        t = rows;
    }
    if (s != 0 && mo_ok(c->ctx))
        k->map1(c->ctx, MO_MAP_SCALE, 1 - s, s / (double)rows.shape[1], &t, &rows);
    return s == 0 ? t : rows;
}

/* Z = (T p - t) G / n by one kernel after the other. */
static void compose_adjoint(mo_call *c, double s) {
    const mo_tensor *X = c->in[0];
    const mo_kernels *k = mo_kernels_of(c->ctx, X->dtype);
    mo_view x = mo_call_dense(c, 0), g = mo_tensor_view(c->in[2]), z = mo_tensor_view(c->out[0]);
    mo_view rows = mo_tensor_view(mo_call_temporary(c, X->dtype, 2, X->shape));
    mo_view each = mo_tensor_view(mo_call_temporary(c, X->dtype, 0, NULL));
    mo_view total = mo_tensor_view(mo_call_temporary(c, X->dtype, 1, X->shape));
    if (!mo_ok(c->ctx))
        return;
    mo_view t = target_rows(c, s, rows), on_each = mo_broadcast_view(each, 0, 2, X->shape), on_total = total;
    if (!mo_ok(c->ctx))
        return;
    on_total.ndim = 2;
    on_total.shape[1] = X->shape[1];
    on_total.stride[1] = 0;
    k->map1(c->ctx, MO_MAP_SCALE, 1 / (double)X->shape[0], 0, &g, &each);
    k->softmax(c->ctx, false, &x, &z);
    if (c->in[1]->dtype != MO_I64) { /* T p */
        k->reduce(c->ctx, MO_REDUCE_SUM, &t, &on_total);
        k->map2(c->ctx, MO_MAP_MUL, &z, &on_total, &z);
    }
    k->map2(c->ctx, MO_MAP_SUB, &z, &t, &z);
    k->map2(c->ctx, MO_MAP_MUL, &z, &on_each, &z);
}

static void softmax_cross_entropy_adjoint_forward(mo_call *c) {
    double s = *(const double *)c->attributes;
    const mo_kernels *k = mo_kernels_of(c->ctx, c->out[0]->dtype);
    if (!k->cross_entropy_adjoint) {
        compose_adjoint(c, s);
        return;
    }
    mo_view x = mo_call_dense(c, 0), target = mo_call_dense(c, 1), g = mo_tensor_view(c->in[2]);
    mo_view z = mo_tensor_view(c->out[0]);
    if (mo_ok(c->ctx))
        k->cross_entropy_adjoint(c->ctx, s, &x, &target, &g, &z);
}

static void softmax_cross_entropy_adjoint_vjp(mo_vjp *v) {
    mo_tape *t = v->t;
    mo_tensor *X = v->in[0], *target = v->in[1], *V = v->out_bar[0];
    double s = *(const double *)v->attributes, share = 1 / (double)X->shape[0];
    mo_tensor *each = mo_scale(t, v->in[2], share, 0), *p = mo_softmax(t, X, MO_AXIS(-1)), *y = smoothed(v, s),
              *total = NULL;
    mo_tensor *along = mo_sum(t, mo_mul(t, p, V), MO_AXIS(1), MO_KEEP_AXES); /* <p, V> */
    if (target->dtype != MO_I64)
        total = mo_sum(t, y, MO_AXIS(1), MO_KEEP_AXES);
    if (v->needs[0]) {
        mo_tensor *turned = mo_mul(t, p, mo_sub(t, V, along));
        v->in_bar[0] = mo_mul(t, total ? mo_mul(t, turned, total) : turned, each);
    }
    if (v->needs[1])
        v->in_bar[1] = mo_mul(t, mo_scale(t, mo_sub(t, along, V), 1 - s, 0), each);
    if (v->needs[2]) {
        mo_tensor *slope = mo_sub(t, total ? mo_mul(t, p, total) : p, y);
        v->in_bar[2] = mo_scale(t, mo_sum(t, mo_mul(t, V, slope), MO_ALL, MO_DROP_AXES), share, 0);
    }
}

static const mo_sample softmax_cross_entropy_adjoint_samples[] = {
    {.name = "smoothed labels", .in = "[5, 3] index<3>[5] []", .attributes = &(double){0.1}},
    {.name = "labels", .in = "[5, 3] index<3>[5] []", .attributes = &(double){0}},
    {.name = "dense", .in = "[4, 3] positive[4, 3] []", .attributes = &(double){0}},
    {.name = "smoothed dense", .in = "[4, 3] positive[4, 3] []", .attributes = &(double){0.2}},
    {.name = "no scalar",
        .in = "[5, 3] index<3>[5] [5]",
        .attributes = &(double){0},
        .error = "softmax_cross_entropy_adjoint: expected logits [n, C] with a row and a class at least, and a scalar"},
    {.name = "rows",
        .in = "[5, 3] index<3>[4] []",
        .attributes = &(double){0},
        .error = "softmax_cross_entropy_adjoint: expected int64 labels [n] or real targets [n, C]"},
};

const mo_op mo_op_softmax_cross_entropy_adjoint = {
    .name = "softmax_cross_entropy_adjoint",
    .n_in = 3,
    .attributes_size = sizeof(double),
    .reads_in = 7,
    .shape = softmax_cross_entropy_adjoint_shape,
    .forward = softmax_cross_entropy_adjoint_forward,
    .vjp = softmax_cross_entropy_adjoint_vjp,
    .flops = softmax_cross_entropy_flops,
    MO_SAMPLES(softmax_cross_entropy_adjoint_samples),
};
