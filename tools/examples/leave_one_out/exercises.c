/* Yours to fill in; ./check says how far you are. in: X [4, 2], lambda, and for the second y [4, 1]. */
#include <mochi/mochi.h>

/* The trace of H = X (X'X + lambda I)^-1 X'. */
mo_tensor *degrees_of_freedom(mo_tape *t, mo_tensor *const *in) {
    return mo_scale(t, in[1], 1, 0);
}

/* 4 |y - H y|^2 / (4 - trace of H)^2 */
mo_tensor *generalized(mo_tape *t, mo_tensor *const *in) {
    return mo_scale(t, in[1], 1, 0);
}
