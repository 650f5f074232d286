/* Pushes prototypes out of each other's convex hull. A class whose prototype lies in the hull of the others can never
 * have the largest inner product, so the distance to that hull is a useful loss. The nearest point of a hull is X P
 * with X on the simplex: found by projected gradients, differentiated by the implicit function theorem. Five points of
 * the unit circle end as a regular pentagon, each 1 - cos(72 degrees) from the hull of the others.
 * Build: cc hull.c $(pkg-config --cflags --libs mochi) -lm */
#include <mochi/mochi.h>
#include <stdio.h>
#include <stdlib.h>

enum { POINTS = 5, OTHERS = POINTS - 1, STEPS = 200 };

/* |X P - q|^2 for each point: [POINTS], from X [POINTS, OTHERS]; theta: P [POINTS, OTHERS, 2] and q [POINTS, 1, 2]. */
static mo_tensor *squared_distance(mo_tape *t, mo_tensor *X, mo_tensor *const *theta, int n, void *state) {
    (void)n, (void)state;
    mo_tensor *nearest = mo_matmul(t, mo_reshape(t, X, 3, (int64_t[]){POINTS, 1, OTHERS}), theta[0]);
    return mo_sum(t, mo_square(t, mo_sub(t, nearest, theta[1])), MO_AXES(1, 2), MO_DROP_AXES);
}

/* The distance of each row of P [POINTS, 2] to the hull of the other rows: [POINTS]. */
static mo_tensor *hull_distances(mo_tape *t, mo_tensor *P) {
    int64_t other[POINTS * OTHERS];
    for (int i = 0; i < POINTS * OTHERS; i++)
        other[i] = (i / OTHERS + 1 + i % OTHERS) % POINTS;
    mo_tensor *rows = mo_gather_rows(t, P, mo_from(t, MO_I64, 1, (int64_t[]){POINTS * OTHERS}, other));
    mo_tensor *theta[2] = {
        mo_reshape(t, rows, 3, (int64_t[]){POINTS, OTHERS, 2}), mo_reshape(t, P, 3, (int64_t[]){POINTS, 1, 2})};
    mo_tensor *start = mo_full(t, MO_F64, 2, (int64_t[]){POINTS, OTHERS}, 1.0 / OTHERS);
    mo_solver_options options = {.implicit.batch_axes = 1};
    mo_tensor *X = mo_projected_gradient(t, start, squared_distance, theta, 2, &options);
    return mo_sqrt(t, squared_distance(t, X, theta, 2, NULL));
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
    const double first[POINTS][2] = {{1, 0}, {0.9, 0.5}, {0.5, 0.9}, {-0.2, 1}, {0.3, -1}};
    mo_tensor *P = mo_parameter(ctx, "P", MO_F64, 2, (int64_t[]){POINTS, 2}), *grad;
    mo_tensor_write(P, first, sizeof first);
    mo_optimizer *adam = mo_adamw_create(ctx, &P, 1, &(mo_adamw_options){0.05, 0, 0.9, 0.999, 1e-8, 0, 0});
    for (int step = 0; step <= STEPS; step++, mo_tape_reset(t)) {
        mo_tensor *distance = hull_distances(t, mo_l2_normalize(t, P, 1e-12));
        mo_tensor *loss = mo_neg(t, mo_sum(t, mo_log(t, distance), MO_ALL, MO_DROP_AXES));
        double d[POINTS];
        mo_tensor_read(distance, d, sizeof d);
        if (step % 40 == 0)
            printf("step %3d  distances to the hull of the others %.3f %.3f %.3f %.3f %.3f\n", step, d[0], d[1], d[2],
                d[3], d[4]);
        mo_gradients(t, loss, &P, &grad, 1);
        mo_optimizer_step(adam, &grad, mo_cosine(0.05, 0, step, STEPS + 1), NULL);
    }
    return 0;
}
