/* ops/solvers/conjugate_gradients.c - A x = b for symmetric definite A, by products with A alone (Hestenes and Stiefel
 * 1952).
 *
 *     z = M r,   alpha = <r, z> / <p, A p>,   x += alpha p,   r' = r - alpha A p,   p' = z' + (<r', z'> / <r, z>) p
 * from x = 0, r = b, p = z, for every item of the batch with its own coefficients; M is a preconditioner, or 1. The
 * steps of an item that has reached its tolerance are multiplied by 0. Unless iterations are recorded, the vectors of
 * an iteration are freed when the next ones have been made: four are held. The inner product may have a metric G, <u, G
 * v>, and vectors may carry images that would cost a product each (mo_krylov_vector). */
#include "ops/solvers/solver.h"

typedef struct iterate {
    mo_krylov_vector x, p; /* solution so far, direction */
    mo_tensor *r, *rho;
} iterate;

enum { ITERATE_TENSORS = sizeof(iterate) / sizeof(mo_tensor *) };

/* X + a Y; images that share a tensor still share one. */
static mo_krylov_vector conjugate_add(mo_tape *t, const mo_krylov_vector *X, mo_tensor *a, const mo_krylov_vector *Y) {
    mo_krylov_vector Z = {.x = mo_add(t, X->x, mo_mul(t, a, Y->x))};
    Z.G = Y->G == Y->x ? Z.x : mo_add(t, X->G, mo_mul(t, a, Y->G));
    Z.F = Y->F == Y->G ? Z.G : mo_add(t, X->F, mo_mul(t, a, Y->F));
    return Z;
}

static mo_krylov_vector conjugate_zero(mo_tape *t, const mo_krylov_vector *X) {
    mo_krylov_vector Z = {.x = mo_scale(t, X->x, 0, 0)};
    Z.G = X->G == X->x ? Z.x : mo_scale(t, X->G, 0, 0);
    Z.F = X->F == X->G ? Z.G : mo_scale(t, X->F, 0, 0);
    return Z;
}

static void conjugate_step(mo_tape *t, const mo_conjugate *g, mo_tensor *active, iterate *i) {
    mo_tensor *Ap = g->product(t, &i->p, g->state);
    mo_tensor *alpha = mo_mul(t, active, mo_div_or_zero(t, i->rho, mo_item_dot(t, i->p.G, Ap, g->batch_axes)));
    i->x = conjugate_add(t, &i->x, alpha, &i->p);
    i->r = mo_sub(t, i->r, mo_mul(t, alpha, Ap));
    mo_krylov_vector z = g->precondition(t, i->r, g->state);
    mo_tensor *rho = mo_item_dot(t, i->r, z.G, g->batch_axes);
    i->p = conjugate_add(t, &z, mo_div_or_zero(t, rho, i->rho), &i->p);
    i->rho = rho;
}

mo_krylov_vector mo_conjugate_solve(mo_tape *t, mo_conjugate *g, mo_tensor *b, mo_tensor *fall) {
    union {
        iterate i;
        mo_tensor *tensors[ITERATE_TENSORS];
    } u = {.i = {.p = g->precondition(t, b, g->state), .r = b}};
    iterate *i = &u.i;
    i->rho = mo_item_dot(t, b, i->p.G, g->batch_axes);
    g->target = mo_mul(t, mo_stop_gradient(t, i->rho), fall);
    i->x = conjugate_zero(t, &i->p);
    mo_scope scope = mo_scope_open(t);
    for (g->iterations = 0; g->iterations < g->limit && mo_ok(mo_tape_context(t)); g->iterations++) {
        mo_tensor *active = mo_krylov_unfinished(t, i->rho, g->target);
        if (mo_item(mo_sum(t, active, MO_ALL, MO_DROP_AXES)) == 0)
            break;
        conjugate_step(t, g, active, i);
        if (!g->record)
            mo_scope_close(t, &scope, u.tensors, ITERATE_TENSORS);
    }
    g->square = i->rho;
    return i->x;
}

/* ---- without a preconditioner and a metric ---- */

static mo_krylov_vector cg_itself(mo_tape *t, mo_tensor *r, const void *state) {
    (void)t;
    (void)state;
    return (mo_krylov_vector){r, r, r};
}

static mo_tensor *cg_product(mo_tape *t, const mo_krylov_vector *p, const void *state) {
    const mo_krylov *k = state;
    return k->apply(t, p->x, k->state);
}

mo_tensor *mo_krylov_cg(mo_tape *t, mo_krylov *k, mo_tensor *b) {
    mo_conjugate g = {cg_product, cg_itself, k, .batch_axes = k->batch_axes, .limit = k->limit, .record = k->record};
    mo_tensor *fall = mo_full(t, mo_tensor_dtype(b), 0, NULL, k->tolerance * k->tolerance);
    mo_tensor *x = mo_conjugate_solve(t, &g, b, fall).x;
    k->iterations = g.iterations;
    mo_krylov_measure(t, k, b, x);
    return x;
}

mo_tensor *mo_conjugate_gradients(
    mo_tape *t, mo_tensor *x0, mo_residual F, mo_tensor *const *theta, int n, const mo_solver_options *options) {
    mo_solver s = {.name = "conjugate_gradients", .p.residual = F};
    if (options)
        s.o = *options;
    s.o.implicit.symmetric = true;
    return mo_solver_affine(&s, t, x0, theta, n, mo_krylov_cg);
}
