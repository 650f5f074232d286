/* MAML on sine waves (Finn, Abbeel and Levine 2017): learns an initial network that fits a new wave after one step of
 * gradient descent on ten of its points. The outer gradient goes through the inner one: MO_CREATE_GRAPH records it.
 * Build: cc maml.c $(pkg-config --cflags --libs mochi) -lm */
#include <math.h>
#include <mochi/mochi.h>
#include <stdio.h>
#include <stdlib.h>

enum { TASKS = 20, POINTS = 10, WIDTH = 40, LAYERS = 3, WEIGHTS = 2 * LAYERS, STEPS = 3000 };
static const double inner_lr = 0.02;

/* A network with its own weights for every task: X [TASKS, POINTS, 1], w[2 i] [TASKS, in, out], w[2 i + 1] [TASKS, 1,
 * out]. */
static mo_tensor *task_network(mo_tape *t, mo_tensor *X, mo_tensor *const *w) {
    for (int i = 0; i < LAYERS; i++) {
        X = mo_add(t, mo_matmul(t, X, w[2 * i]), w[2 * i + 1]);
        X = i + 1 < LAYERS ? mo_tanh(t, X) : X;
    }
    return X;
}

static mo_tensor *squared_error(mo_tape *t, mo_tensor *X, mo_tensor *Y, mo_tensor *const *w) { /* [TASKS] */
    return mo_mean(t, mo_square(t, mo_sub(t, task_network(t, X, w), Y)), MO_AXES(1, 2), MO_DROP_AXES);
}

/* Draws points of new waves a sin(x + p). X[0], Y[0] [TASKS, POINTS, 1] are points to learn from, X[1], Y[1] points to
 * test on. */
static void draw_waves(mo_tape *t, mo_random *r, mo_tensor **X, mo_tensor **Y) {
    float x[2][TASKS][POINTS], y[2][TASKS][POINTS];
    for (int i = 0; i < TASKS; i++) {
        double a = 0.1 + 4.9 * mo_random_uniform(r), p = 3.14159265 * mo_random_uniform(r);
        for (int j = 0; j < 2 * POINTS; j++) {
            double at = 10 * mo_random_uniform(r) - 5;
            x[j / POINTS][i][j % POINTS] = (float)at;
            y[j / POINTS][i][j % POINTS] = (float)(a * sin(at + p));
        }
    }
    for (int part = 0; part < 2; part++) {
        X[part] = mo_from(t, MO_F32, 3, (int64_t[]){TASKS, POINTS, 1}, x[part]);
        Y[part] = mo_from(t, MO_F32, 3, (int64_t[]){TASKS, POINTS, 1}, y[part]);
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
    mo_tensor *parameters[WEIGHTS], *w[WEIGHTS], *grads[WEIGHTS], *X[2], *Y[2];
    for (int i = 0; i < WEIGHTS; i++) { /* layers of width 1 -> WIDTH -> WIDTH -> 1 */
        int64_t in = i < 2 ? 1 : WIDTH, out = i / 2 == LAYERS - 1 ? 1 : WIDTH, rows = i % 2 ? 1 : in;
        float first[WIDTH * WIDTH];
        parameters[i] = mo_parameter(ctx, i % 2 ? "bias" : "weight", MO_F32, 3, (int64_t[]){1, rows, out});
        for (int j = 0; j < rows * out; j++)
            first[j] = i % 2 ? 0 : (float)(mo_random_normal(&r) / sqrt((double)in));
        mo_tensor_write(parameters[i], first, (size_t)(rows * out) * sizeof(float));
    }
    mo_optimizer *adam =
        mo_adamw_create(ctx, parameters, WEIGHTS, &(mo_adamw_options){0.002, 0, 0.9, 0.999, 1e-8, 0, 10});
    for (int step = 0; step <= STEPS; step++, mo_tape_reset(t)) {
        draw_waves(t, &r, X, Y);
        for (int i = 0; i < WEIGHTS; i++) /* a copy of the start for every task, so that each has its own gradient */
            w[i] = mo_broadcast_to(
                t, parameters[i], 3, (int64_t[]){TASKS, mo_dim(parameters[i], 1), mo_dim(parameters[i], 2)});
        mo_tensor *before = mo_mean(t, squared_error(t, X[1], Y[1], w), MO_ALL, MO_DROP_AXES);
        mo_tensor *support = squared_error(t, X[0], Y[0], w);
        mo_grad(t, &support, NULL, 1, w, grads, WEIGHTS, MO_CREATE_GRAPH);
        for (int i = 0; i < WEIGHTS; i++)
            w[i] = mo_sub(t, w[i], mo_scale(t, grads[i], inner_lr, 0));
        mo_tensor *after = mo_mean(t, squared_error(t, X[1], Y[1], w), MO_ALL, MO_DROP_AXES);
        if (step % 500 == 0)
            printf("step %4d  squared error on new points: %.3f, after one inner step %.3f\n", step, mo_item(before),
                mo_item(after));
        mo_gradients(t, after, parameters, grads, WEIGHTS);
        mo_optimizer_step(adam, grads, mo_cosine(0.002, 0, step, STEPS + 1), NULL);
    }
    return 0;
}
