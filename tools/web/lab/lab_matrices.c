/* tools/web/lab/lab_matrices.c - the matrices that experiments draw, and how far one is from another. */
#include "tools/web/lab/lab.h"

#include "tools/cli/memory.h"

#include <math.h>
#include <stdlib.h>

double lab_relative_error(mo_tensor *T, const double *x, int64_t n) {
    double error = 0, size = 0, *y = needed(malloc((size_t)n * sizeof *y));
    mo_code read = mo_tensor_read(T, y, (size_t)n * sizeof *y);
    for (int64_t i = 0; i < n && read == MO_OK; i++) {
        error += (y[i] - x[i]) * (y[i] - x[i]);
        size += x[i] * x[i];
    }
    free(y);
    return sqrt(error / size);
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
