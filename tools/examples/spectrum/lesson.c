/* Finds the network that is hardest to cut: roads between all pairs of N places share TOTAL, and gradient steps raise
 * the second smallest eigenvalue of the Laplacian L = diag(A 1) - A. Equal roads are best: 2 TOTAL / (N - 1).
 * Build: cc lesson.c $(pkg-config --cflags --libs mochi) -lm */
#include <math.h>
#include <mochi/mochi.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 8, STEPS = 300 };
static const double TOTAL = 14;

/* Returns the second smallest eigenvalue. theta [N, N]: a softmax over all pairs gives each road's share of TOTAL; mask
 * [N, N]: -1e9 on the diagonal, 0 elsewhere, so that no place has a road to itself. */
static mo_tensor *connectivity(mo_tape *t, mo_tensor *theta, mo_tensor *mask) {
    mo_tensor *both = mo_add(t, mo_add(t, theta, mo_transpose(t, theta)), mask), *w, *V;
    mo_tensor *share = mo_softmax(t, mo_reshape(t, both, 1, (int64_t[]){N * N}), MO_AXIS(0));
    mo_tensor *A = mo_scale(t, mo_reshape(t, share, 2, (int64_t[]){N, N}), 2 * TOTAL, 0); /* A has each road twice, as
                                                                                           * A_ij and A_ji */
    mo_tensor *degree = mo_sum(t, A, MO_AXIS(1), MO_DROP_AXES);
    mo_eigh(t, mo_sub(t, mo_diagonal_embed(t, degree), A), &w, &V);
    return mo_sum(t, mo_slice(t, w, MO_AXIS(0), 1, 2), MO_AXIS(0), MO_DROP_AXES);
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
    mo_random r = mo_random_at(7, MO_PURPOSE_INIT, 0);
    double first[N * N], diagonal[N * N] = {0}, best = 2 * TOTAL / (N - 1), reached = 0, start = 0;
    for (int i = 0; i < N * N; i++)
        first[i] = mo_random_normal(&r);
    for (int i = 0; i < N; i++)
        diagonal[i * N + i] = -1e9;
    mo_tensor *mask = mo_tensor_create_from(ctx, MO_F64, 2, (int64_t[]){N, N}, diagonal),
              *theta = mo_parameter(ctx, "theta", MO_F64, 2, (int64_t[]){N, N});
    mo_tensor_write(theta, first, sizeof first);
    mo_optimizer *adamw = mo_adamw_create(ctx, &theta, 1, &(mo_adamw_options){0.05, 0, 0.9, 0.999, 1e-8, 0, 0});
    for (int step = 0; step <= STEPS; step++, mo_tape_reset(t)) {
        mo_tensor *value = connectivity(t, theta, mask), *loss = mo_neg(t, value), *gradient;
        reached = mo_item(value);
        start = step ? start : reached;
        if (step % 100 == 0)
            printf("step %3d  connectivity %.3f of %.3f\n", step, reached, best);
        mo_gradients(t, loss, &theta, &gradient, 1);
        mo_optimizer_step(adamw, &gradient, 0.05 * (1 - (double)step / (STEPS + 1)), NULL);
    }
    return !(start < 0.7 * best && reached > 0.95 * best && reached < best * (1 + 1e-9));
}
