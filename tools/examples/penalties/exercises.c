/* Fill in the two functions; ./check grades them. in = X [4, 2], y [4, 1], then for held_out [Z | v] [3, 3] and theta,
 * for penalty_each theta [2]. */
#include <mochi/mochi.h>

/* Returns |Z w - v|^2 for the w that minimises |X w - y|^2 + exp(theta) |w|^2. */
mo_tensor *held_out(mo_tape *t, mo_tensor *const *in) {
    return mo_scale(t, in[3], 1, 0);
}

/* Returns the w that minimises |X w - y|^2 + sum_j exp(theta_j) w_j^2: [2, 1]. */
mo_tensor *penalty_each(mo_tape *t, mo_tensor *const *in) {
    return mo_reshape(t, in[2], 2, (int64_t[]){2, 1});
}
