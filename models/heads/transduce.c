/* models/heads/transduce.c - labels for all rows: the support's own, and balanced predictions for the others. */
#include "models/heads/transduce.h"

mo_placed_labels mo_place_labels(mo_tape *t, mo_tensor *support, mo_tensor *Ys, int64_t N) {
    mo_tensor *sum = mo_scatter_add_rows(t, Ys, support, N), *times = mo_sum(t, sum, MO_AXIS(1), MO_KEEP_AXES);
    return (mo_placed_labels){.times = times,
        .Y = mo_div_or_zero(t, sum, times),
        .mine = mo_greater_equal(t, times, mo_scalar(t, mo_tensor_dtype(times), 0.5))};
}

mo_tensor *mo_balanced_predictions(
    mo_tape *t, const mo_placed_labels *labels, mo_tensor *logits, mo_tensor *sharpness) {
    mo_tensor *P = mo_softmax(t, mo_mul(t, logits, sharpness), MO_AXIS(-1));
    P = mo_div_or_zero(t, P, mo_sum(t, P, MO_AXIS(0), MO_KEEP_AXES));
    P = mo_div_or_zero(t, P, mo_sum(t, P, MO_AXIS(1), MO_KEEP_AXES));
    return mo_where(t, labels->mine, labels->Y, P);
}

mo_tensor *mo_mean_lambda(mo_tape *t, mo_tensor *lambda, mo_tensor *share) {
    return mo_exp(t, mo_sum(t, mo_mul(t, share, mo_log(t, lambda)), MO_ALL, MO_DROP_AXES));
}
