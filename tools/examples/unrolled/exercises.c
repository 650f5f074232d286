/* Fill in the two functions; ./check grades them. in = X [4, 2], y [4, 1], w [2, 1], eta. */
#include <mochi/mochi.h>

/* Returns w - eta g, where g is the gradient of |X w - y|^2 / 2 in w. */
mo_tensor *inner_step(mo_tape *t, mo_tensor *const *in) {
    return mo_scale(t, in[2], 1, 0);
}

/* Returns w after two such steps with momentum 1/2. */
mo_tensor *momentum(mo_tape *t, mo_tensor *const *in) {
    return mo_scale(t, in[2], 1, 0);
}
