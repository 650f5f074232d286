/* ops/composed/losses.c - the mean squared error, and the cross-entropy of two classes from logits.
 *
 * mse: X, Y of one shape -> scalar L, the mean of (x - y)^2 over n entries: X_bar = 2 (X - Y) L_bar / n, Y_bar =
 * -X_bar.
 *
 * binary_cross_entropy: logits Z and targets Y in [0, 1] of one shape -> scalar, with p = sigmoid(z)
 *     L = -mean [y log p + (1 - y) log(1 - p)] = mean [y softplus(-z) + (1 - y) softplus(z)],
 * as log p = -softplus(-z) and log(1 - p) = -softplus(z). No term is negative, so that nothing cancels, and no log of a
 * sigmoid is formed: logits of +-1e4 are exact. From softplus' = sigmoid,
 *     Z_bar = [(1 - y) p - y (1 - p)] L_bar / n = (p - y) L_bar / n,   Y_bar = -z L_bar / n. */
#include "ops/inside.h"
#include "ops/rules/shapes.h"

/* Returns whether X and Y are real and of one shape, so that nothing is broadcast by mistake; raises if not. */
static bool alike(mo_context *ctx, const char *name, const mo_tensor *X, const mo_tensor *Y) {
    char x[160], y[160];
    if (!mo_ok(ctx))
        return false;
    if (mo_is_null(X) || mo_is_null(Y))
        mo_fail(ctx, MO_INVALID, "%s: input %d is null", name, mo_is_null(X) ? 0 : 1);
    else if (!mo_dtype_is_real(X->dtype) || X->dtype != Y->dtype || !mo_same_shape(X, Y))
        mo_fail(ctx, MO_INVALID, "%s: expected one shape and one real dtype; got %s %s, %s %s", name,
            mo_shape_string(X, x, sizeof x), mo_dtype_name(X->dtype), mo_shape_string(Y, y, sizeof y),
            mo_dtype_name(Y->dtype));
    return mo_ok(ctx);
}

mo_tensor *mo_mse(mo_tape *t, mo_tensor *X, mo_tensor *Y) {
    mo_context *ctx = mo_tape_context(t);
    return alike(ctx, "mse", X, Y) ? mo_mean(t, mo_square(t, mo_sub(t, X, Y)), MO_ALL, MO_DROP_AXES)
                                   : mo_null_tensor(ctx);
}

mo_tensor *mo_binary_cross_entropy(mo_tape *t, mo_tensor *logits, mo_tensor *Y) {
    mo_context *ctx = mo_tape_context(t);
    if (!alike(ctx, "binary_cross_entropy", logits, Y))
        return mo_null_tensor(ctx);
    mo_tensor *of_ones = mo_mul(t, Y, mo_softplus(t, mo_neg(t, logits)));
    mo_tensor *of_zeros = mo_mul(t, mo_scale(t, Y, -1, 1), mo_softplus(t, logits));
    return mo_mean(t, mo_add(t, of_ones, of_zeros), MO_ALL, MO_DROP_AXES);
}
