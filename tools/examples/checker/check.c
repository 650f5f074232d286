/* Grades the exercises of a lesson: on drawn inputs, the values of an answer against plain loops, its gradients and
 * their gradients against central differences. In the folder of a lesson:
 *     cc ../checker/check.c grade.c exercises.c $(pkg-config --cflags --libs mochi) -lm -o check && ./check */
#include "exercise.h"
#include <math.h>
#include <stdio.h>

enum { DRAWS = 3 };

static mo_tensor *draw(mo_context *ctx, const exercise_input *in, mo_random *r) {
    double x[MOST_ELEMENTS];
    int64_t n = 1;
    for (int a = 0; a < in->ndim; a++)
        n *= in->shape[a];
    for (int64_t i = 0; i < n; i++)
        x[i] = in->positive ? exp(0.5 * mo_random_normal(r)) : mo_random_normal(r);
    return mo_require_grad(mo_tensor_create_from(ctx, MO_F64, in->ndim, in->shape, x));
}

/* The largest difference from the loops over the largest value; NaN if the answer has another number of elements. */
static double difference_from_loops(mo_context *ctx, const exercise *e, mo_tensor *const *in) {
    double x[MOST_INPUTS][MOST_ELEMENTS], want[MOST_ELEMENTS] = {0}, got[MOST_ELEMENTS] = {0}, worst = 0, size = 1e-300;
    const double *pointers[MOST_INPUTS];
    for (int i = 0; i < e->n_in; i++) {
        mo_tensor_read(in[i], x[i], (size_t)mo_numel(in[i]) * sizeof **x);
        pointers[i] = x[i];
    }
    e->expected(pointers, want);
    mo_tape *t = mo_tape_create(ctx, MO_RECORD); /* answers may take gradients */
    mo_tensor *Y = e->answer(t, in);
    bool fits = mo_ok(ctx) && mo_numel(Y) == e->n_out;
    if (fits)
        mo_tensor_read(Y, got, (size_t)e->n_out * sizeof *got);
    mo_tape_release(t);
    for (int64_t i = 0; i < e->n_out; i++) {
        worst = fmax(worst, isnan(got[i]) ? INFINITY : fabs(got[i] - want[i]));
        size = fmax(size, fabs(want[i]));
    }
    return fits ? worst / size : NAN;
}

static void answer_of(mo_tape *t, mo_tensor *const *in, int n_in, mo_tensor **out, int n_out, void *state) {
    (void)n_in, (void)n_out;
    out[0] = ((const exercise *)state)->answer(t, in);
}

static bool grade(mo_context *ctx, const exercise *e, uint64_t seed) {
    mo_random r = mo_random_at(seed, MO_PURPOSE_INIT, 0);
    mo_tensor *in[MOST_INPUTS];
    for (int i = 0; i < e->n_in; i++)
        in[i] = draw(ctx, &e->in[i], &r);
    double apart = difference_from_loops(ctx, e, in);
    bool pass = apart < 1e-8;
    if (!pass)
        printf("%s: wrong value, draw %d: off by %.1e of the largest\n", e->name, (int)seed, apart);
    for (int order = 1; order <= 2 && pass; order++) {
        mo_check_result c =
            mo_check_function(ctx, answer_of, (void *)e, in, e->n_in, 1, order, order == 1 ? 1e-6 : 1e-5, seed);
        if (!c.pass)
            printf("%s: wrong gradient, order %d: %s\n", e->name, order, c.worst);
        pass = c.pass;
    }
    if (!mo_ok(ctx))
        printf("%s: %s\n", e->name, mo_context_status(ctx)->message);
    mo_clear_error(ctx);
    for (int i = 0; i < e->n_in; i++)
        mo_tensor_release(in[i]);
    return pass;
}

int main(void) {
    mo_context *ctx = mo_context_create(NULL);
    int right = 0;
    for (int i = 0; i < n_exercises; i++) {
        bool pass = true;
        for (uint64_t seed = 0; seed < DRAWS && pass; seed++)
            pass = grade(ctx, &exercises[i], seed);
        printf("%s: %s\n", exercises[i].name, pass ? "right" : "not yet");
        right += pass;
    }
    mo_context_release(ctx);
    return right < n_exercises;
}
