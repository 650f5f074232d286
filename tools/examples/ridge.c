/* Learns a projection W so that a ridge readout, fitted on 12 labelled points, gets the other 48 right: the gradient
 * flows through the solve, which stands here by hand; mo_ridge_fit is the same. Build: cc ridge.c $(pkg-config --cflags
 * --libs mochi) */
#include <mochi/mochi.h>
#include <stdio.h>

int main(void) {
    mo_context *ctx = mo_context_create(NULL);
    mo_tape *t = mo_tape_create(ctx, MO_RECORD);
    mo_tensor *W = mo_parameter(ctx, "W", MO_F32, 2, (int64_t[]){4, 32}), *grad;
    mo_random r = mo_random_at(1, MO_PURPOSE_INIT, 0);
    float x[60 * 32], w[4 * 32];
    int64_t y[60];
    for (int i = 0; i < 4 * 32; i++)
        w[i] = 0.1f * (float)mo_random_normal(&r);
    mo_tensor_write(W, w, sizeof w);
    mo_optimizer *adamw = mo_optimizer_create(ctx, &W, 1, &(mo_adamw_options){0.02, 0, 0.9, 0.999, 1e-8, 0, 1});
    for (int step = 0; step <= 200; step++, mo_tape_reset(t)) { /* a new task: the sign of one of four columns */
        int64_t column = mo_random_below(&r, 4);
        for (int i = 0; i < 60 * 32; i++)
            x[i] = (float)mo_random_normal(&r);
        for (int i = 0; i < 60; i++)
            y[i] = x[i * 32 + column] > 0;
        mo_tensor *Z = mo_linear(t, mo_from(t, MO_F32, 2, (int64_t[]){60, 32}, x), W, NULL);
        mo_tensor *Ys = mo_one_hot(t, mo_from(t, MO_I64, 1, (int64_t[]){12}, y), 2, MO_F32);
        mo_tensor *Zs = mo_append_ones(t, mo_slice(t, Z, 0, 0, 12)), *Zst = mo_transpose(t, Zs);
        mo_tensor *K = mo_add_diag(t, mo_matmul(t, Zs, Zst), mo_scalar(t, MO_F32, 1)); /* Zs Zs^T + lambda I */
        mo_tensor *A = mo_matmul(t, Zst, mo_solve_spd(t, K, Ys)); /* argmin |Zs A - Ys|^2 + lambda |A|^2 */
        mo_tensor *logits = mo_matmul(t, mo_append_ones(t, mo_slice(t, Z, 0, 12, 60)), A);
        mo_tensor *loss = mo_softmax_cross_entropy(t, logits, mo_from(t, MO_I64, 1, (int64_t[]){48}, y + 12), 0);
        if (step % 50 == 0)
            printf("step %3d  query loss %.3f\n", step, mo_item(loss));
        mo_grad(t, &loss, NULL, 1, &W, &grad, 1, 0);
        mo_optimizer_step(adamw, &grad, 0.02, NULL);
    }
    if (!mo_ok(ctx))
        fprintf(stderr, "%s\n", mo_context_status(ctx)->message);
    return !mo_ok(ctx);
}
