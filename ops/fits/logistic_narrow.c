/* ops/fits/logistic_narrow.c - Newton's equation of a large softmax regression, solved in float32.
 *
 * Its preconditioner is the factor of the Hessian at W = 0. There all classes have probability 1 / C, and on vectors of
 * zero class sums the Hessian is that matrix but for a factor of 1 - 1 / C: the first step takes one product. Columns
 * of very different scale cost no more products than others, where plain conjugate gradients took 621 instead of 99
 * (20,000 rows of 384, 10 classes; 82 and 84 with the factor). The gradient, which is not rounded to float32, sees in
 * the next step what this one has left. */
#include "autograd/tape.h"
#include "ops/fits/logistic_system.h"

#define LEAST_FALL 1e-4 /* of a residual in float32 */

mo_logistic_system mo_logistic_narrow(const mo_logistic_system *s, mo_tensor *F) {
    mo_tape *t = s->t;
    mo_tensor *X = mo_cast(t, s->X, MO_F32), *weight = mo_cast(t, s->weight, MO_F32);
    mo_logistic_system narrow =
        mo_logistic_open(t, false, s->free_intercept, X, weight, mo_cast(t, s->lambda, MO_F32), NULL);
    mo_logistic_move(&narrow, mo_cast(t, F, MO_F32));
    mo_logistic_factor(&narrow);
    return narrow;
}

void mo_logistic_follow(mo_logistic_system *narrow, const mo_logistic_system *s) {
    narrow->P = mo_cast(s->t, s->P, MO_F32);
    narrow->TP = mo_cast(s->t, s->TP, MO_F32);
}

/* The right-hand side is scaled by its norm, whose square would leave float32's range. */
bool mo_logistic_conjugate_narrow(const mo_logistic_system *s, const mo_logistic_system *narrow, mo_tensor *r,
    mo_tensor *norm, mo_tensor *eta, int limit, mo_krylov_vector *solution) {
    mo_tape *t = s->t;
    mo_tensor *fall = mo_maximum(t, mo_cast(t, eta, MO_F32), mo_full(t, MO_F32, 0, NULL, LEAST_FALL));
    mo_tensor *scaled = mo_cast(t, mo_div_or_zero(t, r, norm), MO_F32);
    bool solved = mo_logistic_conjugate(narrow, scaled, fall, limit, solution);
    /* the means over classes are rounding, and r has none to correct them */
    mo_tensor *x = mo_class_centred(t, mo_cast(t, solution->x, mo_tensor_dtype(r)));
    *solution = mo_logistic_image(s, mo_mul(t, x, norm));
    return solved;
}
