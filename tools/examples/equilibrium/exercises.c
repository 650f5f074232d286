/* Fill in layer and omega; ./check grades them. All inputs have shape [4]. equilibrium: in = a, x. omega: in = M. */
#include <mochi/mochi.h>

/* Returns F(z), which is 0 where z = tanh(tanh(a) z / 3 + x); theta = a, x. */
static mo_tensor *layer(mo_tape *t, mo_tensor *z, mo_tensor *const *theta, int n, void *state) {
    (void)n, (void)state;
    return mo_sub(t, z, theta[1]);
}

mo_tensor *equilibrium(mo_tape *t, mo_tensor *const *in) {
    mo_tensor *start = mo_full(t, MO_F64, 1, (int64_t[]){4}, 0);
    return mo_newton_krylov(t, start, layer, in, 2, NULL);
}

/* Returns the u with u + exp(u) = M; in[0] is M. */
mo_tensor *omega(mo_tape *t, mo_tensor *const *in) {
    return mo_scale(t, in[0], 1, 0);
}
