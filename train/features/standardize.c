/* train/features/standardize.c - columns brought to mean 0 and standard deviation 1. */
#include "train/features/example_rows.h"

#include <math.h>

/* Mean and standard deviation (divisor n - 1) of column values x[i * w], computed in float64, in row order. */
static void find_column_moments(const float *x, int64_t w, const int64_t *row, int64_t m, double *mean, double *sd) {
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < m; i++)
        sum += x[(row ? row[i] : i) * w];
    *mean = m > 0 ? sum / (double)m : 0;
    for (int64_t i = 0; i < m; i++) {
        double d = x[(row ? row[i] : i) * w] - *mean;
        squares += d * d;
    }
    *sd = m > 1 ? sqrt(squares / (double)(m - 1)) : 0;
}

void mo_standardize(mo_rows r, const int64_t *reference, int64_t m, double epsilon, float *moments) {
    for (int64_t o = 0; o < r.outer; o++)
        for (int64_t j = 0; j < r.w; j++) {
            float *column = r.x + o * r.n * r.w + j;
            double mean, sd;
            find_column_moments(column, r.w, reference, reference ? m : r.n, &mean, &sd);
            for (int64_t i = 0; i < r.n; i++)
                column[i * r.w] = (float)((column[i * r.w] - mean) / (sd + epsilon));
            if (moments) {
                moments[o * r.w + j] = (float)mean;
                moments[(r.outer + o) * r.w + j] = (float)(sd + epsilon);
            }
        }
}
