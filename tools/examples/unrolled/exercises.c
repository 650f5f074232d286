/* Yours to fill in; ./check says how far you are. in: X [4, 2], y [4, 1], w [2, 1], eta. */
#include <mochi/mochi.h>

/* w - eta g, g the gradient of |X w - y|^2 / 2. */
mo_tensor *inner_step(mo_tape *t, mo_tensor *const *in) {
    return mo_scale(t, in[2], 1, 0);
}

/* Two steps with momentum 1/2. */
mo_tensor *momentum(mo_tape *t, mo_tensor *const *in) {
    return mo_scale(t, in[2], 1, 0);
}
