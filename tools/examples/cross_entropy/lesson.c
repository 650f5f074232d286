/* Softmax regression on three clouds of points, fitted twice: by the gradient that the tape gives, and by
 *     X' (P - Y) / n + lambda W
 * in plain loops. Both end at the same weights.
 * Build: cc lesson.c $(pkg-config --cflags --libs mochi) -lm */
#include <math.h>
#include <mochi/mochi.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 60, D = 3, C = 3, STEPS = 400 };
static const double lr = 0.5, lambda = 0.01;

/* One step of gradient descent on W [D, C], in place, by the gradient as derived by hand. */
static void step_by_hand(const double *X, const double *Y, double *W) {
    double gradient[D * C];
    for (int k = 0; k < D * C; k++)
        gradient[k] = lambda * W[k];
    for (int i = 0; i < N; i++) {
        double z[C], most = -INFINITY, sum = 0;
        for (int c = 0; c < C; c++) {
            z[c] = 0;
            for (int k = 0; k < D; k++)
                z[c] += X[i * D + k] * W[k * C + c];
            most = fmax(most, z[c]);
        }
        for (int c = 0; c < C; c++)
            sum += z[c] = exp(z[c] - most);
        for (int k = 0; k < D; k++)
            for (int c = 0; c < C; c++)
                gradient[k * C + c] += X[i * D + k] * (z[c] / sum - Y[i * C + c]) / N;
    }
    for (int k = 0; k < D * C; k++)
        W[k] -= lr * gradient[k];
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
    mo_random r = mo_random_at(5, MO_PURPOSE_INIT, 0);
    double x[N * D], y[N * C] = {0}, hand[D * C] = {0}, tape[D * C] = {0}, apart = 0;
    for (int i = 0; i < N; i++) { /* clouds around the corners of a triangle; the last column is 1, an intercept */
        double angle = 2 * 3.141592653589793 * (i % C) / C;
        x[i * D] = cos(angle) + 0.6 * mo_random_normal(&r);
        x[i * D + 1] = sin(angle) + 0.6 * mo_random_normal(&r);
        x[i * D + 2] = 1;
        y[i * C + i % C] = 1;
    }
    mo_tensor *X = mo_tensor_create_from(ctx, MO_F64, 2, (int64_t[]){N, D}, x),
              *Y = mo_tensor_create_from(ctx, MO_F64, 2, (int64_t[]){N, C}, y),
              *W = mo_parameter(ctx, "W", MO_F64, 2, (int64_t[]){D, C});
    for (int step = 0; step <= STEPS; step++, mo_tape_reset(t)) {
        mo_tensor *logits = mo_matmul(t, X, W), *gradient;
        mo_tensor *size = mo_sum(t, mo_square(t, W), MO_AXES(0, 1), MO_DROP_AXES);
        mo_tensor *loss = mo_add(t, mo_softmax_cross_entropy(t, logits, Y, 0), mo_scale(t, size, lambda / 2, 0));
        mo_gradients(t, loss, &W, &gradient, 1);
        if (step % 100 == 0)
            printf("step %3d  loss %.4f\n", step, mo_item(loss));
        double g[D * C];
        mo_tensor_read(gradient, g, sizeof g);
        for (int k = 0; k < D * C; k++)
            tape[k] -= lr * g[k];
        mo_tensor_write(W, tape, sizeof tape);
        step_by_hand(x, y, hand);
    }
    for (int k = 0; k < D * C; k++)
        apart = fmax(apart, fabs(tape[k] - hand[k]));
    printf("weights by the tape and by hand are apart by %.1e\n", apart);
    return !(apart < 1e-12);
}
