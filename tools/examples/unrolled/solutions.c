/* exercises.c with both functions filled in. */
#include <mochi/mochi.h>

/* The gradient of |X w - y|^2 / 2 in w, which can be differentiated again. */
static mo_tensor *gradient(mo_tape *t, mo_tensor *const *in, mo_tensor *w) {
    mo_tensor *apart = mo_sub(t, mo_matmul(t, in[0], w), in[1]), *g;
    mo_tensor *loss = mo_scale(t, mo_sum(t, mo_square(t, apart), MO_AXES(0, 1), MO_DROP_AXES), 0.5, 0);
    mo_grad(t, &loss, NULL, 1, &w, &g, 1, MO_CREATE_GRAPH);
    return g;
}

mo_tensor *inner_step(mo_tape *t, mo_tensor *const *in) {
    return mo_sub(t, in[2], mo_mul(t, in[3], gradient(t, in, in[2])));
}

mo_tensor *momentum(mo_tape *t, mo_tensor *const *in) {
    mo_tensor *first = gradient(t, in, in[2]), *w = mo_sub(t, in[2], mo_mul(t, in[3], first));
    mo_tensor *velocity = mo_add(t, gradient(t, in, w), mo_scale(t, first, 0.5, 0));
    return mo_sub(t, w, mo_mul(t, in[3], velocity));
}
