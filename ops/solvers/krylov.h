/* ops/solvers/krylov.h - linear systems A x = b solved by products with A alone, several in a batch (library internal).
 *
 * x and b are [batch .., item ..]: every item of the batch is a system that has its own coefficients and stops
 * independently, so that its result does not depend on other items. */
#ifndef MO_KRYLOV_H
#define MO_KRYLOV_H

#include "ops/inside.h"

/* Returns A v, in the shape of v, as graph code. */
typedef mo_tensor *(*mo_linear_map)(mo_tape *t, mo_tensor *v, void *state);

#define MO_MOST_ASYMMETRY 1e-2 /* far above what float32 rounds */

typedef struct mo_krylov {
    mo_linear_map apply;
    void *state;
    int batch_axes;
    double tolerance; /* limit of |b - A x| / |b| */
    int limit;        /* limit of iterations */
    int restart;      /* products per cycle of gmres */
    /* results of a solve, for the worst item of the batch */
    int iterations;
    double residual;
    int64_t worst;    /* number of the item with that residual */
    double asymmetry; /* of A, measured by conjugate gradients that last long; else 0 */
} mo_krylov;

/* Solves by conjugate gradients from x = 0 (Hestenes and Stiefel 1952). A is symmetric and definite, of either sign. An
 * A that is not symmetric could use up the limit of iterations in vain: after 100 iterations the solve compares
 * <p, A b> with <b, A p>, and ends if k->asymmetry, their difference divided by |b| |A p|, exceeds
 * MO_MOST_ASYMMETRY. */
mo_tensor *mo_krylov_cg(mo_tape *t, mo_krylov *k, mo_tensor *b);
/* Solves by GMRES from x = 0, restarted, with modified Gram-Schmidt (Saad and Schultz 1986). A is any regular
 * matrix. */
mo_tensor *mo_krylov_gmres(mo_tape *t, mo_krylov *k, mo_tensor *b);

/* Returns <a, b> for every item, as [batch .., 1 ..]. */
mo_tensor *mo_item_dot(mo_tape *t, mo_tensor *a, mo_tensor *b, int batch_axes);
/* Returns the number of items: the product of the leading axes. */
int64_t mo_item_count(const mo_tensor *x, int batch_axes);
/* mo_item_read copies T, one number for each item, to the host as doubles; mo_item_write makes a tensor of the shape of
 * `like`, [batch .., 1 ..], from such numbers. */
void mo_item_read(mo_tape *t, mo_tensor *T, double *host);
mo_tensor *mo_item_write(mo_tape *t, const mo_tensor *like, const double *host);
/* Returns the largest element and writes its position; a NaN counts as the largest. */
double mo_item_worst(mo_tape *t, mo_tensor *values, int64_t *where);
/* Returns 1 for every item whose value is above its limit, else 0. An item whose value is NaN gets 0: it stops, and the
 * other items continue. */
mo_tensor *mo_krylov_unfinished(mo_tape *t, mo_tensor *values, mo_tensor *limit);
/* Computes k->residual and k->worst for the solution x. */
void mo_krylov_measure(mo_tape *t, mo_krylov *k, mo_tensor *b, mo_tensor *x);

#endif
