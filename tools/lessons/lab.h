/* tools/lessons/lab.h - `mochi lab adjoint`: problems whose solution has a gradient, and four methods to compute it. */
#ifndef LAB_H
#define LAB_H

#include "tools/command.h"

/* ---- lab_problems.c ---- */

typedef struct lab_problem lab_problem;

/* F(w, theta) = 0, J = dF/dw, and the loss of a solution, as graph code. */
typedef struct lab_kind {
    const char *name, *meaning;
    int ndim; /* axes of w */
    int64_t shape[2];
    mo_residual residual, jacobian; /* state: the lab_problem */
    mo_tensor *(*loss)(mo_tape *t, const lab_problem *p, mo_tensor *w);
    /* w in closed form; NULL: Newton's method with the Jacobian above */
    mo_tensor *(*solution)(mo_tape *t, const lab_problem *p, mo_tensor *theta);
} lab_kind;

struct lab_problem {
    mo_context *ctx;
    const lab_kind *kind;
    mo_tensor *theta;                      /* float64 leaf */
    mo_tensor *inputs, *targets;           /* w is fitted to them; for root: A, and no targets */
    mo_tensor *held_inputs, *held_targets; /* the loss is computed on them */
    double step;                           /* step of the inner iterations: 1 / the largest eigenvalue of J */
};

extern const lab_kind lab_kinds[];
enum { LAB_KINDS = 3 };
/* Draws the data of a problem; check mo_ok(ctx). */
lab_problem lab_open(mo_context *ctx, const lab_kind *kind, uint64_t seed);
void lab_close(lab_problem *p);
/* The solution to rounding, differentiable in theta by the Jacobian written out. */
mo_tensor *lab_solve(mo_tape *t, const lab_problem *p, mo_tensor *theta);

/* ---- lab_methods.c ---- */

enum { LAB_ANALYTIC, LAB_UNROLLED, LAB_IMPLICIT, LAB_NEUMANN, LAB_METHODS };
extern const char *const lab_methods[LAB_METHODS];
/* Writes the gradient of the loss in theta after the given number of inner iterations to host memory. Returns false if
 * the context failed. */
bool lab_gradient(const lab_problem *p, int method, int iterations, double *gradient);

/* ---- lab_chart.c ---- */

typedef struct lab_row {
    int method, iterations;
    double error, milliseconds;
    int64_t peak_bytes;
} lab_row;

/* Writes the rows as an SVG of three panels: error, memory and time over the iterations. The file is written whole or
 * not at all. */
mo_code lab_chart(mo_context *ctx, const char *title, const lab_row *rows, int n, const char *path);

#endif
