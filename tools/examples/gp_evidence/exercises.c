/* Fill in the two functions; ./check grades them. in = X [4, 2], y [4, 1], v and, for mean_at, k [4, 1]. */
#include <mochi/mochi.h>

/* Returns y' K^-1 y + log det K for K = v XX' + I. */
mo_tensor *linear_evidence(mo_tape *t, mo_tensor *const *in) {
    return mo_scale(t, in[2], 1, 0);
}

/* Returns k' K^-1 y for the same K. */
mo_tensor *mean_at(mo_tape *t, mo_tensor *const *in) {
    return mo_scale(t, in[2], 1, 0);
}
