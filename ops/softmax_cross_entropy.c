/* ops/softmax_cross_entropy.c - the mean over rows of the cross-entropy between targets and softmax(logits).
 *
 * logits [n, C], target int64 [n] (labels) or real [n, C] -> scalar
 *     L = -1/n sum_i sum_c t_ic log softmax(logits_i)_c,   t = (1 - s) target + s / C,
 * s the label smoothing, in [0, 1]; float32 or float64. log softmax is never formed as the log of a softmax, so logits
 * of +-1e4 are exact. Errors: no rows, no classes, other shapes, a label outside 0 .. C-1 (named with its row), s
 * outside [0, 1]. Saved: nothing beyond the inputs.
 *
 * With p = softmax(logits), d log p_c = dx_c - sum_k p_k dx_k (x a row of logits), so
 *     dL = -1/n sum_i [ sum_c t_ic dx_ic - (sum_c t_ic) sum_k p_ik dx_ik + (1 - s) sum_c log p_ic d target_ic ],
 *     logits_bar = (T p - t) L_bar / n,   T_i = sum_c t_ic, which is 1 for labels and for rows that sum to 1,
 *     target_bar = -(1 - s) log p L_bar / n. */
#include "ops/inside.h"
#include "ops/rules/indices.h"
#include "ops/rules/shapes.h"

typedef struct smoothing {
    double s;
} smoothing;

static bool softmax_cross_entropy_shape(mo_call *c) {
    const mo_tensor *X = c->in[0], *target = c->in[1];
    double s = ((const smoothing *)c->attributes)->s;
    bool labels = target->dtype == MO_I64;
    if (!labels && !mo_dtype_is_real(target->dtype))
        return mo_call_fail(c, MO_MISMATCH, "target is %s, expected int64 labels or rows of the logits' dtype",
            mo_dtype_name(target->dtype));
    if (!mo_call_real(c, 0, labels ? 0 : 1))
        return false;
    if (X->ndim != 2 || X->shape[0] == 0 || X->shape[1] == 0)
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
    double s = ((const smoothing *)c->attributes)->s;
    mo_tensor *losses = mo_call_temporary(c, X->dtype, 1, X->shape), *sum = mo_call_temporary(c, X->dtype, 0, NULL);
    mo_view x = mo_call_dense(c, 0), target = mo_call_dense(c, 1), y = mo_tensor_view(c->out[0]);
    if (!mo_ok(c->ctx))
        return;
    mo_view each = mo_tensor_view(losses), total = mo_tensor_view(sum), onto = mo_broadcast_view(total, 0, 1, X->shape);
    const mo_kernels *k = mo_kernels_of(c->ctx, X->dtype);
    k->cross_entropy(c->ctx, s, &x, &target, &each);
    k->reduce(c->ctx, MO_REDUCE_SUM, &each, &onto);
    k->map1(c->ctx, MO_MAP_SCALE, 1 / (double)X->shape[0], 0, &total, &y);
}

/* t = (1 - s) target + s / C, rows of C */
static mo_tensor *smoothed(mo_vjp *v, double s) {
    mo_tensor *X = v->in[0], *target = v->in[1];
    int64_t C = X->shape[1];
    mo_tensor *rows = target->dtype == MO_I64 ? mo_one_hot(v->t, target, C, X->dtype) : target;
    return s == 0 ? rows : mo_scale(v->t, rows, 1 - s, s / (double)C);
}

static void softmax_cross_entropy_vjp(mo_vjp *v) {
    mo_tape *t = v->t;
    mo_tensor *X = v->in[0], *target = v->in[1];
    double s = ((const smoothing *)v->attributes)->s;
    mo_tensor *each_bar = mo_scale(t, v->out_bar[0], 1 / (double)X->shape[0], 0); /* L_bar / n */
    if (v->needs[0]) {
        mo_tensor *p = mo_softmax(t, X, -1), *y = smoothed(v, s);
        if (target->dtype != MO_I64) /* T p */
            p = mo_mul(t, p, mo_sum(t, y, MO_AXIS(1), MO_KEEP_AXES));
        v->in_bar[0] = mo_mul(t, mo_sub(t, p, y), each_bar);
    }
    if (v->needs[1])
        v->in_bar[1] = mo_mul(t, mo_scale(t, mo_log_softmax(t, X, -1), s - 1, 0), each_bar);
}

static double softmax_cross_entropy_flops(const mo_call *c) {
    return 6 * (double)mo_numel(c->in[0]); /* log softmax and a multiply-add */
}

static const mo_sample softmax_cross_entropy_samples[] = {
    {.name = "labels",
        .n_in = 2,
        .in = {{.ndim = 2, .shape = {5, 3}}, {MO_DRAW_INDEX, 1, {5}, 3}},
        .attributes = &(smoothing){0}},
    {.name = "smoothed labels",
        .n_in = 2,
        .in = {{.ndim = 2, .shape = {5, 3}}, {MO_DRAW_INDEX, 1, {5}, 3}},
        .attributes = &(smoothing){0.1}},
    {.name = "dense",
        .n_in = 2,
        .in = {{.ndim = 2, .shape = {4, 3}}, {MO_DRAW_POSITIVE, 2, {4, 3}, 0}},
        .attributes = &(smoothing){0}},
    {.name = "smoothed dense",
        .n_in = 2,
        .in = {{.ndim = 2, .shape = {4, 3}}, {MO_DRAW_POSITIVE, 2, {4, 3}, 0}},
        .attributes = &(smoothing){0.2}},
    {.name = "one class",
        .n_in = 2,
        .in = {{.ndim = 2, .shape = {2, 1}}, {MO_DRAW_INDEX, 1, {2}, 1}},
        .attributes = &(smoothing){0.1}},
};

static const mo_error_sample softmax_cross_entropy_error_samples[] = {
    {{.name = "rows",
         .n_in = 2,
         .in = {{.ndim = 2, .shape = {5, 3}}, {MO_DRAW_INDEX, 1, {4}, 3}},
         .attributes = &(smoothing){0}},
        MO_INVALID, "softmax_cross_entropy: expected int64 labels [n] or real targets [n, C]"},
    {{.name = "label",
         .n_in = 2,
         .in = {{.ndim = 2, .shape = {50, 1}}, {MO_DRAW_INDEX, 1, {50}, 9}},
         .attributes = &(smoothing){0}},
        MO_INVALID, "expected 0 to 0; got [50, 1] float64, [50] int64"},
    {{.name = "no rows",
         .n_in = 2,
         .in = {{.ndim = 2, .shape = {0, 3}}, {MO_DRAW_INDEX, 1, {0}, 3}},
         .attributes = &(smoothing){0}},
        MO_INVALID, "a row and a class at least"},
    {{.name = "smoothing",
         .n_in = 2,
         .in = {{.ndim = 2, .shape = {2, 3}}, {MO_DRAW_INDEX, 1, {2}, 3}},
         .attributes = &(smoothing){1.5}},
        MO_INVALID, "smoothing 1.5, expected 0 to 1"},
};

const mo_op mo_op_softmax_cross_entropy = {
    .name = "softmax_cross_entropy",
    .min_in = 2,
    .max_in = 2,
    .n_out = 1,
    .attributes_size = sizeof(smoothing),
    .reads_in = 3,
    .shape = softmax_cross_entropy_shape,
    .forward = softmax_cross_entropy_forward,
    .vjp = softmax_cross_entropy_vjp,
    .flops = softmax_cross_entropy_flops,
    .samples = softmax_cross_entropy_samples,
    .n_samples = 5,
    .error_samples = softmax_cross_entropy_error_samples,
    .n_error_samples = 4,
};

mo_tensor *mo_softmax_cross_entropy(mo_tape *t, mo_tensor *logits, mo_tensor *target, double s) {
    return mo_apply(t, &mo_op_softmax_cross_entropy, (mo_tensor *[]){logits, target}, 2, &(smoothing){s});
}
