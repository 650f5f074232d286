/* tensor/cpu/fits/svm.h - one fit of the Crammer-Singer machine by its dual (svm.c), and its working rows.
 *
 * Vectors of the working rows are kept class by class, [C, row], so that loops over rows are long; the padding to whole
 * lanes is 0. */
#ifndef MO_CPU_SVM_H
#define MO_CPU_SVM_H

#include "tensor/cpu/fast/panels.h"
#include "tensor/fits.h"

#define svm_sweep REAL(svm_sweep)
#define svm_face_step REAL(svm_face_step)

/* Rows whose alpha may move, with K / lambda among them. */
typedef struct svm_working {
    int64_t n, C, row;
    panels K;
    int64_t *number;               /* [n] of the row in the fit */
    real *step;                    /* [row]: lambda / K_ii */
    real *share, *sum;             /* [row]: 1 / the number of alpha above 0 (0 if it is one); scratch */
    real *Y, *alpha, *F;           /* [C, row] */
    real *movable, *v, *r, *p, *q; /* [C, row] scratch; movable: 1 where alpha may move on its face */
    real *best;                    /* [C] scratch */
    int64_t *moved;                /* [C] scratch */
} svm_working;

/* Sets each working row in turn to its optimum with the other rows fixed. */
void svm_sweep(const svm_working *w);
/* Moves towards the minimum over the face, by at most `limit` conjugate gradients; size: the largest logit. *exact: the
 * minimum was found, to rounding. Returns true if no bound stopped the step. */
bool svm_face_step(const svm_working *w, int64_t limit, double size, bool *exact);

#endif
