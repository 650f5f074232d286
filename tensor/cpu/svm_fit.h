/* tensor/cpu/svm_fit.h - one fit of the Crammer-Singer machine by its dual (svm_fit.c), and the rows it works on.
 *
 * Vectors of the working rows are kept class by class, [C, row]: loops over rows are long, and what fills them up to
 * whole lanes is 0. */
#ifndef MO_CPU_SVM_FIT_H
#define MO_CPU_SVM_FIT_H

#include "tensor/cpu/panels.h"
#include "tensor/fits.h"

#define svm_place REAL(svm_place)
#define svm_fit_rows REAL(svm_fit_rows)
#define svm_sweep REAL(svm_sweep)
#define svm_face_step REAL(svm_face_step)

/* Rows whose alpha may move, with K / lambda among them. */
typedef struct svm_working {
    int64_t n, C, row;
    panels K;
    int64_t *number;            /* [n] of the row in the fit */
    real *copies, *step;        /* [row]: the sum of alpha; lambda / K_ii */
    real *share, *sum;          /* [row]: 1 / the number of alpha above 0, 0 where there is one; scratch */
    real *Y, *alpha, *F;        /* [C, row] */
    real *open, *v, *r, *p, *q; /* [C, row] scratch; open: 1 where alpha may move on its face */
    real *best;                 /* [C] scratch */
    int64_t *moved;             /* [C] scratch */
} svm_working;

typedef struct svm_fit {
    int64_t n, C;
    real lambda;
    const real *K;                /* [n, n] */
    const real *Y, *copies;       /* [n, C] times copies; [n]: how many equal rows a row stands for */
    int64_t held_first, held_end; /* these rows are not fitted: their alpha is Y */
    real *alpha;                  /* [n, C]: a feasible start, then the solution */
    real *F;                      /* [C, panels_row(n)]: logits K (Y - alpha) / lambda of all rows */
    bool *wanted, *working_row;   /* [n] */
    svm_working working;
} svm_fit;

/* Gives out F and the working rows' room in `scratch` (NULL: none is given out), for n and C: how much there is of it,
 * whole lanes. */
int64_t svm_place(svm_fit *f, real *scratch);
/* Below 0, or by how much the optimality conditions are missed. */
double svm_fit_rows(svm_fit *f);

/* svm_face.c. Each working row at its best, the others fixed. */
void svm_sweep(const svm_working *w);
/* Towards the minimum over the face, by so many conjugate gradients; size: the largest logit. *exact: the minimum was
 * found, to rounding. True where no bound stood in the way. */
bool svm_face_step(const svm_working *w, int64_t limit, double size, bool *exact);

#endif
