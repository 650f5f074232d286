/* tools/lessons/lab.h - `mochi lab`: experiments on gradients. Each experiment fills a table, whose cells lab.c
 * measures row by row. */
#ifndef LAB_H
#define LAB_H

#include "tools/command.h"

enum { MOST_ITERATIONS = 16, LAB_COLUMNS = 4, LAB_SERIES = 5 };

typedef struct lab_options {
    int experiment; /* index of the experiment; -1 before the command line names one */
    int problem, threads, runs;
    bool series[LAB_SERIES]; /* which methods of `adjoint` are measured */
    int n_iterations;
    int64_t iterations[MOST_ITERATIONS];
    int64_t n; /* order of the matrix; 0: the experiment's default */
    uint64_t seed;
    bool json;
} lab_options;

typedef struct lab_experiment {
    const char *name, *without;            /* without: the options that the experiment does not accept */
    const char *series_name, *series_head; /* "method" */
    const char *series[LAB_SERIES];
    const char *x_name, *x_head;
    int n_x; /* number of x; 0: --iterations gives them */
    double x[MOST_ITERATIONS];
    struct {
        const char *name;   /* name of the JSON member */
        const char *head;   /* head of the printed column */
        const char *format; /* "%9.1e" */
        double unit;        /* printed values are divided by unit; 0: not divided, and a real number in JSON */
    } columns[LAB_COLUMNS];
    const char *reading; /* an explanation, printed below the table; or NULL */
    /* Draws the data, and writes the text above the table to `lines`. Returns the state for `measure` and `close`; the
     * context has any failure. */
    void *(*open)(mo_context *ctx, const lab_options *o, char *lines, size_t bytes);
    void (*measure)(void *state, const lab_options *o, int series, double x, double *y);
    void (*close)(void *state);
} lab_experiment;

extern const lab_experiment lab_adjoint, lab_conditioning, lab_truncation;
extern const char *const lab_problems[]; /* the problems of `adjoint`; ended by NULL */

/* Returns |x - T| / |x| (Euclidean norms) for a float64 tensor T and n numbers x. */
double lab_relative_error(mo_tensor *T, const double *x, int64_t n);
/* Returns standard normal numbers [rows, columns], float64, on the tape. */
mo_tensor *lab_normal(mo_tape *t, mo_random *r, int64_t rows, int64_t columns);
/* Returns Q diag(values) Q^T [n, n], exactly symmetric, with a random orthogonal Q. */
mo_tensor *lab_with_spectrum(mo_tape *t, mo_random *r, const double *values, int64_t n);

#endif
