/* Yours to fill in; ./check says how far you are. in: c [4, 1], a [1, 4], b [1, 1]. */
#include <mochi/mochi.h>

/* The point x [4, 1] of the plane a x = b nearest to c. */
mo_tensor *projection(mo_tape *t, mo_tensor *const *in) {
    return mo_scale(t, in[0], 1, 0);
}

/* The derivative in b of |x - c|^2 / 2 at that point: one number. */
mo_tensor *price(mo_tape *t, mo_tensor *const *in) {
    return mo_scale(t, in[2], 1, 0);
}
