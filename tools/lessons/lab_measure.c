/* tools/lessons/lab_measure.c - what several experiments of `mochi lab` need: errors, medians, random matrices. */
#include "tools/lessons/lab.h"

#include "tools/memory.h"

#include <math.h>
#include <stdlib.h>

double lab_relative_error(const double *x, const double *reference, int64_t n) {
    double error = 0, size = 0;
    for (int64_t i = 0; i < n; i++) {
        error += (x[i] - reference[i]) * (x[i] - reference[i]);
        size += reference[i] * reference[i];
    }
    return sqrt(error / size);
}

int lab_by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double lab_median(double *times, int n) {
    qsort(times, (size_t)n, sizeof *times, lab_by_value);
    return times[n / 2];
}

mo_tensor *lab_normal(mo_tape *t, mo_random *r, int64_t rows, int64_t columns) {
    double *x = needed(malloc((size_t)(rows * columns) * sizeof *x));
    for (int64_t i = 0; i < rows * columns; i++)
        x[i] = mo_random_normal(r);
    mo_tensor *T = mo_from(t, MO_F64, 2, (int64_t[]){rows, columns}, x);
    free(x);
    return T;
}

mo_tensor *lab_with_spectrum(mo_tape *t, mo_random *r, const double *values, int64_t n) {
    mo_tensor *Q, *R, *w = mo_from(t, MO_F64, 1, &n, values);
    mo_qr(t, lab_normal(t, r, n, n), &Q, &R);
    mo_tensor *A = mo_matmul(t, mo_mul(t, Q, w), mo_transpose(t, Q));
    return mo_scale(t, mo_add(t, A, mo_transpose(t, A)), 0.5, 0);
}
