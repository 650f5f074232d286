/* Logistic regression fitted by L-BFGS. Its loss on held-out points has a gradient in the embeddings that it was fitted
 * to and in the penalty, computed twice: through every recorded iteration, and by the implicit function theorem. The
 * gradients agree; the second way takes less memory. Only libmochi.a has the functions of inside.h.
 * Build: cc implicit_logistic.c $(pkg-config --static --cflags --libs mochi | sed s/-lmochi/-l:libmochi.a/) */
#include <math.h>
#include <mochi/inside.h> /* declares mo_counters, which give the bytes that a tape took */
#include <stdio.h>
#include <stdlib.h>

enum { N = 200, D = 20, C = 3 };

/* f(W) = mean cross-entropy of Z W + exp(log_lambda) |W|^2 / 2; theta = log_lambda, Z, one-hot labels */
static mo_tensor *logistic_objective(mo_tape *t, mo_tensor *W, mo_tensor *const *theta, int n, void *state) {
    (void)n, (void)state;
    mo_tensor *penalty =
        mo_scale(t, mo_mul(t, mo_exp(t, theta[0]), mo_sum(t, mo_square(t, W), MO_ALL, MO_DROP_AXES)), 0.5, 0);
    return mo_add(t, mo_softmax_cross_entropy(t, mo_matmul(t, theta[1], W), theta[2], 0), penalty);
}

static mo_tensor *draw_logistic_points(mo_context *ctx, mo_random *r, int64_t *label) {
    double z[N * D];
    for (int i = 0; i < N; i++) {
        label[i] = mo_random_below(r, C);
        for (int j = 0; j < D; j++)
            z[i * D + j] = mo_random_normal(r) + (j % C == label[i]);
    }
    return mo_tensor_create_from(ctx, MO_F64, 2, (int64_t[]){N, D}, z);
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
    mo_random r = mo_random_at(1, MO_PURPOSE_INIT, 0);
    int64_t label[N], held_label[N];
    mo_tensor *Z = mo_require_grad(draw_logistic_points(ctx, &r, label)),
              *held = draw_logistic_points(ctx, &r, held_label);
    mo_tensor *log_lambda = mo_require_grad(mo_tensor_create_from(ctx, MO_F64, 0, NULL, &(double){-5}));
    double first[N * D], second[N * D], difference = 0;
    for (int unrolled = 1; unrolled >= 0; unrolled--) {
        mo_context_reset_peaks(ctx);
        mo_tensor *labels = mo_one_hot(t, mo_from(t, MO_I64, 1, (int64_t[]){N}, label), C, MO_F64), *grads[2];
        mo_tensor *theta[3] = {log_lambda, Z, labels}, *start = mo_full(t, MO_F64, 2, (int64_t[]){D, C}, 0);
        mo_solver_report report = {0};
        mo_tensor *W = mo_lbfgs(t, start, logistic_objective, theta, 3,
            &(mo_solver_options){.unrolled = unrolled, .tolerance = 1e-10, .implicit.report = &report});
        mo_tensor *target = mo_from(t, MO_I64, 1, (int64_t[]){N}, held_label);
        mo_tensor *loss = mo_softmax_cross_entropy(t, mo_matmul(t, held, W), target, 0);
        mo_gradients(t, loss, theta, grads, 2);
        printf("%s: %d iterations, loss %.6f, d loss / d log lambda %+.9f, tape %.1f KiB\n",
            unrolled ? "unrolled" : "implicit", report.iterations, mo_item(loss), mo_item(grads[0]),
            (double)mo_context_counters(ctx).tape_peak / 1024);
        mo_tensor_read(grads[1], unrolled ? first : second, sizeof first);
        mo_tape_reset(t);
    }
    for (int i = 0; i < N * D; i++)
        difference = fmax(difference, fabs(first[i] - second[i]));
    printf("largest difference of the gradients in the embeddings: %.1e\n", difference);
    return !(difference < 1e-6);
}
