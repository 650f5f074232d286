/* ops/composed/accuracy.c - the share of rows whose largest logit belongs to their label.
 *
 * logits [.., C], labels int64 [..] -> scalar of the logits' dtype, 0 to 1; of equal logits the first counts. The
 * accuracy is the mean over rows i of one_hot(labels)[i, argmax(logits_i)]. It is flat wherever it has a derivative, so
 * no gradient flows through it. Errors: no rows; a label outside 0 .. C-1, named with its position. */
#include "ops/inside.h"
#include "tensor/objects.h"

#include <string.h>

mo_tensor *mo_accuracy(mo_tape *t, mo_tensor *logits, mo_tensor *labels) {
    mo_context *ctx = mo_tape_context(t);
    char x[160], y[160];
    if (!mo_ok(ctx))
        return mo_null_tensor(ctx);
    if (mo_is_null(logits) || mo_is_null(labels))
        mo_fail(ctx, MO_INVALID, "accuracy: input %d is null", mo_is_null(logits) ? 0 : 1);
    else if (!mo_dtype_is_real(logits->dtype) || labels->dtype != MO_I64 || logits->ndim != labels->ndim + 1 ||
             memcmp(logits->shape, labels->shape, (size_t)labels->ndim * sizeof *labels->shape) != 0)
        mo_fail(ctx, MO_INVALID, "accuracy: expected logits [.., C] and int64 labels [..]; got %s %s, %s %s",
            mo_shape_string(logits, x, sizeof x), mo_dtype_name(logits->dtype), mo_shape_string(labels, y, sizeof y),
            mo_dtype_name(labels->dtype));
    if (!mo_ok(ctx))
        return mo_null_tensor(ctx);
    mo_tensor *chosen = mo_with_axis(t, mo_argmax(t, logits, MO_AXIS(-1)), MO_AXIS(-1), 1); /* [.., 1] */
    mo_tensor *right = mo_one_hot(t, labels, mo_dim(logits, -1), logits->dtype);
    return mo_mean(t, mo_take_along(t, right, chosen), MO_ALL, MO_DROP_AXES);
}
