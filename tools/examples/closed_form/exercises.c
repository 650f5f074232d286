/* Yours to fill in; ./check says how far you are. in: X [3, 5], y [3, 1], lambda; for the second X [4, 2], y [4, 1],
 * lambda, a [4, 1]. */
#include <mochi/mochi.h>

/* X' (X X' + lambda I)^-1 y: [5, 1]. */
mo_tensor *dual(mo_tape *t, mo_tensor *const *in) {
    return mo_scale(t, in[1], 1, 0);
}

/* The w that minimises sum_i a_i (x_i' w - y_i)^2 + lambda |w|^2: [2, 1]. */
mo_tensor *weighted(mo_tape *t, mo_tensor *const *in) {
    return mo_scale(t, in[3], 1, 0);
}
