/* Fill in the two functions; ./check grades them. in = c [4, 1], a [1, 4], b [1, 1]. */
#include <mochi/mochi.h>

/* Returns the point x [4, 1] of the plane a x = b that is nearest to c. */
mo_tensor *projection(mo_tape *t, mo_tensor *const *in) {
    return mo_scale(t, in[0], 1, 0);
}

/* Returns the derivative of |x - c|^2 / 2 in b at that point: one number. */
mo_tensor *price(mo_tape *t, mo_tensor *const *in) {
    return mo_scale(t, in[2], 1, 0);
}
