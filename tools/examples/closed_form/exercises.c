/* Fill in the two functions; ./check grades them. dual: in = X [3, 5], y [3, 1], lambda. weighted: in = X [4, 2], y [4,
 * 1], lambda, a [4, 1]. */
#include <mochi/mochi.h>

/* Returns X' (X X' + lambda I)^-1 y: [5, 1]. */
mo_tensor *dual(mo_tape *t, mo_tensor *const *in) {
    return mo_scale(t, in[1], 1, 0);
}

/* Returns the w that minimises sum_i a_i (x_i' w - y_i)^2 + lambda |w|^2: [2, 1]. */
mo_tensor *weighted(mo_tape *t, mo_tensor *const *in) {
    return mo_scale(t, in[3], 1, 0);
}
