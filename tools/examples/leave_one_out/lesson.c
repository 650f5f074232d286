/* Learns the penalty of a ridge regression by the gradient of its leave-one-out error, which needs no held-out point:
 *     e_i = (y_i - yhat_i) / (1 - H_ii),     H = X (X'X + lambda I)^-1 X',
 * is exactly the error at point i of the fit without it. Checked against n fits, then lambda descends its gradient.
 * Build: cc lesson.c $(pkg-config --cflags --libs mochi) -lm */
#include <math.h>
#include <mochi/mochi.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 60, D = 40, STEPS = 60 };

static mo_tensor *leave_one_out(mo_tape *t, mo_tensor *log_lambda, mo_tensor *X, mo_tensor *y) {
    mo_tensor *Xt = mo_transpose(t, X), *A = mo_add_diag(t, mo_matmul(t, Xt, X), mo_exp(t, log_lambda));
    mo_tensor *H = mo_matmul(t, X, mo_solve_spd(t, A, Xt));
    mo_tensor *residual = mo_reshape(t, mo_sub(t, y, mo_matmul(t, H, y)), 1, (int64_t[]){N});
    return mo_div(t, residual, mo_scale(t, mo_diagonal(t, H), -1, 1));
}

/* The leave-one-out error by n fits: a row set to zero has no effect on a fit. */
static double error_without(mo_tape *t, int i, const double *x, const double *y, double lambda) {
    double fewer[N * D], target[N], w[D], error = y[i];
    for (int k = 0; k < N * D; k++)
        fewer[k] = k / D == i ? 0 : x[k];
    for (int k = 0; k < N; k++)
        target[k] = k == i ? 0 : y[k];
    mo_tensor *X = mo_from(t, MO_F64, 2, (int64_t[]){N, D}, fewer), *Xt = mo_transpose(t, X);
    mo_tensor *A = mo_add_diag(t, mo_matmul(t, Xt, X), mo_scalar(t, MO_F64, lambda));
    mo_tensor *b = mo_matmul(t, Xt, mo_from(t, MO_F64, 2, (int64_t[]){N, 1}, target));
    mo_tensor_read(mo_solve_spd(t, A, b), w, sizeof w);
    for (int k = 0; k < D; k++)
        error -= x[i * D + k] * w[k];
    return error;
}

/* The first error ends the program. */
static void stop(const mo_status *status, void *unused) {
    (void)unused;
    fprintf(stderr, "%s\n", status->message);
    exit(1);
}

int main(void) {
    mo_context *ctx = mo_context_create(&(mo_context_options){.on_error = stop});
    mo_tape *t = mo_tape_create(ctx, MO_RECORD);
    mo_random r = mo_random_at(2, MO_PURPOSE_INIT, 0);
    double x[N * D], y[N], e[N], worst = 0, value = 0, slope = 0;
    for (int i = 0; i < N; i++) { /* only five of the forty features have an effect */
        y[i] = 3 * mo_random_normal(&r);
        for (int j = 0; j < D; j++) {
            x[i * D + j] = mo_random_normal(&r);
            y[i] += j < 5 ? x[i * D + j] : 0;
        }
    }
    mo_tensor *X = mo_tensor_create_from(ctx, MO_F64, 2, (int64_t[]){N, D}, x);
    mo_tensor *Y = mo_tensor_create_from(ctx, MO_F64, 2, (int64_t[]){N, 1}, y);
    mo_tensor *log_lambda = mo_parameter(ctx, "log_lambda", MO_F64, 0, NULL), *grad;
    mo_tensor_read(leave_one_out(t, log_lambda, X, Y), e, sizeof e);
    for (int i = 0; i < N; i++, mo_tape_reset(t))
        worst = fmax(worst, fabs(e[i] - error_without(t, i, x, y, 1)));
    printf("%d errors by one factorization and by %d fits: apart by %.1e\n", N, N, worst);
    for (int step = 0; step <= STEPS; step++, mo_tape_reset(t)) {
        mo_tensor_write(log_lambda, &value, sizeof value);
        mo_tensor *loss = mo_mean(t, mo_square(t, leave_one_out(t, log_lambda, X, Y)), MO_ALL, MO_DROP_AXES);
        mo_gradients(t, loss, &log_lambda, &grad, 1);
        slope = mo_item(grad);
        if (step % 20 == 0)
            printf("step %2d  lambda %8.3f  mean square error %.4f  gradient %+.4f\n", step, exp(value), mo_item(loss),
                slope);
        value -= 0.3 * slope;
    }
    return !(worst < 1e-9 && fabs(slope) < 0.05);
}
