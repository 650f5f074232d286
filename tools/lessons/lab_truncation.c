/* tools/lessons/lab_truncation.c - `mochi lab truncation`: K steps w <- w - (A w - b), whose error shrinks by the
 * spectral radius of I - A at each, and three gradients of <w_bar, w> in A: through the steps, by the implicit function
 * theorem at w_K, and that with K terms of a Neumann series. */
#include "tools/lessons/lab.h"

#include "tools/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE = 12 };

/* A has eigenvalues from 1 - radius to 1, so that a step of 1 contracts by the radius. */
typedef struct contraction {
    mo_context *ctx;
    int64_t n;
    mo_tensor *A, *b, *w_bar;
    double *w, *A_bar; /* exact: [n], [n, n]; owned by w */
} contraction;

static mo_tensor *truncation_residual(mo_tape *t, mo_tensor *w, mo_tensor *const *theta, int n, void *state) {
    const contraction *c = state;
    (void)n;
    return mo_sub(t, mo_matmul(t, theta[0], w), c->b);
}

static mo_tensor *outer_gradient(mo_tape *t, mo_tensor *u, mo_tensor *w) {
    return mo_neg(t, mo_matmul(t, u, mo_transpose(t, w)));
}

static void draw_contraction(mo_tape *t, mo_random *r, double rho, contraction *c) {
    double *values = needed(malloc((size_t)c->n * sizeof *values));
    for (int64_t i = 0; i < c->n; i++)
        values[i] = 1 - rho * (double)i / (double)(c->n - 1);
    c->A = mo_require_grad(lab_with_spectrum(t, r, values, c->n));
    c->b = lab_normal(t, r, c->n, 1);
    c->w_bar = lab_normal(t, r, c->n, 1);
    mo_tensor *A = mo_stop_gradient(t, c->A), *w = mo_solve_spd(t, A, c->b), *u = mo_solve_spd(t, A, c->w_bar);
    mo_tensor_read(w, c->w, (size_t)c->n * sizeof *c->w);
    mo_tensor_read(outer_gradient(t, u, w), c->A_bar, (size_t)(c->n * c->n) * sizeof *c->A_bar);
    free(values);
}

static double unrolled_error(mo_tape *t, const contraction *c, int steps, mo_tensor **w) {
    mo_tensor *A = c->A, *A_bar;
    *w = mo_scale(t, c->b, 0, 0);
    for (int k = 0; k < steps; k++)
        *w = mo_sub(t, *w, mo_sub(t, mo_matmul(t, A, *w), c->b));
    mo_tensor *loss = mo_sum(t, mo_mul(t, c->w_bar, *w), MO_ALL, MO_DROP_AXES);
    mo_grad(t, &loss, NULL, 1, &A, &A_bar, 1, MO_RETAIN);
    return lab_relative_error(A_bar, c->A_bar, c->n * c->n);
}

static double implicit_error(mo_tape *t, contraction *c, mo_tensor *w_K) {
    const mo_implicit_options options = {.symmetric = true, .residual = -1, .state = c};
    mo_tensor *A = c->A, *A_bar, *w = mo_implicit(t, mo_stop_gradient(t, w_K), truncation_residual, &A, 1, &options);
    mo_tensor *loss = mo_sum(t, mo_mul(t, c->w_bar, w), MO_ALL, MO_DROP_AXES);
    mo_gradients(t, loss, &A, &A_bar, 1);
    return lab_relative_error(A_bar, c->A_bar, c->n * c->n);
}

/* u_K = sum_{j<K} (I - A)^j w_bar */
static double neumann_error(mo_tape *t, const contraction *c, int terms, mo_tensor *w_K) {
    mo_tensor *A = mo_stop_gradient(t, c->A), *term = c->w_bar, *u = term;
    for (int j = 1; j < terms; j++) {
        term = mo_sub(t, term, mo_matmul(t, A, term));
        u = mo_add(t, u, term);
    }
    return lab_relative_error(outer_gradient(t, u, mo_stop_gradient(t, w_K)), c->A_bar, c->n * c->n);
}

static void *open_contraction(mo_context *ctx, const lab_options *o, char *lines, size_t bytes) {
    contraction *c = needed(calloc(1, sizeof *c));
    *c = (contraction){.ctx = ctx, .n = o->n ? o->n : SIZE};
    c->w = needed(malloc((size_t)(c->n + c->n * c->n) * sizeof *c->w));
    c->A_bar = c->w + c->n;
    snprintf(lines, bytes, "Gradients of K steps against those of the solution, n = %d", (int)c->n);
    return c;
}

static void measure_steps(void *state, const lab_options *o, int which, double steps, double *y) {
    static const double radius[] = {0.5, 0.9, 0.99};
    contraction *c = state;
    mo_tape *t = mo_tape_create(c->ctx, MO_RECORD);
    mo_random r = mo_random_at(o->seed, MO_PURPOSE_CHECK, 200 + (uint64_t)which);
    mo_tensor *w;
    if (!t)
        return;
    draw_contraction(t, &r, radius[which], c);
    y[1] = unrolled_error(t, c, (int)steps, &w);
    y[0] = lab_relative_error(w, c->w, c->n);
    y[2] = implicit_error(t, c, w);
    y[3] = neumann_error(t, c, (int)steps, w);
    mo_tape_release(t);
}

static void close_contraction(void *state) {
    contraction *c = state;
    free(c->w);
    free(c);
}

const lab_experiment lab_truncation = {
    .name = "truncation",
    .without = "problem method runs",
    .series_name = "radius",
    .series_head = "contraction",
    .series = {"radius 0.5", "radius 0.9", "radius 0.99"},
    .x_name = "steps",
    .x_head = "K",
    .columns = {{"solution_error", "w_K", "%9.1e", 0}, {"unrolled_error", "unrolled", "%9.1e", 0},
        {"implicit_error", "implicit", "%9.1e", 0}, {"neumann_error", "neumann", "%9.1e", 0}},
    .reading = "w_K and the implicit gradient are off by the same part, at most radius^K. The gradient through the "
               "steps, and a series cut after K terms, lag behind: w and the adjoint are both cut.",
    .open = open_contraction,
    .measure = measure_steps,
    .close = close_contraction,
};
