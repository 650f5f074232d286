/* exercises.c with both functions filled in. */
#include <mochi/mochi.h>

static mo_tensor *layer(mo_tape *t, mo_tensor *z, mo_tensor *const *theta, int n, void *state) {
    (void)n, (void)state;
    mo_tensor *inside = mo_scale(t, mo_mul(t, mo_tanh(t, theta[0]), z), 1.0 / 3, 0);
    return mo_sub(t, z, mo_tanh(t, mo_add(t, inside, theta[1])));
}

mo_tensor *equilibrium(mo_tape *t, mo_tensor *const *in) {
    mo_tensor *start = mo_full(t, MO_F64, 1, (int64_t[]){4}, 0);
    return mo_newton_krylov(t, start, layer, in, 2, &(mo_solver_options){.tolerance = 1e-13});
}

static mo_tensor *omega_equation(mo_tape *t, mo_tensor *u, mo_tensor *const *theta, int n, void *state) {
    (void)n, (void)state;
    return mo_sub(t, mo_add(t, u, mo_exp(t, u)), theta[0]);
}

mo_tensor *omega(mo_tape *t, mo_tensor *const *in) {
    mo_tensor *start = mo_full(t, MO_F64, 1, (int64_t[]){4}, 0);
    return mo_newton_krylov(t, start, omega_equation, in, 1, &(mo_solver_options){.tolerance = 1e-13});
}
