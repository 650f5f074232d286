/* ops/solvers/conjugate_gradients.c - A x = b for symmetric definite A, by products with A alone (Hestenes and Stiefel
 * 1952).
 *
 *     alpha = <r, r> / <p, A p>,   x += alpha p,   r' = r - alpha A p,   p' = r' + (<r', r'> / <r, r>) p
 * from x = 0, r = p = b, for every item of the batch with its own coefficients. The steps of an item that has reached
 * its tolerance are multiplied by 0. Unless iterations are recorded, the vectors of an iteration are freed when the
 * next ones have been made: four are held. */
#include "ops/solvers/solver.h"

enum { X, R, P, RHO, VECTORS };

static void conjugate_gradients_step(mo_tape *t, const mo_krylov *k, mo_tensor *active, mo_tensor **s) {
    mo_tensor *Ap = k->apply(t, s[P], k->state);
    mo_tensor *alpha = mo_mul(t, active, mo_div_or_zero(t, s[RHO], mo_item_dot(t, s[P], Ap, k->batch_axes)));
    s[X] = mo_add(t, s[X], mo_mul(t, alpha, s[P]));
    s[R] = mo_sub(t, s[R], mo_mul(t, alpha, Ap));
    mo_tensor *rho = mo_item_dot(t, s[R], s[R], k->batch_axes);
    s[P] = mo_add(t, s[R], mo_mul(t, mo_div_or_zero(t, rho, s[RHO]), s[P]));
    s[RHO] = rho;
}

mo_tensor *mo_krylov_cg(mo_tape *t, mo_krylov *k, mo_tensor *b) {
    mo_context *ctx = mo_tape_context(t);
    mo_tensor *rho = mo_item_dot(t, b, b, k->batch_axes);
    mo_tensor *limit = mo_scale(t, mo_stop_gradient(t, rho), k->tolerance * k->tolerance, 0);
    mo_tensor *s[VECTORS] = {mo_scale(t, b, 0, 0), b, b, rho};
    mo_scope scope = mo_scope_open(t);
    for (k->iterations = 0; k->iterations < k->limit && mo_ok(ctx); k->iterations++) {
        mo_tensor *active = mo_krylov_unfinished(t, s[RHO], limit);
        if (mo_item(mo_sum(t, active, 0, MO_DROP_AXES)) == 0)
            break;
        conjugate_gradients_step(t, k, active, s);
        if (!k->record)
            mo_scope_close(t, &scope, s, VECTORS);
    }
    mo_krylov_measure(t, k, b, s[X]);
    return s[X];
}

mo_tensor *mo_conjugate_gradients(
    mo_tape *t, mo_tensor *x0, mo_residual F, mo_tensor *const *theta, int n, const mo_solver_options *options) {
    mo_solver s = {.name = "conjugate_gradients", .p.residual = F};
    if (options)
        s.o = *options;
    s.o.implicit.symmetric = true;
    return mo_solver_affine(&s, t, x0, theta, n, mo_krylov_cg);
}
