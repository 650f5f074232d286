/* train/fit/corral.h - affinely independent points, and the nearest point of their hull to the origin (library
 * internal). */
#ifndef MO_CORRAL_H
#define MO_CORRAL_H

#include <stdbool.h>
#include <stdint.h>

typedef struct mo_corral {
    const double *q; /* [n, d] */
    int64_t n, d, room, size;
    double *memory, *found;  /* what all arrays but member lie in, q first; [n]: the weights of the nearest point */
    int64_t *member;         /* [room] */
    double *weight, *affine; /* [room]: of x, and of the nearest point of the affine hull */
    double *Q;               /* [room, d]: row i >= 1, orthonormal, from the difference of member i to member 0 */
    double *R;               /* [room, room]: difference i = sum over j <= i of R[i, j] Q[j] */
    double *x;               /* [d] */
    double scale;            /* the largest |q_j| */
    /* Of one point among C = n + 1 that are measured against each other, else NULL: */
    const double *gram; /* [C, C] */
    int64_t origin;     /* which of them p is; the points behind it are one place ahead in q */
    double rounding;    /* of an inner product by gram, at most */
    double *rank;       /* [C]: x q_j but for a constant */
} mo_corral;

static inline double mo_corral_dot(const double *a, const double *b, int64_t d) {
    double sum = 0;
    for (int64_t k = 0; k < d; k++)
        sum += a[k] * b[k];
    return sum;
}

/* Fills row i of the basis. If member i depends on the members before it, the row and its weight are zero, and the
 * result is false. */
bool mo_corral_extend_basis(mo_corral *c, int64_t i);
/* Sets `affine` to the weights of the nearest point of the affine hull. */
void mo_corral_solve_affine(mo_corral *c);
/* Moves the weights towards the affine ones as far as the hull allows. Returns true if it reached them. */
bool mo_corral_step_to_affine(mo_corral *c);
/* Sets x, with weights whose sum is 1 to rounding; returns |x|. */
double mo_corral_place(mo_corral *c);

#endif
