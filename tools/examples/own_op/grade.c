/* The two ops whose rules are the exercises of this lesson, and the right values of the ops. */
#include "../checker/exercise.h"
#include <math.h>

void softsign_vjp(mo_vjp *v), congruence_vjp(mo_vjp *v); /* exercises.c */

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

static const mo_op softsign_op = {.name = "softsign",
    .n_in = 1,
    .reads_in = 1,
    .reads_out = 1,
    .shape = softsign_shape,
    .forward = softsign_forward,
    .vjp = softsign_vjp};

static mo_tensor *softsign(mo_tape *t, mo_tensor *const *in) {
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

static const mo_op congruence_op = {.name = "congruence",
    .n_in = 2,
    .reads_in = 3,
    .shape = congruence_shape,
    .forward = congruence_forward,
    .vjp = congruence_vjp};

static mo_tensor *congruence(mo_tape *t, mo_tensor *const *in) {
    return mo_apply(t, &congruence_op, in, 2, NULL);
}

static void softsign_by_loops(const double *const *in, double *out) {
    for (int i = 0; i < 4; i++)
        out[i] = in[0][i] / (1 + fabs(in[0][i]));
}

static void congruence_by_loops(const double *const *in, double *out) {
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            out[3 * i + j] = 0;
            for (int k = 0; k < 2; k++)
                for (int l = 0; l < 2; l++)
                    out[3 * i + j] += in[0][2 * i + k] * in[1][2 * k + l] * in[0][2 * j + l];
        }
}

const exercise exercises[] = {
    {"softsign", 1, {{.ndim = 1, .shape = {4}}}, softsign, "[4]", softsign_by_loops,
        "X_bar = Y_bar (1 - |Y|)^2 reads Y alone"},
    {"congruence", 2, {{.ndim = 2, .shape = {3, 2}}, {.ndim = 2, .shape = {2, 2}}}, congruence, "[3, 3]",
        congruence_by_loops, "X_bar = Y_bar X A' + Y_bar' X A, A_bar = X' Y_bar X"},
};
const int n_exercises = 2;
