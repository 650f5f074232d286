/* exercises.c with both functions filled in. */
#include <mochi/mochi.h>

mo_tensor *dual(mo_tape *t, mo_tensor *const *in) {
    mo_tensor *A = mo_add_diag(t, mo_gram(t, in[0]), in[2]);
    return mo_matmul(t, mo_transpose(t, in[0]), mo_solve_spd(t, A, in[1]));
}

mo_tensor *weighted(mo_tape *t, mo_tensor *const *in) {
    mo_tensor *Xt = mo_transpose(t, in[0]), *aX = mo_mul(t, in[3], in[0]);
    mo_tensor *A = mo_add_diag(t, mo_matmul(t, Xt, aX), in[2]);
    return mo_solve_spd(t, A, mo_matmul(t, Xt, mo_mul(t, in[3], in[1])));
}
