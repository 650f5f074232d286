/* An op of your own: Y = log(1 + X^2), a loss that forgives outliers, elementwise. dY = 2 X / (1 + X^2) dX, so
 *     X_bar = Y_bar 2 X / (1 + X^2).
 * As a program:       cc custom_op.c $(pkg-config --cflags --libs mochi) -lm -o custom_op && ./custom_op
 * As a shared object: cc -shared -fPIC custom_op.c $(pkg-config --cflags --libs mochi) -lm -o custom_op.so
 *                     mochi gradcheck --op ./custom_op.so */
#include <math.h>
#include <mochi/mochi.h>
#include <stdio.h>
#include <stdlib.h>

static bool lorentzian_shape(mo_call *c) {
    mo_view x = mo_tensor_view(c->in[0]);
    return mo_call_real(c, 0, 0) && mo_call_output(c, 0, x.dtype, x.ndim, x.shape);
}

static void lorentzian_forward(mo_call *c) {
    mo_view x = mo_call_dense(c, 0), y = mo_tensor_view(c->out[0]);
    for (int64_t i = 0; mo_ok(c->ctx) && i < mo_numel(c->out[0]); i++)
        if (x.dtype == MO_F64)
            ((double *)y.data)[i] = log1p(((double *)x.data)[i] * ((double *)x.data)[i]);
        else
            ((float *)y.data)[i] = log1pf(((float *)x.data)[i] * ((float *)x.data)[i]);
}

static void lorentzian_vjp(mo_vjp *v) { /* a rule made of ops can be differentiated again */
    mo_tensor *X = v->in[0], *slope = mo_div(v->t, mo_scale(v->t, X, 2, 0), mo_scale(v->t, mo_square(v->t, X), 1, 1));
    v->in_bar[0] = mo_mul(v->t, v->out_bar[0], slope);
}

static const mo_sample samples[] = {
    {.name = "matrix", .in = "[3, 4]"},
    {.name = "scalar", .in = "[]"},
};

static const mo_op lorentzian_op = {.name = "lorentzian",
    .n_in = 1,
    .reads_in = 1,
    .shape = lorentzian_shape,
    .forward = lorentzian_forward,
    .vjp = lorentzian_vjp,
    MO_SAMPLES(samples)};

/* The function your program calls: X [..] of either float type -> Y of the same shape. */
static mo_tensor *lorentzian(mo_tape *t, mo_tensor *X) {
    return mo_apply(t, &lorentzian_op, &X, 1, NULL);
}

static const mo_op *const ops[] = {&lorentzian_op};
const mo_op_list mo_ops = {MO_OP_ABI, sizeof(mo_op), 1, ops}; /* exported by a shared object */

/* The first error ends the program. */
static void stop(const mo_status *status, void *unused) {
    (void)unused;
    fprintf(stderr, "%s\n", status->message);
    exit(1);
}

int main(void) {
    mo_context *ctx = mo_context_create(&(mo_context_options){.on_error = stop});
    bool pass = mo_register_ops(ctx) == MO_OK && mo_register_op(ctx, &lorentzian_op) == MO_OK;
    for (int order = 1; order <= 2; order++) {
        mo_check_result r = mo_check_op(ctx, &lorentzian_op, order, 0);
        printf("%s, order %d: error %.1e, %s\n", lorentzian_op.name, order, r.error, r.pass ? "pass" : r.worst);
        pass = pass && r.pass;
    }
    mo_tape *t = mo_tape_create(ctx, MO_EVAL);
    double Y = mo_item(lorentzian(t, mo_scalar(t, MO_F64, 3)));
    printf("at 3: %.6f, log 10 = %.6f\n", Y, log(10));
    pass = pass && fabs(Y - log(10)) < 1e-12;
    mo_tape_release(t);
    mo_context_release(ctx);
    return !pass;
}
