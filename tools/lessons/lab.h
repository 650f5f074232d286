/* tools/lessons/lab.h - `mochi lab`: experiments on gradients. Each is a table; lab.c measures its cells row by row. */
#ifndef LAB_H
#define LAB_H

#include "tools/command.h"

enum { MOST_ITERATIONS = 16, LAB_COLUMNS = 4, LAB_SERIES = 5 };

typedef struct lab_options {
    int experiment; /* -1: none yet */
    int problem, threads, runs;
    bool series[LAB_SERIES]; /* methods of `adjoint` */
    int n_iterations;
    int64_t iterations[MOST_ITERATIONS];
    int64_t n; /* size; 0: the experiment's default */
    uint64_t seed;
    bool json;
} lab_options;

typedef struct lab_experiment {
    const char *name, *without;            /* without: options that it does not accept */
    const char *series_name, *series_head; /* "method" */
    const char *series[LAB_SERIES];
    const char *x_name, *x_head;
    int n_x; /* 0: x are the numbers given by --iterations */
    double x[MOST_ITERATIONS];
    struct {
        const char *name;   /* name of the JSON member */
        const char *head;   /* head of the printed column */
        const char *format; /* "%9.1e" */
        double unit;        /* printed values are divided by it; 0: by 1, and the JSON member is not an integer */
    } columns[LAB_COLUMNS];
    const char *reading; /* printed below the table: what to see in it; NULL: nothing */
    /* Draws the data, and writes the text above the table. Returns the argument for `measure` and `close`; failures are
     * in the context. */
    void *(*open)(mo_context *ctx, const lab_options *o, char *lines, size_t bytes);
    void (*measure)(void *state, const lab_options *o, int series, double x, double *y);
    void (*close)(void *state);
} lab_experiment;

extern const lab_experiment lab_adjoint, lab_conditioning, lab_truncation;
extern const char *const lab_problems[]; /* the problems of `adjoint`; ended by NULL */

/* |x - T| / |x| (Euclidean norms) for a float64 tensor T and n numbers x. */
double lab_relative_error(mo_tensor *T, const double *x, int64_t n);
/* [rows, columns] standard normal, float64, on the tape. */
mo_tensor *lab_normal(mo_tape *t, mo_random *r, int64_t rows, int64_t columns);
/* Q diag(values) Q^T [n, n] with orthonormal columns Q drawn at random, exactly symmetric. */
mo_tensor *lab_with_spectrum(mo_tape *t, mo_random *r, const double *values, int64_t n);

#endif
