/* Grades the exercises of a lesson on random inputs: compares an answer's values with plain loops, and its first and
 * second derivatives with central differences. With --json prints a line per exercise. In the folder of a lesson:
 *     cc ../checker/check.c grade.c exercises.c $(pkg-config --cflags --libs mochi) -lm -o check && ./check */
#include "exercise.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DRAWS = 3 };
static char why[1024]; /* why the answer is wrong */

static mo_tensor *draw(mo_context *ctx, const exercise_input *in, mo_random *r) {
    double x[MOST_ELEMENTS];
    int64_t n = 1;
    for (int a = 0; a < in->ndim; a++)
        n *= in->shape[a];
    for (int64_t i = 0; i < n; i++)
        x[i] = in->positive ? exp(0.5 * mo_random_normal(r)) : mo_random_normal(r);
    return mo_require_grad(mo_tensor_create_from(ctx, MO_F64, in->ndim, in->shape, x));
}

/* Whether the answer has the values of the plain loops; if not, sets why. */
static bool has_values(mo_context *ctx, const exercise *e, mo_tensor *const *in, int draw) {
    double x[MOST_INPUTS][MOST_ELEMENTS], want[MOST_ELEMENTS] = {0}, got[MOST_ELEMENTS] = {0}, worst = 0, size = 1e-300;
    const double *pointers[MOST_INPUTS];
    char found[MO_MAX_AXES * 24] = "";
    int64_t n = 1;
    for (char *at = strpbrk(e->shape, "123456789"); at; at = strpbrk(at, "123456789"))
        n *= strtoll(at, &at, 10);
    for (int i = 0; i < e->n_in; i++) {
        mo_tensor_read(in[i], x[i], (size_t)mo_numel(in[i]) * sizeof **x);
        pointers[i] = x[i];
    }
    e->expected(pointers, want);
    mo_tape *t = mo_tape_create(ctx, MO_RECORD); /* records, as an answer may take gradients */
    mo_tensor *Y = e->answer(t, in);
    bool fits = mo_ok(ctx) && mo_numel(Y) == n;
    if (fits)
        mo_tensor_read(Y, got, (size_t)n * sizeof *got);
    for (int a = 0; mo_ok(ctx) && a < mo_ndim(Y); a++)
        sprintf(found + strlen(found), "%s%lld", a ? ", " : "", (long long)mo_dim(Y, a));
    if (mo_ok(ctx) && !fits)
        snprintf(why, sizeof why, "shape [%s], expected %s", found, e->shape);
    mo_tape_release(t);
    for (int64_t i = 0; i < n; i++) {
        worst = fmax(worst, isnan(got[i]) ? INFINITY : fabs(got[i] - want[i]));
        size = fmax(size, fabs(want[i]));
    }
    if (fits && !(worst < 1e-8 * size))
        snprintf(why, sizeof why, "wrong value, draw %d: off by %.1e of the largest", draw, worst / size);
    return fits && worst < 1e-8 * size;
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
    bool pass = has_values(ctx, e, in, (int)seed);
    for (int order = 1; order <= 2 && pass; order++) {
        mo_check_result c =
            mo_check_function(ctx, answer_of, (void *)e, in, e->n_in, 1, order, order == 1 ? 1e-6 : 1e-5, seed);
        if (!c.pass)
            snprintf(why, sizeof why, "wrong gradient, order %d: %s", order, c.worst);
        pass = c.pass;
    }
    if (!mo_ok(ctx))
        snprintf(why, sizeof why, "%s", mo_context_status(ctx)->message);
    mo_clear_error(ctx);
    for (int i = 0; i < e->n_in; i++)
        mo_tensor_release(in[i]);
    return pass;
}

static void tell(const exercise *e, bool pass, bool json) {
    for (char *c = why; *c; c++)
        *c = *c == '"' || *c == '\\' ? '\'' : *c;
    if (json)
        printf(
            "{\"exercise\":\"%s\",\"right\":%s,\"why\":\"%s\"}\n", e->name, pass ? "true" : "false", pass ? "" : why);
    else if (pass)
        printf("%s: right\n", e->name);
    else
        printf("%s: %s\n%s: hint: %s\n%s: not yet\n", e->name, why, e->name, e->hint, e->name);
}

int main(int argc, char **argv) {
    mo_context *ctx = mo_context_create(NULL);
    int right = 0;
    for (int i = 0; i < n_exercises; i++) {
        bool pass = true;
        for (uint64_t seed = 0; seed < DRAWS && pass; seed++)
            pass = grade(ctx, &exercises[i], seed);
        tell(&exercises[i], pass, argc > 1 && !strcmp(argv[1], "--json"));
        right += pass;
    }
    mo_context_release(ctx);
    return right < n_exercises;
}
