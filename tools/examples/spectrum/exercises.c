/* Yours to fill in; ./check says how far you are. in: X [3, 3]; A = X X' + I. */
#include <mochi/mochi.h>

/* The sum of the roots of the eigenvalues of A. */
mo_tensor *root_trace(mo_tape *t, mo_tensor *const *in) {
    return mo_sum(t, in[0], MO_AXES(0, 1), MO_DROP_AXES);
}

/* -sum p log p, p the eigenvalues of A over their sum. */
mo_tensor *entropy(mo_tape *t, mo_tensor *const *in) {
    return mo_sum(t, in[0], MO_AXES(0, 1), MO_DROP_AXES);
}
