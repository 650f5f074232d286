/* tools/web/lab/lab.h - experiments on gradients, which the room Lab of the page measures cell by cell. */
#ifndef LAB_H
#define LAB_H

#include "tools/inside.h"

enum { MOST_X = 16, LAB_COLUMNS = 4, LAB_SERIES = 5 };

typedef struct lab_experiment {
    const char *name, *series_name; /* series_name: what the series are, "method" */
    const char *series[LAB_SERIES];
    const char *x_name;
    int n_x; /* number of x; 0: the reader chooses numbers of iterations */
    double x[MOST_X];
    struct {
        const char *name;
        double unit; /* shown values are divided by unit; 0: not divided */
    } columns[LAB_COLUMNS];
    const char *reading; /* an explanation, shown below the table; or NULL */
    /* Draws the data, and writes the text above the table to `lines`; problem: 0 to 2, the inner problem of `adjoint`
     * (ridge, logistic, root), else 0. Returns the state for `measure` and `close`; the context has any failure. */
    void *(*open)(mo_context *ctx, int problem, char *lines, size_t bytes);
    /* Writes a value per column to y. */
    void (*measure)(void *state, int series, double x, double *y);
    void (*close)(void *state);
} lab_experiment;

extern const lab_experiment lab_adjoint, lab_conditioning, lab_truncation;

/* K steps X <- X - (A X - B) from zero: the relative errors of X_K, and of the gradients of <X_bar, X> in A. */
typedef struct lab_steps {
    double w, unrolled, implicit, neumann;
    int64_t unrolled_bytes, implicit_bytes; /* of the tape at its peak */
} lab_steps;
/* n: unknowns; radius: of I - A, by which a step shrinks the error; seed: of A, B and X_bar. */
lab_steps lab_measure_steps(mo_context *ctx, int64_t n, double radius, uint64_t seed, int64_t K);

/* Returns |x - T| / |x| (Euclidean norms) for a float64 tensor T and n numbers x. */
double lab_relative_error(mo_tensor *T, const double *x, int64_t n);
/* Returns standard normal numbers [rows, columns], float64, on the tape. */
mo_tensor *lab_normal(mo_tape *t, mo_random *r, int64_t rows, int64_t columns);
/* Returns Q diag(values) Q^T [n, n], exactly symmetric, with a random orthogonal Q. */
mo_tensor *lab_with_spectrum(mo_tape *t, mo_random *r, const double *values, int64_t n);

#endif
