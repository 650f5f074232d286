/* A deep equilibrium layer (Bai et al. 2019): z = tanh(A z + B x + b) is solved for z, as if the layer were repeated
 * without end, and trained through the solution by the implicit function theorem. It learns to tell the inside of a
 * ring from the outside. |A| stays below 1, so the layer is a contraction and has one solution.
 * Build: cc deep_equilibrium.c $(pkg-config --cflags --libs mochi) */
#include <mochi/mochi.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 128, H = 12, STEPS = 150 };

/* F(z) = z - tanh(z A^T + x B^T + b), where each row of z [N, H] is a system of its own; theta = A, B, b, x */
static mo_tensor *equilibrium_layer(mo_tape *t, mo_tensor *z, mo_tensor *const *theta, int n, void *state) {
    (void)n, (void)state;
    mo_tensor *inside = mo_add(t, mo_linear(t, z, theta[0], NULL), mo_linear(t, theta[3], theta[1], theta[2]));
    return mo_sub(t, z, mo_tanh(t, inside));
}

/* A / (1 + |A|) */
static mo_tensor *contraction(mo_tape *t, mo_tensor *A) {
    mo_tensor *size = mo_row_norm(t, mo_reshape(t, A, 2, (int64_t[]){1, H * H}));
    return mo_div(t, A, mo_scale(t, size, 1, 1));
}

static void draw_points(mo_random *r, float x[N][2], int64_t label[N]) {
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < 2; j++)
            x[i][j] = (float)mo_random_normal(r);
        label[i] = x[i][0] * x[i][0] + x[i][1] * x[i][1] > 1.4f; /* about half of the points are inside */
    }
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
    mo_tensor *p[5] = {mo_parameter(ctx, "A", MO_F32, 2, (int64_t[]){H, H}),
        mo_parameter(ctx, "B", MO_F32, 2, (int64_t[]){H, 2}), mo_parameter(ctx, "b", MO_F32, 1, (int64_t[]){H}),
        mo_parameter(ctx, "readout", MO_F32, 2, (int64_t[]){2, H}),
        mo_parameter(ctx, "bias", MO_F32, 1, (int64_t[]){2})};
    for (int k = 0; k < 5; k++) {
        float w[H * H];
        for (int i = 0; i < H * H; i++)
            w[i] = (k == 1 ? 0.7f : 0.15f) * (float)mo_random_normal(&r);
        mo_tensor_write(p[k], w, (size_t)mo_numel(p[k]) * sizeof *w);
    }
    mo_optimizer *adamw = mo_adamw_create(ctx, p, 5, &(mo_adamw_options){0.02, 0, 0.9, 0.999, 1e-8, 0, 1});
    mo_solver_report report = {0};
    for (int step = 0; step <= STEPS; step++, mo_tape_reset(t)) {
        float x[N][2], logit[N][2];
        int64_t label[N];
        draw_points(&r, x, label);
        mo_tensor *theta[4] = {contraction(t, p[0]), p[1], p[2], mo_from(t, MO_F32, 2, (int64_t[]){N, 2}, x)},
                  *grads[5];
        mo_tensor *start = mo_full(t, MO_F32, 2, (int64_t[]){N, H}, 0);
        mo_tensor *z = mo_newton_krylov(t, start, equilibrium_layer, theta, 4,
            &(mo_solver_options){.implicit = {.batch_axes = 1, .report = &report}});
        mo_tensor *logits = mo_linear(t, z, p[3], p[4]);
        mo_tensor *loss = mo_softmax_cross_entropy(t, logits, mo_from(t, MO_I64, 1, (int64_t[]){N}, label), 0);
        mo_tensor_read(logits, logit, sizeof logit);
        int right = 0;
        for (int i = 0; i < N; i++)
            right += (logit[i][1] > logit[i][0]) == label[i];
        if (step % 30 == 0)
            printf("step %3d  loss %.3f  accuracy %.2f  Newton iterations %d\n", step, mo_item(loss), (double)right / N,
                report.iterations);
        mo_gradients(t, loss, p, grads, 5);
        mo_optimizer_step(adamw, grads, 0.02, NULL);
    }
    return 0;
}
