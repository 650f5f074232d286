/* ops/solvers/krylov.h - linear systems A x = b solved by products with A alone, a batch at a time (library internal).
 *
 * x and b are [batch .., item ..]: every item of the batch is a system of its own, with its own coefficients, and stops
 * independently, so that its result does not depend on its neighbours. */
#ifndef MO_KRYLOV_H
#define MO_KRYLOV_H

#include "ops/inside.h"

/* Returns A v, in the shape of v, as graph code. */
typedef mo_tensor *(*mo_linear_map)(mo_tape *t, mo_tensor *v, void *state);

typedef struct mo_krylov {
    mo_linear_map apply;
    void *state;
    int batch_axes;
    double tolerance; /* of |b - A x| / |b| */
    int limit;        /* iterations */
    int restart;      /* of gmres */
    /* set by the solve: the worst over the batch */
    int iterations;
    double residual;
    int64_t worst; /* the item with that residual */
} mo_krylov;

/* Hestenes and Stiefel 1952: A symmetric, definite of either sign. From x = 0. */
mo_tensor *mo_krylov_cg(mo_tape *t, mo_krylov *k, mo_tensor *b);
/* Saad and Schultz 1986, restarted, modified Gram-Schmidt: any regular A. From x = 0. */
mo_tensor *mo_krylov_gmres(mo_tape *t, mo_krylov *k, mo_tensor *b);

/* <a, b> of every item: [batch .., 1 ..]. */
mo_tensor *mo_item_dot(mo_tape *t, mo_tensor *a, mo_tensor *b, int batch_axes);
/* The number of items, product of the leading axes. */
int64_t mo_item_count(const mo_tensor *x, int batch_axes);
/* Copies one number per item to the host as doubles, and back into the shape of `like`, [batch .., 1 ..]. */
void mo_item_read(mo_tape *t, mo_tensor *T, double *host);
mo_tensor *mo_item_write(mo_tape *t, const mo_tensor *like, const double *host);
/* The largest element and its position; a NaN counts as the largest. */
double mo_item_worst(mo_tape *t, mo_tensor *values, int64_t *where);
/* 1 for items above their limit, else 0. Items whose value is NaN get 0: they stop, the others continue. */
mo_tensor *mo_krylov_unfinished(mo_tape *t, mo_tensor *values, mo_tensor *limit);
/* Sets residual and worst from x. */
void mo_krylov_measure(mo_tape *t, mo_krylov *k, mo_tensor *b, mo_tensor *x);

#endif
