/* exercises.c with both rules filled in. */
#include <mochi/mochi.h>

void softsign_vjp(mo_vjp *v) { /* v->out[0] is Y, v->out_bar[0] its adjoint */
    mo_tensor *slope = mo_square(v->t, mo_scale(v->t, mo_abs(v->t, v->out[0]), -1, 1));
    v->in_bar[0] = mo_mul(v->t, v->out_bar[0], slope);
}

/* dY = dX A X' + X dA X' + X A dX':  X_bar = Y_bar X A' + Y_bar' X A,  A_bar = X' Y_bar X */
void congruence_vjp(mo_vjp *v) {
    mo_tape *t = v->t;
    mo_tensor *X = v->in[0], *A = v->in[1], *Y_bar = v->out_bar[0];
    if (v->needs[0])
        v->in_bar[0] = mo_add(t, mo_matmul(t, mo_matmul(t, Y_bar, X), mo_transpose(t, A)),
            mo_matmul(t, mo_matmul(t, mo_transpose(t, Y_bar), X), A));
    if (v->needs[1])
        v->in_bar[1] = mo_matmul(t, mo_transpose(t, X), mo_matmul(t, Y_bar, X));
}
