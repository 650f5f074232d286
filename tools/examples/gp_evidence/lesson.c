/* The evidence of a Gaussian process, log p(y) = -(y' K^-1 y + log det K + n log 2 pi) / 2, with
 *     K = s^2 exp(-(x - x')^2 / (2 l^2)) + sigma^2 I,
 * and its gradient in l, s and sigma, which are learned. The quadratic form rewards a close fit; the determinant
 * penalises a kernel that could fit any data.
 * Build: cc lesson.c $(pkg-config --cflags --libs mochi) -lm */
#include <math.h>
#include <mochi/mochi.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 40, STEPS = 200 };

/* Returns the evidence's negative, without its constant. theta: log l, log s, log sigma; D [N, N]: squared distances
 * between the points; y [N, 1]. */
static mo_tensor *negative_evidence(mo_tape *t, mo_tensor *const *theta, mo_tensor *D, mo_tensor *y) {
    mo_tensor *precision = mo_scale(t, mo_exp(t, mo_scale(t, theta[0], -2, 0)), -0.5, 0); /* -1 / (2 l^2) */
    mo_tensor *smooth = mo_mul(t, mo_exp(t, mo_scale(t, theta[1], 2, 0)), mo_exp(t, mo_mul(t, precision, D)));
    mo_tensor *K = mo_add_diag(t, smooth, mo_exp(t, mo_scale(t, theta[2], 2, 0)));
    mo_tensor *fit = mo_sum(t, mo_mul(t, y, mo_solve_spd(t, K, y)), MO_ALL, MO_DROP_AXES);
    return mo_scale(t, mo_add(t, fit, mo_logdet(t, K)), 0.5, 0.5 * N * log(2 * 3.141592653589793));
}

static void checked_evidence(mo_tape *t, mo_tensor *const *in, int n_in, mo_tensor **out, int n_out, void *state) {
    (void)n_in, (void)n_out;
    mo_tensor *const *data = state;
    out[0] = negative_evidence(t, in, data[0], data[1]);
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
    mo_random r = mo_random_at(3, MO_PURPOSE_INIT, 0);
    double x[N], y[N], d[N * N];
    for (int i = 0; i < N; i++) { /* a sine with noise of standard deviation 0.1 */
        x[i] = 6.0 * i / N;
        y[i] = sin(2 * x[i]) + 0.1 * mo_random_normal(&r);
    }
    for (int i = 0; i < N * N; i++)
        d[i] = (x[i / N] - x[i % N]) * (x[i / N] - x[i % N]);
    mo_tensor *data[2] = {mo_tensor_create_from(ctx, MO_F64, 2, (int64_t[]){N, N}, d),
        mo_tensor_create_from(ctx, MO_F64, 2, (int64_t[]){N, 1}, y)};
    mo_tensor *theta[3] = {mo_parameter(ctx, "log l", MO_F64, 0, NULL), mo_parameter(ctx, "log s", MO_F64, 0, NULL),
        mo_parameter(ctx, "log sigma", MO_F64, 0, NULL)};
    mo_check_result check = mo_check_function(ctx, checked_evidence, data, theta, 3, 1, 2, 1e-5, 0);
    printf("gradients to order 2: error %.1e, %s\n", check.error, check.pass ? "pass" : check.worst);
    mo_optimizer *adamw = mo_adamw_create(ctx, theta, 3, &(mo_adamw_options){0.05, 0, 0.9, 0.999, 1e-8, 0, 1});
    for (int step = 0; step <= STEPS; step++, mo_tape_reset(t)) {
        mo_tensor *loss = negative_evidence(t, theta, data[0], data[1]), *grads[3];
        if (step % 50 == 0)
            printf("step %3d  log p(y) %7.2f  l %.3f  s %.3f  sigma %.3f\n", step, -mo_item(loss),
                exp(mo_item(theta[0])), exp(mo_item(theta[1])), exp(mo_item(theta[2])));
        mo_gradients(t, loss, theta, grads, 3);
        mo_optimizer_step(adamw, grads, 0.05, NULL);
    }
    double sigma = exp(mo_item(theta[2]));
    return !(check.pass && fabs(sigma - 0.1) < 0.05);
}
