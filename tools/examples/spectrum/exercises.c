/* Fill in the two functions; ./check grades them. in = X [3, 3], and A = X X' + I. */
#include <mochi/mochi.h>

/* Returns the sum of the square roots of A's eigenvalues. */
mo_tensor *root_trace(mo_tape *t, mo_tensor *const *in) {
    return mo_sum(t, in[0], MO_AXES(0, 1), MO_DROP_AXES);
}

/* Returns -sum p log p, where p are A's eigenvalues divided by their sum. */
mo_tensor *entropy(mo_tape *t, mo_tensor *const *in) {
    return mo_sum(t, in[0], MO_AXES(0, 1), MO_DROP_AXES);
}
