/* tools/lessons/explain.h - declarations that the lessons of `mochi explain` share. A lesson computes everything it
 * shows with the library, in float64, and prints it in at most 80 columns. */
#ifndef EXPLAIN_H
#define EXPLAIN_H

#include "tools/command.h"

typedef struct lesson {
    mo_context *ctx;
    mo_tape *t;
    int step;               /* number of lines of the adjoint so far */
    double largest;         /* difference between a line and its central differences so far */
    int64_t factorizations; /* the context's count when backward began */
} lesson;

/* The loss as a function of one tensor, with all others fixed. */
typedef mo_tensor *(*loss_of)(mo_tape *t, mo_tensor *X, void *state);

/* A matrix that needs a gradient. */
mo_tensor *given(lesson *l, int64_t rows, int64_t columns, const double *values);
/* Matrices side by side under their names, NULL ends them. */
void show(lesson *l, const char *const *names, mo_tensor *const *matrices);
#define NAMES(...) ((const char *const[]){__VA_ARGS__})
#define SHOW(l, names, ...) show((l), names, (mo_tensor *const[]){__VA_ARGS__, NULL})
/* One line of an adjoint: the formula, its value, and the central differences of the loss at X beside it. symmetric: X
 * moves within symmetric matrices. */
void show_adjoint(
    lesson *l, const char *formula, mo_tensor *X_bar, mo_tensor *X, bool symmetric, loss_of loss, void *state);
/* The last line: the gradients of mo_grad in the inputs X[0 .. n - 1], compared with the adjoints above. */
void show_mo_grad(lesson *l, mo_tensor *loss, const char *names, mo_tensor *const *X, mo_tensor *const *X_bar, int n);
/* <A, B>: the sum of all products. */
mo_tensor *inner(mo_tape *t, mo_tensor *A, mo_tensor *B);

/* The lessons. */
void explain_solve(lesson *l);
void explain_ridge(lesson *l);
void explain_softmax_cross_entropy(lesson *l);
void explain_cholesky(lesson *l);
void explain_shift(lesson *l);
void explain_hull(lesson *l);

#endif
