/* tools/lessons/explain_readout.c - the lessons `softmax_cross_entropy` and `ridge`: a loss, and a readout fitted in
 * closed form.
 */
#include "tools/lessons/explain.h"

#include <stdio.h>

static mo_tensor *readout_cross_entropy(mo_tape *t, mo_tensor *logits, void *labels) {
    return mo_softmax_cross_entropy(t, logits, labels, 0);
}

void explain_softmax_cross_entropy(lesson *l) {
    static const double x[] = {2, 1, -1, 0.5, 0, 1.5, -1, 3, 0};
    static const int64_t y[] = {0, 2, 0};
    mo_tape *t = l->t;
    mo_tensor *logits = given(l, 3, 3, x), *fixed = mo_stop_gradient(t, logits);
    mo_tensor *labels = mo_from(t, MO_I64, 1, (int64_t[]){3}, y), *T = mo_one_hot(t, labels, 3, MO_F64);
    mo_tensor *loss = mo_softmax_cross_entropy(t, logits, labels, 0);
    puts("softmax_cross_entropy: l = -1/n sum_i log softmax(x_i)[y_i]\n"
         "                                               (ops/softmax_cross_entropy.c)\n\nForward");
    SHOW(l, NAMES("logits x", "targets T (labels 0, 2, 0)"), logits, T);
    puts("  the largest logit of a row is subtracted before exp, which changes nothing\n"
         "  but keeps exp from overflowing; log softmax is never the log of a softmax");
    mo_tensor *m = mo_max(t, fixed, MO_AXIS(1), MO_KEEP_AXES), *e = mo_exp(t, mo_sub(t, fixed, m));
    mo_tensor *z = mo_sum(t, e, MO_AXIS(1), MO_KEEP_AXES), *P = mo_softmax(t, fixed, -1);
    SHOW(l, NAMES("max", "exp(x - max)", "sum"), m, e, z);
    SHOW(l, NAMES("softmax P", "log softmax"), P, mo_log_softmax(t, fixed, -1));
    SHOW(l, NAMES("l"), loss);
    puts("\nSaved for backward: nothing but the logits and labels themselves\n\nAdjoint, for l_bar = 1\n"
         "  d log P_ic = dx_ic - sum_k P_ik dx_ik, so dl = 1/n sum_ic (P - T)_ic dx_ic:\n"
         "  the softmax less the one-hot labels; each row sums to 0\n");
    mo_tensor *x_bar = mo_scale(t, mo_sub(t, P, T), 1.0 / 3, 0);
    show_adjoint(l, "x_bar = (P - T) / n", x_bar, fixed, false, readout_cross_entropy, labels);
    show_mo_grad(l, loss, "x_bar", &logits, &x_bar, 1);
}

/* The tensors of the ridge lesson that stay fixed while one changes. */
typedef struct ridge {
    mo_tensor *Z, *Y, *lambda, *Z1, *K, *W_bar;
} ridge;

/* The loss <W_bar, W> as a function of alpha, of K, and of the inputs. */
static mo_tensor *of_alpha(mo_tape *t, mo_tensor *alpha, void *state) {
    const ridge *r = state;
    return inner(t, r->W_bar, mo_matmul(t, mo_transpose(t, r->Z1), alpha));
}

static mo_tensor *of_K(mo_tape *t, mo_tensor *K, void *state) {
    const ridge *r = state;
    return of_alpha(t, mo_solve_spd(t, K, r->Y), state);
}

static mo_tensor *of_Y(mo_tape *t, mo_tensor *Y, void *state) {
    const ridge *r = state;
    return of_alpha(t, mo_solve_spd(t, r->K, Y), state);
}

static mo_tensor *of_lambda(mo_tape *t, mo_tensor *lambda, void *state) {
    const ridge *r = state;
    return of_K(t, mo_add_diag(t, mo_matmul(t, r->Z1, mo_transpose(t, r->Z1)), lambda), state);
}

static mo_tensor *of_Z(mo_tape *t, mo_tensor *Z, void *state) {
    ridge moved = *(const ridge *)state;
    moved.Z1 = mo_append_ones(t, Z);
    return of_lambda(t, moved.lambda, &moved);
}

static void show_ridge_adjoint(lesson *l, const ridge *r, mo_tensor *alpha, mo_tensor **bars) {
    mo_tape *t = l->t;
    void *state = (void *)r;
    puts("\nAdjoint, for a loss l whose gradient W_bar is known, here of l = <W_bar, W>:\n"
         "back through W = Z1^T alpha, K alpha = Y, K = Z1 Z1^T + lambda I, Z1 = [Z | 1]");
    SHOW(l, NAMES("W_bar"), r->W_bar);
    putchar('\n');
    mo_tensor *alpha_bar = mo_matmul(t, r->Z1, r->W_bar), *Y_bar = mo_solve_spd(t, r->K, alpha_bar);
    mo_tensor *M = mo_neg(t, mo_matmul(t, Y_bar, mo_transpose(t, alpha)));
    mo_tensor *K_bar = mo_scale(t, mo_add(t, M, mo_transpose(t, M)), 0.5, 0);
    mo_tensor *Z1_bar =
        mo_add(t, mo_matmul(t, alpha, mo_transpose(t, r->W_bar)), mo_scale(t, mo_matmul(t, K_bar, r->Z1), 2, 0));
    bars[0] = mo_contiguous(t, mo_slice(t, Z1_bar, 1, 0, 2));
    bars[1] = Y_bar;
    bars[2] = mo_trace(t, K_bar);
    show_adjoint(l, "alpha_bar = Z1 W_bar", alpha_bar, alpha, false, of_alpha, state);
    show_adjoint(l, "Y_bar = K^-1 alpha_bar, by the saved factor", Y_bar, r->Y, false, of_Y, state);
    show_adjoint(l, "K_bar = sym(-Y_bar alpha^T)", K_bar, r->K, true, of_K, state);
    show_adjoint(l, "lambda_bar = trace K_bar", bars[2], r->lambda, false, of_lambda, state);
    show_adjoint(l, "Z_bar = alpha W_bar^T + 2 K_bar Z1, without the ones", bars[0], r->Z, false, of_Z, state);
}

void explain_ridge(lesson *l) {
    static const double z[] = {1, 2, -1, 1, 0.5, -1}, y[] = {1, 0, 0, 1, 1, 0}, w[] = {1, -1, 0, 2, -1, 0.5};
    mo_tape *t = l->t;
    mo_tensor *Z = given(l, 3, 2, z), *Y = given(l, 3, 2, y), *lambda = mo_require_grad(mo_scalar(t, MO_F64, 0.5));
    mo_tensor *W_bar = mo_from(t, MO_F64, 2, (int64_t[]){3, 2}, w);
    mo_tensor *Z1 = mo_append_ones(t, Z), *K = mo_add_diag(t, mo_matmul(t, Z1, mo_transpose(t, Z1)), lambda);
    mo_tensor *alpha = mo_solve_spd(t, K, Y), *W = mo_matmul(t, mo_transpose(t, Z1), alpha);
    mo_tensor *loss = inner(t, W_bar, W);
    ridge r = {mo_stop_gradient(t, Z), mo_stop_gradient(t, Y), mo_stop_gradient(t, lambda), mo_stop_gradient(t, Z1),
        mo_stop_gradient(t, K), W_bar};
    puts("ridge: W that minimises |[Z | 1] W - Y|^2 + lambda |W|^2  (models/heads/ridge.c)\n\n"
         "Forward: three support rows, two classes, lambda = 0.5; W's last row is the bias");
    SHOW(l, NAMES("Z", "Y", "Z1 = [Z | 1]"), Z, Y, Z1);
    puts("  as many unknowns as rows: dual form, a 3 x 3 system whatever the width of Z");
    SHOW(l, NAMES("K = Z1 Z1^T + lambda I", "its factor L, K = L L^T"), K, mo_cholesky(t, r.K));
    SHOW(l, NAMES("alpha = K^-1 Y", "W = Z1^T alpha", "Z1 W"), alpha, W, mo_matmul(t, Z1, W));
    puts("  Y - Z1 W = lambda alpha: what the penalty leaves of the labels\n\n"
         "Saved for backward: Z1, K and its factor, alpha");
    mo_tensor *bars[3];
    show_ridge_adjoint(l, &r, mo_stop_gradient(t, alpha), bars);
    show_mo_grad(l, loss, "three", (mo_tensor *[]){Z, Y, lambda}, bars, 3);
}
