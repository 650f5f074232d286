/* The same as exercises.c, filled in. */
#include <math.h>
#include <mochi/mochi.h>

static bool softsign_shape(mo_call *c) {
    mo_view x = mo_tensor_view(c->in[0]);
    return mo_call_real(c, 0, 0) && mo_call_output(c, 0, x.dtype, x.ndim, x.shape);
}

static void softsign_forward(mo_call *c) { /* float64 alone */
    const double *x = mo_call_dense(c, 0).data;
    double *y = mo_tensor_view(c->out[0]).data;
    for (int64_t i = 0; mo_ok(c->ctx) && i < mo_numel(c->out[0]); i++)
        y[i] = x[i] / (1 + fabs(x[i]));
}

static void softsign_vjp(mo_vjp *v) { /* v->out[0] is Y, v->out_bar[0] its adjoint */
    mo_tensor *slope = mo_square(v->t, mo_scale(v->t, mo_abs(v->t, v->out[0]), -1, 1));
    v->in_bar[0] = mo_mul(v->t, v->out_bar[0], slope);
}

static const mo_op softsign_op = {.name = "softsign",
    .n_in = 1,
    .reads_in = 1,
    .reads_out = 1,
    .shape = softsign_shape,
    .forward = softsign_forward,
    .vjp = softsign_vjp};

mo_tensor *softsign(mo_tape *t, mo_tensor *const *in) {
    return mo_apply(t, &softsign_op, in, 1, NULL);
}

static bool congruence_shape(mo_call *c) {
    int64_t n = mo_dim(c->in[0], 0);
    return mo_call_real(c, 0, 1) && mo_call_output(c, 0, MO_F64, 2, (int64_t[]){n, n});
}

static void congruence_forward(mo_call *c) {
    int64_t n = mo_dim(c->in[0], 0), d = mo_dim(c->in[0], 1);
    const double *x = mo_call_dense(c, 0).data, *a = mo_call_dense(c, 1).data;
    double *y = mo_tensor_view(c->out[0]).data;
    for (int64_t i = 0; mo_ok(c->ctx) && i < n * n; i++) {
        y[i] = 0;
        for (int64_t k = 0; k < d * d; k++)
            y[i] += x[i / n * d + k / d] * a[k] * x[i % n * d + k % d];
    }
}

/* dY = dX A X' + X dA X' + X A dX':  X_bar = Y_bar X A' + Y_bar' X A,  A_bar = X' Y_bar X */
static void congruence_vjp(mo_vjp *v) {
    mo_tape *t = v->t;
    mo_tensor *X = v->in[0], *A = v->in[1], *Y_bar = v->out_bar[0];
    if (v->needs[0])
        v->in_bar[0] = mo_add(t, mo_matmul(t, mo_matmul(t, Y_bar, X), mo_transpose(t, A)),
            mo_matmul(t, mo_matmul(t, mo_transpose(t, Y_bar), X), A));
    if (v->needs[1])
        v->in_bar[1] = mo_matmul(t, mo_transpose(t, X), mo_matmul(t, Y_bar, X));
}

static const mo_op congruence_op = {.name = "congruence",
    .n_in = 2,
    .reads_in = 3,
    .shape = congruence_shape,
    .forward = congruence_forward,
    .vjp = congruence_vjp};

mo_tensor *congruence(mo_tape *t, mo_tensor *const *in) {
    return mo_apply(t, &congruence_op, in, 2, NULL);
}
