/* tensor/cpu/fits/svm_rows.h - one fit of the Crammer-Singer machine by its rows (svm_rows.c), and its Newton steps. */
#ifndef MO_CPU_SVM_ROWS_H
#define MO_CPU_SVM_ROWS_H

#include "tensor/cpu/fits/logistic_pass.h"
#include "tensor/cpu/real.h"

#define svm_rows_layout REAL(svm_rows_layout)
#define svm_rows_fit REAL(svm_rows_fit)
#define svm_pass REAL(svm_pass)
#define svm_sum_residuals REAL(svm_sum_residuals)
#define svm_project REAL(svm_project)
#define svm_newton REAL(svm_newton)
#define svm_factor REAL(svm_factor)
#define svm_precondition REAL(svm_precondition)

/* Rows packed at once for a block of H, at most by that many threads; the largest order of H that is factored. */
enum { SVM_BLOCK = 128, SVM_PACKERS = 64, SVM_MOST_FACTORED = 8192 };

/* Matrices are row-major; N = (d + 1) C, the last row of a [d + 1, C] belongs to the column of ones. */
typedef struct svm_rows {
    mo_context *ctx;
    int64_t n, d, C, N;
    const real *X, *Y;            /* [n, d], [n, C] */
    real lambda, sigma;           /* sigma: the weight of |alpha - centre|^2 / 2 */
    double norm;                  /* of [X | 1], Frobenius */
    real *W, *G, *step;           /* [N]: weights; gradient, then residual; step */
    real *direction, *image;      /* [N] scratch of the conjugate gradients */
    real *F, *slope;              /* [n, C]: logits of W; logits of the step, and scratch */
    real *centre, *alpha;         /* [n, C]: the proximal point's centre; the projection at W */
    int64_t faces, most_faces;    /* rows of which two alpha are above 0; the most that are copied */
    real *face_X, *share, *count; /* [most_faces, d], [n, C], [n]: of these rows: copies, 1 / count where alpha > 0 */
    bool may_factor, factored;    /* factored: H holds a factor, of this step's matrix or an earlier one's */
    real *H, *packed, *z;         /* [N, N]; scratch of its blocks; [N]: the preconditioned residual */
    real *partial;                /* sums over blocks of rows */
    real *scratch;                /* of a pass */
} svm_rows;

/* Returns the scratch size for n, d and C, in reals; lays the arrays out in `scratch` unless it is NULL. */
int64_t svm_rows_layout(svm_rows *s, real *scratch);
/* Runs a fit from alpha = Y, W = 0; returns the largest violation of the optimality conditions, below 0 if they hold.
 */
double svm_rows_fit(svm_rows *s);

/* E = [X | 1] V, or sum = [X | 1]^T E if V is NULL. */
void svm_pass(const svm_rows *s, const real *V, real *E, real *sum);
/* sum = [X | 1]^T (Y - alpha); slope holds Y - alpha afterwards. */
void svm_sum_residuals(const svm_rows *s, real *sum);
/* alpha = the projection of centre + (F + length slope - Y) / sigma onto the simplices; returns <alpha, slope>. */
double svm_project(const svm_rows *s, real length);
/* svm_newton.c: finds W and alpha for the centre; the first step keeps the zeros of the centre if `follow`. Returns the
 * number of steps. */
int svm_newton(svm_rows *s, bool follow);

/* svm_factor.c: factors H on the rows of the faces; false if they are not copied, or if rounding has made H indefinite.
 */
bool svm_factor(svm_rows *s);
/* z = H^-1 r by the factor; r if there is none. */
void svm_precondition(const svm_rows *s, const real *r, real *z);

#endif
