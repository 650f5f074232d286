/* ops/solvers/conjugate_gradients.c - A x = b for symmetric definite A, by products with A alone (Hestenes and Stiefel
 * 1952).
 *
 *     alpha = <r, r> / <p, A p>,   x += alpha p,   r' = r - alpha A p,   p' = r' + (<r', r'> / <r, r>) p
 * from x = 0, r = p = b, for every item of the batch with its own coefficients. The steps of an item that has reached
 * its tolerance are multiplied by 0. The vectors of an iteration are freed once the next iteration's vectors are made,
 * so that three vectors stay in memory between iterations. */
#include "ops/solvers/krylov.h"

#include <math.h>

/* The state of the iteration: x, the direction p, the residual r and rho = <r, r>. ITERATE: number of these tensors. */
enum { X, P, R, RHO, ITERATE };
enum { LONG = 100 }; /* number of iterations after which A is tested for symmetry */

static void conjugate_step(mo_tape *t, const mo_krylov *k, mo_tensor *active, mo_tensor **i) {
    mo_tensor *Ap = k->apply(t, i[P], k->state);
    mo_tensor *alpha = mo_mul(t, active, mo_div_or_zero(t, i[RHO], mo_item_dot(t, i[P], Ap, k->batch_axes)));
    i[X] = mo_add(t, i[X], mo_mul(t, alpha, i[P]));
    i[R] = mo_sub(t, i[R], mo_mul(t, alpha, Ap));
    mo_tensor *rho = mo_item_dot(t, i[R], i[R], k->batch_axes);
    i[P] = mo_add(t, i[R], mo_mul(t, mo_div_or_zero(t, rho, i[RHO]), i[P]));
    i[RHO] = rho;
}

/* Returns the largest |<p, A b> - <b, A p>| / (|b| |A p|) among the items. */
static double asymmetry(mo_tape *t, const mo_krylov *k, mo_tensor *b, mo_tensor *p) {
    int64_t item;
    int axes = k->batch_axes;
    mo_scope scope = mo_scope_open(t);
    mo_tensor *Ab = k->apply(t, b, k->state), *Ap = k->apply(t, p, k->state);
    mo_tensor *gap = mo_sub(t, mo_item_dot(t, p, Ab, axes), mo_item_dot(t, b, Ap, axes));
    mo_tensor *size = mo_mul(t, mo_item_dot(t, b, b, axes), mo_item_dot(t, Ap, Ap, axes));
    double worst = sqrt(mo_item_worst(t, mo_div_or_zero(t, mo_square(t, gap), size), &item));
    mo_scope_close(t, &scope, NULL, 0);
    return worst;
}

mo_tensor *mo_krylov_cg(mo_tape *t, mo_krylov *k, mo_tensor *b) {
    mo_tensor *i[ITERATE] = {mo_scale(t, b, 0, 0), b, b, mo_item_dot(t, b, b, k->batch_axes)};
    mo_tensor *fall = mo_full(t, mo_tensor_dtype(b), 0, NULL, k->tolerance * k->tolerance);
    mo_tensor *target = mo_mul(t, i[RHO], fall);
    mo_scope scope = mo_scope_open(t);
    for (k->iterations = 0; k->iterations < k->limit && mo_ok(mo_tape_context(t)); k->iterations++) {
        mo_tensor *active = mo_krylov_unfinished(t, i[RHO], target);
        if (mo_item(mo_sum(t, active, MO_ALL, MO_DROP_AXES)) == 0)
            break;
        if (k->iterations == LONG && (k->asymmetry = asymmetry(t, k, b, i[P])) > MO_MOST_ASYMMETRY)
            break;
        conjugate_step(t, k, active, i);
        mo_scope_close(t, &scope, i, ITERATE);
    }
    mo_krylov_measure(t, k, b, i[X]);
    return i[X];
}
