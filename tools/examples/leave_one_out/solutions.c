/* exercises.c with both functions filled in. */
#include <mochi/mochi.h>

/* Returns S = (X'X + lambda I)^-1 X', [2, 4]. */
static mo_tensor *solved(mo_tape *t, mo_tensor *const *in) {
    mo_tensor *Xt = mo_transpose(t, in[0]);
    return mo_solve_spd(t, mo_add_diag(t, mo_gram(t, Xt), in[1]), Xt);
}

/* tr(X S) = tr(S X), and S X is only 2 x 2. */
mo_tensor *degrees_of_freedom(mo_tape *t, mo_tensor *const *in) {
    return mo_trace(t, mo_matmul(t, solved(t, in), in[0]));
}

mo_tensor *generalized(mo_tape *t, mo_tensor *const *in) {
    mo_tensor *fitted = mo_matmul(t, in[0], mo_matmul(t, solved(t, in), in[2]));
    mo_tensor *sum = mo_sum(t, mo_square(t, mo_sub(t, in[2], fitted)), MO_ALL, MO_DROP_AXES);
    mo_tensor *left = mo_scale(t, degrees_of_freedom(t, in), -1, 4);
    return mo_div(t, mo_scale(t, sum, 4, 0), mo_square(t, left));
}
