/* ops/composed/weighted_cross_entropy.c - softmax_cross_entropy with a weight for each class, for classes of unequal
 * size.
 *
 * logits [n, C], target int64 [n] or real [n, C], weight [C] >= 0 -> scalar
 *     L = -1/w_n sum_i sum_c w_c t_ic log softmax(logits_i)_c,   t = (1 - s) target + s / C,
 *     w_n = sum_i sum_c w_c target_ic,
 * the mean in which row i counts w of its class; equal weights of any size give softmax_cross_entropy. NaN if w_n is 0.
 * With V_ic = w_c t_ic and p = softmax(logits), as in softmax_cross_entropy.c,
 *     logits_bar_ic = (p_ic sum_k V_ik - V_ic) L_bar / w_n. */
#include "ops/inside.h"
#include "ops/rules/shapes.h"

static bool check_inputs(mo_context *ctx, const mo_tensor *X, const mo_tensor *target, const mo_tensor *w, double s) {
    static const char *const name = "weighted_cross_entropy";
    char x[160], y[160], z[160];
    if (!mo_ok(ctx))
        return false;
    if (mo_is_null(X) || mo_is_null(target) || mo_is_null(w)) {
        mo_fail(ctx, MO_INVALID, "%s: input %d is null", name, mo_is_null(X) ? 0 : mo_is_null(target) ? 1 : 2);
        return false;
    }
    bool labels = target->dtype == MO_I64 && target->ndim == 1 && mo_dim(target, 0) == mo_dim(X, 0);
    bool rows = target->dtype == X->dtype && mo_same_shape(X, target);
    if (!mo_dtype_is_real(X->dtype) || X->ndim != 2 || w->dtype != X->dtype || w->ndim != 1 ||
        w->shape[0] != X->shape[1] || !(labels || rows))
        mo_fail(ctx, MO_INVALID,
            "%s: expected logits [n, C], int64 labels [n] or targets [n, C], weights [C] of the logits' dtype; got %s "
            "%s, %s %s, %s %s",
            name, mo_shape_string(X, x, sizeof x), mo_dtype_name(X->dtype), mo_shape_string(target, y, sizeof y),
            mo_dtype_name(target->dtype), mo_shape_string(w, z, sizeof z), mo_dtype_name(w->dtype));
    else if (!(s >= 0 && s <= 1))
        mo_fail(ctx, MO_INVALID, "%s: smoothing %g, expected 0 to 1", name, s);
    return mo_ok(ctx);
}

mo_tensor *mo_weighted_cross_entropy(
    mo_tape *t, mo_tensor *logits, mo_tensor *target, mo_tensor *weight, double smoothing) {
    mo_context *ctx = mo_tape_context(t);
    if (!check_inputs(ctx, logits, target, weight, smoothing))
        return mo_null_tensor(ctx);
    int64_t C = logits->shape[1];
    mo_tensor *rows = target->dtype == MO_I64 ? mo_one_hot(t, target, C, logits->dtype) : target;
    mo_tensor *V = mo_mul(t, rows, weight), *total = mo_sum(t, V, MO_ALL, MO_DROP_AXES); /* w_n */
    if (smoothing > 0)
        V = mo_add(t, mo_scale(t, V, 1 - smoothing, 0), mo_scale(t, weight, smoothing / (double)C, 0));
    mo_tensor *sum = mo_sum(t, mo_mul(t, V, mo_log_softmax(t, logits, MO_AXIS(-1))), MO_ALL, MO_DROP_AXES);
    return mo_neg(t, mo_div(t, sum, total));
}
