/* tools/lessons/lab_truncation.c - `mochi lab truncation`: K steps w <- w - (A w - b), whose error shrinks by the
 * spectral radius of I - A at each, and three gradients of <w_bar, w> in A: through the steps, by the implicit function
 * theorem at w_K, and that with K terms of a Neumann series. */
#include "tools/lessons/lab.h"

#include "tools/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE = 12, RADII = 3 };

static const double radius[RADII] = {0.5, 0.9, 0.99};

static const lab_column columns[] = {
    {"solution_error", "w_K", "%9.1e", 0, false},
    {"unrolled_error", "unrolled", "%9.1e", 0, false},
    {"implicit_error", "implicit", "%9.1e", 0, false},
    {"neumann_error", "neumann", "%9.1e", 0, false},
};

/* A has eigenvalues from 1 - radius to 1, so that a step of 1 contracts by the radius. */
typedef struct contraction {
    int64_t n;
    mo_tensor *A, *b, *w_bar;
    double *w, *A_bar; /* exact: [n], [n, n] */
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

static double gradient_error(const contraction *c, mo_tensor *A_bar, double *work) {
    if (mo_tensor_read(A_bar, work, (size_t)(c->n * c->n) * sizeof *work) != MO_OK)
        return NAN;
    return lab_relative_error(work, c->A_bar, c->n * c->n);
}

static double unrolled_error(mo_tape *t, const contraction *c, int steps, mo_tensor **w, double *work) {
    mo_tensor *A = c->A, *A_bar;
    *w = mo_scale(t, c->b, 0, 0);
    for (int k = 0; k < steps; k++)
        *w = mo_sub(t, *w, mo_sub(t, mo_matmul(t, A, *w), c->b));
    mo_tensor *loss = mo_sum(t, mo_mul(t, c->w_bar, *w), MO_ALL, MO_DROP_AXES);
    mo_grad(t, &loss, NULL, 1, &A, &A_bar, 1, MO_RETAIN);
    return gradient_error(c, A_bar, work);
}

static double implicit_error(mo_tape *t, contraction *c, mo_tensor *w_K, double *work) {
    const mo_implicit_options options = {.symmetric = true, .residual = -1, .state = c};
    mo_tensor *A = c->A, *A_bar, *w = mo_implicit(t, mo_stop_gradient(t, w_K), truncation_residual, &A, 1, &options);
    mo_tensor *loss = mo_sum(t, mo_mul(t, c->w_bar, w), MO_ALL, MO_DROP_AXES);
    mo_gradients(t, loss, &A, &A_bar, 1);
    return gradient_error(c, A_bar, work);
}

/* u_K = sum_{j<K} (I - A)^j w_bar */
static double neumann_error(mo_tape *t, const contraction *c, int terms, mo_tensor *w_K, double *work) {
    mo_tensor *A = mo_stop_gradient(t, c->A), *term = c->w_bar, *u = term;
    for (int j = 1; j < terms; j++) {
        term = mo_sub(t, term, mo_matmul(t, A, term));
        u = mo_add(t, u, term);
    }
    return gradient_error(c, outer_gradient(t, u, mo_stop_gradient(t, w_K)), work);
}

static bool measure_steps(
    mo_context *ctx, const lab_options *o, int which, int steps, contraction *c, double *work, double *y) {
    mo_tape *t = mo_tape_create(ctx, MO_RECORD);
    mo_random r = mo_random_at(o->seed, MO_PURPOSE_CHECK, 200 + (uint64_t)which);
    mo_tensor *w;
    if (!t)
        return false;
    draw_contraction(t, &r, radius[which], c);
    y[1] = unrolled_error(t, c, steps, &w, work);
    if (mo_tensor_read(w, work, (size_t)c->n * sizeof *work) == MO_OK)
        y[0] = lab_relative_error(work, c->w, c->n);
    y[2] = implicit_error(t, c, w, work);
    y[3] = neumann_error(t, c, steps, w, work);
    mo_tape_release(t);
    return mo_ok(ctx);
}

void lab_truncation(mo_context *ctx, const lab_options *o, lab_table *table) {
    static const char *const names[] = {"radius 0.5", "radius 0.9", "radius 0.99"};
    contraction c = {.n = o->n ? o->n : SIZE};
    snprintf(table->title, sizeof table->title, "Gradients of K steps against those of the solution, n = %d", (int)c.n);
    table->reading =
        "w_K and the implicit gradient are off by the same part, at most radius^K. The gradient through the "
        "steps, and a series cut after K terms, lag behind: w and the adjoint are both cut.";
    table->series_name = "radius";
    table->series_head = "contraction";
    memcpy(table->series, names, sizeof names);
    table->x_name = "steps";
    table->x_head = "K";
    table->x_whole = true;
    table->columns = columns;
    table->n_columns = 4;
    c.w = needed(malloc((size_t)(c.n + 2 * c.n * c.n) * sizeof *c.w));
    c.A_bar = c.w + c.n;
    lab_table_open(table, table->title);
    bool fine = true;
    for (int which = 0; which < RADII; which++)
        for (int i = 0; fine && i < o->n_iterations; i++) {
            lab_table_row row = {.series = which, .x = (double)o->iterations[i]};
            fine = measure_steps(ctx, o, which, (int)o->iterations[i], &c, c.A_bar + c.n * c.n, row.y) &&
                   lab_table_add(table, row);
        }
    free(c.w);
}
