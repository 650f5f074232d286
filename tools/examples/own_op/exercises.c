/* Fill in the rules of the two ops in grade.c; ./check grades them. */
#include <mochi/mochi.h>

void softsign_vjp(mo_vjp *v) { /* v->out[0] is Y, v->out_bar[0] its adjoint */
    v->in_bar[0] = mo_scale(v->t, v->out_bar[0], 1, 0);
}

void congruence_vjp(mo_vjp *v) { /* in_bar[i] is read only if needs[i] */
    if (v->needs[0])
        v->in_bar[0] = mo_scale(v->t, v->in[0], 1, 0);
    if (v->needs[1])
        v->in_bar[1] = mo_scale(v->t, v->in[1], 1, 0);
}
