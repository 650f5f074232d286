/* tools/lessons/lab.h - `mochi lab`: experiments on gradients. Each fills a table, which is printed. */
#ifndef LAB_H
#define LAB_H

#include "tools/command.h"

/* ---- lab_table.c: what every experiment has ---- */

enum { LAB_COLUMNS = 4, LAB_SERIES = 8 };

typedef struct lab_column {
    const char *name;   /* of the JSON member */
    const char *head;   /* of the printed column */
    const char *format; /* "%9.1e" */
    double unit;        /* printed values are divided by it; 0: 1 */
    bool whole;         /* an integer in JSON */
} lab_column;

typedef struct lab_table_row {
    int series;
    double x, y[LAB_COLUMNS];
} lab_table_row;

typedef struct lab_table {
    char title[160];                       /* printed above it */
    const char *reading;                   /* what to see: below the table; NULL: nothing */
    const char *series_name, *series_head; /* "method" */
    const char *series[LAB_SERIES];
    const char *x_name, *x_head;
    bool x_whole;
    const lab_column *columns;
    int n_columns;
    const char *problem; /* a member of every JSON line; NULL: none */
    bool json;
} lab_table;

/* Prints what stands above the rows; lines: more of it, may be NULL. */
void lab_table_open(const lab_table *table, const char *lines);
/* Adds a row and prints it. Returns false if it could not be written. */
bool lab_table_add(lab_table *table, lab_table_row row);
/* What to see in the table, below it. */
void lab_table_close(const lab_table *table);

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
    const lab_kind *kind;                  /* own */
    lab_kind own;                          /* at the size of this problem */
    mo_tensor *theta;                      /* float64 leaf */
    mo_tensor *inputs, *targets;           /* w is fitted to them; for root: A, and no targets */
    mo_tensor *held_inputs, *held_targets; /* the loss is computed on them */
    double step;                           /* step of the inner iterations: 1 / the largest eigenvalue of J */
};

extern const lab_kind lab_kinds[];
enum { LAB_KINDS = 3 };
/* Draws the data of a problem at size n (0: its own); check mo_ok(ctx). */
void lab_open(lab_problem *p, mo_context *ctx, const lab_kind *kind, uint64_t seed, int64_t n);
void lab_close(lab_problem *p);
/* The solution to rounding, differentiable in theta by the Jacobian written out. */
mo_tensor *lab_solve(mo_tape *t, const lab_problem *p, mo_tensor *theta);

/* ---- lab_methods.c ---- */

enum { LAB_ANALYTIC, LAB_UNROLLED, LAB_IMPLICIT, LAB_NEUMANN, LAB_METHODS };
extern const char *const lab_methods[LAB_METHODS];
/* Writes the gradient of the loss in theta after the given number of inner iterations to host memory. Returns false if
 * the context failed. */
bool lab_gradient(const lab_problem *p, int method, int iterations, double *gradient);

/* ---- the experiments ---- */

enum { MOST_ITERATIONS = 16 };

typedef struct lab_options {
    int experiment; /* -1: none yet */
    int problem, threads, runs;
    bool methods[LAB_METHODS];
    int n_iterations;
    int64_t iterations[MOST_ITERATIONS];
    int64_t n; /* size; 0: the experiment's own */
    uint64_t seed;
    bool json;
} lab_options;

/* Each runs on the context and fills the table; failures are in the context. */
void lab_adjoint(mo_context *ctx, const lab_options *o, lab_table *table);
void lab_conditioning(mo_context *ctx, const lab_options *o, lab_table *table);
void lab_truncation(mo_context *ctx, const lab_options *o, lab_table *table);

/* ---- lab_measure.c ---- */

/* |x - reference| / |reference|, Euclidean. */
double lab_relative_error(const double *x, const double *reference, int64_t n);
/* The median of n times; sorts them. */
double lab_median(double *times, int n);
/* For qsort: the order of doubles, ascending. */
int lab_by_value(const void *a, const void *b);
/* [rows, columns] standard normal, float64, on the tape. */
mo_tensor *lab_normal(mo_tape *t, mo_random *r, int64_t rows, int64_t columns);
/* Q diag(values) Q^T [n, n] with orthonormal columns Q drawn at random, exactly symmetric. */
mo_tensor *lab_with_spectrum(mo_tape *t, mo_random *r, const double *values, int64_t n);

#endif
