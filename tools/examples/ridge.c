/* Learns a projection W for which a ridge readout, fitted on 12 labelled points, gets 48 others right: the gradient of
 * their loss flows through the solve. mo_ridge_fit is the same readout in one call.
 * Build: cc ridge.c $(pkg-config --cflags --libs mochi) */
#include <mochi/mochi.h>
#include <stdio.h>
#include <stdlib.h>

/* The first error ends the program. */
static void stop(const mo_status *status, void *unused) {
    (void)unused;
    fprintf(stderr, "%s\n", status->message);
    exit(1);
}

int main(void) {
    mo_context *ctx = mo_context_create(&(mo_context_options){.on_error = stop});
    mo_tape *t = mo_tape_create(ctx, MO_RECORD);
    mo_random random = mo_random_at(1, MO_PURPOSE_INIT, 0);
    float w[4 * 32];
    for (int i = 0; i < 4 * 32; i++)
        w[i] = 0.1f * (float)mo_random_normal(&random);
    mo_tensor *W = mo_parameter(ctx, "W", MO_F32, 2, (int64_t[]){4, 32});
    mo_tensor_write(W, w, sizeof w);
    mo_adamw_options options = {.lr = 0.02, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8, .clip = 1};
    mo_optimizer *adamw = mo_adamw_create(ctx, &W, 1, &options);

    for (int step = 0; step <= 200; step++) {
        /* A new task: 60 points of 32 numbers, whose class is the sign of one of the first four numbers. */
        float x[60 * 32];
        int64_t label[60];
        int64_t column = mo_random_below(&random, 4);
        for (int i = 0; i < 60 * 32; i++)
            x[i] = (float)mo_random_normal(&random);
        for (int i = 0; i < 60; i++)
            label[i] = x[i * 32 + column] > 0;
        mo_tensor *X = mo_from(t, MO_F32, 2, (int64_t[]){60, 32}, x);
        mo_tensor *support_label = mo_from(t, MO_I64, 1, (int64_t[]){12}, label);
        mo_tensor *query_label = mo_from(t, MO_I64, 1, (int64_t[]){48}, label + 12);

        /* Embeddings Z = [X W^T | 1] of the support (the labelled points), then of the queries. */
        mo_tensor *Z = mo_append_ones(t, mo_linear(t, X, W, NULL));
        mo_tensor *Zs = mo_slice(t, Z, MO_AXIS(0), 0, 12);
        mo_tensor *Zq = mo_slice(t, Z, MO_AXIS(0), 12, 60);
        mo_tensor *Ys = mo_one_hot(t, support_label, 2, MO_F32);

        /* The readout A = argmin |Zs A - Ys|^2 + lambda |A|^2 = Zs^T (Zs Zs^T + lambda I)^-1 Ys, with lambda = 1. */
        mo_tensor *Zst = mo_transpose(t, Zs);
        mo_tensor *K = mo_add_diag(t, mo_matmul(t, Zs, Zst), mo_scalar(t, MO_F32, 1));
        mo_tensor *A = mo_matmul(t, Zst, mo_solve_spd(t, K, Ys));
        mo_tensor *loss = mo_softmax_cross_entropy(t, mo_matmul(t, Zq, A), query_label, 0);
        if (step % 50 == 0)
            printf("step %3d  query loss %.3f\n", step, mo_item(loss));

        mo_tensor *gradient;
        mo_gradients(t, loss, &W, &gradient, 1);
        mo_optimizer_step(adamw, &gradient, 0.02, NULL);
        mo_tape_reset(t);
    }
    return 0;
}
