/* Learns the penalty of a ridge regression (Bengio 2000; Pedregosa 2016): the loss on held-out points has a gradient in
 * lambda through the fitted weights, which conjugate gradients find and the implicit function theorem differentiates.
 * The learned penalty is compared with a grid.
 * Build: cc hypergradient.c $(pkg-config --cflags --libs mochi) -lm */
#include <math.h>
#include <mochi/mochi.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 60, D = 40, STEPS = 60 };

/* F(w) = Z^T (Z w - y) + exp(log_lambda) w; theta = log_lambda, Z, y */
static mo_tensor *normal_equations(mo_tape *t, mo_tensor *w, mo_tensor *const *theta, int n, void *state) {
    (void)n, (void)state;
    mo_tensor *residual = mo_sub(t, mo_matmul(t, theta[1], w), theta[2]);
    mo_tensor *fit = mo_matmul(t, mo_transpose(t, theta[1]), residual);
    return mo_add(t, fit, mo_mul(t, mo_exp(t, theta[0]), w));
}

typedef struct points {
    mo_tensor *Z, *y;
} points;

/* Draws y = Z truth + noise, where only five of the forty features have an effect. */
static points draw_sparse_points(mo_context *ctx, mo_random *r) {
    double z[N * D], y[N];
    for (int i = 0; i < N; i++) {
        y[i] = 3 * mo_random_normal(r);
        for (int j = 0; j < D; j++) {
            z[i * D + j] = mo_random_normal(r);
            y[i] += j < 5 ? z[i * D + j] : 0;
        }
    }
    return (points){mo_tensor_create_from(ctx, MO_F64, 2, (int64_t[]){N, D}, z),
        mo_tensor_create_from(ctx, MO_F64, 2, (int64_t[]){N, 1}, y)};
}

static mo_tensor *held_loss(mo_tape *t, mo_tensor *log_lambda, points fit, points held) {
    mo_tensor *start = mo_full(t, MO_F64, 2, (int64_t[]){D, 1}, 0), *theta[3] = {log_lambda, fit.Z, fit.y};
    const mo_solver_options by_products = {.implicit = {.symmetric = true, .dense_limit = -1}};
    mo_tensor *w = mo_newton_krylov(t, start, normal_equations, theta, 3, &by_products);
    return mo_mean(t, mo_square(t, mo_sub(t, mo_matmul(t, held.Z, w), held.y)), MO_ALL, MO_DROP_AXES);
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
    points fit = draw_sparse_points(ctx, &r), held = draw_sparse_points(ctx, &r);
    mo_tensor *log_lambda = mo_parameter(ctx, "log_lambda", MO_F64, 0, NULL), *grad;
    double value = 0, loss = 0, best = INFINITY;
    for (int step = 0; step <= STEPS; step++, mo_tape_reset(t)) {
        mo_tensor_write(log_lambda, &value, sizeof value);
        mo_tensor *L = held_loss(t, log_lambda, fit, held);
        mo_gradients(t, L, &log_lambda, &grad, 1);
        loss = mo_item(L);
        if (step % 10 == 0)
            printf(
                "step %2d  lambda %8.3f  held-out loss %.4f  gradient %+.4f\n", step, exp(value), loss, mo_item(grad));
        value -= 0.5 * mo_item(grad);
    }
    mo_tape_set_mode(t, MO_EVAL);
    for (double at = -3; at < 9; at += 0.25, mo_tape_reset(t)) {
        mo_tensor_write(log_lambda, &at, sizeof at);
        best = fmin(best, mo_item(held_loss(t, log_lambda, fit, held)));
    }
    printf("best of a grid of 48: %.4f\n", best);
    return !(loss < best + 1e-2);
}
