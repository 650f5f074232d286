/* Fill in the two functions; ./check grades them. in = X [4, 2], lambda and, for generalized, y [4, 1]. */
#include <mochi/mochi.h>

/* Returns the trace of H = X (X'X + lambda I)^-1 X'. */
mo_tensor *degrees_of_freedom(mo_tape *t, mo_tensor *const *in) {
    return mo_scale(t, in[1], 1, 0);
}

/* Returns 4 |y - H y|^2 / (4 - trace of H)^2. */
mo_tensor *generalized(mo_tape *t, mo_tensor *const *in) {
    return mo_scale(t, in[1], 1, 0);
}
