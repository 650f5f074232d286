/* ops/solvers/projected_gradient.c - the minimiser of a smooth function on the simplex by accelerated projected
 * gradients (Beck and Teboulle 2009) with restarts (O'Donoghue and Candes 2015).
 *
 *     x' = P(y - h grad f(y)),   y' = x' + beta (x' - x),   beta = (theta - 1) / theta',
 *     theta' = (1 + sqrt(1 + 4 theta^2)) / 2;
 * h is halved until <grad f(x') - grad f(y), x' - y> <= |x' - y|^2 / h, and grows by a quarter before each step. The
 * test compares gradients because near the solution differences of the values of f are only rounding errors. theta
 * starts again at 1 if <y - x', x' - x> > 0. Items of a batch have their own h and theta (not the parameters theta of
 * f): plain numbers, which unrolled iterations do not differentiate. */
#include "ops/solvers/solver.h"
#include "tensor/objects.h"

#include <math.h>

enum { HALVINGS = 60, ROWS = 7 };

typedef struct state {
    mo_solver *s;
    int64_t items;
    mo_tensor *like; /* a tensor of the shape [batch .., 1 ..] */
    mo_tensor *x, *y, *F;
    double *host; /* memory [ROWS, items] of the arrays below */
    double *h, *theta, *beta, *active, *curvature, *square, *back;
} state;

static void read_dot(state *q, mo_tensor *a, mo_tensor *b, double *host) {
    mo_item_read(q->s->t, mo_item_dot(q->s->t, a, b, q->s->o.implicit.batch_axes), host);
}

static mo_tensor *gradient_of_f(state *q, mo_tensor *x) {
    mo_solver *s = q->s;
    return mo_objective_gradient(s->t, x, s->theta, s->p.n, mo_implicit_state(&s->p), NULL);
}

static mo_tensor *project(state *q, mo_tensor *y, mo_tensor *g) {
    mo_tape *t = q->s->t;
    return mo_simplex_project(t, mo_sub(t, y, mo_mul(t, mo_item_write(t, q->like, q->h), g)));
}

/* Halves h of every item for which the bound of the file comment does not hold at x' = P(y - h g). Returns whether
 * the bound holds for all items. */
static bool bound_holds(state *q, mo_tensor *y, mo_tensor *g) {
    mo_solver *s = q->s;
    mo_scope scope = mo_scope_open(s->t);
    mo_tape_set_mode(s->t, MO_EVAL);
    mo_tensor *next = project(q, y, g), *move = mo_sub(s->t, next, y);
    read_dot(q, mo_sub(s->t, gradient_of_f(q, next), g), move, q->curvature);
    read_dot(q, move, move, q->square);
    mo_scope_close(s->t, &scope, NULL, 0);
    bool all = true;
    for (int64_t i = 0; i < q->items; i++) {
        if (!q->active[i] || q->curvature[i] * q->h[i] <= q->square[i])
            continue;
        q->h[i] /= 2;
        all = false;
    }
    return all;
}

/* Computes the next theta and beta of every item. */
static void accelerate(state *q, mo_tensor *y, mo_tensor *next) {
    mo_tape *t = q->s->t;
    mo_scope scope = mo_scope_open(t);
    mo_tape_set_mode(t, MO_EVAL);
    read_dot(q, mo_sub(t, y, next), mo_sub(t, next, q->x), q->back);
    mo_scope_close(t, &scope, NULL, 0);
    for (int64_t i = 0; i < q->items; i++) {
        if (q->back[i] > 0)
            q->theta[i] = 1;
        double theta = (1 + sqrt(1 + 4 * q->theta[i] * q->theta[i])) / 2;
        q->beta[i] = (q->theta[i] - 1) / theta;
        q->theta[i] = theta;
    }
}

static void projected_gradient_step(state *q, mo_tensor *active) {
    mo_solver *s = q->s;
    mo_tape *t = s->t;
    mo_tensor *g = gradient_of_f(q, q->y);
    mo_item_read(t, active, q->active);
    for (int64_t i = 0; i < q->items; i++)
        q->h[i] *= q->active[i] ? 1.25 : 1;
    mo_tensor *y = mo_stop_gradient(t, q->y), *slope = mo_stop_gradient(t, g);
    for (int i = 0; i < HALVINGS && mo_ok(s->ctx) && !bound_holds(q, y, slope); i++)
        ;
    mo_tensor *next = mo_where(t, active, project(q, q->y, g), q->x);
    accelerate(q, q->y, next);
    q->y = mo_add(t, next, mo_mul(t, mo_item_write(t, q->like, q->beta), mo_sub(t, next, q->x)));
    q->x = next;
}

/* Sets F = x - P(x - grad f(x)), without recording. */
static void measure(state *q) {
    mo_tape *t = q->s->t;
    mo_scope scope = mo_scope_open(t);
    mo_tape_set_mode(t, MO_EVAL);
    q->F = mo_solver_F(q->s, mo_stop_gradient(t, q->x));
    mo_scope_close(t, &scope, &q->F, 1);
}

static void projected_gradient_iterate(state *q) {
    mo_solver *s = q->s;
    mo_tensor *active;
    q->y = q->x = mo_simplex_project(s->t, q->x);
    q->like = mo_item_dot(s->t, mo_stop_gradient(s->t, q->x), mo_stop_gradient(s->t, q->x), s->o.implicit.batch_axes);
    for (int64_t i = 0; i < q->items; i++)
        q->h[i] = q->theta[i] = 1;
    for (measure(q); (active = mo_solver_unfinished(s, q->F, q->x)); s->iterations++) {
        projected_gradient_step(q, active);
        measure(q);
        mo_solver_end_iteration(s, (mo_tensor *[]){q->x, q->y, q->F, q->like}, 4);
    }
}

mo_tensor *mo_projected_gradient(
    mo_tape *t, mo_tensor *x0, mo_residual f, mo_tensor *const *theta, int n, const mo_solver_options *options) {
    mo_solver s = {.name = "projected_gradient"};
    if (options)
        s.o = *options;
    if (!mo_solver_open(&s, t, x0, f, theta, n) || !mo_solver_minimise(&s, f, true))
        return mo_null_tensor(mo_tape_context(t));
    state q = {.s = &s, .items = s.items, .x = mo_stop_gradient(t, x0)};
    size_t bytes = ROWS * (size_t)s.items * sizeof(double);
    q.host = mo_host_alloc(s.ctx, bytes);
    double **row[ROWS] = {&q.h, &q.theta, &q.beta, &q.active, &q.curvature, &q.square, &q.back};
    for (int i = 0; q.host && i < ROWS; i++)
        *row[i] = q.host + i * s.items;
    if (q.host)
        projected_gradient_iterate(&q);
    mo_host_free(s.ctx, q.host, bytes);
    return mo_solver_finish(&s, q.x);
}
