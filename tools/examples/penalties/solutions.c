/* exercises.c with both functions filled in. */
#include <mochi/mochi.h>

static mo_tensor *fit(mo_tape *t, mo_tensor *X, mo_tensor *y, mo_tensor *penalty) {
    mo_tensor *Xt = mo_transpose(t, X), *A = mo_add(t, mo_gram(t, Xt), penalty);
    return mo_solve_spd(t, A, mo_matmul(t, Xt, y));
}

mo_tensor *held_out(mo_tape *t, mo_tensor *const *in) {
    mo_tensor *each = mo_broadcast_to(t, mo_exp(t, in[3]), 1, (int64_t[]){2});
    mo_tensor *w = fit(t, in[0], in[1], mo_diagonal_embed(t, each));
    mo_tensor *Z = mo_slice(t, in[2], MO_AXIS(1), 0, 2), *v = mo_slice(t, in[2], MO_AXIS(1), 2, 3);
    mo_tensor *apart = mo_sub(t, mo_matmul(t, Z, w), v);
    return mo_sum(t, mo_square(t, apart), MO_AXES(0, 1), MO_DROP_AXES);
}

mo_tensor *penalty_each(mo_tape *t, mo_tensor *const *in) {
    return fit(t, in[0], in[1], mo_diagonal_embed(t, mo_exp(t, in[2])));
}
