/* ops/composed/segment_softmax.c - softmax over runs of rows, column by column: the attention of a node over its
 * neighbours.
 *
 * X [n, ..], offset int64 [S + 1], rising from 0 to n -> Y [n, ..]; in each segment e^x divided by the segment's sum of
 * e^x, with the segment's maximum subtracted first, so that no entry overflows. Y does not depend on the subtracted
 * maximum, which is therefore a constant: with P the membership of rows in segments (segment.c) and E = e^(X - P^T
 * max),
 *     Y = E / P^T P E,   X_bar = Y * (Y_bar - P^T P (Y * Y_bar)). */
#include "ops/composed/segments.h"
#include "tensor/objects.h"

mo_tensor *mo_segment_softmax(mo_tape *t, mo_tensor *X, mo_tensor *offset) {
    mo_context *ctx = mo_tape_context(t);
    if (!mo_check_segments(ctx, "segment_softmax", X, offset))
        return mo_null_tensor(ctx);
    int64_t n = X->shape[0];
    mo_tensor *largest = mo_segment_max(t, mo_stop_gradient(t, X), offset);
    mo_tensor *E = mo_exp(t, mo_sub(t, X, mo_segment_spread(t, largest, offset, n)));
    return mo_div(t, E, mo_segment_spread(t, mo_segment_sum(t, E, offset), offset, n));
}
