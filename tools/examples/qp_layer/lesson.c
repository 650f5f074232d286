/* A quadratic program as a layer: x minimises x'Qx / 2 + q'x subject to Ax = b. Its optimum solves one linear system,
 *     [Q A'; A 0] [x; nu] = [-q; b]          (Karush, Kuhn, Tucker),
 * so that one solve is the layer and its adjoint is the layer's gradient. Here an investor's decisions x are seen and
 * the expected returns -q that led to them are learned.
 * Build: cc lesson.c $(pkg-config --cflags --libs mochi) -lm */
#include <math.h>
#include <mochi/mochi.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 5, M = 1, STEPS = 300 };

static mo_tensor *qp_layer(mo_tape *t, mo_tensor *Q, mo_tensor *q, mo_tensor *A, mo_tensor *b) {
    mo_tensor *zero = mo_full(t, MO_F64, 2, (int64_t[]){M, M}, 0);
    mo_tensor *top = mo_concat(t, (mo_tensor *[]){Q, mo_transpose(t, A)}, 2, MO_AXIS(1));
    mo_tensor *bottom = mo_concat(t, (mo_tensor *[]){A, zero}, 2, MO_AXIS(1));
    mo_tensor *K = mo_concat(t, (mo_tensor *[]){top, bottom}, 2, MO_AXIS(0));
    mo_tensor *right = mo_concat(t, (mo_tensor *[]){mo_scale(t, q, -1, 0), b}, 2, MO_AXIS(0));
    return mo_slice(t, mo_solve(t, K, right), MO_AXIS(0), 0, N); /* without nu */
}

/* The layer for the checker: Q = LL' + I stays definite under any perturbation of L. */
static void checked_layer(mo_tape *t, mo_tensor *const *in, int n_in, mo_tensor **out, int n_out, void *state) {
    (void)n_in, (void)n_out, (void)state;
    mo_tensor *Q = mo_add_diag(t, mo_gram(t, in[0]), mo_scalar(t, MO_F64, 1));
    out[0] = qp_layer(t, Q, in[1], in[2], in[3]);
}

static mo_tensor *drawn(mo_context *ctx, mo_random *r, int64_t rows, int64_t columns) {
    double x[N * N];
    for (int64_t i = 0; i < rows * columns; i++)
        x[i] = mo_random_normal(r);
    return mo_require_grad(mo_tensor_create_from(ctx, MO_F64, 2, (int64_t[]){rows, columns}, x));
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
    mo_tensor *in[4] = {drawn(ctx, &r, N, N), drawn(ctx, &r, N, 1), drawn(ctx, &r, M, N), drawn(ctx, &r, M, 1)};
    mo_check_result check = mo_check_function(ctx, checked_layer, NULL, in, 4, 1, 1, 1e-6, 0);
    printf("gradients in Q, q, A and b: error %.1e, %s\n", check.error, check.pass ? "pass" : check.worst);

    /* The shares sum to 1. The observed decisions are the layer at the true returns, which the learner does not see. */
    double ones[N] = {1, 1, 1, 1, 1}, decided[N];
    mo_tensor *A = mo_tensor_create_from(ctx, MO_F64, 2, (int64_t[]){M, N}, ones);
    mo_tensor *b = mo_tensor_create_from(ctx, MO_F64, 2, (int64_t[]){M, 1}, ones), *out;
    mo_tensor *q = mo_parameter(ctx, "q", MO_F64, 2, (int64_t[]){N, 1}), *grad;
    checked_layer(t, (mo_tensor *[]){in[0], in[1], A, b}, 4, &out, 1, NULL);
    mo_tensor_read(out, decided, sizeof decided);
    mo_optimizer *adamw = mo_adamw_create(ctx, &q, 1, &(mo_adamw_options){0.05, 0, 0.9, 0.999, 1e-8, 0, 1});
    double loss = 0;
    mo_tape_reset(t);
    for (int step = 0; step <= STEPS; step++, mo_tape_reset(t)) {
        checked_layer(t, (mo_tensor *[]){in[0], q, A, b}, 4, &out, 1, NULL);
        mo_tensor *seen = mo_from(t, MO_F64, 2, (int64_t[]){N, 1}, decided);
        mo_tensor *L = mo_sum(t, mo_square(t, mo_sub(t, out, seen)), MO_ALL, MO_DROP_AXES);
        mo_gradients(t, L, &q, &grad, 1);
        mo_optimizer_step(adamw, &grad, 0.05 * (1 - (double)step / (STEPS + 1)), NULL);
        loss = mo_item(L);
        if (step % 100 == 0)
            printf("step %3d  squared distance to the decisions %.2e\n", step, loss);
    }
    return !check.pass || loss > 1e-4;
}
