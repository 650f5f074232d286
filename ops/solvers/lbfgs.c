/* ops/solvers/lbfgs.c - the minimiser of a smooth function by limited-memory BFGS (Liu and Nocedal 1989).
 *
 * From the last m pairs s_i = x_(i+1) - x_i, y_i = g_(i+1) - g_i, rho_i = 1 / <s_i, y_i>, the two-loop recursion
 *     q = g;              for i = newest .. oldest: a_i = rho_i <s_i, q>,  q -= a_i y_i
 *     r = gamma q;        for i = oldest .. newest: r += (a_i - rho_i <y_i, r>) s_i
 * gives d = -r, gamma = <s, y> / <y, y> of the newest pair. The step, found by doubling and bisection (Lewis and
 * Overton 2013), fulfils the weak Wolfe conditions, so that <s, y> > 0. Items of a batch have their own pairs and
 * steps; a finished item does not move. Steps are plain numbers, which unrolled iterations do not differentiate. */
#include "ops/solvers/solver.h"
#include "tensor/objects.h"

#include <float.h>
#include <math.h>

enum { MOST = 32, TRIALS = 60 };

typedef struct state {
    mo_solver *s;
    int64_t items;
    mo_tensor *like; /* a tensor of the shape [batch .., 1 ..] */
    int n;           /* number of pairs in S, Y and rho, oldest first */
    mo_tensor *x, *g, *f;
    mo_tensor *S[MOST], *Y[MOST], *rho[MOST];
    double *host; /* memory [9, items] of the arrays below */
    double *f0, *slope0, *f1, *slope1, *low, *high, *alpha, *active, *searching;
} state;

static mo_tensor *item_dot(state *q, mo_tensor *a, mo_tensor *b) {
    return mo_item_dot(q->s->t, a, b, q->s->o.implicit.batch_axes);
}

/* ---- direction ---- */

static mo_tensor *direction(state *q) {
    mo_tape *t = q->s->t;
    mo_tensor *r = q->g, *a[MOST];
    for (int i = q->n - 1; i >= 0; i--) {
        a[i] = mo_mul(t, q->rho[i], item_dot(q, q->S[i], r));
        r = mo_sub(t, r, mo_mul(t, a[i], q->Y[i]));
    }
    if (q->n) {
        mo_tensor *s = q->S[q->n - 1], *y = q->Y[q->n - 1];
        r = mo_mul(t, mo_div_or_zero(t, item_dot(q, s, y), item_dot(q, y, y)), r);
    } else { /* no pair yet: a step of length at most 1 */
        mo_tensor *length = mo_sqrt(t, mo_stop_gradient(t, item_dot(q, r, r)));
        r = mo_div(t, r, mo_larger(t, length, mo_scalar(t, q->like->dtype, 1)));
    }
    for (int i = 0; i < q->n; i++) {
        mo_tensor *b = mo_mul(t, q->rho[i], item_dot(q, q->Y[i], r));
        r = mo_add(t, r, mo_mul(t, mo_sub(t, a[i], b), q->S[i]));
    }
    return mo_neg(t, r);
}

/* ---- step ---- */

/* Returns whether the trial step alpha of item i is accepted; if not, chooses the next one. */
static bool accept_trial(state *q, int64_t i, double rounding) {
    double bound = q->f0[i] + 1e-4 * q->alpha[i] * q->slope0[i] + 8 * rounding * fabs(q->f0[i]);
    if (!(q->f1[i] <= bound))
        q->high[i] = q->alpha[i];
    else if (q->slope1[i] < 0.9 * q->slope0[i])
        q->low[i] = q->alpha[i];
    else
        return true;
    q->alpha[i] = isfinite(q->high[i]) ? (q->low[i] + q->high[i]) / 2 : 2 * q->alpha[i];
    return false;
}

/* Computes value and slope of f along d at x + alpha d, for every item. */
static void try_step(state *q, mo_tensor *x, mo_tensor *d) {
    mo_solver *s = q->s;
    mo_scope scope = mo_scope_open(s->t);
    mo_tape_set_mode(s->t, MO_EVAL);
    mo_tensor *f, *at = mo_add(s->t, x, mo_mul(s->t, mo_item_write(q->s->t, q->like, q->alpha), d));
    mo_tensor *g = mo_objective_gradient(s->t, at, s->theta, s->p.n, mo_implicit_state(&s->p), &f);
    if (mo_ok(s->ctx)) {
        mo_item_read(q->s->t, f, q->f1);
        mo_item_read(q->s->t, item_dot(q, g, d), q->slope1);
    }
    mo_scope_close(s->t, &scope, NULL, 0);
}

/* Finds alpha for every item by a line search. Returns false if no item can move any more. */
static bool wolfe_search(state *q, mo_tensor *d, mo_tensor *active) {
    mo_tape *t = q->s->t;
    mo_tensor *x = mo_stop_gradient(t, q->x);
    double rounding = q->like->dtype == MO_F64 ? DBL_EPSILON : FLT_EPSILON;
    d = mo_stop_gradient(t, d);
    mo_item_read(q->s->t, q->f, q->f0);
    mo_item_read(q->s->t, item_dot(q, mo_stop_gradient(t, q->g), d), q->slope0);
    mo_item_read(q->s->t, active, q->active);
    bool more = false, moved = false;
    for (int64_t i = 0; i < q->items; i++) {
        q->low[i] = 0;
        q->high[i] = INFINITY;
        q->searching[i] = q->active[i] && q->slope0[i] < 0; /* 1 while the search of item i goes on */
        q->alpha[i] = q->searching[i];
        more |= q->searching[i] != 0;
    }
    for (int trial = 0; more && trial < TRIALS && mo_ok(q->s->ctx); trial++) {
        try_step(q, x, d);
        more = false;
        for (int64_t i = 0; i < q->items; i++) {
            if (q->searching[i] && accept_trial(q, i, rounding))
                q->searching[i] = 0;
            more |= q->searching[i] != 0;
        }
    }
    for (int64_t i = 0; i < q->items; i++) {
        if (q->searching[i]) /* no step fulfils both conditions: low is the largest tried that decreases f enough */
            q->alpha[i] = q->low[i];
        moved |= q->alpha[i] > 0;
    }
    return moved;
}

/* ---- iterations ---- */

static void push_pair(state *q, mo_tensor *s, mo_tensor *y, int most) {
    if (q->n == most) {
        for (int i = 1; i < most; i++) {
            q->S[i - 1] = q->S[i];
            q->Y[i - 1] = q->Y[i];
            q->rho[i - 1] = q->rho[i];
        }
        q->n--;
    }
    mo_tensor *one = mo_scalar(q->s->t, q->like->dtype, 1);
    q->S[q->n] = s;
    q->Y[q->n] = y;
    q->rho[q->n++] = mo_div_or_zero(q->s->t, one, item_dot(q, s, y));
}

static void end_iteration(state *q) {
    mo_tensor *keep[4 + 3 * MOST] = {q->x, q->g, q->f, q->like};
    int n = 4;
    for (int i = 0; i < q->n; i++) {
        keep[n++] = q->S[i];
        keep[n++] = q->Y[i];
        keep[n++] = q->rho[i];
    }
    mo_solver_end_iteration(q->s, keep, n);
}

static void evaluate_objective(state *q) {
    mo_solver *s = q->s;
    q->g = mo_objective_gradient(s->t, q->x, s->theta, s->p.n, mo_implicit_state(&s->p), &q->f);
}

static void lbfgs_iterate(state *q, int most) {
    mo_solver *s = q->s;
    mo_tensor *active;
    evaluate_objective(q);
    q->like = mo_stop_gradient(s->t, item_dot(q, q->g, q->g));
    while ((active = mo_solver_unfinished(s, q->g, q->x))) {
        mo_tensor *d = direction(q);
        if (!wolfe_search(q, d, active))
            break;
        mo_tensor *g = q->g, *step = mo_mul(s->t, mo_item_write(q->s->t, q->like, q->alpha), d);
        q->x = mo_add(s->t, q->x, step);
        evaluate_objective(q);
        push_pair(q, step, mo_sub(s->t, q->g, g), most);
        s->iterations++;
        end_iteration(q);
    }
}

mo_tensor *mo_lbfgs(
    mo_tape *t, mo_tensor *x0, mo_residual f, mo_tensor *const *theta, int n, const mo_solver_options *options) {
    mo_solver s = {.name = "lbfgs"};
    if (options)
        s.o = *options;
    if (!mo_solver_open(&s, t, x0, f, theta, n) || !mo_solver_minimise(&s, f, false))
        return mo_null_tensor(mo_tape_context(t));
    state q = {.s = &s, .items = s.items, .x = mo_stop_gradient(t, x0)};
    size_t bytes = 9 * (size_t)s.items * sizeof(double);
    q.host = mo_host_alloc(s.ctx, bytes);
    double **row[] = {&q.f0, &q.slope0, &q.f1, &q.slope1, &q.low, &q.high, &q.alpha, &q.active, &q.searching};
    for (int i = 0; q.host && i < 9; i++)
        *row[i] = q.host + i * s.items;
    int most = s.o.memory <= 0 ? 10 : s.o.memory > MOST ? MOST : s.o.memory;
    if (q.host)
        lbfgs_iterate(&q, most);
    mo_host_free(s.ctx, q.host, bytes);
    return mo_solver_finish(&s, q.x);
}
