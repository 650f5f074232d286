/* Fill in the two functions; ./check grades them. in = z [3, 4], y [3, 4] and, for tempered, T. */
#include <mochi/mochi.h>

/* Returns -sum y log softmax(z / T). */
mo_tensor *tempered(mo_tape *t, mo_tensor *const *in) {
    return mo_scale(t, in[2], 1, 0);
}

/* Returns sum (softmax(z) - y)^2. */
mo_tensor *brier(mo_tape *t, mo_tensor *const *in) {
    return mo_sum(t, in[0], MO_AXES(0, 1), MO_DROP_AXES);
}
