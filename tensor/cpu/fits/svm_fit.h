/* tensor/cpu/fits/svm_fit.h - one fit of the Crammer-Singer machine by its dual (svm_fit.c), and its working rows.
 *
 * Vectors of the working rows are kept class by class, [C, row], so that loops over rows are long; the padding to whole
 * lanes is 0. */
#ifndef MO_CPU_SVM_FIT_H
#define MO_CPU_SVM_FIT_H

#include "tensor/cpu/fast/panels.h"
#include "tensor/fits.h"

#define svm_layout REAL(svm_layout)
#define svm_fit_rows REAL(svm_fit_rows)
#define svm_sweep REAL(svm_sweep)
#define svm_face_step REAL(svm_face_step)

/* Rows whose alpha may move, with K / lambda among them. */
typedef struct svm_working {
    int64_t n, C, row;
    panels K;
    int64_t *number;               /* [n] of the row in the fit */
    real *copies, *step;           /* [row]: the sum of alpha; lambda / K_ii */
    real *share, *sum;             /* [row]: 1 / the number of alpha above 0 (0 if it is one); scratch */
    real *Y, *alpha, *F;           /* [C, row] */
    real *movable, *v, *r, *p, *q; /* [C, row] scratch; movable: 1 where alpha may move on its face */
    real *best;                    /* [C] scratch */
    int64_t *moved;                /* [C] scratch */
} svm_working;

typedef struct svm_fit {
    int64_t n, C;
    real lambda;
    const real *K;                /* [n, n] */
    const real *Y, *copies;       /* [n, C] times copies; [n]: the number of equal rows that a row stands for */
    int64_t held_first, held_end; /* the held-out rows: their alpha is Y */
    real *alpha;                  /* [n, C]: a feasible start, then the solution */
    real *F;                      /* [C, panels_row(n)]: logits K (Y - alpha) / lambda of all rows */
    bool *wanted, *working_row;   /* [n] */
    svm_working working;
} svm_fit;

/* Returns the scratch size for n and C, in reals and whole lanes; lays out F and the working rows in `scratch` unless
 * it is NULL. */
int64_t svm_layout(svm_fit *f, real *scratch);
/* Runs a fit; returns the largest violation of the optimality conditions, below 0 if they hold. */
double svm_fit_rows(svm_fit *f);

/* svm_face.c: sets each working row in turn to its optimum with the other rows fixed. */
void svm_sweep(const svm_working *w);
/* Moves towards the minimum over the face, by at most `limit` conjugate gradients; size: the largest logit. *exact: the
 * minimum was found, to rounding. Returns true if no bound stopped the step. */
bool svm_face_step(const svm_working *w, int64_t limit, double size, bool *exact);

#endif
